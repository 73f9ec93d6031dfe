#!/usr/bin/env bash
# Runs pairs of programs that do the same I/O in a slow way and in a fast one, under the tracer, on a file system that delays each call, and
# compares the time that the slow one's report promises to save with the time that the fast one saves. Seconds; the pairs are those of
# papers and benchmarks that scripts/pairs.py names. Needs Open MPI, mpi4py and h5py (scripts/setup.sh).
# usage: scripts/pairs.sh [--analyze PROGRAM] [NAME...]
set -euo pipefail
# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

analyze=$(target_dir)/release/dxt-analyze
case ${1-} in
-h | --help)
    sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0"
    exit
    ;;
--analyze)
    [ $# -ge 2 ] || die "--analyze needs a value"
    analyze=$2
    shift 2
    ;;
esac
have mpirun || die "there is no mpirun: scripts/setup.sh installs what is needed"
[ -x "$analyze" ] || die "there is no $analyze: build it (cargo build --release)"
folder=$(mktemp -d "${TMPDIR:-/tmp}/dxt-pairs.XXXXXX")
trap 'rm -rf -- "$folder"' EXIT
cc -O2 -shared -fPIC -o "$folder/delays.so" "$project/testdata/workloads/delays.c" -ldl -lpthread
exec_in=("$project/scripts/dxt-run" "$analyze" "$folder/delays.so")
python3 "$project/scripts/pairs.py" "${exec_in[@]}" "$@"
