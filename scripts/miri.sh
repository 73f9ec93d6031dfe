#!/usr/bin/env bash
# Runs Miri, which detects undefined behaviour, on the tracer's unsafe code that uses neither mapped memory nor direct system calls: slots and
# their marks, counters shared by threads, batches, and MPI operators on the tracer's buffers. Takes some minutes; needs
#   rustup toolchain install nightly --component miri,rust-src
# Usage: scripts/miri.sh [TEST...]
set -euo pipefail
# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$project"

cargo +nightly miri --version >/dev/null 2>&1 || die "Miri is not installed: run rustup toolchain install nightly --component miri,rust-src"
tests=("$@")
[ ${#tests[@]} -gt 0 ] || tests=(buffer::slot buffer::marks buffer::counting::batch registry::folded flush::reduce)
# The test harness reads the clock and the environment.
MIRIFLAGS=${MIRIFLAGS:--Zmiri-disable-isolation} cargo +nightly miri test --quiet -p dxt-tracer --lib -- "${tests[@]}"
