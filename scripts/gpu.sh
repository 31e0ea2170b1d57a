#!/usr/bin/env bash
# On a machine with a CUDA device: builds dequant::cuda for it, compares every kind of plan with
# run(), measures, and writes the tables of docs/gpu.md.
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
  -DDEQUANT_BENCH=ON -DCMAKE_CUDA_ARCHITECTURES=native
cmake --build "$build" --target cuda_tests device_bench dequant_cli

if [ "$what" != bench ]; then
  "$build/tests/cuda_tests"
fi
if [ "$what" != test ]; then
  for bytes in 1073741824 67108864; do
    "$build/bench/cuda/device_bench" --bytes "$bytes" >"$build/cells-$bytes.json"
  done
  "$build/bench/cuda/device_bench" --sizes >"$build/sizes.json"
  bench/tables.py "$build"/cells-*.json --into docs/gpu.md --name cells
  bench/cuda/sizes.py "$build/sizes.json" --into docs/gpu.md
fi
