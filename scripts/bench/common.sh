# shellcheck shell=bash
# What the benchmarks share: the release library, the timed C program, and statistics.
# shellcheck source=../common.sh
. "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

# Sets library, work and data; with a peer also analyze, which reads its log.
# shellcheck disable=SC2034 # the scripts that source this use them
build_all() {
    cargo build --release --quiet --manifest-path "$project/Cargo.toml" -p dxt-tracer ${peer:+-p dxt-analyze}
    use_built "$(target_dir)/release/libdxt_tracer.so"
    cc -O2 -Wall -Wextra -pthread -o "$work/bench_calls" "$project/testdata/workloads/bench_calls.c"
}

# use_built LIBRARY: the same with what is built already, but for the C program; dxt-analyze lies beside LIBRARY.
use_built() {
    library=$(realpath "$1")
    analyze=$(dirname "$library")/dxt-analyze
    work=$(mktemp -d "${TMPDIR:-/tmp}/dxt-bench.XXXXXX")
    data=$(mktemp -d /dev/shm/dxt-bench.XXXXXX)
    trap 'rm -rf "$work" "$data"' EXIT
}

# with_peer COMMAND...: runs it under the peer, with its trace on. The peer leaves out /dev, where the bench's files are, unless a
# configuration names them.
with_peer() {
    local variables
    mapfile -t variables < <(peer_variables)
    env "${variables[@]}" "$@"
}

# What the peer is told, as assignments, a line each; takes its last log away. (A program that calls MPI_Init does without
# DARSHAN_ENABLE_NONMPI.)
peer_variables() {
    printf 'NAME_INCLUDE ^%s/ *\n' "$data" >"$work/peer.conf"
    rm -f "$work/peer.log"
    printf '%s\n' DARSHAN_ENABLE_NONMPI=1 DXT_ENABLE_IO_TRACE=1 DARSHAN_CONFIG_PATH="$work/peer.conf" \
        DARSHAN_LOGFILE="$work/peer.log" LD_PRELOAD="$peer"
}

# peer_logged OPERATION: calls of OPERATION on the bench's files that the peer's log counts, read by our own reader.
peer_logged() {
    local counter
    case $1 in
    pwrite | write | turn | random | whole) counter=POSIX_WRITES ;;
    pread | read) counter=POSIX_READS ;;
    open) counter=POSIX_OPENS ;;
    fwrite | fputc) counter=STDIO_WRITES ;;
    fread | fgetc) counter=STDIO_READS ;;
    *) counter='no such counter' ;;
    esac
    { "$analyze" dump --format darshan-parser "$work/peer.log" 2>/dev/null || true; } |
        awk -F '\t' -v counter="$counter" -v folder="$data/" \
            '$4 == counter && index($6, folder) == 1 { sum += $5 } END { print sum + 0 }'
}

# Median, least and greatest of the numbers on standard input.
median_and_spread() {
    sort -g | awk '{ v[NR] = $1 } END {
        m = NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2
        printf "%.1f %.1f %.1f\n", m, v[1], v[NR] }'
}

# Differences of two files of numbers, line by line: run by run, so that a slow moment of the machine hits both.
differences() {
    paste "$1" "$2" | awk '{ print $2 - $1 }'
}

# in_full COUNT: 20M as 20000000; K, M, G are powers of 1000.
in_full() {
    case $1 in
    *K) printf '%s000\n' "${1%K}" ;;
    *M) printf '%s000000\n' "${1%M}" ;;
    *G) printf '%s000000000\n' "${1%G}" ;;
    *) printf '%s\n' "$1" ;;
    esac
}

machine() {
    printf '%s, %s processors, Linux %s\n' \
        "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)" "$(uname -r)"
}
