#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test, then fuzz targets, format, lints and shell scripts. Arguments go to `cargo test`,
# for instance a test's name. All steps run, whatever fails; the end says how long each took, what was skipped, and what failed. With
# CI=true a test that was skipped for want of something that can be installed has failed.
# --fast: only unit tests, tests of analyses on simulated jobs, format, words and shell scripts; installs nothing. For use before a commit.
set -euo pipefail
# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$project"

failed=()
times=()
# What steps say on standard error; tests say there what they skip.
said=${DXT_TEST_SAID:-}
[ -n "$said" ] || said=$(mktemp "${TMPDIR:-/tmp}/dxt-test.XXXXXX")

# step NAME COMMAND...: runs a step, and notes how long it took and whether it failed; the end repeats why.
step() {
    local began=$SECONDS
    heading "$1"
    { { "${@:2}" 2>&1 >&3 3>&- | tee -a "$said" 3>&-; } 3>&1 | tee "$said.step"; } || {
        failed+=("$1")
        { heading "$1" && failures "$said.step"; } >>"$said.failures"
    }
    took "$began" "$1"
}

# failures FILE: of a step's output the messages of the tests that failed, and what cargo says of programs that ended otherwise (a signal)
# with what they printed last; the end of the output if it has neither.
failures() {
    local ended='^error: |process didn.t exit successfully|has overflowed its stack|panicked in a destructor'
    awk '/^failures:$/ { on = 1 } on && n++ < 300; /^test result:/ { on = 0 }' "$1"
    grep -E -B 25 -A 6 -- "$ended" "$1" | tail -n 200 || true
    grep -qE -- "^failures:\$|$ended" "$1" || tail -n 40 "$1"
}

# took BEGAN NAME: notes how long something took that began at that second.
took() {
    times+=("$(awk -v s=$((SECONDS - $1)) 'BEGIN { printf "%6.1f min", s / 60 }')  $2")
}

# skip WHY: a step that cannot be run, in the tests' words.
skip() {
    echo "skipped: $*" | tee -a "$said" >&2
}

python_modules() {
    local modules=(duckdb pyarrow darshan drishti-io dxt-explorer "dask[dataframe]" pandas polars pytest mypy "maturin>=1.9,<2")
    "$test_python" -c "import duckdb, pyarrow, darshan, drishti, explorer, dask.dataframe, pandas, polars, pytest, mypy, maturin" \
        >/dev/null 2>&1 && return
    # Tests that need them are skipped and say so.
    { python3 -m venv "$(target_dir)/test-venv" && "$test_python" -m pip install --quiet "${modules[@]}"; } ||
        echo "failed to install ${modules[*]}"
}

# With the destinations of `live` that a build for users may leave out.
workspace=(--workspace --features "dxt-analyze/live-http,dxt-analyze/postgres,dxt-analyze/nats")
# What tests need, with the features that they give to what they share; `wheel` takes the Python module of it.
all_built=(--lib --bins --examples --tests)
# Crates with `test = false`, which `--lib` and a test's name would test.
built_of_others=(--exclude dxt-tracer-static --exclude dxt-run --exclude dxt-python)

# What users run, in release, and the tests. One processor is enough for the most of either.
build() {
    cargo build --release -p dxt-tracer -p dxt-tracer-static -p dxt-run &
    local of_users=$!
    # What is wrong is said where they run. With the Python module, which `cargo test --no-run` would leave out.
    cargo build "${workspace[@]}" "${all_built[@]}" || true
    wait "$of_users"
}

