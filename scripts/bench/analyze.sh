#!/usr/bin/env bash
# Segments per second and peak memory of the analyzer's commands, on synthetic traces.
#
# Usage: scripts/bench.sh analyze [--segments N] [--ranks R] [--pattern NAME] [--runs K] [--commands "COMMAND OPTION...;..."]
#        [--form trace|darshan] [--peer PROGRAM]
# N segments in all (default 10000000; K, M, G for powers of 1000) by R ranks (64); NAME as in dxt-synth --help (ior-strided).
# With --form darshan the commands read the trace as a Darshan log, as does PROGRAM, for instance an installed darshan-dxt-parser.
# Targets: 20 M segments/s for decoding and all analyses together on 2 processors, memory that does not grow with the trace.
set -euo pipefail
# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

segments=10000000 ranks=64 pattern=ior-strided runs=3 form=trace peer=
commands="summary;outliers;outliers --by rank;stripes;counters;layers;checks;timeline;report -o /dev/null"
while [ $# -gt 0 ]; do
    case $1 in
    --segments) segments=$2 ;;
    --ranks) ranks=$2 ;;
    --pattern) pattern=$2 ;;
    --runs) runs=$2 ;;
    --commands) commands=$2 ;;
    --form) form=$2 ;;
    --peer) peer=$2 ;;
    *) sed -n '4,7s/^# *//p' "$0" >&2 && exit 2 ;;
    esac
    shift 2
done
segments=$(in_full "$segments")

cd "$project"
cargo build --quiet --release -p dxt-analyze -p dxt-synth
bin=$(target_dir)/release
dir=$(mktemp -d "${TMPDIR:-/tmp}/dxt-bench.XXXXXXXX")
trap 'rm -rf "$dir"' EXIT
"$bin/dxt-synth" "$pattern" -n "$ranks" --segments "$((segments / ranks))" --transfer 64K -o "$dir/t.dxt" >"$dir/made"
cat "$dir/made"
file=$dir/t.dxt
if [ "$form" = darshan ]; then
    file=$dir/t.darshan
    "$bin/dxt-analyze" export --to darshan -o "$file" "$dir/t.dxt" 2>/dev/null
    echo "as a Darshan log: $(stat -c %s "$file") bytes"
fi
echo "$(nproc) processors; page cache warm; median of $runs runs"
printf '%-24s %8s %12s %10s\n' command s segments/s 'peak MiB'
python3 - "$bin/dxt-analyze" "$file" "$segments" "$runs" "$commands" "$peer" <<'EOF'
import os, statistics, sys, time

program, trace, segments, runs, commands, peer = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), *sys.argv[5:]


def run(program, words):
    """Seconds and peak memory in MiB of one run."""
    start = time.monotonic()
    child = os.fork()
    if child == 0:
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 1)
        os.dup2(null, 2)
        os.execv(program, [program, *words, trace])
    _, status, usage = os.wait4(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code not in (0, 3, 4):
        sys.exit(f"{' '.join(words)} ended with {code}")
    return time.monotonic() - start, usage.ru_maxrss / 1024


programs = [(command, program, command.split()) for command in commands.split(";") if command]
if peer:
    programs.append((os.path.basename(peer), peer, []))
for command, program, words in programs:
    results = [run(program, words) for _ in range(runs)]
    seconds = statistics.median(result[0] for result in results)
    peak = max(result[1] for result in results)
    print(f"{command:24} {seconds:8.2f} {segments / seconds:12,.0f} {peak:10.0f}", flush=True)
EOF
