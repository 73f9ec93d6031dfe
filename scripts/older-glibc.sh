#!/usr/bin/env bash
# Makes stub libraries in DIR to link with instead of the system's, so that programs run on an older glibc, and a compiler that uses them:
#     CARGO_TARGET_DIR=DIR/target PATH=DIR/bin:$PATH cargo build ...
# (The separate target directory is needed: cargo does not notice another linker. scripts/install.sh --older-glibc does both.)
# The stubs have the symbols of the system's libraries and no code. Each symbol has the newest version that glibc VERSION had; later symbols are
# absent, so that links that need them fail. Linker, compiler, headers and Rust's library (which needs 2.17) stay the system's.
#
# Usage: scripts/older-glibc.sh DIR [VERSION]   (default: 2.17; x86_64 and aarch64)
set -euo pipefail
# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

if [ $# -lt 1 ] || [ "$1" = --help ]; then sed -n '2,8s/^# \?//p' "$0" >&2 && exit 2; fi
case $1 in *[!A-Za-z0-9/._+~@%=,-]*) die "a linker script cannot contain this path: $1" ;; esac
mkdir -p "$1"
dir=$(cd "$1" && pwd -P)
newest=${2:-2.17}
have objdump || die "objdump is needed: install binutils"
compiler=$(type -P cc) || die "a C compiler is needed"
[ "$compiler" != "$dir/bin/cc" ] || die "the C compiler in PATH is the one that this script made"

case $(uname -m) in
x86_64) loader=ld-linux-x86-64.so.2 first=2.2.5 stat_version=1 ;;
aarch64) loader=ld-linux-aarch64.so.1 first=2.17 stat_version=0 ;;
*) die "only x86_64 and aarch64 are supported" ;;
esac
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT

# place SONAME: path of the system's library.
place() {
    local file
    file=$(cc -print-file-name="$1")
    if [ "$file" = "$1" ]; then file=$(ldconfig -p | sed -n "s|^[[:space:]]*$1 .*=> ||p" | head -n 1); fi
    [ -e "$file" ] || die "there is no $1"
    readlink -f -- "$file"
}

# names LIBRARY: NAME VERSION TYPE SIZE LATER of each symbol, with the version to link with; LATER is 1 if newer versions exist.
names() {
    objdump -T "$1" | awk -v newest="$newest" '
        function number(version, part) { split(version, part, "."); return part[1] * 1000000 + part[2] * 1000 + part[3] }
        # Fields: value, flags, section, size, version (in brackets if it is not the default for links), name.
        $0 !~ /\*UND\*/ && $0 !~ /\*ABS\*/ && NF >= 6 {
            name = $NF; version = $(NF - 1)
            if (version !~ /[(]/) linked[name] = 1
            gsub(/[()]/, "", version)
            if (version !~ /^(GLIBC|GCC)_[0-9.]+$/) next
            glibc = version ~ /^GLIBC/
            sub(/^[A-Z]+_/, "", version)
            if (glibc && number(version) > number(newest)) { later[name] = 1; next }
            if (name in best && number(version) < number(best[name])) next
            best[name] = version; prefix[name] = glibc ? "GLIBC_" : "GCC_"
            type[name] = / DO /? "object" : "function"; size[name] = $(NF - 2)
        }
        END { for (name in best) if (name in linked) print name, prefix[name] best[name], type[name], size[name], (name in later) }' | LC_ALL=C sort
}

# stub SONAME < names: makes a library without code.
stub() {
    cat >"$work/names"
    {
        awk '{ mark = $1 == "__libc_start_main" ? "@" : "@@"
               printf ".globl older_%d\n.type older_%d, @%s\n.size older_%d, 0x%s\nolder_%d: .skip 8\n.symver older_%d, %s%s%s\n", NR, NR, $3, NR, $4, NR, NR, $1, mark, $2 }' "$work/names"
        echo '.section .note.GNU-stack,"",%progbits'
    } >"$work/stub.s"
    { echo "GLIBC_$first" && cut -d ' ' -f 2 "$work/names" | LC_ALL=C sort -u; } |
        awk 'NR == 1 || $0 != first { print $0, NR == 1 ? "{ local: older_*; };" : "{ };" } NR == 1 { first = $0 }' >"$work/versions"
    cc -shared -nostdlib -Wl,-soname,"$1" -Wl,--version-script="$work/versions" -x assembler "$work/stub.s" -o "$dir/$1"
}

