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

# By the C compiler alone for a shared library; a static one leaves the C++ runtime to the link.
consume_by_pkg_config_in_c() {
  local prefix=$1 out=$work/c_by_pkg_config_$2 libdir link=cc
  libdir=$(dirname "$(find_in "$prefix" 'libdequant.*')")
  export PKG_CONFIG_PATH=$libdir/pkgconfig
  # shellcheck disable=SC2046
  cc -std=c11 -O1 -Wall -Wextra -pedantic -Wconversion -Wstrict-prototypes -Werror \
    -c "$here/c_consumer/main.c" -o "$out.o" $(pkg-config --cflags dequant)
  shift 2
  [ $# -eq 0 ] || link="$CXX $flags"
  # shellcheck disable=SC2046,SC2086
  $link "$out.o" -o "$out" $(pkg-config "$@" --libs dequant)
  LD_LIBRARY_PATH=$libdir "$out"
}

# The headers must be clean under the warnings of others, which an include by CMake would hide.
consume_by_pkg_config() {
  local prefix=$1 out=$work/by_pkg_config_$2 libdir
  shift 2
  libdir=$(dirname "$(find_in "$prefix" 'libdequant.*')")
  export PKG_CONFIG_PATH=$libdir/pkgconfig
  [ "$(pkg-config --modversion dequant)" = "$version" ]
  # shellcheck disable=SC2046,SC2086
  "$CXX" $flags -std=c++20 -O1 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror \
    "$here/consumer/main.cc" -o "$out" $(pkg-config "$@" --cflags --libs dequant)
  LD_LIBRARY_PATH=$libdir "$out"
}

# The C++ example of the README builds as it stands there and prints what its comment says.
readme_example() {
  awk '/^```cpp$/ { on = 1; next } /^```$/ { on = 0 } on' "$source_dir/README.md" >"$work/readme.cc"
  local libdir said
  libdir=$(dirname "$(find_in "$1" 'libdequant.*')")
  # shellcheck disable=SC2046,SC2086
  "$CXX" $flags -std=c++20 -Wall -Wextra -Werror "$work/readme.cc" -o "$work/readme" \
    $(PKG_CONFIG_PATH=$libdir/pkgconfig pkg-config --static --cflags --libs dequant)
  said=$(sed -n 's|.*printf("%g ", v);  // ||p' "$work/readme.cc")
  [ -n "$said" ] && [ "$("$work/readme")" = "$said " ]
}

check_headers() {
  local header
  for header in "$1"/include/{,dequant/,dequant/directml/}*.h; do
    # shellcheck disable=SC2086
    "$CXX" $flags -std=c++20 -Wall -Wextra -Werror -fsyntax-only -I"$1/include" \
      -include "$header" -x c++ /dev/null
  done
}

rm -rf "$work"/{static,shared,log,by_*,c_by_*}
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
check_headers "$work/static"
[ "$("$work/static/bin/dequant" --version)" = "dequant $version" ]
for schema in cases results; do
  cmp "$source_dir/docs/$schema.schema.json" "$work/static/share/doc/dequant/$schema.schema.json"
done
consume_by_cmake "$work/static" static
consume_by_pkg_config "$work/static" static --static
consume_by_cmake_in_c "$work/static" static
consume_by_pkg_config_in_c "$work/static" static --static
readme_example "$work/static"

say "shared, without AVX-512, built within another project that is careless with floats"
quiet cmake -S "$here/embedded" -B "$work/embedded" "-DDEQUANT_SOURCE_DIR=$source_dir" \
  "-DCMAKE_CXX_FLAGS=$flags -O1 -ffast-math" -DDEQUANT_AVX512=OFF
quiet cmake --build "$work/embedded"
"$work/embedded/consumer"
quiet cmake --install "$work/embedded" --prefix "$work/shared"
library=$(find_in "$work/shared" "libdequant.so.$version")
# Until 1.0 the minor version counts.
readelf -d "$library" | grep -F "[libdequant.so.${version%.*}]" >/dev/null
python3 "$here/check_symbols.py" "$work/shared/include" "$library"
consume_by_cmake "$work/shared" shared
consume_by_pkg_config "$work/shared" shared
consume_by_cmake_in_c "$work/shared" shared
consume_by_pkg_config_in_c "$work/shared" shared
say "all consumers work"
