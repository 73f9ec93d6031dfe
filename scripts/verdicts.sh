#!/usr/bin/env bash
# Scores the report's first finding on jobs with injected faults and on healthy ones: simulated jobs, and small programs that
# run under the tracer with MPICH and Open MPI. Prints a table and totals, and the differences from an earlier run.
# usage: scripts/verdicts.sh [OPTION...]
#   --short            the simulated jobs that the tests use, no real programs
#   --only NAME        cases whose name contains NAME
#   --seed N           other simulated jobs of the same kinds, which no threshold was tuned on
#   --random N         N jobs drawn at random by the seed instead of the fixed ones, a quarter of them healthy; no real programs
#   --combined         with --random: jobs with two or three faults of different kinds
#   --generation N     with --random: draws faults of the generations 1 to N (default: 1)
#   --seeds N          N seeds, from that of --seed on, and totals only; no real programs
#   --json FILE        writes the scores to FILE, one job per line (a frozen run); no real programs
#   --against FILE     compares the scores with those of a frozen run, and lists the jobs that changed; no real programs
#   --sensitivity NAMES  halves and doubles thresholds of the analyzer (names separated by commas, or all), scores the jobs each time
#                      and prints a line for each: first finding right, healthy and quiet, savings within 2 x, misleading high, jobs
#                      that changed; 100 jobs unless --random says another number; no real programs
#   --keep DIR         leave logs, traces and manifest.json (the true fault of each) in DIR
#   --analyze PROGRAM  use this analyzer instead of building one
#   --from DIR         take verdicts from DIR/CASE.json; no analyzer is built or run
set -euo pipefail
# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

simulated=0 keep='' analyze='' from='' drawn='' sensitivity='' options=()
while [ $# -gt 0 ]; do
    case $1 in
    --short)
        simulated=1
        options+=(--short)
        shift
        ;;
    --combined)
        options+=(--combined)
        shift
        ;;
    --only | --seed | --generation | --random | --seeds | --sensitivity | --json | --against | --keep | --analyze | --from)
        [ $# -ge 2 ] || die "$1 needs a value"
        case $1 in
        --only | --seed | --generation) options+=("$1" "$2") ;;
        --random | --seeds)
            simulated=1
            [ "$1" = --seeds ] || drawn=1
            options+=("$1" "$2")
            ;;
        --sensitivity)
            simulated=1 sensitivity=1
            options+=("$1" "$2")
            ;;
        --json | --against)
            simulated=1
            options+=("$1" "$(realpath -m -- "$2")")
            ;;
        --keep) keep=$(realpath -m -- "$2") ;;
        --analyze) analyze=$(realpath -- "$2") ;;
        --from) from=$(realpath -- "$2") ;;
        esac
        shift 2
        ;;
    -h | --help)
        sed -n '2,/^set /{/^set /d; s/^# \{0,1\}//; p;}' "${BASH_SOURCE[0]}"
        exit 0
        ;;
    *) die "unknown option $1; see --help" ;;
    esac
done
[ -z "$sensitivity" ] || [ -n "$drawn" ] || options+=(--random 100)
cd "$project"

scratch=$(mktemp -d "${TMPDIR:-/tmp}/dxt-verdicts.XXXXXXXX")
trap 'rm -rf "$scratch"' EXIT
keep=${keep:-$scratch/logs}
mkdir -p "$keep"

cargo build --quiet -p dxt-synth
bin=$(target_dir)/debug
if [ -n "$from" ]; then
    options+=(--from "$from")
    analyze=${analyze:-$bin/dxt-synth} # not run
elif [ -z "$analyze" ]; then
    cargo build --quiet -p dxt-analyze
    analyze=$bin/dxt-analyze
fi

if [ $simulated = 0 ]; then
    cargo build --quiet --release -p dxt-tracer
    built=$scratch/built
    mkdir "$built"
    cp "$(target_dir)/release/libdxt_tracer.so" "$built/"
    cc -O1 -Wall -shared -fPIC -o "$built/delays.so" testdata/workloads/delays.c -ldl
    for mpi in mpich openmpi; do
        if have mpicc.$mpi && have mpirun.$mpi; then
            mpicc.$mpi -O1 -Wall -o "$built/phases.$mpi" testdata/workloads/phases.c -lpthread
        fi
    done
    options+=(--real "$built")
fi
"$bin/dxt-synth" verdicts --analyze "$analyze" --keep "$keep" "${options[@]}"
