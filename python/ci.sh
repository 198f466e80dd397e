#!/usr/bin/env bash
# Builds the wheel, installs it into a clean environment and runs the tests of the Python package there.
#
#   python/ci.sh CACHE PROGRAM
#
# CACHE is a folder for environments, which are kept by the hash of their requirements; PROGRAM is the command line, whose
# models must have the same bytes. Cargo's target folder is shared with the other steps. Without the package registry the
# tests are skipped with a message.
set -euo pipefail
cd "$(dirname "$0")"
cache=$1 program=$2
target="${CARGO_TARGET_DIR:-../target}"
unset PYTHONPATH

skip() { echo "$1; the Python package is not tested"; exit 0; }
tag=$(python3 -c 'import sys; print(sys.implementation.cache_tag, sys.version_info >= (3, 11))')
case "$tag" in *True) ;; *) skip "Python 3.11 is not there" ;; esac

# An environment is made under another name and moved when it is complete.
environment() {
  local place=$1 && shift
  [ -x "$place/bin/python" ] && return
  rm -rf "$place" "$place.new"
  python3 -m venv "$place.new" &&
    "$place.new/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: --no-deps "$@" &&
    mv "$place.new" "$place" || { rm -rf "$place.new"; return 1; }
}

key=$({ cat tests/requirements.txt; echo "$tag"; } | sha256sum | cut -c1-16)
tests="$cache/python-tests-$key" builder="$cache/maturin-1.16.0-${tag%% *}"
environment "$builder" maturin==1.16.0 || skip "maturin could not be installed"
environment "$tests" --requirement tests/requirements.txt || skip "The packages of the tests could not be installed"

wheels="$target/wheels"
rm -rf "$wheels"
"$builder/bin/python" -m maturin build --quiet --release --locked --interpreter python3 --out "$wheels"
"$builder/bin/python" -m maturin sdist --out "$wheels" > /dev/null 2>&1
wheel=$(ls "$wheels"/*.whl)
[ "$(echo "$wheel" | wc -l)" = 1 ] || { echo "more than one wheel: $wheel"; exit 1; }
size=$(stat -c %s "$wheel")
echo "$(basename "$wheel"): $((size / 1000)) kB"
[ "$size" -lt 25000000 ] || { echo "the wheel is larger than 25 MB"; exit 1; }
"$tests/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall "$wheel"

# From the folder of the tests, so that the package is the installed one.
cd tests
MATCHRANK_PROGRAM=$(realpath "$program") "$tests/bin/python" -m pytest -p no:cacheprovider -W ignore::DeprecationWarning \
  -W ignore::pandas.errors.Pandas4Warning .
