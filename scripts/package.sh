#!/usr/bin/env bash
# Makes packages in target/package. Usage: scripts/package.sh source|deb|rpm|all [--plain | --from DIR]
#   source  dxt-tracer-VERSION.tar.xz: the sources and those of all dependencies; builds without a network
#   deb     for Debian and Ubuntu, by cargo-deb
#   rpm     for Fedora, RHEL, SUSE, by cargo-generate-rpm
#   --plain     link with this machine's glibc rather than an older one (scripts/older-glibc.sh); the package then excludes older systems
#   --from DIR  do not build: take the libraries and programs from DIR, such as target/release
# Prints which glibc a package needs. Installs missing tools by cargo. Packages contain the licences of all linked libraries
# (scripts/licences.sh).
set -euo pipefail
# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$project"

from=() wanted=() plain=''
while [ $# -gt 0 ]; do
    case $1 in
    source | deb | rpm) wanted+=("$1") ;;
    all) wanted+=(source deb rpm) ;;
    --plain) plain=yes ;;
    --from) [ $# -ge 2 ] || die "--from needs a directory" && from=(--from "$2") && shift ;;
    -h | --help) sed -n '2,9s/^# \?//p' "$0" && exit ;;
    *) die "unknown argument $1; see scripts/package.sh --help" ;;
    esac
    shift
done
[ ${#wanted[@]} -gt 0 ] || die "give one or more of source, deb, rpm and all"

version=$(sed -n 's/^version *= *"\(.*\)"/\1/p' Cargo.toml | head -n 1)
# Directory that the packages' manifests refer to.
out=$project/target/package
mkdir -p "$out"

# tool NAME: installs a tool of cargo if it is missing. Runs first: the tool must be linked with this machine's glibc, as its libraries are,
# and if it cannot be installed, the build would be wasted.
tool() { have "$1" || cargo install --quiet --locked "$@"; }

staged='' asks=''
stage() {
    [ -z "$staged" ] || return 0
    staged=yes
    rm -rf -- "$out/root"
    [ -n "$plain${from[*]-}" ] || older_glibc || echo "${0##*/}: the package needs this machine's glibc" >&2
    scripts/install.sh --prefix /usr --destdir "$out/root" ${from[@]+"${from[@]}"}
    scripts/licences.sh "$out/root/usr/share/doc/dxt/THIRD-PARTY.txt" dxt-analyze dxt-run dxt-tracer
    asks=$(newest_glibc "$out"/root/usr/bin/dxt-* "$out"/root/usr/lib/dxt/libdxt_tracer.so)
    echo "needs glibc $asks or newer"
}

# only_for_linux DIR: reduces crates that no Linux build uses to their manifests, which cargo needs for all of Cargo.lock.
only_for_linux() {
    local used crate sum machine
    used=$(for machine in x86_64 aarch64 powerpc64le riscv64gc s390x; do
        cargo tree --quiet --locked --offline --workspace --all-features --target "$machine-unknown-linux-gnu" --no-dedupe --prefix none --format '{p}'
    done | sed -n 's/^\([^ ]*\) v\([^ ]*\).*/\1-\2/p' | sort -u)
    [ "$(grep -c . <<<"$used")" -gt 100 ] || die "cargo lists too few crates"
    for crate in "$1"/*; do
        ! grep -qxF -- "${crate##*/}" <<<"$used" || continue
        sum=$(sed -n 's/.*"package":"\([0-9a-f]*\)".*/\1/p' "$crate/.cargo-checksum.json")
        find "$crate" -mindepth 1 ! -path "$crate/Cargo.toml" -delete
        mkdir "$crate/src"
        : >"$crate/src/lib.rs"
        printf '{"files":{},"package":"%s"}' "$sum" >"$crate/.cargo-checksum.json"
    done
}

make_source() {
    git rev-parse --git-dir >/dev/null 2>&1 || die "source packages need a git clone"
    local name=dxt-tracer-$version
    rm -rf -- "${out:?}/$name"
    git archive --prefix="$name/" HEAD | tar -x -C "$out"
    (cd "$out/$name" && cargo vendor --quiet --locked --versioned-dirs vendor >/dev/null)
    only_for_linux "$out/$name/vendor"
    mkdir -p "$out/$name/.cargo"
    # Makes cargo use the vendored sources instead of the registry.
    printf '[source.crates-io]\nreplace-with = "vendored-sources"\n\n[source.vendored-sources]\ndirectory = "vendor"\n' \
        >"$out/$name/.cargo/config.toml"
    XZ_OPT=-T0 tar -C "$out" --owner=0 --group=0 --mode=a+rX,u+w,go-w --sort=name --mtime="@$(git log -1 --format=%ct)" -cJf "$out/$name.tar.xz" "$name"
    rm -rf -- "${out:?}/$name"
    # The checksum goes into the recipes of packaging/.
    (cd "$out" && sha256sum "$name.tar.xz" | tee "$name.tar.xz.sha256")
    echo "$out/$name.tar.xz"
}

# zsh_looks_in DIRECTORY: moves zsh completions to the directory of this kind of package; Debian's differs.
zsh_looks_in() {
    local zsh=$out/root/usr/share/zsh
    [ -e "$zsh/$1" ] || mv -- "$zsh"/* "$zsh/$1"
}

make_deb() {
    stage
    zsh_looks_in vendor-completions
    local variant=()
    [ "$(printf '%s\n2.17\n' "$asks" | sort -V | tail -n 1)" = 2.17 ] || variant=(--variant plain)
    cargo deb --quiet --no-build --no-strip -p dxt-analyze ${variant[@]+"${variant[@]}"} -o "$out"
}

make_rpm() {
    stage
    zsh_looks_in site-functions
    # rpm of older systems cannot unpack zstd.
    cargo generate-rpm -p dxt-analyze --payload-compress xz --target-dir "$(target_dir)" -o "$out"
    ls "$out"/*.rpm
}

for kind in "${wanted[@]}"; do
    case $kind in
    deb) tool cargo-deb ;;
    rpm) tool cargo-generate-rpm ;;
    esac
done
for kind in "${wanted[@]}"; do "make_$kind"; done
