#!/usr/bin/env bash
# Installs dequant as others would get it, static and shared, then builds and runs a consumer of
# each through CMake and through pkg-config.
#
#   install_test.sh SOURCE BUILD VERSION COMPILER [FLAGS]
#
# BUILD is a finished build of SOURCE; COMPILER and FLAGS are those it was built with.
set -euo pipefail
source_dir=$1 build_dir=$2 version=$3 compiler=$4 flags=${5:-}
here=$source_dir/tests/install
work=$build_dir/install_test
export CXX=$compiler CXXFLAGS=$flags CMAKE_GENERATOR=Ninja CMAKE_BUILD_PARALLEL_LEVEL=2

say() { printf '%s\n' "-- $*"; }

find_in() { find "$1" -name "$2" -print -quit | grep . || { say "no $2 in $1"; exit 1; }; }

# quiet COMMAND...: shows what the command printed only if it fails.
quiet() { "$@" >"$work/log" 2>&1 || { cat "$work/log"; say "failed: $*"; exit 1; }; }

consume_by_cmake() {
  local prefix=$1 out=$work/by_cmake_$2
  quiet cmake -S "$here/consumer" -B "$out" "-DCMAKE_PREFIX_PATH=$prefix" \
    "-DDEQUANT_VERSION=${version%.*}"
  quiet cmake --build "$out"
  "$out/consumer"
}

consume_by_cmake_in_c() {
  local prefix=$1 out=$work/c_by_cmake_$2
  quiet cmake -S "$here/c_consumer" -B "$out" "-DCMAKE_PREFIX_PATH=$prefix" \
    "-DDEQUANT_VERSION=${version%.*}"
  quiet cmake --build "$out"
  "$out/c_consumer"
}

# By the C compiler alone: what a static library needs beside it is in dequant.pc. Sanitizers need
# the compiler that has them.
consume_by_pkg_config_in_c() {
  local prefix=$1 out=$work/c_by_pkg_config_$2 libdir link=cc
  libdir=$(dirname "$(find_in "$prefix" 'libdequant.*')")
  export PKG_CONFIG_PATH=$libdir/pkgconfig
  # shellcheck disable=SC2046
  cc -std=c11 -O1 -Wall -Wextra -pedantic -Wconversion -Wstrict-prototypes -Werror \
    -c "$here/c_consumer/main.c" -o "$out.o" $(pkg-config --cflags dequant)
  [ -z "$flags" ] || link="$CXX $flags"
  # shellcheck disable=SC2046,SC2086
  $link "$out.o" -o "$out" $(pkg-config --libs dequant)
  LD_LIBRARY_PATH=$libdir "$out"
}

# The headers must be clean under the warnings of others, which an include by CMake would hide.
consume_by_pkg_config() {
  local prefix=$1 out=$work/by_pkg_config_$2 libdir
  libdir=$(dirname "$(find_in "$prefix" 'libdequant.*')")
  export PKG_CONFIG_PATH=$libdir/pkgconfig
  [ "$(pkg-config --modversion dequant)" = "$version" ]
  # shellcheck disable=SC2046,SC2086
  "$CXX" $flags -std=c++20 -O1 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror \
    "$here/consumer/main.cc" -o "$out" $(pkg-config --cflags --libs dequant)
  LD_LIBRARY_PATH=$libdir "$out"
}

# One tensor "q" of type Q8_0: the codes 0 to 31 with a scale of 0.5.
write_gguf() {
  python3 - "$1" <<'EOF'
import struct, sys
header = b"GGUF" + struct.pack("<IQQ", 3, 1, 0)
tensor = struct.pack("<Q", 1) + b"q" + struct.pack("<IQIQ", 1, 32, 8, 0)
block = struct.pack("<e", 0.5) + bytes(range(32))
open(sys.argv[1], "wb").write((header + tensor).ljust(64, b"\0") + block.ljust(64, b"\0"))
EOF
}

