#!/usr/bin/env bash
# What `dxt-analyze live` costs the programs that it watches, and itself: run times with tracing alone and with an agent beside it.
#
# Usage: scripts/bench.sh live [--runs R] [--seconds S] [--ranks N] [--mpi mpich|openmpi] [--to WHERE]
# Programs: writers of 512 bytes at 2,400 and 100,000 calls a second and as quickly as they go, on /dev/shm; with MPI, independent and
# collective calls on one file (bench_mpi). Pairs of runs alternate; the overhead is the mean of the differences within each pair with its 95 %
# interval (Student's t). An interval around 0 reads "not measurable". Every call must have been shown, or no time is.
set -euo pipefail
# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

runs=5 seconds=5 ranks=2 mpi=mpich to=''
while [ $# -gt 0 ]; do
    case $1 in
    --runs) runs=$2 ;;
    --seconds) seconds=$2 ;;
    --ranks) ranks=$2 ;;
    --mpi) mpi=$2 ;;
    --to) to=$2 ;;
    *) die "unknown option $1" ;;
    esac
    shift 2
done
# The analyzer is built as well.
peer=+ build_all
cc -O2 -Wall -Wextra -o "$work/paced" "$project/testdata/workloads/paced.c"
mkdir "$work/spools" "$work/traces"
variables=(DXT_ENABLE=trace "DXT_SPOOL=$work/spools" "DXT_OUTPUT_DIR=$work/traces" "LD_PRELOAD=$library")

# watched FILE COMMAND...: runs it beside an agent, and adds the agent's processor time in s and the calls that it showed to FILE.
watched() {
    local agent sums=$work/sums
    rm -f "$sums"
    "$analyze" live "$work/spools" --to "intervals:$sums" ${to:+--to "$to"} 2>"$work/said" &
    agent=$!
    # It looks from now on.
    until [ -e "$sums" ]; do sleep 0.01; done
    "${@:2}"
    sleep 0.5
    local ticks
    ticks=$(awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$agent/stat")
    kill -INT "$agent"
    wait "$agent"
    awk -v t="$ticks" -v hz="$(getconf CLK_TCK)" -F '"calls":' '/"calls":/ { n += $2 + 0 } END { print t / hz, n + 0 }' "$sums" >>"$1"
}

# line NAME COMMAND...: pairs of runs of a program that prints its seconds.
line() {
    local name=$1 calls
    shift
    : >"$work/alone" && : >"$work/beside" && : >"$work/agent"
    for _ in $(seq "$runs"); do
        rm -f "$work"/traces/*
        "$@" >>"$work/alone"
        rm -f "$work"/traces/*
        watched "$work/agent" "$@" >>"$work/beside"
        calls=$("$analyze" summary --format json "$work/traces" | grep -o '"segments": *[0-9]*' | head -n 1 | tr -dc 0-9)
    done
    local shown
    shown=$(tail -n 1 "$work/agent" | cut -d ' ' -f 2)
    if [ "$shown" != "$calls" ]; then
        echo "$name: $shown of $calls calls were shown, so no time is"
        return
    fi
    paste -d ' ' "$work/alone" "$work/beside" "$work/agent" | awk -v name="$name" -v calls="$calls" '
        { d[NR] = ($2 - $1) / $1 * 100; s += d[NR]; alone += $1; beside += $2; cpu += $3 }
        END {
            # Two-sided 5 % points of the t distribution with 1 to 9 degrees of freedom, then the normal one.
            split("12.706 4.303 3.182 2.776 2.571 2.447 2.365 2.306 2.262", t, " ")
            mean = s / NR
            for (i = 1; i <= NR; i++) q += (d[i] - mean) ^ 2
            half = NR > 1 ? (NR - 1 in t ? t[NR - 1] : 1.96) * sqrt(q / (NR - 1) / NR) : 0
            what = mean - half <= 0 && mean + half >= 0 ? "not measurable" : ""
            printf "%-26s%12d%12.0f%10.3f%10.3f%9.2f +- %-8.2f%-16s%8.1f %%\n", name, calls, calls / (beside / NR), alone / NR, beside / NR, mean, half, what, cpu / beside * 100
        }'
}

machine
echo "$runs pairs of runs; seconds with tracing alone and with an agent beside; overhead in % with its 95 % interval; the agent's share of a processor"
printf '%-26s%12s%12s%10s%10s%21s%24s\n' program calls calls/s alone beside 'overhead, %' agent
paced() { env "${variables[@]}" "$work/paced" "$@" "$data/file"; }
line "2,400 calls/s" paced 2400 $((2400 * seconds))
line "100,000 calls/s" paced 100000 $((100000 * seconds))
line "as quickly as they go" paced 0 $((1000000 * seconds))
if have "mpicc.$mpi" && have "mpirun.$mpi"; then
    "mpicc.$mpi" -O2 -o "$work/bench_mpi" "$project/testdata/workloads/bench_mpi.c"
    launch=("mpirun.$mpi" -n "$ranks")
    if [ "$mpi" = openmpi ]; then
        export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
        launch=("mpirun.$mpi" --oversubscribe -n "$ranks")
    fi
    parallel() { "${launch[@]}" env "${variables[@]}" "$work/bench_mpi" "$1" "$data/file" 40; }
    line "MPI-IO, independent" parallel ior
    line "MPI-IO, collective" parallel tile
else
    echo "mpicc.$mpi is not installed: nothing with MPI"
fi
