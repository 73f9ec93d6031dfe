# shellcheck shell=bash
# What the benchmarks share: the release library, the timed C program, and statistics.
# shellcheck source=../common.sh
. "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

# Sets library, work and data.
# shellcheck disable=SC2034 # the scripts that source this use them
build_all() {
    cargo build --release --quiet --manifest-path "$project/Cargo.toml" -p dxt-tracer
    library=$(target_dir)/release/libdxt_tracer.so
    work=$(mktemp -d "${TMPDIR:-/tmp}/dxt-bench.XXXXXX")
    data=$(mktemp -d /dev/shm/dxt-bench.XXXXXX)
    trap 'rm -rf "$work" "$data"' EXIT
    cc -O2 -Wall -Wextra -pthread -o "$work/bench_calls" "$project/testdata/workloads/bench_calls.c"
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

machine() {
    printf '%s, %s processors, Linux %s\n' \
        "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)" "$(uname -r)"
}
