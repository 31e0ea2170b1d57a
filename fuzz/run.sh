#!/usr/bin/env bash
# Runs every target, two at a time: run.sh [RUNS] [TARGET...]
#
#   RUNS           executions of each target, 10,000,000 unless given
#   FUZZ_BUILD     the build folder, build-fuzz unless set
#   FUZZ_JOBS      targets at a time, 2 unless set
#   FUZZ_SEED      1 unless set: another one searches elsewhere
#   FUZZ_SHARED    a folder of conformance cases to start from, ../shared/conformance unless set
#
# Corpora stay in $FUZZ_BUILD/corpus and are where the next run begins. Findings are left in
# $FUZZ_BUILD/findings; with one, the exit status is 1.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export runs=${1:-10000000} build=${FUZZ_BUILD:-build-fuzz} seed=${FUZZ_SEED:-1}
shift $(($# > 0 ? 1 : 0))
targets=("$@")
if [ ${#targets[@]} = 0 ]; then
  for program in "$build"/fuzz/*_fuzz; do targets+=("$(basename "$program" _fuzz)"); done
fi
mkdir -p "$build"/{corpus,findings,logs}
[ -n "$(ls "$build/corpus")" ] ||
  python3 fuzz/seeds.py "$build/corpus" "${FUZZ_SHARED:-../shared/conformance}"

# A small quarantine stays in the caches. Entropic schedules cost a quarter of the executions here.
export ASAN_OPTIONS=quarantine_size_mb=8:malloc_context_size=3

one() {
  local target=$1 length=256 dict=()
  case $target in
    cases | directml_json | onnx_model | onnx_tensor | npy | safetensors | gguf | \
      tflite) length=2048 ;;
    checkpoint_config | checkpoint_index) length=1024 ;;
  esac
  [ -f "fuzz/$target.dict" ] && dict=("-dict=fuzz/$target.dict")
  mkdir -p "$build/corpus/$target"
  "$build/fuzz/${target}_fuzz" -runs="$runs" -max_len="$length" -seed="$seed" -timeout=10 \
    -rss_limit_mb=2048 -malloc_limit_mb=512 -print_final_stats=1 -print_funcs=0 -entropic=0 \
    "${dict[@]}" \
    -artifact_prefix="$build/findings/$target-" "$build/corpus/$target" \
    >"$build/logs/$target" 2>&1 || echo "$target $?" >>"$build/findings/failed"
}
export -f one
rm -f "$build/findings/failed"
printf '%s\n' "${targets[@]}" | xargs -P "${FUZZ_JOBS:-2}" -I{} bash -c 'one {}'

printf '%-18s %12s %9s %8s\n' target executions exec/s corpus
for target in "${targets[@]}"; do
  stat() { awk -v key="stat::$1:" '$1 == key { print $2 }' "$build/logs/$target"; }
  printf '%-18s %12s %9s %8s\n' "$target" "$(stat number_of_executed_units)" \
    "$(stat average_exec_per_sec)" "$(find "$build/corpus/$target" -type f | wc -l)"
done
[ ! -e "$build/findings/failed" ] && echo "no finding" && exit
while read -r target status; do
  case $status in 72 | 130 | 137 | 143) what=interrupted ;; *) what="a finding" ;; esac
  echo "== $target: $what (exit status $status)"
  tail -n 40 "$build/logs/$target"
done <"$build/findings/failed"
exit 1
