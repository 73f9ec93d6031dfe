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

# The oldest Rust that builds this: rust-version in Cargo.toml.
least_rust=$(sed -n 's/^rust-version *= *"\(.*\)"/\1/p' "$project/Cargo.toml")
found_rust() { rustc --version 2>/dev/null | awk '{ print $2 }' | grep . || echo none; }

# Whether cargo and rustc will do. Those of rustup go first where the system's, which stand before them in PATH, are too old.
rust_is_new_enough() {
    local of_rustup=${CARGO_HOME:-$HOME/.cargo}/bin
    if rust_will_do; then return 0; fi
    case $PATH in "$of_rustup":*) return 1 ;; esac
    PATH=$of_rustup:$PATH
    hash -r
    rust_will_do
}
rust_will_do() {
    local found
    have cargo && have rustc || return 1
    found=$(found_rust)
    [ "$found" != none ] && [ "$(printf '%s\n%s\n' "$least_rust" "$found" | sort -V | head -n 1)" = "$least_rust" ]
}

# Where cargo puts what it builds.
target_dir() {
    printf '%s\n' "${CARGO_TARGET_DIR:-$project/target}"
}

# older_glibc: from here on cargo builds what runs below an older glibc too, in a directory of its own. Fails where that cannot be had.
older_glibc() {
    local place
    place=$(target_dir)/older
    "$project/scripts/older-glibc.sh" "$place/glibc" || return
    export PATH="$place/glibc/bin:$PATH" CARGO_TARGET_DIR=$place
}

# newest_glibc FILE...: the least glibc that has all that files ask for, such as 2.17.
newest_glibc() { readelf --version-info --wide "$@" | grep -o 'GLIBC_2\.[0-9]*' | cut -d _ -f 2 | sort -t . -k 2n | tail -n 1; }
