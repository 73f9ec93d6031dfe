#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test, then fuzz targets, format, lints and shell scripts. Arguments go to `cargo test`,
# for instance a test's name. All steps run, whatever fails; the end says which did.
set -euo pipefail
# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$project"

failed=()
# step NAME COMMAND...: runs a step and notes whether it failed.
step() {
    heading "$1"
    "${@:2}" || failed+=("$1")
}

heading "Setup"
scripts/setup.sh

heading "Build"
cargo build --workspace --release
# The tests run the library that users run.
DXT_TRACER_LIB=$(target_dir)/release/libdxt_tracer.so
export DXT_TRACER_LIB

# What the tests of `export` and `corpus` read their files with; without it they are skipped and say so. (Those of `corpus` also run
# Spark, if this Python has pyspark and there is a Java.)
test_python=$(target_dir)/test-venv/bin/python3
if ! "$test_python" -c "import duckdb, pyarrow, darshan, drishti, explorer, dask.dataframe" >/dev/null 2>&1; then
    heading "Python modules for tests"
    modules=(duckdb pyarrow darshan drishti-io dxt-explorer "dask[dataframe]")
    if ! { python3 -m venv "$(target_dir)/test-venv" && "$test_python" -m pip install --quiet "${modules[@]}"; }; then
        echo "failed to install ${modules[*]}: the tests that need them will be skipped"
    fi
fi
export DXT_TEST_PYTHON=${DXT_TEST_PYTHON:-$test_python}

step "Tests" cargo test --workspace --no-fail-fast "$@"
if have c++; then
    step "Fuzz targets" scripts/fuzz.sh 10
else
    echo "skipped: fuzz targets: c++ is not installed"
fi
if cargo fmt --version >/dev/null 2>&1; then
    step "Format" cargo fmt --all --check
fi
if cargo clippy --version >/dev/null 2>&1; then
    step "Lints" cargo clippy --workspace --all-targets --quiet -- -D warnings
fi
if have shellcheck; then
    step "Shell scripts" shellcheck -x scripts/*.sh scripts/dxt-run scripts/bench/*.sh .ci/run
fi

heading "Result"
if [ ${#failed[@]} -gt 0 ]; then
    printf 'failed: %s\n' "${failed[@]}"
    exit 1
fi
echo "everything passed"
