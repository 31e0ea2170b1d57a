#!/usr/bin/env bash
# Builds the library and its tests for 64-bit Arm, warnings as errors, and runs them under
# emulation: the NEON kernels and Arm's floating-point environment, on whatever machine this is.
#
#   arm_test.sh OUTPUT_DIR
set -euo pipefail
out=$(mkdir -p "$1" && cd "$1" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export out googletest=/usr/src/googletest
export shared=$PWD/../shared

# Headers that are the same for every processor; those beside them in /usr/include are not.
mkdir -p "$out/include" "$out/objects"
for name in hwy gtest gmock; do ln -sfn "/usr/include/$name" "$out/include/$name"; done

# What is tested is compiled as users have it, what tests it with little optimization. GoogleTest's
# headers are parsed once.
export ours="-std=c++20 -isystem $out/include -ffp-contract=off -Wall -Wextra -Wpedantic -Wshadow
  -Wconversion -Wsign-conversion -Wnon-virtual-dtor -Werror -Iinclude -Isrc -Itests"
export theirs="-std=c++20 -isystem $out/include -I$googletest/googletest -I$googletest/googlemock"
printf '#include <%s>\n' gmock/gmock.h gtest/gtest.h >"$out/tests.h"
aarch64-linux-gnu-g++ $ours -O1 -x c++-header "$out/tests.h" -o "$out/tests.h.gch"

# joined NAME: the files that standard input names, as files that include eight of them each, since
# most of the time of a file is that of its headers. Not for kernels and execute/, where files have
# the same names in their anonymous namespaces.
mkdir -p "$out/joined"
joined() {
  split -l 8 - "$out/joined/$1_"
  for group in "$out/joined/$1_"*; do
    sed 's|.*|#include "&"|' "$group" >"$group.cc"
    echo "$group.cc"
  done
}

compile() {
  local flags
  case $1 in
    "$googletest"/*) flags="$theirs -O1" ;;
    "$out"/joined/tests_*) flags="$ours -I. -O1 -include $out/tests.h" ;;
    *) flags="$ours -I. -O2" ;;
  esac
  aarch64-linux-gnu-g++ $flags "-DDEQUANT_SHARED_FOLDER=\"$shared\"" -c "$1" \
    -o "$out/objects/$(tr / _ <<<"$1").o"
}
export -f compile
# The longest first. What dialects, plans and the C API do is the same on every processor; of the
# dialects the tests need ONNX and GGUF alone.
{
  find src/kernel -name 'table_*.cc'
  printf '%s\n' "$googletest"/googletest/src/gtest{-all,_main}.cc \
    "$googletest/googlemock/src/gmock-all.cc"
  find tests/{arm,block,element,kernel,execute} -name '*.cc' ! -name thread_pool_test.cc \
    ! -name fork_test.cc ! -name highway_targets_test.cc | sort | joined tests
  {
    printf '%s\n' src/dialect/{onnx,linear,gguf,checks}.cc
    find src -name '*.cc' ! -path 'src/kernel/*' ! -path 'src/execute/*' ! -path 'src/c_api/*' \
      ! -path 'src/dialect/*'
  } | sort | joined src
  find src/{kernel,execute} -name '*.cc' ! -name 'table_*' ! -name executor.cc
} | xargs -P 2 -I{} bash -c 'compile {}'
aarch64-linux-gnu-g++ "$out"/objects/*.o -o "$out/arm_tests"

# Death tests start their own program anew, which an emulator cannot do. Tensors larger than the
# caches, all ways through a chunk, random strides, all sequences of calls of an executor, and every
# scale and zero point that portable code converts take minutes here and show nothing that the
# remaining tests do not. Of every scale of 16 bits with every code two of eight types are enough.
left_out='*DeathTest.*:*/Large.*:Ways.*:Parameters.GiveBandsAndThreads*:Parameters.Every*'
left_out+=':Parameters.GiveSimplifiedPlans*:Executor.IsAccepted*:Strided.ChunksOfManyThreads*'
left_out+=':Strided.GivesRandomStrides*:Strided.GivesDimensionsInAnyOrder*'
left_out+=':*Exhaustive16*/uint8_*:*Exhaustive16*/float8e4m3fn_*:*Exhaustive16*/*int4_bfloat16'
left_out+=':*Exhaustive16*/float8e5m2_float16:Exhaustive.ProductsOfEveryInt16*'
left_out+=':*RangesOfSeveralChunks*:RunRange.ColumnsOfRangesThatBeginWithin*:Executor.GetsAtMost*'
export DEQUANT_FEWER_CASES=1
export GTEST_TOTAL_SHARDS=16 GTEST_BRIEF=1 GTEST_FILTER="-$left_out"
shard() {
  GTEST_SHARD_INDEX=$1 qemu-aarch64 -L /usr/aarch64-linux-gnu "$out/arm_tests" |
    sed '/^Running main/d'
}
export -f shard
seq $((GTEST_TOTAL_SHARDS - 1)) -1 0 | xargs -P 2 -I{} bash -c 'set -o pipefail; shard {}'
