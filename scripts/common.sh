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

# older_glibc: from here on cargo builds what runs below an older glibc too, in a directory of its own. Where that cannot be had it is said.
older_glibc() {
    local place
    place=$(target_dir)/older
    if "$project/scripts/older-glibc.sh" "$place/glibc"; then
        export PATH="$place/glibc/bin:$PATH" CARGO_TARGET_DIR=$place
    else
        echo "${0##*/}: what is built asks for this machine's glibc" >&2
    fi
}

# newest_glibc FILE...: the least glibc that has all that files ask for, such as 2.17.
newest_glibc() { readelf --version-info --wide "$@" | grep -o 'GLIBC_2\.[0-9]*' | cut -d _ -f 2 | sort -t . -k 2n | tail -n 1; }
