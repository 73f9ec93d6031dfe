#!/usr/bin/env bash
# The main job, whole: a real parallel program (h5py on MPI-IO, 4 ranks, one shared HDF5 file) under the tracer, then what
# its trace says. Usage: scripts/demo.sh [DIRECTORY] (default: a temporary one, whose name is printed).
set -euo pipefail
# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

heading "Setup"
"$project/scripts/setup.sh"
echo "nothing is missing"

heading "Build"
cargo build --release --quiet --manifest-path "$project/Cargo.toml" -p dxt-tracer -p dxt-analyze
analyze=$(target_dir)/release/dxt-analyze
stat -c '%n, %s bytes' "$(target_dir)/release/libdxt_tracer.so" "$analyze"

directory=${1:-$(mktemp -d "${TMPDIR:-/tmp}/dxt-demo.XXXXXX")}
mkdir -p "$directory"
directory=$(cd "$directory" && pwd -P)
file=$directory/shared.h5

heading "A real program: 4 ranks write and read one HDF5 file"
(
    cd "$directory"
    "$project/scripts/dxt-run" -o "$directory/traces" -- \
        mpirun.openmpi --oversubscribe -n 4 /usr/bin/python3 "$project/testdata/workloads/h5py_shared.py" "$file" 16 128 512
)
trace=$(find "$directory/traces" -name '*.dxt' -printf '%T@ %p\n' | sort -n | tail -n 1 | cut -d' ' -f2-)
[ -n "$trace" ] || die "the run left no trace"

heading "dxt-analyze check"
"$analyze" check "$trace"

heading "dxt-analyze summary"
"$analyze" summary "$trace"

layout=$project/testdata/layouts/four-by-1m.layout
heading "dxt-analyze outliers, by duration: the five slowest of each kind"
"$analyze" outliers --metric duration --top 5 --layout "$layout" "$trace"

heading "dxt-analyze outliers --by rank, MPI-IO only"
"$analyze" outliers --by rank --layer mpiio "$trace"

heading "dxt-analyze stripes, as if the file lay on Lustre in 4 stripes of 1 MiB"
"$analyze" stripes --layout "$layout" "$trace"

heading "dxt-analyze layers: what calls of HDF5 and MPI-IO are made of"
"$analyze" layers --top 5 "$trace"

heading "dxt-analyze checks"
"$analyze" checks "$trace"

heading "dxt-analyze report"
"$analyze" report --layout "$layout" -o "$directory/report.html" "$trace"

printf '\nThe trace is %s\nThe page is %s: open it in a browser\n' "$trace" "$directory/report.html"
