#!/usr/bin/env bash
# On a machine with a CUDA device: builds dequant::cuda for it, compares every kind of plan with
# run(), tests the Python package there, measures, and writes the tables of docs/gpu.md.
#
#   gpu.sh           tests, then measurements
#   gpu.sh test      tests only
#   gpu.sh bench     measurements only
#
# Needs nvcc of CUDA 12 or 13 and the packages of scripts/setup.sh. The comparisons with torch,
# bitsandbytes and ONNX Runtime, and of loading a checkpoint, need these packages, too; without
# torch they are left out. In an environment of its own, as onnxruntime-gpu and onnxruntime exclude
# each other:
#
#   python3 -m venv build/gpu && build/gpu/bin/pip install torch numpy ml_dtypes safetensors \
#     onnx onnxruntime-gpu bitsandbytes
#   GPU_PYTHON=build/gpu/bin/python scripts/gpu.sh
#
# GPU_BUILD   the build folder, build-gpu
# GPU_PYTHON  the Python of the comparisons, build/venv/bin/python; of the same version as that one,
#             for which the package of dequant is built
# GPU_FOLDER  where the checkpoint is written, the build folder
# GPU_GIB     stored bytes of the checkpoint, 20: twice as much must be free on the device
#
# The exit code is 1 if a comparison says that dequant is slower, or that bits differ.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export PATH=$PATH:/usr/local/cuda/bin
build=${GPU_BUILD:-build-gpu} what=${1:-all} python=${GPU_PYTHON:-build/venv/bin/python}

scripts/setup.sh test
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DDEQUANT_CUDA=ON -DDEQUANT_TESTS=ON \
  -DDEQUANT_BENCH=ON -DCMAKE_CUDA_ARCHITECTURES=native -DDEQUANT_PYTHON_PACKAGE=ON \
  -DPython_EXECUTABLE="$PWD/build/venv/bin/python"
cmake --build "$build" --target cuda_tests device_bench dequant_cli dequant_python

# The package with its module of CUDA devices.
folder=$build/package_on_device
rm -rf "$folder"
mkdir -p "$folder"
cp -r python/dequant "$folder"
cp "$build"/python/_core.* "$build"/python/cuda/_cuda.* "$folder/dequant"

# The package's tests on the device: all but those that need devices in host memory.
package_tests() {
  DEQUANT_CUDA_DEVICE=1 DEQUANT_CLI=$PWD/$build/dequant PYTHONPATH=$PWD/$folder \
    build/venv/bin/python -m pytest -q -rs -p no:cacheprovider tests/package/test_device*.py
}

# compare NAME ARGUMENT...: a comparison. If it cannot run or fails, the next one runs all the same.
compare() {
  local code=0
  PYTHONPATH=$PWD/$folder "$python" "bench/cuda/$1.py" "${@:2}" --into docs/gpu.md \
    --json "$build/$1.json" || code=$?
  case $code in
    0) ;;
    5) echo "gpu: $1 is left out; the head of scripts/gpu.sh says what to install" >&2 ;;
    *) failed=1 ;;
  esac
}
failed=0

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
  compare peers
  compare loading --in "${GPU_FOLDER:-$build}" --gib "${GPU_GIB:-20}"
fi
exit $failed
