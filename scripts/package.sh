#!/usr/bin/env bash
# Makes packages in target/package. Usage: scripts/package.sh source|deb|rpm|all [--from DIR]
#   source  dxt-tracer-VERSION.tar.xz: the sources with those of all they use; builds without a network
#   deb     for Debian and Ubuntu, by cargo-deb
#   rpm     for Fedora, RHEL, SUSE, by cargo-generate-rpm
#   --from DIR  do not build: take the library and dxt-analyze from DIR, such as target/release
# A package runs where the C library is at least that of the machine that it was made on says (docs/install.md). Tools that are
# missing are installed by cargo. The licences of all that is linked go into it, by cargo-about.
set -euo pipefail
# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$project"

from=() wanted=()
while [ $# -gt 0 ]; do
    case $1 in
    source | deb | rpm) wanted+=("$1") ;;
    all) wanted+=(source deb rpm) ;;
    --from) [ $# -ge 2 ] || die "--from needs a directory" && from=(--from "$2") && shift ;;
    -h | --help) sed -n '2,8s/^# \?//p' "$0" && exit ;;
    *) die "unknown word $1; see scripts/package.sh --help" ;;
    esac
    shift
done
[ ${#wanted[@]} -gt 0 ] || die "say which: source, deb, rpm or all"

version=$(sed -n 's/^version *= *"\(.*\)"/\1/p' Cargo.toml | head -n 1)
# Where the packages' manifests look.
out=$project/target/package
mkdir -p "$out"

# tool NAME: a tool of cargo's, installed if it is not there.
tool() { have "$1" || cargo install --quiet --locked "$@"; }

licences() {
    local file=packaging/THIRD-PARTY.html
    # It takes minutes.
    [ ! "$file" -nt Cargo.lock ] || return 0
    tool cargo-about --features cli
    cargo about generate --locked --config packaging/about.toml packaging/about.hbs -o "$file"
}

staged=
stage() {
    [ -z "$staged" ] || return 0
    staged=yes
    licences
    rm -rf -- "$out/root"
    scripts/install.sh --prefix /usr --destdir "$out/root" ${from[@]+"${from[@]}"}
}

make_source() {
    git rev-parse --git-dir >/dev/null 2>&1 || die "the sources are packed from a clone"
    local name=dxt-tracer-$version
    rm -rf -- "${out:?}/$name"
    git archive --prefix="$name/" HEAD | tar -x -C "$out"
    (cd "$out/$name" && cargo vendor --quiet --locked --versioned-dirs vendor >/dev/null)
    mkdir -p "$out/$name/.cargo"
    # Cargo takes them instead of the registry.
    printf '[source.crates-io]\nreplace-with = "vendored-sources"\n\n[source.vendored-sources]\ndirectory = "vendor"\n' \
        >"$out/$name/.cargo/config.toml"
    tar -C "$out" --owner=0 --group=0 --sort=name -cJf "$out/$name.tar.xz" "$name"
    rm -rf -- "${out:?}/$name"
    echo "$out/$name.tar.xz"
}

make_deb() {
    stage
    tool cargo-deb
    cargo deb --quiet --no-build --no-strip -p dxt-analyze -o "$out"
}

make_rpm() {
    stage
    tool cargo-generate-rpm
    cargo generate-rpm -p dxt-analyze --target-dir "$(target_dir)" -o "$out"
    ls "$out"/*.rpm
}

for kind in "${wanted[@]}"; do "make_$kind"; done
