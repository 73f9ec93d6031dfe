#!/usr/bin/env bash
# Overhead of tracing for parallel programs on /dev/shm: run time, MPI_Finalize with the flush, trace size; by ranks, sizes, files.
#
# Usage: scripts/bench.sh parallel [--ranks "2 4 8"] [--transfer "64K 256K 1M 4M"] [--files "1 shared|1024 shared|1 own|1024 own"]
#        [--volume 64M] [--mpi mpich|openmpi] [--runs K] [--peer LIB] [--library LIB]
# Each rank writes the volume and reads it. Runs alternate (nothing, off, counters, trace, peer, nothing, ...); results are medians, minima
# and maxima over runs of two times of the slowest rank: from the first barrier to the end of MPI_Finalize, and MPI_Finalize alone.
# Bytes is the size of the trace; ratio = 32 bytes x segments / bytes. --peer takes a library with Darshan's switches; its time is
# printed only if its log has all the calls. --library takes a built libdxt_tracer.so, with dxt-analyze beside it, instead of a release
# build. K, M in sizes are powers of 1024.
set -euo pipefail
# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

ranks='2 4 8' transfers='64K 256K 1M 4M' files='1 shared|1024 shared|1 own|1024 own' volume=64M mpi='' runs=5 peer='' built=''
while [ $# -gt 0 ]; do
    case $1 in
    --ranks) ranks=$2 ;;
    --transfer) transfers=$2 ;;
    --files) files=$2 ;;
    --volume) volume=$2 ;;
    --mpi) mpi=$2 ;;
    --runs) runs=$2 ;;
    --peer) peer=$2 ;;
    --library) built=$2 ;;
    *) die "unknown option $1" ;;
    esac
    shift 2
done
[ -z "$peer" ] || [ -e "$peer" ] || die "there is no $peer"
[ -z "$built" ] || [ -e "$built" ] || die "there is no $built"

if [ -z "$mpi" ]; then
    if have mpicc.mpich; then mpi=mpich; else mpi=openmpi; fi
fi
if ! have "mpicc.$mpi" || ! have "mpirun.$mpi"; then die "there is no mpicc.$mpi and mpirun.$mpi (scripts/setup.sh)"; fi
mpirun=("mpirun.$mpi")
[ "$mpi" = mpich ] || mpirun+=(--oversubscribe)

# in_bytes SIZE: 64K as 65536.
in_bytes() {
    case $1 in
    *K) echo $((${1%K} << 10)) ;;
    *M) echo $((${1%M} << 20)) ;;
    *G) echo $((${1%G} << 30)) ;;
    *) echo "$1" ;;
    esac
}

# dxt-analyze checks each trace, so it is built also without a peer.
if [ -n "$built" ]; then use_built "$built"; else peer=${peer:-+} build_all; fi
"mpicc.$mpi" -O2 -Wall -Wextra -o "$work/bench_parallel" "$project/testdata/workloads/bench_parallel.c"

# one MODE RANKS FILES KIND TRANSFER: ms of the run and of MPI_Finalize, of the slowest rank.
one() {
    local variables=(A=a)
    case $1 in
    off) variables=(DXT_ENABLE=off LD_PRELOAD="$library") ;;
    counters | trace) variables=(DXT_ENABLE="$1" DXT_OUTPUT_DIR="$work/traces" LD_PRELOAD="$library") ;;
    peer) mapfile -t variables < <(peer_variables | grep -v '^DARSHAN_ENABLE_NONMPI=') ;;
    esac
    mkdir -p "$data/files"
    "${mpirun[@]}" -n "$2" env "${variables[@]}" "$work/bench_parallel" "$data/files" "$3" "$4" "$5" "$(in_bytes "$volume")" |
        awk '{ if ($1 + $2 > run) run = $1 + $2; if ($2 > end) end = $2; n++ }
             END { if (n != ranks) exit 1; printf "%.3f %.3f\n", run * 1e3, end * 1e3 }' ranks="$2" ||
        die "a run with $1 on $2 ranks failed"
    rm -rf "$data/files"
}

modes=(nothing off counters trace)
[ -z "$peer" ] || modes+=(peer)
machine
load=$(cut -d' ' -f1 /proc/loadavg)
echo "$mpi, ${volume} written and read by each rank, $runs alternating runs; ms: median (least .. greatest); load at the start $load"
for count in $ranks; do
    [ "$count" -le "$(nproc)" ] || echo "$count ranks on $(nproc) processors: barriers and MPI_Finalize wait for ranks without a processor"
done
printf '\n%-5s %-12s %-8s %-9s %-28s %-28s %10s %6s\n' ranks files transfer mode run MPI_Finalize bytes ratio
IFS='|' read -ra kinds <<<"$files"
for count in $ranks; do
    for kind in "${kinds[@]}"; do
        for transfer in $transfers; do
            bytes=$(in_bytes "$transfer")
            read -r number whose <<<"$kind"
            for mode in "${modes[@]}"; do : >"$work/$mode"; done
            rm -f "$work/unlogged"
            for _ in $(seq "$runs"); do
                for mode in "${modes[@]}"; do
                    rm -rf "$work/traces"
                    one "$mode" "$count" "$number" "$whose" "$bytes" >>"$work/$mode"
                    case $mode in
                    counters | trace)
                        find "$work/traces" -name '*.dxt' -printf '%s\n' | awk '{ s += $1 } END { print s + 0 }' >"$work/$mode.bytes"
                        [ "$mode" = counters ] || "$analyze" check --format csv --table files "$work/traces" >"$work/checked"
                        ;;
                    peer)
                        wanted=$((count * ($(in_bytes "$volume") / bytes)))
                        logged=$(peer_logged pwrite)
                        [ "$logged" -ge "$wanted" ] || echo "$logged of $wanted" >"$work/unlogged"
                        stat -c %s "$work/peer.log" >"$work/peer.bytes" 2>/dev/null || echo 0 >"$work/peer.bytes"
                        ;;
                    esac
                done
            done
            # Segments of the last trace: column 6 of the table of files.
            raw=$(awk -F, 'NR > 1 { sum += $6 } END { print sum * 32 }' "$work/checked")
            for mode in "${modes[@]}"; do
                printf '%-5s %-12s %-8s %-9s' "$count" "$kind" "$transfer" "$mode"
                if [ "$mode" = peer ] && [ -e "$work/unlogged" ]; then
                    echo " none: its log has $(cat "$work/unlogged") writes"
                    continue
                fi
                for column in 1 2; do
                    read -r median least greatest < <(cut -d' ' -f$column "$work/$mode" | median_and_spread)
                    printf ' %-28s' "$median ($least .. $greatest)"
                done
                stored=$(cat "$work/$mode.bytes" 2>/dev/null || true)
                [ -z "$stored" ] || printf '%11s' "$stored"
                [ "$mode" != trace ] || awk -v r="$raw" -v s="$stored" 'BEGIN { if (s) printf "%7.1f", r / s }'
                echo
            done
            rm -f "$work"/*.bytes
        done
    done
done
