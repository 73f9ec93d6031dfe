# shellcheck shell=bash
# Shared by the benchmarks: the release library, the timed C program, and statistics.
# shellcheck source=../common.sh
. "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

# Builds everything, and sets library, work and data; with a peer also builds dxt-analyze, which reads the peer's log, and sets analyze.
# shellcheck disable=SC2034 # the scripts that source this use them
build_all() {
    cargo build --release --quiet --manifest-path "$project/Cargo.toml" -p dxt-tracer ${peer:+-p dxt-analyze}
    use_built "$(target_dir)/release/libdxt_tracer.so"
    cc -O2 -Wall -Wextra -pthread -o "$work/bench_calls" "$project/testdata/workloads/bench_calls.c"
}

# use_built LIBRARY: sets the same variables for an existing build, with dxt-analyze beside LIBRARY; does not build the C program.
use_built() {
    library=$(realpath "$1")
    analyze=$(dirname "$library")/dxt-analyze
    work=$(mktemp -d "${TMPDIR:-/tmp}/dxt-bench.XXXXXX")
    data=$(mktemp -d /dev/shm/dxt-bench.XXXXXX)
    trap 'rm -rf "$work" "$data"' EXIT
}

# with_peer COMMAND...: runs a command under the peer, with its tracing on. By default the peer excludes /dev, where the benchmark's files
# are; a configuration file includes them.
with_peer() {
    local variables
    mapfile -t variables < <(peer_variables)
    env "${variables[@]}" "$@"
}

# peer_variables: prints the peer's environment, one assignment per line; removes its last log. (Programs that call MPI_Init do not need
# DARSHAN_ENABLE_NONMPI.)
peer_variables() {
    printf 'NAME_INCLUDE ^%s/ *\n' "$data" >"$work/peer.conf"
    rm -f "$work/peer.log"
    printf '%s\n' DARSHAN_ENABLE_NONMPI=1 DXT_ENABLE_IO_TRACE=1 DARSHAN_CONFIG_PATH="$work/peer.conf" \
        DARSHAN_LOGFILE="$work/peer.log" LD_PRELOAD="$peer"
}

# peer_logged OPERATION: number of calls of OPERATION on the benchmark's files in the peer's log, read by our own reader.
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

# Median, minimum and maximum of the numbers on standard input.
median_and_spread() {
    sort -g | awk '{ v[NR] = $1 } END {
        m = NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2
        printf "%.1f %.1f %.1f\n", m, v[1], v[NR] }'
}

# Differences of two files of numbers, line by line: pairs of adjacent runs, so that a slow phase of the machine affects both.
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
