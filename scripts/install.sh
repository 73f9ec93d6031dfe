#!/usr/bin/env bash
# Builds and installs everything below one directory:
#   bin/dxt-analyze bin/dxt-run, lib/dxt/libdxt_tracer.so, lib/dxt/libdxt_static.a (for static programs), share/pkgconfig, share/man, completions of shells, share/doc/dxt,
#   share/modulefiles/dxt (for `module use`), share/dxt (a prologue for Slurm, a unit for systemd), etc/dxt/dxt.conf (kept if it is there)
#
# Usage: scripts/install.sh --prefix DIR [--destdir DIR] [--features LIST] [--older-glibc | --from DIR]
#   --prefix DIR     directory of the installation, such as $HOME/.local or /usr/local
#   --destdir DIR    prepended to the prefix while files are installed, for packages
#   --features LIST  features of dxt-analyze besides the default ones: live-http,postgres,nats, or `none` (default: all three)
#   --older-glibc    build programs that also run on an older glibc, as packages do (scripts/older-glibc.sh)
#   --from DIR       do not build; install the programs and libraries in DIR, such as target/release
# Needs a C compiler and Rust (scripts/setup.sh --for build installs them). Sources from `scripts/package.sh source` need no network.
set -euo pipefail
# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

prefix='' destdir='' features=live-http,postgres,nats from='' older=''
while [ $# -gt 0 ]; do
    case $1 in
    --prefix | --destdir | --features | --from)
        [ $# -ge 2 ] || die "$1 needs a value"
        declare "${1#--}=$2"
        shift
        ;;
    --prefix=* | --destdir=* | --features=* | --from=*)
        name=${1%%=*}
        declare "${name#--}=${1#*=}"
        ;;
    --older-glibc) older=yes ;;
    -h | --help) sed -n '2,13s/^# \?//p' "$0" && exit ;;
    *) die "unknown option $1; see scripts/install.sh --help" ;;
    esac
    shift
