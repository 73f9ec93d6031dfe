#!/usr/bin/env bash
# Nanoseconds that the tracer adds to small calls on /dev/shm (1 byte; fwrite and fread 8 bytes; open and lock: a pair of calls):
# switched off, tracing without and with a spool, and without call sites (DXT_SITES=off), counting (DXT_ENABLE=counters), and with a peer library.
#
# Usage: scripts/bench.sh overhead [--peer LIB] [--calls N] [--runs R] [--threads "1 2 4"]
#        [--clock wall|cpu] [--files shared|own] [--operations "pwrite pread write read turn open lock fwrite fread fputc fgetc"]
# Runs alternate (nothing, off, trace, nosites, spool, counters, peer, nothing, ...); results are medians, minima and maxima of the differences within
# each round. --peer takes a preload library with Darshan's switches; its time is printed only if its log (a Darshan log) has all
# the calls.
# --files own gives each thread a file of its own. `turn` is pwrite on 1,000 descriptors, round-robin.
# --clock cpu measures the threads' processor time, which other programs on the machine disturb less.
set -euo pipefail
# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

peer='' calls=1000000 runs=7 threads=1 clock=wall files=shared
operations='pwrite pread write read turn open lock fwrite fread fputc fgetc'
while [ $# -gt 0 ]; do
    case $1 in
    --peer) peer=$2 ;;
    --calls) calls=$2 ;;
    --runs) runs=$2 ;;
    --threads) threads=$2 ;;
    --clock) clock=$2 ;;
    --files) files=$2 ;;
    --operations) operations=$2 ;;
    *) die "unknown option $1" ;;
    esac
    shift 2
done
[ -z "$peer" ] || [ -e "$peer" ] || die "there is no $peer"
case $files in
shared | own) ;;
*) die "--files is shared or own" ;;
esac
case $clock in
wall) column=1 ;;
cpu) column=2 ;;
*) die "--clock is wall or cpu" ;;
esac
build_all

# one MODE OPERATION THREADS: nanoseconds per call.
one() {
    local command=("$work/bench_calls" "$2" "$calls" "$data/file" "$3" "$files")
    case $1 in
    nothing) "${command[@]}" ;;
    off) env DXT_ENABLE=off LD_PRELOAD="$library" "${command[@]}" ;;
    # The buffer fits every call (32 bytes each), so that nothing is packed or folded.
    trace) env DXT_ENABLE=trace DXT_SPOOL=off DXT_BUFFER_MAX=4G DXT_OUTPUT_DIR="$work/traces" LD_PRELOAD="$library" "${command[@]}" ;;
    # The same without call sites.
    nosites) env DXT_SITES=off DXT_ENABLE=trace DXT_SPOOL=off DXT_BUFFER_MAX=4G DXT_OUTPUT_DIR="$work/traces" LD_PRELOAD="$library" "${command[@]}" ;;
    # The defaults: segments beyond 4 MiB are packed.
    spool) env DXT_ENABLE=trace DXT_OUTPUT_DIR="$work/traces" LD_PRELOAD="$library" "${command[@]}" ;;
    counters) env DXT_ENABLE=counters DXT_OUTPUT_DIR="$work/traces" LD_PRELOAD="$library" "${command[@]}" ;;
    peer)
        with_peer "${command[@]}"
        # The time is valid only if the log has the calls.
        logged=$(peer_logged "$2")
        [ "$logged" -ge $((calls * $3)) ] || echo "$logged" >"$work/unlogged"
        ;;
    esac
    rm -rf "$work/traces" "$data"/file.*
}

modes=(nothing off trace nosites spool counters)
[ -z "$peer" ] || modes+=(peer)
machine
echo "$calls calls of 1 or 8 bytes on /dev/shm, $runs alternating runs; nanoseconds per call ($clock clock): median (least .. greatest)"
echo "trace: DXT_SPOOL=off DXT_BUFFER_MAX=4G: every call is kept as a segment; nosites: the same with DXT_SITES=off; spool: the defaults, a spool and 4 MiB, beyond which segments are packed"
echo "The flush is not timed here (see: bench.sh whole). Threads: files $files"
printf '\n%-10s %-8s %-22s' operation threads nothing
printf ' %-22s' "${modes[@]:1}" | sed 's/\(off\|trace\|nosites\|spool\|counters\|peer\) /+\1/g'
echo
for operation in $operations; do
    for count in $threads; do
        for mode in "${modes[@]}"; do : >"$work/$mode"; done
        rm -f "$work/unlogged"
        for _ in $(seq "$runs"); do
            for mode in "${modes[@]}"; do one "$mode" "$operation" "$count" | cut -d" " -f$column >>"$work/$mode"; done
        done
        printf '%-10s %-8s' "$operation" "$count"
        for mode in "${modes[@]}"; do
            if [ "$mode" = nothing ]; then numbers=$(cat "$work/nothing"); else numbers=$(differences "$work/nothing" "$work/$mode"); fi
            read -r median least greatest < <(printf '%s\n' "$numbers" | median_and_spread)
            shown="$median ($least .. $greatest)"
            if [ "$mode" = peer ] && [ -e "$work/unlogged" ]; then
                shown="none: its log has $(cat "$work/unlogged") of $((calls * count)) calls"
            fi
            printf ' %-22s' "$shown"
        done
        echo
    done
done
