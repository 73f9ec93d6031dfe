# shellcheck shell=bash
# Sourced by the scripts here: the project's directory, cargo's directory on PATH, and settings for MPI.

project=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
export PATH="$PATH:${CARGO_HOME:-$HOME/.cargo}/bin"

# Open MPI starts as root only with both variables; in a container there is no other user.
if [ "$(id -u)" = 0 ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi

have() { command -v "$1" >/dev/null 2>&1; }
heading() { printf '\n== %s\n' "$*"; }
die() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

# Oldest Rust that builds the project: rust-version in Cargo.toml.
least_rust=$(sed -n 's/^rust-version *= *"\(.*\)"/\1/p' "$project/Cargo.toml")
found_rust() { rustc --version 2>/dev/null | awk '{ print $2 }' | grep . || echo none; }

# Succeeds if cargo and rustc are new enough. If the system's are too old, puts those of rustup first in PATH.
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

# Cargo's target directory.
target_dir() {
    printf '%s\n' "${CARGO_TARGET_DIR:-$project/target}"
}

# older_glibc: makes later cargo builds run on an older glibc, too, in a target directory of their own. Fails if this machine cannot do so.
older_glibc() {
    local place
    place=$(target_dir)/older
    "$project/scripts/older-glibc.sh" "$place/glibc" || return
    export PATH="$place/glibc/bin:$PATH" CARGO_TARGET_DIR=$place
}

# newest_glibc FILE...: oldest glibc on which the files run (the newest version that they need), such as 2.17.
newest_glibc() { readelf --version-info --wide "$@" | grep -o 'GLIBC_2\.[0-9]*' | cut -d _ -f 2 | sort -t . -k 2n | tail -n 1; }
