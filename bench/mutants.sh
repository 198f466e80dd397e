#!/usr/bin/env bash
# Mutation testing of the numeric core with cargo-mutants: does a test fail when a line is changed?
#
#   bench/mutants.sh crates/core/src/ranking/trees/mod.rs ...   the mutants of these files
#   bench/mutants.sh 3/200                                      a shard of all of core, which has about 7,500
#
# A file is tried with the tests of its own module first, and what survives these with all tests of core. Results are
# in $MUTANTS_OUT (default: outside the tree, in the cache of the user); survivors are printed at the end, and every
# one that is known is in bench/mutants.md with the reason why it stays.
set -euo pipefail
[ $# -gt 0 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 2; }
cd "$(dirname "$0")/.."
command -v cargo-mutants > /dev/null || cargo install --locked cargo-mutants

out=${MUTANTS_OUT:-${XDG_CACHE_HOME:-$HOME/.cache}/matchrank/mutants}
mkdir -p "$out"
# Mutants are built and thrown away by the hundred: no optimisation, no debug information.
export CARGO_PROFILE_DEV_DEBUG=0 CARGO_PROFILE_TEST_DEBUG=0
unset CARGO_TARGET_DIR
mutants() {
  local code=0
  nice -n "${NICE:-19}" cargo mutants -p matchrank-core --no-shuffle --baseline skip --jobs 1 --timeout "${TIMEOUT:-120}" \
    --output "$out/$name" "$@" || code=$?
  # 2: some survived, 3: some took too long; all else is a failure of the tool.
  [ "$code" = 0 ] || [ "$code" = 2 ] || [ "$code" = 3 ]
}

survivors=()
for what in "$@"; do
  name=$(tr '/.' '__' <<< "$what")
  rm -rf "${out:?}/$name"
  mkdir -p "$out/$name"
  if [[ $what =~ ^[0-9]+/[0-9]+$ ]]; then
    mutants --shard "$what" -- --lib --tests
  else
    module=${what#crates/core/src/}
    module=${module%.rs}
    module=${module%/mod}
    # A file without tests of its own has them beside it.
    grep -q 'mod tests' "$what" || module=${module%/*}
    mutants --file "$what" -- --lib "${module//\//::}"
    mutants --file "$what" --iterate -- --lib --tests
  fi
  mapfile -t -O "${#survivors[@]}" survivors < "$out/$name/mutants.out/missed.txt"
done
printf '%s\n' "${survivors[@]}" | sort -u
echo "${#survivors[@]} survivors"
