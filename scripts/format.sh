#!/usr/bin/env bash
# Checks the format of the C++ sources, that every TODO in them has an issue number, and the length
# of all lines of the repository; --fix formats the C++ sources.
#
# Requires clang-format 14: other versions break lines differently.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

mapfile -t sources < <(
  git ls-files --cached --others --exclude-standard -- '*.h' '*.hpp' '*.cc' '*.c' '*.cu' '*.cuh' |
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