# The library of model files, from C++ and from C, by CMake and by pkg-config.
consume_models() {
  local prefix=$1 out=$work/models_$2 libdir program
  libdir=$(dirname "$(find_in "$prefix" 'libdequant.*')")
  write_gguf "$work/q.gguf"
  quiet cmake -S "$here/model_consumer" -B "$out" "-DCMAKE_PREFIX_PATH=$prefix" \
    "-DDEQUANT_VERSION=${version%.*}"
  quiet cmake --build "$out"
  export PKG_CONFIG_PATH=$libdir/pkgconfig
  # shellcheck disable=SC2046
  cc -std=c11 -Wall -Wextra -pedantic -Werror -c "$here/model_consumer/main.c" \
    -o "$out/c_by_pkg_config.o" $(pkg-config --cflags dequant-model)
  # shellcheck disable=SC2046,SC2086
  "$CXX" $flags "$out/c_by_pkg_config.o" -o "$out/c_by_pkg_config" "-Wl,-rpath,$libdir" \
    $(pkg-config --libs dequant-model)
  # shellcheck disable=SC2046,SC2086
  "$CXX" $flags -std=c++20 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror \
    "$here/model_consumer/main.cc" -o "$out/by_pkg_config" "-Wl,-rpath,$libdir" \
    $(pkg-config --cflags --libs dequant-model)
  # Not by LD_LIBRARY_PATH: the library of model files finds that of the core itself.
  for program in model_consumer c_model_consumer c_by_pkg_config by_pkg_config; do
    "$out/$program" "$work/q.gguf" "$work/q_float.gguf"
  done
}

# The message for a component that is not installed names it.
miss_component() {
  local out=$work/missing_component
  mkdir -p "$out"
  printf 'cmake_minimum_required(VERSION 3.25)\nproject(missing LANGUAGES CXX)\n%s\n' \
    'find_package(dequant REQUIRED COMPONENTS modle)' >"$out/CMakeLists.txt"
  if cmake -S "$out" -B "$out/build" "-DCMAKE_PREFIX_PATH=$1" >"$work/log" 2>&1 ||
    ! tr -s '[:space:]' ' ' <"$work/log" | grep -F 'no component modle of' >/dev/null; then
    cat "$work/log"
    say "no word of the component that is not installed"
    exit 1
  fi
}

# The lines of the README's C++ example of that number.
cpp_of_readme() {
  awk -v n="$1" '/^```cpp$/ { on = ++i == n; next } /^```$/ { on = 0 } on' "$source_dir/README.md"
}

# The lines about model files compile within a function.
readme_model_example() {
  { printf '#include <cstdio>\n#include <span>\n#include <vector>\n#include <dequant/model.h>\n'
    printf 'int main() {\n'
    cpp_of_readme 2 | grep -F 'Model::open' -A 99
    printf '}\n'; } >"$work/readme_model.cc"
  # shellcheck disable=SC2086
  "$CXX" $flags -std=c++20 -Wall -Wextra -Wno-unused-result -Werror -fsyntax-only -I"$1/include" \
    "$work/readme_model.cc"
}

# The C++ example of the README builds as it stands there and prints what its comment says.
readme_example() {
  cpp_of_readme 1 >"$work/readme.cc"
  local libdir said
  libdir=$(dirname "$(find_in "$1" 'libdequant.*')")
  # shellcheck disable=SC2046,SC2086
  "$CXX" $flags -std=c++20 -Wall -Wextra -Werror "$work/readme.cc" -o "$work/readme" \
    $(PKG_CONFIG_PATH=$libdir/pkgconfig pkg-config --cflags --libs dequant)
  said=$(sed -n 's|.*printf("%g ", v);  // ||p' "$work/readme.cc")
  [ -n "$said" ] && [ "$("$work/readme")" = "$said " ]
}

