#!/usr/bin/env bash
# Time to load segments into a polars frame: by the Python package, and through Parquet.
#
# Usage: scripts/bench.sh python [--segments N] [--ranks R] [--pattern NAME] [--runs K] [--tools DIR] [--python PYTHON]
# N segments in all (default 20000000; K, M, G for powers of 1000) by R ranks (64); NAME as in dxt-synth --help (ior-strided). PYTHON must have polars and the package; dxt-analyze
# and dxt-synth are taken from DIR (default: built, in release).
# Target: at least 5 times as fast as `export --to parquet` and polars.read_parquet together.
set -euo pipefail
# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

segments=20000000 ranks=64 pattern=ior-strided runs=3 tools='' python=python3
while [ $# -gt 0 ]; do
    case $1 in
    --segments) segments=$2 ;;
    --ranks) ranks=$2 ;;
    --pattern) pattern=$2 ;;
    --runs) runs=$2 ;;
    --tools) tools=$2 ;;
    --python) python=$2 ;;
    *) sed -n '4,7s/^# *//p' "$0" >&2 && exit 2 ;;
    esac
    shift 2
done
segments=$(in_full "$segments")

cd "$project"
if [ -z "$tools" ]; then
    cargo build --quiet --release -p dxt-analyze -p dxt-synth
    tools=$(target_dir)/release
fi
dir=$(mktemp -d "${TMPDIR:-/tmp}/dxt-bench.XXXXXXXX")
trap 'rm -rf "$dir"' EXIT
"$tools/dxt-synth" "$pattern" -n "$ranks" --segments "$((segments / ranks))" --transfer 64K -o "$dir/t.dxt" >"$dir/made" 2>&1
cat "$dir/made"
machine
"$python" - "$tools/dxt-analyze" "$dir" "$runs" <<'EOF'
import glob, os, shutil, statistics, subprocess, sys, time

program, folder, runs = sys.argv[1], sys.argv[2], int(sys.argv[3])
trace, place = f"{folder}/t.dxt", f"{folder}/out"

# Each runs in a separate Python process with its own memory; runs alternate, so that a slow phase of the machine affects all.
READ = "import polars, sys; f = polars.read_parquet(sys.argv[2] + '/segments/*/*.parquet'); print(f.height)"
OURS = "import dxt, polars, sys; f = polars.DataFrame(dxt.open(sys.argv[1]).segments()); print(f.height)"
SOME = "import dxt, polars, sys; f = polars.DataFrame(dxt.open(sys.argv[1]).segments(columns=['rank', 'kind', 'length', 'start_ns'])); print(f.height)"
NONE = """
import dxt, pyarrow, sys
print(sum(batch.num_rows for batch in pyarrow.RecordBatchReader.from_stream(dxt.open(sys.argv[1]).segments())))
"""


def timed(words):
    """Runs a command; returns seconds, processor seconds, peak memory in MiB, and its output."""
    start = time.monotonic()
    child = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    said = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    if os.waitstatus_to_exitcode(status) not in (0, 3):
        sys.exit(f"{words} ended with {status}")
    return time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, said.strip()


def export():
    shutil.rmtree(place, ignore_errors=True)
    return timed([program, "export", "--to", "parquet", "-o", place, trace])


def python(code):
    return lambda: timed([sys.executable, "-c", code, trace, place])


steps = {
    "export --to parquet": export,
    "polars.read_parquet": python(READ),
    "polars.DataFrame(segments)": python(OURS),
    "the same, 4 columns": python(SOME),
    "batches, none kept": python(NONE),
}
results = {name: [] for name in steps}
for _ in range(runs):
    for name, step in steps.items():
        results[name].append(step())
rows = {result[3] for name in list(steps)[1:] for result in results[name]}
if len(rows) != 1:
    sys.exit(f"not the same number of rows: {rows}")
print(f"{rows.pop()} rows; median of {runs} runs")
print(f"{'':28} {'s':>8} {'cpu s':>8} {'peak MiB':>10}")
for name in steps:
    seconds, cpu, peak = (statistics.median(result[at] for result in results[name]) for at in range(3))
    print(f"{name:28} {seconds:8.1f} {cpu:8.1f} {peak:10.0f}")
for what, at in (("seconds", 0), ("processor seconds", 1)):
    ways = zip(*(results[name] for name in ("export --to parquet", "polars.read_parquet", "polars.DataFrame(segments)")))
    ratios = [(export[at] + read[at]) / ours[at] for export, read, ours in ways]
    print(f"speed-up over Parquet, in {what}: {statistics.median(ratios):.1f} (least {min(ratios):.1f})")
EOF
