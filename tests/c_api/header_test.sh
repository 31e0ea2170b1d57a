#!/usr/bin/env bash
# dequant.h and dequant_cuda.h, and nothing before them, are clean C99, C11, C++11 and C++20 under
# the warnings of others, in every compiler that is there.
#
#   header_test.sh INCLUDE_DIR
set -euo pipefail
include=$1
tried=0

# check LANGUAGE COMPILER FLAG...
check() {
  local language=$1 compiler=$2
  shift 2
  command -v "$compiler" >/dev/null || return 0
  for header in dequant.h dequant_cuda.h; do
    "$compiler" "$@" -Werror -I"$include" -fsyntax-only -x "$language" - <<<"#include \"$header\""
  done
  tried=$((tried + 1))
}

for compiler in gcc clang clang-14; do
  for standard in c99 c11; do
    check c "$compiler" "-std=$standard" -Wall -Wextra -pedantic -Wconversion -Wstrict-prototypes
  done
done
for compiler in g++ clang++ clang++-14; do
  for standard in c++11 c++20; do
    check c++ "$compiler" "-std=$standard" -Wall -Wextra -Wpedantic
  done
done
[ "$tried" -ge 2 ] # a C and a C++ compiler at least
echo "header: good in $tried ways"
