#!/usr/bin/env bash
# Ends processes at random moments, for the given number of minutes, with every kind of process, mode and way to end. Prints a table of
# lost and duplicated calls, with the seeds that reproduce them.
# usage: scripts/soak.sh MINUTES [WORD[,WORD...]]     only cases whose names have these words, such as `threads,fold`
# Variables: DXT_ENDS_SEED (seed of the random numbers), DXT_ENDS_KEEP (keep the files of failed runs)
set -euo pipefail
# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$project"

minutes=${1:?usage: scripts/soak.sh MINUTES [WORD,...]}
cargo build --release -p dxt-tracer
DXT_TRACER_LIB=$(target_dir)/release/libdxt_tracer.so
export DXT_TRACER_LIB DXT_SOAK_MINUTES=$minutes DXT_ENDS_TABLE=1 DXT_ENDS_SEED=${DXT_ENDS_SEED:-$(date +%s)}
[ $# -lt 2 ] || export DXT_SOAK_ONLY=$2
cargo test -p dxt-tracer --test programs -- --ignored --exact --nocapture ends::soak
