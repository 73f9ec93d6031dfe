#!/usr/bin/env bash
# Benchmarks: scripts/bench.sh overhead | whole | parallel | start | size | analyze | ranks | signatures | live | python [options]. Each is a script in scripts/bench/.
set -euo pipefail
dir=$(dirname "${BASH_SOURCE[0]}")/bench
if [ $# -eq 0 ] || [ ! -e "$dir/$1.sh" ]; then
    echo "usage: scripts/bench.sh NAME [OPTION...], NAME one of:" >&2
    for script in "$dir"/*.sh; do
        name=$(basename "$script" .sh)
        [ "$name" = common ] || printf '  %-10s %s\n' "$name" "$(sed -n '2s/^# *//p' "$script")" >&2
    done
    exit 2
fi
exec bash "$dir/$1.sh" "${@:2}"
