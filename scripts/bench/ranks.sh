#!/usr/bin/env bash
# Processor time per segment and peak memory of the report, by number of ranks.
#
# Usage: scripts/bench.sh ranks [--pattern NAME] [--ranks "R..."] [--program PROGRAM]
# 50 accesses per rank; NAME as in dxt-synth --help (file-per-process); R in increasing order (1024 4096 16384 65536).
# With --program, the report of this dxt-analyze, for instance of an older version, instead of a build of these sources.
# Target: at 65,536 ranks at most twice the time per segment at 1,024.
set -euo pipefail
# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

pattern=file-per-process ranks="1024 4096 16384 65536" program=
while [ $# -gt 0 ]; do
    case $1 in
    --pattern) pattern=$2 ;;
    --ranks) ranks=$2 ;;
    --program) program=$(realpath -- "$2") ;;
    *) sed -n '4,7s/^# *//p' "$0" >&2 && exit 2 ;;
    esac
    shift 2
done

cd "$project"
cargo build --quiet -p dxt-synth
if [ -z "$program" ]; then
    cargo build --quiet --release -p dxt-analyze
    program=$(target_dir)/release/dxt-analyze
fi
dir=$(mktemp -d "${TMPDIR:-/tmp}/dxt-bench.XXXXXXXX")
trap 'rm -rf "$dir"' EXIT
printf '%8s %10s %12s %10s %10s\n' ranks segments 'processor s' 'µs/segment' 'peak MiB'
first=
for count in $ranks; do
    made=$("$(target_dir)/debug/dxt-synth" "$pattern" -n "$count" --segments 50 -o "$dir/t.dxt" 2>&1)
    read -r _ _ _ segments _ <<<"$made"
    used=$(python3 -c '
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
' "$program" report --threads 1 --format json "$dir/t.dxt")
    read -r seconds peak <<<"$used"
    each=$(awk -v s="$seconds" -v n="$segments" 'BEGIN { print s * 1e6 / n }')
    first=${first:-$each}
    printf '%8d %10d %12.2f %10.2f %10.0f\n' "$count" "$segments" "$seconds" "$each" "$peak"
done
awk -v last="$each" -v first="$first" 'BEGIN { printf "time per segment, most ranks to fewest: %.2f\n", last / first }'
