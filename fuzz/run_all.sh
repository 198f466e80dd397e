#!/usr/bin/env bash
# Runs every fuzz target for some minutes and reports: fuzz/run_all.sh MINUTES [TARGET...]
#
# Two targets run at a time (JOBS=N for another number). Logs and corpora go to fuzz/corpus, inputs that fail to
# fuzz/artifacts. Exit code 1 if a target failed. Uses the nightly toolchain where there is one, else the stable
# compiler with RUSTC_BOOTSTRAP=1.
set -euo pipefail
minutes=${1:?usage: fuzz/run_all.sh MINUTES [TARGET...]}
shift
cd "$(dirname "$0")/.."

if cargo +nightly --version > /dev/null 2>&1; then cargo=(cargo +nightly); else cargo=(cargo); export RUSTC_BOOTSTRAP=1; fi
targets=("$@")
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <("${cargo[@]}" fuzz list)
for target in "${targets[@]}"; do "${cargo[@]}" fuzz build "$target"; done

logs=fuzz/corpus/logs
mkdir -p "$logs"
# Threads of rayon's pool live as long as the process; what they hold is no leak.
one() {
  local target=$1 corpus=fuzz/corpus/$1 options=(-max_total_time=$((minutes * 60)) -timeout=30 -rss_limit_mb=4096 -detect_leaks=0 -print_final_stats=1)
  mkdir -p "$corpus"
  local folders=("$corpus")
  [ -d "fuzz/seeds/$target" ] && folders+=("fuzz/seeds/$target")
  [ "$target" = model_file ] && folders+=(tests/golden/model_files) && options+=(-max_len=8192)
  [ -f "fuzz/$target.dict" ] && options+=("-dict=fuzz/$target.dict")
  "${cargo[@]}" fuzz run "$target" "${folders[@]}" -- "${options[@]}" > "$logs/$target" 2>&1 || touch "$logs/$target.failed"
}

rm -f "$logs"/*.failed
for target in "${targets[@]}"; do
  while [ "$(jobs -rp | wc -l)" -ge "${JOBS:-2}" ]; do wait -n; done
  one "$target" &
done
wait


printf '%-16s %12s %10s  %s\n' target executions coverage result
failed=0
for target in "${targets[@]}"; do
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$logs/$target" | tail -n 1)
  coverage=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$logs/$target" | tail -n 1)
  result=passed
  if [ -e "$logs/$target.failed" ]; then
    failed=$((failed + 1))
    result="failed: $(grep -m 1 -E 'panicked at|ERROR:|SUMMARY:' "$logs/$target" || tail -n 1 "$logs/$target")"
  fi
  printf '%-16s %12s %10s  %s\n' "$target" "${runs:-?}" "${coverage:-?}" "$result"
done
echo "$((${#targets[@]} - failed)) passed, $failed failed"
[ "$failed" = 0 ]
