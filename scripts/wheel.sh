#!/usr/bin/env bash
# Builds the wheel of the Python package in build/wheels, reusing the objects in build/, and
# installs the wheel in the Python environment of the tests.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/setup.sh test
[ -f build/CMakeCache.txt ] || cmake --preset dev >/dev/null
rm -rf build/wheels
build/venv/bin/python -m pip wheel --quiet --disable-pip-version-check --no-deps \
  --no-build-isolation --wheel-dir build/wheels \
  --config-settings=build-dir=build --config-settings=cmake.define.DEQUANT_DEV=ON .
build/venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps \
  --force-reinstall build/wheels/*.whl
