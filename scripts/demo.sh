#!/usr/bin/env bash
# The main job, whole: a real parallel program (h5py on MPI-IO, 4 ranks, one shared HDF5 file) under the tracer, then what
# its trace says. Installs what that needs and no more. Usage: scripts/demo.sh [DIRECTORY] (default: a temporary one).
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
# Nothing of the user's is overwritten: the directory is new or of an earlier demo.
if [ ! -e "$directory/.dxt-demo" ] && [ -n "$(ls -A -- "$directory")" ]; then
    die "$directory has other things in it: name a new directory"
fi
: >"$directory/.dxt-demo"

heading "1 of 4: what is needed"
"$project/scripts/setup.sh" --for demo
echo "ready"

# Cargo's own progress in one line on a terminal; all it says is in a file, which is shown if it fails.
build() {
    local log=$directory/build.log began=$SECONDS
    # A profile that is built sooner than `release`, without what the demo does not show (Parquet).
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
        echo "cargo build --profile demo, for some minutes the first time (what it says goes to $log)"
        "${command[@]}" >"$log" 2>&1 || status=$?
    fi
    if [ $status != 0 ]; then
        tr '\r' '\n' <"$log" | grep -vE 'Building \[|^ +(Compiling|Downloaded) ' | tail -n 30 >&2
        die "the build failed; all it said is in $log"
    fi
    echo "built in $((SECONDS - began)) s"
}
heading "2 of 4: build the tracer and the analyzer"
# Puts the Rust that setup.sh has got before an older one of the system.
rust_is_new_enough || die "Rust $least_rust or newer is needed (found: $(found_rust)): scripts/setup.sh --for build gets it"
build
analyze=$(target_dir)/demo/dxt-analyze

heading "3 of 4: run a parallel program under the tracer"
if demo_python; then
    arguments=("$directory/shared.h5" 16 128 512)
elif demo_compiled "$directory"; then
    arguments=("$directory/pieces" 4096)
else
    die "$(demo_why) (scripts/setup.sh --for demo installs what is missing, where it can)"
fi
rm -rf -- "$directory/traces" "$directory/shared.h5" "$directory/pieces"
echo "$demo_what"
(cd -- "$directory" && "${analyze%/*}/dxt-run" -o "$directory/traces" -- "${demo_command[@]}" "${arguments[@]}")
# Where there are several, the largest is that of all ranks.
trace=$(find "$directory/traces" -name '*.dxt' -printf '%s %p\n' | sort -n | tail -n 1 | cut -d ' ' -f 2-)
[ -n "$trace" ] || die "the run left no trace"

heading "4 of 4: what the trace says (its file is taken to lie on Lustre, in 4 stripes of 1 MiB)"
page=$directory/report.html
status=0
"$analyze" report --force --layout "$project/testdata/layouts/four-by-1m.layout" -o "$page" "$trace" \
    >"$directory/findings" 2>"$directory/remarks" || status=$?
if [ $status -gt 4 ] || [ $status = 1 ] || [ $status = 2 ]; then
    cat "$directory/remarks" >&2
    die "the analyzer failed"
fi
echo "First where the run time went, and the verdict in a sentence; then what would save run time, the most first;"
echo "then the first three: what is wrong, an example, and behind -> what to do about it."
if [ "$(nproc)" -lt 4 ]; then echo "(4 ranks share $(nproc) processors here, so they wait longer than they would on a cluster.)"; fi
echo
cat "$directory/findings"
code=$(sed -n 's/^\(DXT-[A-Z0-9]*\).*/\1/p' "$directory/findings" | head -n 1)

# Short names for what follows, where they are right.
shown=${analyze#"$PWD"/} install=$project/scripts/install.sh
install=${install#"$PWD"/}
cat <<END

The page with all of it, timelines and tables:  $page  (open it in a browser)
The trace:  $trace

What to type next:
    $shown explain ${code:-DXT-L004}    # what the first finding means
    $shown layers $trace
    $install --prefix \$HOME/.local    # then, of your own program, not recompiled:
    dxt-run -o traces -- mpirun -n 4 ./app
    dxt-analyze report traces
END