# Tests wait for half of their time, for programs and for what these write: the tracer's (`programs`) run beside all others, and what they
# say comes when those are done.
tests() {
    local of_programs others runner status=0
    if [ $# -gt 0 ]; then
        cargo test "${workspace[@]}" "${built_of_others[@]}" --no-fail-fast "$@"
        return
    fi
    # With job control on: the shell has other background jobs ignore SIGINT and SIGQUIT, and so would the programs that they test.
    set -m
    cargo test "${workspace[@]}" --no-fail-fast --test programs >"$said.programs" 2>&1 </dev/null &
    of_programs=$!
    set +m
    # A terminal's interrupt does not reach that process group.
    # shellcheck disable=SC2064 # the variable is gone when the trap runs
    trap "kill -- -$of_programs 2>/dev/null || true" EXIT
    # `--lib` would also test crates that are built of another crate's sources and have `test = false`.
    others=$(target_dir)/test-others
    # shellcheck disable=SC2016 # for that script to expand
    printf '#!/bin/sh\n: >"%s"\ncase ${1##*/} in programs-*) exit 0 ;; esac\nexec "$@"\n' "$said.begun" >"$others"
    chmod +x -- "$others"
    runner=CARGO_TARGET_$(rustc -vV | sed -n 's/^host: //p' | tr 'a-z-' 'A-Z_')_RUNNER
    env "$runner=$others" cargo test "${workspace[@]}" --no-fail-fast || status=1
    touch "$said.begun"
    wait "$of_programs" || status=1
    trap - EXIT
    cat -- "$said.programs"
    # What they skip is said there.
    cat -- "$said.programs" >>"$said"
    return "$status"
}

# The wheel, of what is built already, installed.
wheel() {
    "$test_python" -c "import maturin, pytest" >/dev/null 2>&1 ||
        { skip "the Python package: maturin and pytest could not be installed" && return; }
    local dist tools
    dist=$(target_dir)/test-wheel tools=$(target_dir)/test-tools
    rm -rf -- "$dist" "$tools"
    mkdir -p "$tools/bin"
    cp "$DXT_TRACER_LIB" "$DXT_TEST_RUN" "$(target_dir)/debug/dxt-analyze" "$tools" || return
    # By itself maturin builds one package with the features that this one asks for, and so again all that it shares with the tests.
    cat >"$tools/bin/cargo" <<END
#!/usr/bin/env bash
set -o pipefail
[ "\$1" = rustc ] || exec "$(command -v cargo)" "\$@"
"$(command -v cargo)" build --quiet ${workspace[*]} ${all_built[*]} --message-format json-render-diagnostics | grep -F /dxt-analyze/python#
END
    chmod +x -- "$tools/bin/cargo"
    PATH=$tools/bin:$PATH scripts/package-wheel.sh --profile dev --tools "$tools" --python "$test_python" --out "$dist" &&
        "$test_python" -m pip install --quiet --no-deps --force-reinstall "$dist"/dxt_tracer-*.whl
}

python_package() {
    DXT_SYNTH=$(target_dir)/debug/dxt-synth "$test_python" -m pytest -q -p no:cacheprovider dxt-analyze/python/tests
}

fuzz_build() {
    if have c++; then scripts/fuzz.sh --build; else skip "fuzz targets: c++ is not installed"; fi
}

without_features() {
    local features
    cargo check --quiet -p dxt-live --no-default-features || return
    # Each by itself, as docs/install.md promises.
    for features in '' live parquet serve; do
        cargo check --quiet -p dxt-analyze --lib --bins --no-default-features --features "$features" || return
    done
}

lints() {
    if cargo clippy --version >/dev/null 2>&1; then
        cargo clippy "${workspace[@]}" --all-targets --quiet -- -D warnings
    else
        skip "lints: clippy is not installed"
    fi
}

# --beside NAME...: runs functions one after another, once the tests have begun: before, they need what cargo locks. As a session of its own,
# since the kernel shares the processors between sessions first (autogroup, sched(7)). `came_to NAME` tells a function's output and status.
beside() {
    local name status began
    until [ -e "$said.begun" ]; do
        kill -0 "$PPID" 2>/dev/null || exit 1
        sleep 1
    done
    renice -n 19 -p $$ >/dev/null
    echo 19 2>/dev/null >/proc/self/autogroup || true
    for name in "$@"; do
        status=0 began=$SECONDS
        "$name" >"$said.$name" 2>&1 </dev/null || status=$?
        echo "took $((SECONDS - began)) s beside the tests" >>"$said.$name"
        echo "$status" >"$said.$name.status"
    done
}

came_to() {
    cat -- "$said.$1"
    return "$(cat -- "$said.$1.status" 2>/dev/null || echo 1)"
}

fast() {
    local analyses=(causes:: checks:: compare:: house:: layers:: ledger:: readme:: stripes:: what_if::)
    step "Unit tests" cargo test "${workspace[@]}" "${built_of_others[@]}" --lib --no-fail-fast
    step "Analyses" cargo test -p dxt-analyze --features live-http,postgres,nats --test it -- "${analyses[@]}" --skip programs:: --skip signature_
    step "Format" cargo fmt --all --check
    step "Shell scripts" shellcheck -x "${shell_scripts[@]}"
    step "Words" scripts/words.sh
}

everything() {
    # What all steps build takes so much of a disk: a full one makes errors that say everything else.
    needed_gib=6
    mkdir -p -- "$(target_dir)"
    free_kib=$(df -Pk -- "$(target_dir)" | awk 'NR == 2 { print $4 }')
    if [ "$free_kib" -lt $((needed_gib << 20)) ]; then
        echo "$(target_dir) has room for $((free_kib >> 10)) MiB; the build takes up to $needed_gib GiB" >&2
    fi

    step "Setup" scripts/setup.sh --for test
    # Rust may have come with it.
    hash -r
    # Nothing here is built twice for an edit in between.
    [ "${CI:-}" != true ] || export CARGO_INCREMENTAL=0
    # What the tests of `export` and `corpus` read their files with. (Those of `corpus` also run Spark, if this Python has pyspark and there
    # is a Java.) Fetched while all is built.
    test_python=$(target_dir)/test-venv/bin/python3
    python_modules >"$said.modules" 2>&1 &
    # The tests run the library and the launcher that users run. The analyzer's own tests build that as they need it: optimized for users it takes ten minutes.
    step "Build" build
    DXT_TRACER_LIB=$(target_dir)/release/libdxt_tracer.so DXT_TEST_RUN=$(target_dir)/release/dxt-run
    export DXT_TRACER_LIB DXT_TEST_RUN
    for built in "$DXT_TRACER_LIB" "$DXT_TEST_RUN"; do [ -e "$built" ] || die "the build made no $built"; done

    wait
    step "Python modules for tests" cat -- "$said.modules"
    export DXT_TEST_PYTHON=${DXT_TEST_PYTHON:-$test_python}

    # Tests wait for half of their time: what only compiles gets the processors that they leave.
    local built_beside=(wheel without_features lints) name
    export test_python DXT_TEST_SAID=$said
    setsid "$BASH" scripts/test.sh --beside "${built_beside[@]}" &
    of_beside=($!)
    # Fuzz targets have a build directory of their own.
    setsid "$BASH" scripts/test.sh --beside fuzz_build &
    of_beside+=($!)
    unset DXT_TEST_SAID
    step "Tests" tests "$@"
    # Also if the tests ended without running any.
    touch "$said.begun"
    # Not as a step: a subshell cannot wait for its parent's processes.
    heading "Builds beside the tests"
    local began=$SECONDS
    wait "${of_beside[@]}" || true
    of_beside=()
    took "$began" "Builds beside the tests, after these"
    for name in "${built_beside[@]}" fuzz_build; do
        step "Beside the tests: ${name//_/ }" came_to "$name"
    done
    # Not with a wheel of an earlier run.
    if came_to wheel >/dev/null 2>&1 && "$test_python" -c "import dxt, pytest" >/dev/null 2>&1; then step "Python package" python_package; fi
    if have c++; then step "Fuzz targets" scripts/fuzz.sh 10; fi
    if cargo fmt --version >/dev/null 2>&1; then
        step "Format" cargo fmt --all --check
    else
        skip "format: rustfmt is not installed"
    fi
    if have shellcheck; then
        step "Shell scripts" shellcheck -x "${shell_scripts[@]}"
    else
        skip "shell scripts: shellcheck is not installed"
    fi
    # Of all that packages and the wheel link.
    step "Licences" scripts/licences.sh - dxt-analyze dxt-run dxt-tracer dxt-python
    # What a merge leaves where two changes meet reads like text.
    no_merge_marks() { ! grep -rnE --exclude-dir=target --exclude-dir=.git '^(<<<<<<<|>>>>>>>) ' .; }
    step "No marks of merges" no_merge_marks
    step "Words" scripts/words.sh
}

shell_scripts=(scripts/*.sh scripts/dxt-run scripts/link-flags scripts/*/*.sh .ci/run)
if [ "${1:-}" = --beside ]; then
    beside "${@:2}"
    exit
fi
of_beside=()
# shellcheck disable=SC2154 # `process` is the trap's own
trap 'for process in "${of_beside[@]}"; do kill -- -"$process" 2>/dev/null || true; done; rm -f -- "$said" "$said".*' EXIT
if [ "${1:-}" = --fast ]; then fast; else everything "$@"; fi

heading "Result"
printf '%s\n' "${times[@]}"
# Tests of several threads write at once, so a line may begin behind another's words.
skipped=$(grep -o 'skipped: .*' "$said" | sort -u || true)
unable=$(grep -o 'skipped here: .*' "$said" | sort -u || true)
if [ -n "$skipped$unable" ]; then
    echo "not tested ('skipped here': impossible on this machine; 'skipped': scripts/setup.sh should have installed what is missing):"
    printf '%s\n' "$skipped" "$unable" | sed '/^$/d; s/^/    /'
fi
if [ -n "$skipped" ] && [ "${CI:-}" = true ]; then
    failed+=("$(printf '%s\n' "$skipped" | wc -l) tests that were skipped, which CI does not allow")
fi
if [ ${#failed[@]} -gt 0 ]; then
    cat -- "$said.failures" 2>/dev/null || true
    heading Failed
    printf 'failed: %s\n' "${failed[@]}"
    exit 1
fi
echo "everything passed"