# The shared library of model files as CMake links it, from the objects of BUILD: compiling all of
# format/ again would take longer than everything else here. One group of files is compiled, with
# the flags of the host.
link_models() {
  local embedded=$1 library=dequant/libdequant_model.so group
  group=dequant/CMakeFiles/dequant_format.dir/Unity/unity_0_cxx.cxx.o
  quiet cmake --build "$embedded" --target "$group"
  cp -r "$build_dir"/CMakeFiles/dequant_{format,model}.dir "$embedded/dequant/CMakeFiles"
  (cd "$embedded"
    for target in "$library.$version" "$library"; do
      eval "$(ninja -t commands -s "$target")"
    done)
}

# An empty entry of a run-time path is the current directory, which may hold anybody's libraries.
check_run_time_paths() {
  local file path
  for file; do
    path=$(readelf -d "$file" | sed -nE 's/.*\(R(UN)?PATH\).*\[(.*)\]$/\2/p')
    if [[ $path == :* || $path == *: || $path == *::* ]]; then
      say "$file loads libraries from the current directory: $path"
      exit 1
    fi
  done
}

rm -rf "$work"/{static,shared,log,by_*,c_by_*,models_*}
mkdir -p "$work"

say "static, as built"
quiet cmake --install "$build_dir" --prefix "$work/static"
if grep -E '^-- (Installing|Up-to-date):' "$work/log" | grep -vF "$work/static"; then
  say "the install goes beside its prefix"
  exit 1
fi
package=$(dirname "$(find_in "$work/static" dequantTargets.cmake)")
if grep -rE 'Werror|dequant_flags|dequant_objects' "$package"; then
  say "the package hands our own flags on"
  exit 1
fi
[ "$("$work/static/bin/dequant" --version)" = "dequant $version" ]
for schema in cases results; do
  cmp "$source_dir/docs/$schema.schema.json" "$work/static/share/doc/dequant/$schema.schema.json"
done
consume_by_cmake "$work/static" static
consume_by_pkg_config "$work/static" static
consume_by_cmake_in_c "$work/static" static
consume_by_pkg_config_in_c "$work/static" static
consume_models "$work/static" static
miss_component "$work/static"
readme_example "$work/static"
readme_model_example "$work/static"

say "shared, without AVX-512, built within another project: careless with floats, all files joined,"
say "no exceptions, no RTTI"
quiet cmake -S "$here/embedded" -B "$work/embedded_plain" "-DDEQUANT_SOURCE_DIR=$source_dir"
quiet cmake -S "$here/embedded" -B "$work/embedded" "-DDEQUANT_SOURCE_DIR=$source_dir" \
  "-DCMAKE_CXX_FLAGS=$flags -O1 -ffast-math -fno-exceptions -fno-rtti" -DCMAKE_UNITY_BUILD=ON \
  -DDEQUANT_AVX512=OFF -DDEQUANT_MODEL=ON
quiet cmake --build "$work/embedded" --target dequant consumer
link_models "$work/embedded"
grep -qF "own/hwy/highway.h" "$work/embedded/.ninja_deps" ||
  { say "the Highway of the host is not the one that was compiled"; exit 1; }
"$work/embedded/consumer"
quiet cmake --install "$work/embedded" --prefix "$work/shared"
library=$(find_in "$work/shared" "libdequant.so.$version")
check_run_time_paths "$build_dir/dequant" \
  "$(find_in "$work/embedded" "libdequant_model.so.$version")"
# Until 1.0 the minor version counts.
readelf -d "$library" | grep -F "[libdequant.so.${version%.*}]" >/dev/null
python3 "$here/check_symbols.py" "$work/shared/include" "$library" \
  "$(find_in "$work/shared" "libdequant_model.so.$version")"
consume_by_cmake "$work/shared" shared
consume_by_pkg_config "$work/shared" shared
consume_by_cmake_in_c "$work/shared" shared
consume_by_pkg_config_in_c "$work/shared" shared
consume_models "$work/shared" shared
say "all consumers work"