# glibc 2.32 to 2.34 moved symbols of other libraries into libc, under a new version: these have an old and a later version.
names "$(place libc.so.6)" >"$work/libc"
moved() {
    case $1 in
    dl) awk '$5 && $1 ~ /^dl[a-z]/' "$work/libc" ;;
    rt) awk '$5 && $1 ~ /^(aio_|lio_|mq_|shm_|timer_)/' "$work/libc" ;;
    util) awk '$5 && $1 ~ /^(openpty|forkpty|login|login_tty|logout|logwtmp)$/' "$work/libc" ;;
    pthread) awk '$5 && $1 ~ /^(_?_?pthread_|sem_)/' "$work/libc" ;;
    esac
}
for library in dl:2 rt:1 util:1 pthread:0; do
    name=${library%:*} soname=lib${library%:*}.so.${library#*:}
    { names "$(place "$soname")" && moved "$name"; } | LC_ALL=C sort -u -k 1,1 >"$work/$name"
    moved "$name" >>"$work/elsewhere"
    stub "$soname" <"$work/$name"
    ln -sf "$soname" "$dir/lib$name.so"
done
for soname in libm.so.6 libgcc_s.so.1 "$loader"; do
    names "$(place "$soname")" | stub "$soname"
done
ln -sf libm.so.6 "$dir/libm.so"
ln -sf libgcc_s.so.1 "$dir/libgcc_s.so"
awk 'FILENAME == ARGV[1] { elsewhere[$1] = 1; next } !($1 in elsewhere)' "$work/elsewhere" "$work/libc" | stub libc.so.6

# Functions that older glibc linked into programs statically. One object each: a program that defines one of them takes no other.
cat >"$work/inside.c" <<'END'
#define _GNU_SOURCE
#define VISIBLE __attribute__((visibility("hidden")))
struct stat;
int __xstat(int, const char *, struct stat *), __lxstat(int, const char *, struct stat *), __fxstat(int, int, struct stat *);
int __fxstatat(int, int, const char *, struct stat *, int);
int __xstat64(int, const char *, struct stat *), __lxstat64(int, const char *, struct stat *), __fxstat64(int, int, struct stat *);
int __fxstatat64(int, int, const char *, struct stat *, int);
int __xmknod(int, const char *, unsigned, unsigned long *), __xmknodat(int, int, const char *, unsigned, unsigned long *);
#if defined of_path
VISIBLE int NAME(const char *path, struct stat *out) { return REAL(VERSION, path, out); }
#elif defined of_descriptor
VISIBLE int NAME(int fd, struct stat *out) { return REAL(VERSION, fd, out); }
#elif defined of_both
VISIBLE int NAME(int fd, const char *path, struct stat *out, int flags) { return REAL(VERSION, fd, path, out, flags); }
#elif defined of_mknod
VISIBLE int mknod(const char *path, unsigned mode, unsigned long device) { return __xmknod(0, path, mode, &device); }
#elif defined of_mknodat
VISIBLE int mknodat(int fd, const char *path, unsigned mode, unsigned long device) { return __xmknodat(0, fd, path, mode, &device); }
#else
/* Constructors: start files of glibc 2.34 and later leave them to libc, but an older libc leaves them to the start files. */
typedef void routine(int, char **, char **);
extern routine *__init_array_start[] VISIBLE, *__init_array_end[] VISIBLE;
void _init(void);
int start(int (*)(int, char **, char **), int, char **, routine *, void (*)(void), void (*)(void), void *);
__asm__(".symver start, __libc_start_main@GLIBC_" FIRST);
static void construct(int argc, char **argv, char **env) {
    _init();
    for (routine **next = __init_array_start; next < __init_array_end; next++) (*next)(argc, argv, env);
}
VISIBLE int __libc_start_main(int (*program)(int, char **, char **), int argc, char **argv, routine *init, void (*fini)(void),
                              void (*loader)(void), void *stack) {
    return start(program, argc, argv, init ? init : construct, fini, loader, stack);
}
#endif
END
inside() { cc -O2 -fPIC -fno-builtin -fno-stack-protector -DFIRST="\"$first\"" -DVERSION="$stat_version" "${@:2}" -c "$work/inside.c" -o "$work/$1.o"; }
for bits in '' 64; do
    inside "stat$bits" -Dof_path -DNAME="stat$bits" -DREAL="__xstat$bits"
    inside "lstat$bits" -Dof_path -DNAME="lstat$bits" -DREAL="__lxstat$bits"
    inside "fstat$bits" -Dof_descriptor -DNAME="fstat$bits" -DREAL="__fxstat$bits"
    inside "fstatat$bits" -Dof_both -DNAME="fstatat$bits" -DREAL="__fxstatat$bits"
done
inside mknod -Dof_mknod
inside mknodat -Dof_mknodat
inside start
rm -f -- "$dir/libinside.a"
ar rcs "$dir/libinside.a" "$work"/*.o
echo "GROUP ( $dir/libc.so.6 $dir/libinside.a $(place libc_nonshared.a) AS_NEEDED ( $dir/$loader ) )" >"$dir/libc.so"
mkdir -p "$dir/bin"
printf '#!/bin/sh\nexec %s -L%s "$@"\n' "$compiler" "$dir" >"$dir/bin/cc"
chmod +x "$dir/bin/cc"