done
[ -n "$prefix" ] || die "--prefix DIR is missing; see scripts/install.sh --help"
case $prefix in
/*) ;;
*) prefix=$PWD/$prefix ;;
esac
# LD_PRELOAD splits at some of the other characters, and some have a meaning in module files.
case $prefix in *[!A-Za-z0-9/._+~@%=,-]*) die "the prefix $prefix may contain only letters, digits and /._+~@%=,-" ;; esac

# Relative to the user's directory, not to the project's.
[ -z "$from" ] || from=$(readlink -m -- "$from")
[ -z "$destdir" ] || destdir=$(readlink -m -- "$destdir")
cd "$project"
if [ -z "$from" ]; then
    rust_is_new_enough || die "Rust $least_rust or newer is needed (found: $(found_rust)): scripts/setup.sh --for build gets it"
    # In a separate target directory: cargo does not notice that it links with other libraries than before.
    [ -z "$older" ] || older_glibc || die "this machine cannot link for an older glibc"
    from=$(target_dir)/release
    [ "$features" != none ] || features=
    cargo build --release --locked -p dxt-tracer -p dxt-tracer-static -p dxt-run -p dxt-analyze --features "$(sed 's/[a-z]/dxt-analyze\/&/; s/,/,dxt-analyze\//g' <<<"$features")"
fi
for file in libdxt_tracer.so libdxt_static.a dxt-run dxt-analyze; do [ -e "$from/$file" ] || die "there is no $from/$file"; done

root=$destdir$prefix
version=$(sed -n 's/^version *= *"\(.*\)"/\1/p' Cargo.toml | head -n 1)
conf=$prefix/etc/dxt/dxt.conf
# For the prefix /usr, configuration is in /etc.
if [ "$prefix" = /usr ]; then conf=/etc/dxt/dxt.conf; fi

# filled FILE TO: installs a template with the paths of this installation filled in.
filled() { sed -e "s|@prefix@|$prefix|g" -e "s|@version@|$version|g" -e "s|@conf@|$conf|g" "$1" | install -D -m 644 /dev/stdin "$2"; }

install -d "$root/bin"
install -m 755 "$from/dxt-analyze" "$from/dxt-run" "$root/bin"
# Replaced by rename, not overwritten: running programs have the old library mapped.
install -D -m 755 "$from/libdxt_tracer.so" "$root/lib/dxt/.libdxt_tracer.so.new"
if have strip; then strip --strip-unneeded "$root/bin/dxt-analyze" "$root/bin/dxt-run" "$root/lib/dxt/.libdxt_tracer.so.new"; fi
mv -f -- "$root/lib/dxt/.libdxt_tracer.so.new" "$root/lib/dxt/libdxt_tracer.so"
# Makes internal symbols local: a program may have a zstd, or Rust's library, of its own.
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
nm -g --defined-only "$from/libdxt_static.a" 2>/dev/null | awk '$3 ~ /^(__wrap|dxt_real|dxt_known)_/ { print $3 }' >"$work/names"
sed 's/^/-u /' "$work/names" >"$work/wanted"
ld -r "@$work/wanted" "$from/libdxt_static.a" -o "$work/dxt_static.o"
# Drops the LLVM bitcode of Rust's library, which compilers could no longer read after `ld -r`.
objcopy --strip-debug --remove-section=.llvmbc --remove-section=.llvmcmd --keep-global-symbols="$work/names" "$work/dxt_static.o"
ar rcs "$work/libdxt_static.a" "$work/dxt_static.o"
install -m 644 "$work/libdxt_static.a" "$root/lib/dxt/libdxt_static.a"
# Installed by earlier versions.
rm -f -- "$root/lib/dxt/link-flags"
"$from/dxt-analyze" --quiet generate "$root"
install -D -m 755 scripts/site/task_prolog.sh "$root/share/dxt/task_prolog.sh"
sed "s|/usr/local/bin|$prefix/bin|" scripts/dxt-live.service | install -D -m 644 /dev/stdin "$root/share/dxt/dxt-live.service"
# Not in lib/pkgconfig: some 64-bit systems search only lib64, but all search share.
rm -f -- "$root/lib/pkgconfig/dxt-tracer.pc"
filled packaging/dxt-tracer.pc "$root/share/pkgconfig/dxt-tracer.pc"
for kind in tcl lua; do
    extension=${kind#tcl}
    filled packaging/modules/dxt.$kind "$root/share/modulefiles/dxt/$version${extension:+.$extension}"
    filled packaging/modules/auto.$kind "$root/share/modulefiles/dxt/auto${extension:+.$extension}"
done
# `module load dxt` must not load dxt/auto, which preloads the tracer.
printf '#%%Module1.0\nset ModulesVersion "%s"\n' "$version" | install -D -m 644 /dev/stdin "$root/share/modulefiles/dxt/.version"
install -d "$root/share/doc/dxt/docs" "$root/share/doc/dxt/trace-format"
install -m 644 LICENSE "$root/share/doc/dxt/"
install -m 644 docs/report.png "$root/share/doc/dxt/docs/"
# Sources are not installed: links to them become their paths, after the link text if that is more than a name.
sources='\((\.\.\/)?((dxt-analyze|packaging|scripts|testdata|tracer|trace-format\/(src|tests|fuzz|goldens?))[^)]*)\)'
for file in README.md CHANGELOG.md ARCHITECTURE.md CONTRIBUTING.md docs/*.md trace-format/FORMAT.md trace-format/SPOOL.md; do
    sed -E "s/\[([^] ]*)\]$sources/\`\3\`/g; s/\[([^]]*)\]$sources/\1 (\`\3\`)/g" "$file" |
        install -m 644 /dev/stdin "$root/share/doc/dxt/$file"
done
[ -e "$destdir$conf" ] || [ ! -e scripts/site/dxt.conf ] || install -D -m 644 scripts/site/dxt.conf "$destdir$conf"

if [ -z "$destdir" ]; then
    cat <<END
installed dxt-analyze and dxt-run $version in $prefix/bin
    export PATH=$prefix/bin:\$PATH            # or: module use $prefix/share/modulefiles; module load dxt
    dxt-run -o traces -- mpirun -n 4 ./app
    dxt-analyze report traces
END
fi
