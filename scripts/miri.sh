#!/usr/bin/env bash
# The tracer's unsafe code that needs neither mapped memory nor system calls of its own, under Miri, which finds undefined behaviour in what runs: slots
# and their marks, the counters that many threads add to, batches, and what MPI's operators do with its buffers. Some minutes; needs
#   rustup toolchain install nightly --component miri,rust-src
# Usage: scripts/miri.sh [TEST...]
set -euo pipefail
# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$project"

cargo +nightly miri --version >/dev/null 2>&1 || die "there is no Miri: rustup toolchain install nightly --component miri,rust-src"
tests=("$@")
[ ${#tests[@]} -gt 0 ] || tests=(buffer::slot buffer::marks buffer::counting::batch registry::folded flush::reduce)
# The test harness asks the clock and the environment.
MIRIFLAGS=${MIRIFLAGS:--Zmiri-disable-isolation} cargo +nightly miri test --quiet -p dxt-tracer --lib -- "${tests[@]}"
