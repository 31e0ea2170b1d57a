#!/usr/bin/env bash
# Builds the library and its tests for 64-bit Arm, warnings as errors, and runs them under emulation:
# the NEON kernels and Arm's floating-point environment, on whatever machine this is.
#
#   arm_test.sh OUTPUT_DIR
set -euo pipefail
out=$(mkdir -p "$1" && cd "$1" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# Headers that are the same for every processor; those beside them in /usr/include are not.
mkdir -p "$out/include" "$out/objects"
for name in hwy gtest gmock; do ln -sfn "/usr/include/$name" "$out/include/$name"; done

googletest=/usr/src/googletest
# What dialects and plans do is the same on every processor.
find src tests/{arm,element,kernel,execute} -name '*.cc' ! -name executor.cc ! -name thread_pool_test.cc |
  xargs -P 2 -I{} bash -c 'aarch64-linux-gnu-g++ -std=c++20 -O2 -ffp-contract=off -Wall -Wextra \
    -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor -Werror \
    -isystem "$1/include" -Iinclude -Isrc -Itests -c "$2" -o "$1/objects/$(tr / _ <<<"$2").o"' _ "$out" {}
for part in googletest/src/gtest-all googlemock/src/gmock-all googletest/src/gtest_main; do
  aarch64-linux-gnu-g++ -std=c++20 -O1 -isystem "$out/include" -I$googletest/googletest \
    -I$googletest/googlemock -c "$googletest/$part.cc" -o "$out/objects/${part##*/}.o"
done
aarch64-linux-gnu-g++ "$out"/objects/*.o -o "$out/arm_tests"
# Death tests start their own program anew, which an emulator cannot do for them; tensors larger than
# the caches and all ways through a chunk take it minutes and show nothing that smaller ones do not.
run_half() {
  GTEST_TOTAL_SHARDS=2 GTEST_SHARD_INDEX=$1 qemu-aarch64 -L /usr/aarch64-linux-gnu "$out/arm_tests" \
    --gtest_brief=1 --gtest_filter='-*DeathTest.*:*/Large.*:Ways.*'
}
run_half 0 &
first=$!
run_half 1
wait "$first"
