#!/usr/bin/env bash
# Scores the analyzer against logs that others have labelled: precision, recall and F1 by dimension and label for patterns, for findings
# above info and for the first finding; repeats of one configuration; false alarms on healthy runs; time and memory.
# DIR: folder with index.tsv (file, configuration, labels) and logs (*.darshan), or *.csv or *.csv.xz with a row of counters for each run.
# The mapping of the analyzer's words to labels stands in scripts/labels/mapping.py.
# usage: scripts/labels.sh [OPTION...] DIR
#   --analyze PROGRAM  use this analyzer instead of building one
#   --json FILE        also writes what was predicted for each log
#   --keep DIR         leave the logs that are made of rows of counters in DIR
#   --no-peers         do not run Drishti, even if it is installed
set -euo pipefail
# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

analyze='' options=()
while [ $# -gt 0 ]; do
    case $1 in
    --analyze | --json | --keep)
        [ $# -ge 2 ] || die "$1 needs a value"
        if [ "$1" = --analyze ]; then analyze=$2; else options+=("$1" "$2"); fi
        shift 2
        ;;
    --no-peers)
        options+=("$1")
        shift
        ;;
    -h | --help)
        sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0"
        exit
        ;;
    -*) die "unknown option $1" ;;
    *) break ;;
    esac
done
if [ $# != 1 ] || [ ! -d "$1" ]; then die "name one folder of labelled logs; --help says what it holds"; fi
have python3 || die "python3 is needed"
if [ -z "$analyze" ]; then
    rust_is_new_enough || die "Rust $least_rust or newer is needed (found: $(found_rust))"
    (cd "$project" && cargo build --release --quiet -p dxt-analyze --bin dxt-analyze)
    analyze=$(target_dir)/release/dxt-analyze
fi
exec python3 "$project/scripts/labels/score.py" --analyze "$analyze" "${options[@]}" "$1"
