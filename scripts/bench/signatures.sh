#!/usr/bin/env bash
# Segments per second of the recognizer of signatures on one core, and overhead of tracing IOR-like and MPI-Tile-IO-like programs.
#
# Usage: scripts/bench.sh signatures [--segments N] [--runs R] [--only PATTERN] [--rounds K] [--ranks "1 2 4 8"]
# First patterns, alternating with a plain pass over the same columns; targets: runs 100 M segments/s, nests 20 M/s, random two passes.
# Then the programs on /dev/shm under MPICH and Open MPI, K rounds (7; 0 for none) of a run without and a run with the tracer. Results are
# medians of the ratios within rounds, for the time in I/O and for the whole run from mpirun's start to its end.
set -euo pipefail
# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

rounds=7 ranks='1 2 4 8' options=()
while [ $# -gt 0 ]; do
    case $1 in
    --segments | --runs | --only) options+=("$1" "$2") ;;
    --rounds) rounds=$2 ;;
    --ranks) ranks=$2 ;;
    *) die "unknown option $1" ;;
    esac
    shift 2
done
# shellcheck disable=SC2034 # build_all reads it
peer=''
build_all
machine

cargo bench --quiet --manifest-path "$project/Cargo.toml" -p iosig --bench recognise -- "${options[@]}"
[ "$rounds" -gt 0 ] || exit 0

# one RANKS PROGRAM TIMES VARIABLE...: seconds in I/O and of the whole run.
one() {
    local count=$1 program=$2 times=$3 begun ended inside
    shift 3
    begun=$(date +%s%N)
    inside=$("${mpirun[@]}" -n "$count" env "$@" "$work/bench_mpi" "$program" "$data/shared" "$times")
    ended=$(date +%s%N)
    printf '%s %s\n' "$inside" "$(awk -v d=$((ended - begun)) 'BEGIN { print d / 1e9 }')"
    rm -rf "$work/traces" "$data/shared"
}

# ratios COLUMN: median, minimum and maximum of traced / untraced - 1, in %.
ratios() {
    paste -d ' ' "$work/without" "$work/with" |
        awk -v c="$1" '{ print ($(c + 2) / $c - 1) * 100 }' | median_and_spread |
        awk '{ printf "%+.1f %% (%+.1f .. %+.1f)", $1, $2, $3 }'
}

# under MPI [OPTION...]: runs the programs under one MPI, with options for its mpirun.
under() {
    local program count times seconds
    mpirun=("mpirun.$1" "${@:2}")
    "mpicc.$1" -O2 -Wall -Wextra -o "$work/bench_mpi" "$project/testdata/workloads/bench_mpi.c"
    printf '\n%s, %s rounds: what the tracer adds, median (least .. greatest)\n' "${mpirun[0]}" "$rounds"
    printf '%-8s %6s %12s %-32s %s\n' program ranks 's in I/O' 'added to I/O' 'added to the whole run'
    for program in ior tile; do
        for count in $ranks; do
            # Collective calls are slow if there are more ranks than processors.
            if [ "$program" = tile ]; then times=$((64 / (count * count))); else times=$((64 / count)); fi
            [ "$times" -gt 0 ] || times=1
            : >"$work/without" && : >"$work/with"
            for _ in $(seq "$rounds"); do
                one "$count" "$program" "$times" A=a >>"$work/without"
                one "$count" "$program" "$times" DXT_ENABLE=trace DXT_OUTPUT_DIR="$work/traces" LD_PRELOAD="$library" >>"$work/with"
            done
            seconds=$(cut -d ' ' -f 1 "$work/without" | sort -g | sed -n "$(((rounds + 1) / 2))p")
            printf '%-8s %6s %12s %-32s %s\n' "$program" "$count" "$seconds" "$(ratios 1)" "$(ratios 2)"
        done
    done
}

any=''
if have mpicc.mpich && have mpirun.mpich; then
    any=yes
    under mpich
fi
if have mpicc.openmpi && have mpirun.openmpi; then
    any=yes
    under openmpi --oversubscribe
fi
[ -n "$any" ] || die "there is no MPI (scripts/setup.sh)"
