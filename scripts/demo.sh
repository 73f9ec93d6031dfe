#!/usr/bin/env bash
# Traces a real parallel program (h5py on MPI-IO, 4 ranks, one shared HDF5 file) and analyzes its trace.
# Installs only what this needs. Usage: scripts/demo.sh [DIRECTORY] (default: a temporary one).
set -euo pipefail
# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
# shellcheck source=demo/program.sh
. "$project/scripts/demo/program.sh"

case ${1:-} in
-*) sed -n '2,3s/^# //p' "$0" && exit ;;
esac
directory=${1:-$(mktemp -d "${TMPDIR:-/tmp}/dxt-demo.XXXXXX")}
mkdir -p -- "$directory"
directory=$(cd -- "$directory" && pwd -P)
# Overwrites no files of the user: the directory must be empty or of an earlier demo.
if [ ! -e "$directory/.dxt-demo" ] && [ -n "$(ls -A -- "$directory")" ]; then
    die "$directory contains other files: give a new directory"
fi
: >"$directory/.dxt-demo"

heading "1 of 4: install what is missing"
"$project/scripts/setup.sh" --for demo
echo "ready"

# Shows cargo's progress in one line on a terminal. The whole output goes into a file, whose end is shown on failure.
build() {
    local log=$directory/build.log began=$SECONDS
    # A profile that builds faster than `release`, without features that the demo does not use (Parquet).
    local command=(cargo build --profile demo --locked --manifest-path "$project/Cargo.toml" -p dxt-tracer -p dxt-run -p dxt-analyze
        --no-default-features --features serve)
    local status=0
    if [ -t 1 ]; then
        CARGO_TERM_PROGRESS_WHEN=always CARGO_TERM_PROGRESS_WIDTH=$(tput cols 2>/dev/null || echo 80) "${command[@]}" 2>&1 |
            tee "$log" | stdbuf -oL tr '\r' '\n' |
            while read -r line; do
                case $line in
                *Building*[[]* | *Updating* | *Download*) printf '\r\033[K%s' "$line" ;;
                esac
            done || status=$?
        printf '\r\033[K'
    else
        echo "cargo build --profile demo: takes some minutes the first time (its output goes to $log)"
        "${command[@]}" >"$log" 2>&1 || status=$?
    fi
    if [ $status != 0 ]; then
        tr '\r' '\n' <"$log" | grep -vE 'Building \[|^ +(Compiling|Downloaded) ' | tail -n 30 >&2
        die "the build failed; its full output is in $log"
    fi
    echo "built in $((SECONDS - began)) s"
}
heading "2 of 4: build the tracer and the analyzer"
# Prefers the Rust that setup.sh has installed to an older one of the system.
rust_is_new_enough || die "Rust $least_rust or newer is needed (found: $(found_rust)): scripts/setup.sh --for build gets it"
build
analyze=$(target_dir)/demo/dxt-analyze

heading "3 of 4: run a parallel program under the tracer"
if demo_python; then
    arguments=("$directory/shared.h5" 16 128 512)
elif demo_compiled "$directory"; then
    arguments=("$directory/pieces" 4096)
else
    die "$(demo_why) (scripts/setup.sh --for demo installs what is missing, if it can)"
fi
rm -rf -- "$directory/traces" "$directory/shared.h5" "$directory/pieces"
echo "$demo_what"
(cd -- "$directory" && "${analyze%/*}/dxt-run" -o "$directory/traces" -- "${demo_command[@]}" "${arguments[@]}")
# If there are several traces, the largest is that of all ranks.
trace=$(find "$directory/traces" -name '*.dxt' -printf '%s %p\n' | sort -n | tail -n 1 | cut -d ' ' -f 2-)
[ -n "$trace" ] || die "the run left no trace"

heading "4 of 4: analyze the trace (assuming that the file is on Lustre, in 4 stripes of 1 MiB)"
page=$directory/report.html
status=0
"$analyze" report --force --layout "$project/testdata/layouts/four-by-1m.layout" -o "$page" "$trace" \
    >"$directory/findings" 2>"$directory/remarks" || status=$?
if [ $status -gt 4 ] || [ $status = 1 ] || [ $status = 2 ]; then
    cat "$directory/remarks" >&2
    die "the analyzer failed"
fi
echo "The report begins with the split of the run time and the verdict, then lists what would save run time, largest saving first."
echo "For the first three findings it shows the problem, an example, and after -> the remedy."
if [ "$(nproc)" -lt 4 ]; then echo "(4 ranks share $(nproc) processors here, so they wait longer than on a cluster.)"; fi
echo
cat "$directory/findings"
code=$(sed -n 's/^\(DXT-[A-Z0-9]*\).*/\1/p' "$directory/findings" | head -n 1)

# Paths below the current directory are shown relative to it.
shown=${analyze#"$PWD"/} install=$project/scripts/install.sh
install=${install#"$PWD"/}
cat <<END

The page with everything, timelines and tables:  $page  (open it in a browser)
The trace:  $trace

Next commands:
    $shown explain ${code:-DXT-L004}    # explains the first finding
    $shown layers $trace
    $install --prefix \$HOME/.local    # then, for your own program, without recompiling:
    dxt-run -o traces -- mpirun -n 4 ./app
    dxt-analyze report traces
END
