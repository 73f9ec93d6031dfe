#!/usr/bin/env bash
# Builds the Python package as a wheel: the module, dxt-analyze, dxt-run and the tracer. docs/python.md says how to use it.
#
# Usage: scripts/package-wheel.sh [--out DIR] [--profile NAME] [--tools DIR] [--python PYTHON] [--plain] [--offline]
#   --out DIR       where the wheel goes (default: dist in cargo's target directory)
#   --profile NAME  cargo's profile for the module (default: wheel); tests use dev, which reuses their own build
#   --tools DIR     directory of built dxt-analyze, dxt-run and libdxt_tracer.so (default: build them, in release)
#   --python PYTHON a Python that has maturin, if it is not on PATH
#   --plain         link with this machine's glibc rather than an older one (scripts/older-glibc.sh); implied by --tools
#   --offline       fetch nothing: all crates are vendored or were fetched before
set -euo pipefail
# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

out='' profile=wheel tools='' python='' offline=() plain=''
while [ $# -gt 0 ]; do
    case $1 in
    --out) out=${2:-} && shift ;;
    --profile) profile=${2:-} && shift ;;
    --tools) tools=${2:-} && shift ;;
    --python) python=${2:-} && shift ;;
    --plain) plain=yes ;;
    --offline) offline=(--offline) ;;
    *) sed -n '4,10s/^# \?//p' "$0" >&2 && exit 2 ;;
    esac
    shift
done
out=${out:-$(target_dir)/dist}
maturin=(maturin)
if [ -n "$python" ]; then maturin=("$python" -m maturin); fi
"${maturin[@]}" --version >/dev/null 2>&1 || die "maturin is needed: pip install maturin"
if ! have readelf || ! have strip; then die "readelf and strip are needed: install binutils"; fi

cd "$project"
[ -n "$plain$tools" ] || older_glibc || echo "${0##*/}: the wheel needs this machine's glibc" >&2
if [ -z "$tools" ]; then
    cargo build --release --quiet ${offline[@]+"${offline[@]}"} -p dxt-analyze -p dxt-run -p dxt-tracer
    tools=$(target_dir)/release
fi

# maturin takes these files from a directory beside the package; it is removed at the end.
package=$project/dxt-analyze/python
data=$package/dxt_tracer.data
rm -rf -- "$data"
trap 'rm -rf -- "$data"' EXIT
mkdir -p "$data/scripts" "$data/data/lib/dxt"
install -m 755 "$tools/dxt-analyze" "$tools/dxt-run" "$data/scripts"
install -m 755 "$tools/libdxt_tracer.so" "$data/data/lib/dxt"
# Drops line tables; backtraces keep the names of functions.
strip --strip-debug "$data/scripts/dxt-analyze" "$data/scripts/dxt-run" "$data/data/lib/dxt/libdxt_tracer.so"

# The licences of all linked libraries, as redistribution requires.
mkdir -p "$data/data/share/doc/dxt"
install -m 644 LICENSE "$data/data/share/doc/dxt"
scripts/licences.sh "$data/data/share/doc/dxt/THIRD-PARTY.txt" dxt-python dxt-analyze dxt-run dxt-tracer

# Oldest glibc on which the programs run. If the module needs a newer one, maturin fails with a message.
glibc=$(newest_glibc "$data/scripts/dxt-analyze" "$data/scripts/dxt-run" "$data/data/lib/dxt/libdxt_tracer.so")
glibc=${glibc#2.}
[ "${glibc:-0}" -ge 17 ] || glibc=17

# Building the module needs no Python: it uses the stable ABI of 3.9.
mkdir -p "$out"
"${maturin[@]}" build --quiet --manifest-path "$package/Cargo.toml" --profile "$profile" --out "$out" \
    --compatibility "manylinux_2_$glibc" ${offline[@]+"${offline[@]}"}
for wheel in "$out"/dxt_tracer-*.whl; do
    printf '%s (%s)\n' "$wheel" "$(du -h -- "$wheel" | cut -f 1)"
done
