#!/usr/bin/env bash
# Bytes and nanoseconds per segment of the trace's encoding, on real pwrite calls, regular and random.
#
# Usage: scripts/bench.sh size [--segments N] [--runs R] [--only PATTERN]
# Targets: at most 1.5 bytes regular and 5 bytes random, at most 40 ns to encode.
set -euo pipefail
# shellcheck source=../common.sh
. "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

cd "$project"
exec cargo bench --quiet -p trace-format --bench size -- "$@"
