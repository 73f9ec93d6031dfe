#!/usr/bin/env bash
# Overhead of `dxt-analyze live` for watched programs, and its own cost: run times with tracing alone and with an agent.
#
# Usage: scripts/bench.sh live [--runs R] [--seconds S] [--ranks N] [--mpi mpich|openmpi] [--to WHERE]
# Programs: writers of 512 bytes on /dev/shm at 2,400 and 100,000 calls per second and at full speed; hmmbuild of HMMER at about 2,400 calls
# per second; with MPI, independent and collective calls on one file, and HACC-like ones of two sizes (bench_mpi). Runs with and without agent
# alternate; the overhead is the mean difference within pairs with its 95 % interval (Student's t); "not measurable" if the interval contains 0.
# A time is printed only if the agent has shown every call.
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

# watched FILE COMMAND...: runs a command beside an agent; appends the agent's processor time in s and the number of calls that it showed to FILE.
watched() {
    local agent sums=$work/sums
    rm -f "$sums"
    "$analyze" live "$work/spools" --to "intervals:$sums" ${to:+--to "$to"} 2>"$work/said" &
    agent=$!
    # The agent watches from here on.
    until [ -e "$sums" ]; do sleep 0.01; done
    "${@:2}"
    sleep 0.5
    local ticks
    ticks=$(awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$agent/stat")
    kill -INT "$agent"
    wait "$agent"
    awk -v t="$ticks" -v hz="$(getconf CLK_TCK)" -F '"calls":' '/"calls":/ { n += $2 + 0 } END { print t / hz, n + 0 }' "$sums" >>"$1"
}

# line NAME COMMAND...: prints a line for pairs of runs of a program that prints its seconds.
line() {
    local name=$1 calls
    shift
    : >"$work/alone" && : >"$work/beside" && : >"$work/agent"
    for _ in $(seq "$runs"); do
        rm -f "$work"/traces/*
        "$@" >>"$work/alone"
        rm -f "$work"/traces/*
        watched "$work/agent" "$@" >>"$work/beside"
        calls=$(calls_on_record)
    done
    local shown
    shown=$(tail -n 1 "$work/agent" | cut -d ' ' -f 2)
    if [ "$shown" != "$calls" ]; then
        echo "$name: no time, since the agent showed only $shown of $calls calls"
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

# alignments FAMILIES: prints that many alignments of 20 sequences of 60 amino acids, always the same ones.
alignments() {
    awk -v families="$1" 'BEGIN {
        srand(1)
        split("A C D E F G H I K L M N P Q R S T V W Y", acids, " ")
        for (f = 1; f <= families; f++) {
            printf "# STOCKHOLM 1.0\n#=GF ID family%d\n", f
            for (c = 1; c <= 60; c++) common[c] = acids[int(rand() * 20) + 1]
            for (s = 1; s <= 20; s++) {
                line = ""
                for (c = 1; c <= 60; c++) line = line (rand() < 0.7 ? common[c] : rand() < 0.1 ? "-" : acids[int(rand() * 20) + 1])
                printf "sequence%d %s\n", s, line
            }
            print "//"
        }
    }'
}

# hmmbuild_seconds RANDOM ALIGNMENTS: runs hmmbuild traced, with RANDOM random sequences for each of its three fits; prints seconds.
hmmbuild_seconds() {
    local begin=$EPOCHREALTIME
    env "${variables[@]}" hmmbuild --cpu 1 --EmN "$1" --EvN "$1" --EfN "$1" -o /dev/null "$data/file.hmm" "$2" </dev/null
    awk -v begin="$begin" -v end="$EPOCHREALTIME" 'BEGIN { printf "%.6f\n", end - begin }'
}

# Number of calls in the run's traces, including those that did not fit into the buffer: these are in the counters, and exit code 3 says so.
calls_on_record() {
    { "$analyze" summary --format json "$work/traces" || [ $? = 3 ]; } |
        awk -F '[:,]' '/^  "(segments|missing_segments|counted_operations)":/ { n += $2 } END { print n + 0 }'
}

machine
echo "$runs pairs of runs; seconds with tracing alone and with an agent beside; overhead in % with its 95 % interval; the agent's use of one processor"
printf '%-26s%12s%12s%10s%10s%21s%24s\n' program calls calls/s alone beside 'overhead, %' agent
paced() { env "${variables[@]}" "$work/paced" "$@" "$data/file"; }
line "2,400 calls/s" paced 2400 $((2400 * seconds))
line "100,000 calls/s" paced 100000 $((100000 * seconds))
line "full speed" paced 0 $((1000000 * seconds))
if have hmmbuild; then
    # Most of hmmbuild's time goes into fits to random sequences: their number is chosen such that it makes 2,400 calls per second.
    random=20000
    alignments 1 >"$work/one.sto"
    rm -f "$work"/traces/*
    probe=$(hmmbuild_seconds "$random" "$work/one.sto")
    wanted=$(awk -v calls="$(calls_on_record)" 'BEGIN { print calls / 2400 }')
    random=$(awk -v n="$random" -v probe="$probe" -v wanted="$wanted" 'BEGIN { printf "%d", n * wanted / probe }')
    alignments "$(awk -v s="$seconds" -v wanted="$wanted" 'BEGIN { n = s / wanted; printf "%d", n < 1 ? 1 : n + 0.5 }')" >"$work/families.sto"
    line "hmmbuild" hmmbuild_seconds "$random" "$work/families.sto"
else
    echo "hmmbuild: not measured, since it is not installed (Debian's package hmmer)"
fi
if have "mpicc.$mpi" && have "mpirun.$mpi"; then
    "mpicc.$mpi" -O2 -o "$work/bench_mpi" "$project/testdata/workloads/bench_mpi.c"
    launch=("mpirun.$mpi" -n "$ranks")
    if [ "$mpi" = openmpi ]; then
        export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
        launch=("mpirun.$mpi" --oversubscribe -n "$ranks")
    fi
    parallel() { "${launch[@]}" env "${variables[@]}" "$work/bench_mpi" "$1" "$data/file" "${@:2}"; }
    line "MPI-IO, independent" parallel ior 40
    line "MPI-IO, collective" parallel tile 40
    line "HACC, 100,000 particles" parallel hacc 100 100000
    line "HACC, 1,000,000 particles" parallel hacc 10 1000000
else
    echo "programs with MPI: not measured, since mpicc.$mpi is not installed"
fi
