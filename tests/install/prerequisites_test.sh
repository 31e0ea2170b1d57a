#!/usr/bin/env bash
# What CMake says where packages are missing: all of them at once, and the command that installs
# them.
#
#   prerequisites_test.sh SOURCE BUILD
set -euo pipefail
source_dir=$1 work=$2/prerequisites_test

# says TEXT...: CMake fails with the options in `options`, and its message has all of these texts.
says() {
  rm -rf "$work"
  mkdir -p "$work"
  if env -u CXX cmake -S "$source_dir" -B "$work/build" -G Ninja "${options[@]}" \
    >"$work/log" 2>&1; then
    echo "prerequisites: CMake found everything, with ${options[*]}"
    exit 1
  fi
  local text
  for text in "$@"; do
    tr -s ' \n' ' ' <"$work/log" | grep -F -e "$text" >/dev/null && continue
    cat "$work/log"
    echo "prerequisites: not said: $text"
    exit 1
  done
}

options=(-DCMAKE_DISABLE_FIND_PACKAGE_fmt=ON -DCMAKE_DISABLE_FIND_PACKAGE_CLI11=ON
         -DCMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=ON)
says "missing: libfmt-dev libcli11-dev nlohmann-json3-dev" "scripts/setup.sh build" \
  "apt-get install libfmt-dev libcli11-dev nlohmann-json3-dev"

# A machine without headers of packages, where pkg-config is installed and knows none.
options=(-DCMAKE_SYSTEM_PREFIX_PATH=/nonexistent -DCMAKE_SYSTEM_INCLUDE_PATH=/nonexistent
         -DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF
         -DCMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH=OFF "-DCMAKE_MAKE_PROGRAM=$(command -v ninja)")
says "missing: g++ " "scripts/setup.sh build"
options+=("-DCMAKE_CXX_COMPILER=$(command -v "${CXX:-c++}")")
says "missing: libhwy-dev " "libfmt-dev" "libflatbuffers-dev" "libprotozero-dev" "libxxhash-dev" \
  "nettle-dev"
echo "prerequisites: good"
