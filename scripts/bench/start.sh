#!/usr/bin/env bash
# Microseconds that the tracer adds to a short process, from start to end: a process with two calls on /dev/shm.
#
# Usage: scripts/bench.sh start [--processes N] [--runs R] [--clock wall|cpu]
# Runs of N processes alternate; results are medians of the differences within rounds. `--clock cpu` measures processor time, which other
# work on the machine disturbs less.
#   nothing  untraced          off   preloaded, DXT_ENABLE=off
#   trace    without a spool   spool the default: traced, with a spool
#   budget   as spool, with a budget that the processes of a job share (DXT_JOB_BYTES)
#   site     configuration of scripts/site/dxt.conf, which excludes processes without MPI
#   limits   as site, with DXT_PROCESSES=all: recorded, then discarded by the minimum run time and I/O
set -euo pipefail
# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

processes=100 runs=5 clock=wall
while [ $# -gt 0 ]; do
    case $1 in
    --processes) processes=$2 ;;
    --runs) runs=$2 ;;
    --clock) clock=$2 ;;
    *) die "unknown option $1" ;;
    esac
    shift 2
done
build_all

case $clock in wall | cpu) ;; *) die "--clock is wall or cpu" ;; esac
# The site's output directory does not exist on this machine.
sed "s|^DXT_OUTPUT_DIR=.*|DXT_OUTPUT_DIR=$work/traces|" "$project/scripts/site/dxt.conf" >"$work/site.conf"

# look: sets `now` in microseconds by the chosen clock. The cpu clock counts ended children of this shell, to a millisecond.
look() {
    case $clock in
    wall) now=$(($(date +%s%N) / 1000)) ;;
    cpu)
        times >"$work/times"
        now=$(awk -F '[ms ]' 'NR == 2 { printf "%.0f", ($1 + $4) * 60000000 + ($2 + $5) * 1000000 }' "$work/times")
        ;;
    esac
}

# timed VARIABLE...: microseconds per process with these variables set.
timed() {
    local begun
    look && begun=$now
    for _ in $(seq "$processes"); do env "$@" "$work/bench_calls" whole 1 "$data/file"; done
    look
    echo $(((now - begun) / processes))
    rm -rf "$work/traces"
}

modes=(nothing off trace spool budget site limits)
for mode in "${modes[@]}"; do : >"$work/$mode"; done
for _ in $(seq "$runs"); do
    timed A=a >>"$work/nothing"
    timed DXT_ENABLE=off LD_PRELOAD="$library" >>"$work/off"
    timed DXT_ENABLE=trace DXT_SPOOL=off DXT_OUTPUT_DIR="$work/traces" LD_PRELOAD="$library" >>"$work/trace"
    timed DXT_ENABLE=trace DXT_OUTPUT_DIR="$work/traces" LD_PRELOAD="$library" >>"$work/spool"
    timed DXT_ENABLE=trace DXT_OUTPUT_DIR="$work/traces" DXT_SPOOL="$work" DXT_JOB_BYTES=1G DXT_JOB_ID="bench.$$" LD_PRELOAD="$library" >>"$work/budget"
    timed DXT_CONFIG="$work/site.conf" LD_PRELOAD="$library" >>"$work/site"
    timed DXT_CONFIG="$work/site.conf" DXT_PROCESSES=all LD_PRELOAD="$library" >>"$work/limits"
done
machine
echo "$runs alternating runs of $processes processes, env(1) included; microseconds ($clock clock) per process: median (least .. greatest)"
for mode in "${modes[@]}"; do
    if [ "$mode" = nothing ]; then numbers=$(cat "$work/nothing"); else numbers=$(differences "$work/nothing" "$work/$mode"); fi
    read -r median least greatest < <(printf '%s\n' "$numbers" | median_and_spread)
    printf '%-8s %s\n' "$mode" "$median ($least .. $greatest)"
done
