#!/usr/bin/env bash
# On a machine with a CUDA device: builds dequant::cuda for it, compares every kind of plan with
# run(), tests the Python package there, measures, and writes the tables of docs/gpu.md.
#
#   gpu.sh           tests, then measurements
#   gpu.sh test      tests only
#   gpu.sh bench     measurements only
#
# Needs nvcc of CUDA 12 or 13 and the packages of scripts/setup.sh. GPU_BUILD: build-gpu unless set.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export PATH=$PATH:/usr/local/cuda/bin
build=${GPU_BUILD:-build-gpu} what=${1:-all}

scripts/setup.sh test
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DDEQUANT_CUDA=ON -DDEQUANT_TESTS=ON \
  -DDEQUANT_BENCH=ON -DCMAKE_CUDA_ARCHITECTURES=native -DDEQUANT_PYTHON_PACKAGE=ON \
  -DPython_EXECUTABLE="$PWD/build/venv/bin/python"
cmake --build "$build" --target cuda_tests device_bench dequant_cli dequant_python

# The package's tests on the device: all but those that need devices in host memory.
package_tests() {
  local folder=$build/package_on_device
  rm -rf "$folder"
  mkdir -p "$folder"
  cp -r python/dequant "$folder"
  cp "$build"/python/_core.* "$build"/python/cuda/_cuda.* "$folder/dequant"
  DEQUANT_CUDA_DEVICE=1 DEQUANT_CLI=$PWD/$build/dequant PYTHONPATH=$PWD/$folder \
    build/venv/bin/python -m pytest -q -rs -p no:cacheprovider tests/package/test_device*.py
}

if [ "$what" != bench ]; then
  "$build/tests/cuda_tests"
  package_tests
fi
if [ "$what" != test ]; then
  for bytes in 1073741824 67108864; do
    "$build/bench/cuda/device_bench" --bytes "$bytes" >"$build/cells-$bytes.json"
  done
  "$build/bench/cuda/device_bench" --sizes >"$build/sizes.json"
  bench/tables.py "$build"/cells-*.json --into docs/gpu.md --name cells
  bench/cuda/sizes.py "$build/sizes.json" --into docs/gpu.md
fi
