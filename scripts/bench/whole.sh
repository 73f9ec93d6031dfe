#!/usr/bin/env bash
# Nanoseconds per call that the tracer adds to a whole program, from process start to the finished trace: 2 M pwrites on /dev/shm.
#
# Usage: scripts/bench.sh whole [--calls N] [--runs R] [--peer LIB]   (a library with Darshan's switches, whose log must have the calls)
# Runs alternate; the overhead is the median of the differences within rounds.
set -euo pipefail
# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

calls=2000000 runs=5 peer=''
while [ $# -gt 0 ]; do
    case $1 in
    --calls) calls=$2 ;;
    --runs) runs=$2 ;;
    --peer) peer=$2 ;;
    *) die "unknown option $1" ;;
    esac
    shift 2
done
build_all
mkdir "$work/traces"

# timed COMMAND...: nanoseconds per call, everything included.
timed() {
    local begun ended
    begun=$(date +%s%N)
    "$@"
    ended=$(date +%s%N)
    awk -v d=$((ended - begun)) -v n="$calls" 'BEGIN { printf "%.2f\n", d / n }'
}

command=("$work/bench_calls" whole "$calls" "$data/file")
: >"$work/nothing" && : >"$work/trace" && : >"$work/peer"
for _ in $(seq "$runs"); do
    timed "${command[@]}" >>"$work/nothing"
    rm -f "$work"/traces/*
    timed env DXT_ENABLE=trace DXT_BUFFER_MAX=4G DXT_OUTPUT_DIR="$work/traces" LD_PRELOAD="$library" \
        "${command[@]}" >>"$work/trace"
    if [ -n "$peer" ]; then
        timed with_peer "${command[@]}" >>"$work/peer"
        logged=$(peer_logged whole)
        [ "$logged" -ge "$calls" ] || echo "$logged" >"$work/unlogged"
    fi
done
size=$(find "$work/traces" -name '*.dxt' -printf '%s\n' | awk '{ s += $1 } END { print s + 0 }')
machine
echo "$calls pwrites of 1 byte on /dev/shm and nothing else, $runs alternating runs, process start to finished trace;"
echo "nanoseconds per call: median (least .. greatest); DXT_BUFFER_MAX=4G, so that every call is in the trace"
show() {
    read -r median least greatest < <(median_and_spread)
    printf '%-28s %s (%s .. %s)\n' "$1" "$median" "$least" "$greatest"
}
show "untraced" <"$work/nothing"
show "traced" <"$work/trace"
differences "$work/nothing" "$work/trace" | show "added by the tracer"
if [ -e "$work/unlogged" ]; then
    echo "no time for the peer: its log has $(cat "$work/unlogged") of $calls calls"
elif [ -n "$peer" ]; then
    differences "$work/nothing" "$work/peer" | show "added by the peer"
fi
awk -v s="$size" -v n="$calls" 'BEGIN { printf "%-28s %d bytes, %.2f per call\n", "trace", s, s / n }'
