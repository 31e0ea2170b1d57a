#!/usr/bin/env bash
# Measures the tables of docs/measurements.md and replaces them there. Takes about 15 minutes on an
# idle machine.
#
#   bench/measurements.sh build/dequant              all tables except those of peers
#   bench/measurements.sh build/dequant beyond avx2  only these tables
set -euo pipefail
if [ $# -eq 0 ]; then
  echo 'measurements: which dequant? As in: bench/measurements.sh build/dequant' >&2
  exit 2
fi
dequant=$(realpath "$1")
shift
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[ $# -gt 0 ] || set -- beyond avx2 caches ranges threads cliffs transposes checkpoints_avx512 \
  checkpoints_avx2

granularities='per_tensor,per_axis_last,blocked_32_last'
few=$(for x in u i f; do printf "$x*/%s," ${granularities//,/ }; done)
usual=$(for x in uint8 int4 float8e4m3fn; do printf '%s/*,strided/%s/*scale*,' "$x" "$x"; done)
reports=$(mktemp -d)
trap 'rm -rf "$reports"' EXIT

measure() {
  local name=$1
  shift
  "$dequant" bench "$@" --json >"$reports/$name"
  bench/tables.py "$reports/$name" --into docs/measurements.md --name "$name"
}

for name in "$@"; do
  case $name in
    beyond) measure "$name" --cell "$usual$few" --elements 256Mi --repeat 3 ;;
    avx2) measure "$name" --cell "$usual$few" --elements 256Mi --repeat 3 --target avx2 ;;
    caches) measure "$name" --cell "$usual" --elements 256Ki ;;
    ranges) measure "$name" --cell 'ranges/*' --elements 256Mi --repeat 3 ;;
    threads)
      measure "$name" --cell '[uif]*/per_tensor' --elements 256Mi --repeat 3 --threads 1,all
      ;;
    cliffs) measure "$name" --cell 'cliff/uint8/*,cliff/int4/*' --elements 256Mi ;;
    transposes)
      measure "$name" --cell 'strided/uint8/*/n*,strided/int4/*/n*' --elements 256Mi --repeat 3
      ;;
    checkpoints_avx512) measure "$name" --cell 'checkpoint/*' --elements 256Mi --repeat 3 ;;
    checkpoints_avx2)
      measure "$name" --cell 'checkpoint/*' --elements 256Mi --repeat 3 --target avx2
      ;;
    *)
      echo "measurements: $name is none of beyond, avx2, caches, ranges, threads, cliffs," \
        "transposes, checkpoints_avx512, checkpoints_avx2" >&2
      exit 2
      ;;
  esac
done
