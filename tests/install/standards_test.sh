#!/usr/bin/env bash
# What the public headers ask of a compiler, in every compiler that is there: C++20, and no
# exceptions. Older standards get one sentence. A program without exceptions links and runs.
#
#   standards_test.sh SOURCE LIBRARY COMPILER [FLAGS]
#
# LIBRARY is the built libdequant; COMPILER and FLAGS are those it was built with.
set -euo pipefail
source_dir=$1 library=$2 compiler=$3 flags=${4:-}
include=$source_dir/include
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

say() { printf '%s\n' "-- $*"; }
fail() { say "$*"; exit 1; }

# Headers without C++20: macros, and C.
is_for_all() {
  case $1 in
    dequant.h | dequant/version.h | dequant/visibility.h | dequant/directml/*) return 0 ;;
    *) return 1 ;;
  esac
}

# only_header HEADER: a file that includes nothing else.
only_header() { printf '#include "%s"\n' "$1" >"$work/only.cc"; }

# check_modern COMPILER FILE WHAT
check_modern() {
  "$1" -std=c++20 -fno-exceptions -Wall -Wextra -Wpedantic -Werror "-I$include" -fsyntax-only \
    "$2" || fail "$1 -fno-exceptions: $3"
}

# Each line with an error says the sentence, and the first one is that of #error.
check_sentence() {
  local cxx=$1 standard=$2 header=$3
  if "$cxx" "-std=$standard" "-I$include" -fsyntax-only "$work/only.cc" 2>"$work/log"; then
    fail "$header compiles with -std=$standard"
  fi
  grep -E '(error|warning): ' "$work/log" >"$work/errors"
  grep -E -m 1 'error: ' "$work/errors" | grep -qE 'error: (#error )?"C\+\+20 is needed"$' ||
    { cat "$work/log"; fail "$cxx -std=$standard, $header: the first error is another one"; }
  if grep -vF 'C++20 is needed' "$work/errors"; then
    fail "$cxx -std=$standard, $header: errors beside the sentence"
  fi
}

# The first compiler gets each header alone, the others all in one file: which headers a header
# needs is the same for all compilers, as they have one standard library.
tried=0
cd "$include"
for cxx in g++ clang++; do
  command -v "$cxx" >/dev/null || continue
  tried=$((tried + 1)) headers=0
  : >"$work/modern.cc"
  for header in dequant.h dequant/*.h dequant/*.hpp dequant/directml/DirectML.h; do
    headers=$((headers + 1))
    printf '#include "%s"\n' "$header" >>"$work/modern.cc"
    if is_for_all "$header"; then
      only_header "$header"
      "$cxx" -std=c++11 -Wall -Wextra -Werror "-I$include" -fsyntax-only "$work/only.cc" ||
        fail "$cxx -std=c++11: $header"
    fi
    [ "$tried" -eq 1 ] || continue
    only_header "$header"
    check_modern "$cxx" "$work/only.cc" "$header"
    is_for_all "$header" && continue
    for standard in c++11 c++17; do check_sentence "$cxx" "$standard" "$header"; done
  done
  check_modern "$cxx" "$work/modern.cc" "all headers"
  cp "$work/modern.cc" "$work/only.cc"
  for standard in c++11 c++17; do check_sentence "$cxx" "$standard" "all headers"; done
  say "$headers headers with $cxx"
  [ "$headers" -gt 30 ]
done
[ "$tried" -ge 1 ]

# shellcheck disable=SC2086
"$compiler" $flags -std=c++20 -fno-exceptions -Wall -Wextra -Werror "-I$include" \
  "$source_dir/tests/install/no_exceptions/main.cc" -o "$work/program" "$library" -pthread \
  "-Wl,-rpath,$(dirname "$library")"
[ "$("$work/program")" = "-1 0 1.5" ] || fail "the program without exceptions is wrong"
# Its process ends where value() would throw, and does not go on.
code=0
(ulimit -c 0; "$work/program" value) >"$work/out" 2>&1 || code=$?
[ "$code" -gt 128 ] || { cat "$work/out"; fail "value() of an error ended with $code"; }
say "a program without exceptions works"
