#!/usr/bin/env bash
# The example in C prints what its manual says.
#
#   example_test.sh PROGRAM MANUAL
set -euo pipefail
said=$(awk '/^```text$/ { on = 1; next } /^```$/ { on = 0 } on' "$2")
[ -n "$said" ]
got=$("$1")
diff <(printf '%s\n' "$said") <(printf '%s\n' "$got")
echo "example: as documented"
