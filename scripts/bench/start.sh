#!/usr/bin/env bash
# Microseconds that the tracer adds to a short process, from its start to its end: two calls on /dev/shm, nothing else.
#
# Usage: scripts/bench.sh start [--processes N] [--runs R]
# Runs of N processes alternate (nothing, off, trace, spool, ...); what is added is the median of the differences within each round.
set -euo pipefail
# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

processes=100 runs=5
while [ $# -gt 0 ]; do
    case $1 in
    --processes) processes=$2 ;;
    --runs) runs=$2 ;;
    *) die "unknown option $1" ;;
    esac
    shift 2
done
build_all

# timed VARIABLE...: microseconds per process with these variables set.
timed() {
    local begun ended
    begun=$(date +%s%N)
    for _ in $(seq "$processes"); do env "$@" "$work/bench_calls" whole 1 "$data/file"; done
    ended=$(date +%s%N)
    awk -v d=$((ended - begun)) -v n="$processes" 'BEGIN { printf "%.0f\n", d / n / 1000 }'
    rm -rf "$work/traces"
}

modes=(nothing off trace spool)
for mode in "${modes[@]}"; do : >"$work/$mode"; done
for _ in $(seq "$runs"); do
    timed A=a >>"$work/nothing"
    timed DXT_ENABLE=off LD_PRELOAD="$library" >>"$work/off"
    timed DXT_ENABLE=trace DXT_SPOOL=off DXT_OUTPUT_DIR="$work/traces" LD_PRELOAD="$library" >>"$work/trace"
    timed DXT_ENABLE=trace DXT_OUTPUT_DIR="$work/traces" LD_PRELOAD="$library" >>"$work/spool"
done
machine
echo "$runs alternating runs of $processes processes, env(1) included; microseconds per process: median (least .. greatest)"
for mode in "${modes[@]}"; do
    if [ "$mode" = nothing ]; then numbers=$(cat "$work/nothing"); else numbers=$(differences "$work/nothing" "$work/$mode"); fi
    read -r median least greatest < <(printf '%s\n' "$numbers" | median_and_spread)
    printf '%-8s %s\n' "$mode" "$median ($least .. $greatest)"
done
