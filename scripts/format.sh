#!/usr/bin/env bash
# Checks that the C++ sources are formatted and hold no loose ends, and that no line of the tree is
# too long; --fix formats the C++ sources.
#
# clang-format 14 decides: other versions break lines elsewhere.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

mapfile -t sources < <(
  git ls-files --cached --others --exclude-standard -- '*.h' '*.hpp' '*.cc' '*.c' |
    while read -r path; do [ -e "$path" ] && echo "$path"; done)
if [ "${1:-}" = --fix ]; then
  clang-format-14 -i "${sources[@]}"
  exit
fi
clang-format-14 --dry-run --Werror "${sources[@]}"
if grep -nE '\b(TODO|FIXME|XXX)\b' "${sources[@]}" | grep -vE '#[0-9]+'; then
  echo "format: a TODO names its issue, as in TODO(#12)" >&2
  exit 1
fi
scripts/check_columns.py
echo "format: ${#sources[@]} files, good"
