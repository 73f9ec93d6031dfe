#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test. Arguments go to `cargo test`, for instance a test's name.
set -euo pipefail
# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$project"

heading "Setup"
scripts/setup.sh

heading "Build"
cargo build --workspace --release
# The tests run what users run.
DXT_TRACER_LIB=$(target_dir)/release/libdxt_tracer.so
export DXT_TRACER_LIB

if cargo fmt --version >/dev/null 2>&1; then
    heading "Format"
    cargo fmt --all --check
fi
if cargo clippy --version >/dev/null 2>&1; then
    heading "Lints"
    cargo clippy --workspace --all-targets --quiet -- -D warnings
fi
if have shellcheck; then
    heading "Shell scripts"
    shellcheck -x scripts/*.sh scripts/dxt-run scripts/bench/*.sh .ci/run
fi

heading "Tests"
cargo test --workspace --no-fail-fast "$@"
