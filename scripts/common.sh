# shellcheck shell=bash
# Sourced by the scripts here: where the project is, where cargo may be, and what MPI needs of us.

project=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
export PATH="$PATH:${CARGO_HOME:-$HOME/.cargo}/bin"

# Open MPI refuses to start as root unless it is told twice; in a container there is nobody else.
if [ "$(id -u)" = 0 ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi

have() { command -v "$1" >/dev/null 2>&1; }
heading() { printf '\n== %s\n' "$*"; }
die() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

# Where cargo puts what it builds.
target_dir() {
    printf '%s\n' "${CARGO_TARGET_DIR:-$project/target}"
}
