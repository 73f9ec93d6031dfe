#!/usr/bin/env bash
# Writes the analyzer's output on every trace and log in testdata, one file per command and format. Run it before and after a change that
# must not change output, and compare the two directories.
# usage: scripts/outputs.sh BINARY DIR [LOG...]     further logs and traces
#        diff -r DIR-BEFORE DIR-AFTER
set -euo pipefail
# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

[ $# -ge 2 ] || die "usage: scripts/outputs.sh BINARY DIR [LOG...]"
analyze=$(realpath "$1")
dir=$(realpath -m "$2")
more=("${@:3}")
synth=$(dirname "$analyze")/dxt-synth
[ -x "$synth" ] || die "there is no dxt-synth beside $analyze: cargo build --workspace"
mkdir -p "$dir/in"
[ -z "$(find "$dir" -mindepth 1 -maxdepth 1 ! -name in)" ] || die "$dir is not empty"

for pattern in ior-shared ior-strided file-per-process hacc random gcrm; do
    "$synth" "$pattern" -o "$dir/in/$pattern.dxt"
done
cp "$project"/testdata/golden/*.dxt "$project"/testdata/darshan/*.darshan "$dir/in"
for log in "${more[@]}"; do cp "$log" "$dir/in/more-${log##*/}"; done
cd "$dir/in"

# say PLACE COMMAND ARG...: writes one output, and its exit code and errors in a file beside it.
say() {
    local place=$dir/$1 code=0
    mkdir -p "$(dirname "$place")"
    "$analyze" "${@:2}" >"$place" 2>"$place.errors" || code=$?
    [ "$code" = 0 ] || echo "exit $code" >>"$place.errors"
    [ -s "$place.errors" ] || rm "$place.errors"
}

forms() {
    for form in table json csv; do
        say "$1.$form" "${@:2}" --format "$form"
    done
}

of_one() {
    local input=$1 layout=$project/testdata/layouts/four-by-1m.layout
    for command in summary ledger counters layers checks timeline signatures stripes check dump; do
        [ "$command" = dump ] || forms "$input/$command" "$command" "$input"
    done
    for form in text json csv; do say "$input/dump.$form" dump "$input" --format "$form"; done
    for by in op rank node ost file; do forms "$input/outliers-$by" outliers "$input" --by "$by"; done
    forms "$input/outliers-windows" outliers "$input" --by rank --windows phases
    forms "$input/outliers-duration" outliers "$input" --metric duration --layout "$layout"
    forms "$input/stripes-layout" stripes "$input" --layout "$layout" --what-if size=2M,count=3 --recommend
    forms "$input/compare" compare "$input" ior-shared.dxt
    forms "$input/signatures-local" signatures "$input" --level local --notation iosig
    forms "$input/selected" summary "$input" --ranks 0:1 --layer posix
    say "$input/checks-all" checks "$input" --all
    say "$input/page" report "$input" -o "../$input/page.html" --layout "$layout"
    for to in dxt-parser perfetto csv json; do say "$input/export.$to" export "$input" --to "$to" -o -; done
    say "$input/export" export "$input" --to parquet -o "../$input/parquet"
    say "$input/export-log" export "$input" --to darshan -o "../$input/export.darshan"
}

count=0
for input in *; do
    of_one "$input" &
    count=$((count + 1))
    [ $((count % $(nproc))) != 0 ] || wait
done
wait
forms corpus corpus .
forms corpus-fast corpus . --no-findings
forms explain explain
for command in summary ledger outliers stripes counters layers checks compare timeline signatures report serve dump convert export expand corpus scaling check explain recover advise; do
    say "help/$command" "$command" --help
done
say help/all --help
find "$dir" -path "$dir/in" -prune -o -type f -print | wc -l
