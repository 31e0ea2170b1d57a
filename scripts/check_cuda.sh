#!/usr/bin/env bash
# Compiles what is for CUDA devices, warnings as errors, and checks it without a device:
#
#   check_cuda.sh [BUILD]   BUILD: build-cuda unless given; does nothing where there is no nvcc
#
#   - kernels have no fused multiplication and addition, no instruction that flushes subnormal
#     numbers or divides approximately
#   - kernels of one architecture take 3 MB at most, and 4 minutes of a processor
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=${1:-build-cuda}
export PATH=$PATH:/usr/local/cuda/bin
if ! command -v nvcc >/dev/null; then
  echo "cuda: no nvcc here, nothing checked"
  exit
fi

# Code for devices tells the architectures 75, 80 and 90 apart. 80 is compiled below, the others
# here: without optimization and assembler, in a sixth of the time, as errors and warnings are those
# of the compiler's front end.
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DDEQUANT_DEV=ON -DDEQUANT_CUDA=ON \
  "-DCMAKE_CUDA_ARCHITECTURES=75-virtual;90-virtual" \
  -DDEQUANT_TOOLS=OFF -DDEQUANT_MODEL=OFF -DDEQUANT_INSTALL=OFF -DDEQUANT_BENCH=ON \
  "-DCMAKE_CUDA_FLAGS=--threads=2 -Xcicc -O0" >/dev/null
cmake --build "$build" --target dequant_cuda_kernels device_copy \
  cuda/CMakeFiles/dequant_cuda.dir/{run,plan/lower,device/device_cuda}.cc.o \
  bench/cuda/CMakeFiles/device_bench.dir/device_bench.cc.o

# Kernels of one architecture in nvcc's two steps, as the code between these is what is checked.
compile() {
  nvcc -O3 -std=c++20 --expt-relaxed-constexpr -fmad=false -ftz=false -prec-div=true \
    -I. -Iinclude -Isrc -arch=compute_80 -ptx "cuda/launch_$1.cu" -o "$2/$1.ptx"
  ptxas -O3 --fmad false -arch=sm_80 "$2/$1.ptx" -o "$2/$1.cubin"
}
export -f compile
all=(elements fast blocks)
TIMEFORMAT=%0U
{ time printf '%s\n' "${all[@]}" | xargs -P 2 -I{} bash -ec 'compile {} "$0"' "$build" 2>&3
} 3>&2 2>"$build/seconds"
seconds=$(<"$build/seconds") bytes=0
for kernels in "${all[@]}"; do
  if grep -nE '\bfma\b|\.ftz|div\.(approx|full)|rcp\.approx|\bex2\b' "$build/$kernels.ptx"; then
    echo "cuda: launch_$kernels.cu has instructions with other results than the reference" >&2
    exit 1
  fi
  bytes=$((bytes + $(stat -c %s "$build/$kernels.cubin")))
done
echo "cuda: kernels of one architecture: $bytes bytes, compiled in $seconds s"
if [ "$bytes" -gt 3000000 ] || [ "$seconds" -gt 240 ]; then
  echo "cuda: more than 3,000,000 bytes or 240 s" >&2
  exit 1
fi
