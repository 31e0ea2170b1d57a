#!/usr/bin/env bash
# Runs the recipes of docs/cluster.md on their engines, on this machine: Ray with killed workers and
# nodes, Slurm, torchrun, Open MPI, Dask, mpi4py. Installs them: Debian packages, and a Python
# environment in build/cluster_venv of about 6 GB. Takes 6 minutes after that. Arguments are passed
# to pytest, such as -k ray.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
venv=build/cluster_venv

scripts/setup.sh cluster
scripts/wheel.sh
[ -x $venv/bin/python ] || /usr/bin/python3 -m venv $venv
$venv/bin/python -m pip install --quiet --disable-pip-version-check \
  -r scripts/cluster_requirements.txt
$venv/bin/python -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps \
  build/wheels/*.whl
# Ray's nodes are on this machine alone, and leave no token in the home folder.
export RAY_AUTH_MODE=disabled RAY_USAGE_STATS_ENABLED=0
for tests in tests/package/test_recipes.py tests/cluster; do
  $venv/bin/python -m pytest -q -rs -p no:cacheprovider "$tests" "$@" || [ $? -eq 5 ]
done
