#!/usr/bin/env bash
# Installs what the project needs and this machine lacks; ends at once if nothing is missing. With apt-get and the right to use it (root, or
# sudo without a password) it prints packages and sizes, then installs them quietly. Otherwise it prints what to install, and
# fails only if the project cannot be built without.
#
# Usage: scripts/setup.sh [--for build|demo|test]
#   build  a C compiler and Rust
#   demo   also one MPI and a program for it: Python with mpi4py and parallel h5py
#   test   (default) everything that the tests use: both MPIs, HDF5, programs to trace, tools to compare with, a browser
set -euo pipefail
# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
# shellcheck source=demo/program.sh
. "$project/scripts/demo/program.sh"

purpose='test'
while [ $# -gt 0 ]; do
    case $1 in
    --for) purpose=${2:-} && shift ;;
    --for=*) purpose=${1#*=} ;;
    -h | --help) sed -n '2,9s/^# \?//p' "$0" && exit ;;
    *) die "unknown option $1; see scripts/setup.sh --help" ;;
    esac
    shift || true
done
case $purpose in
build | demo | test) ;;
*) die "--for is build, demo or test" ;;
esac

missing=()    # Debian packages
essential=()  # those that the build needs
why=()

# need PACKAGE WHY [essential] -- TEST...: notes PACKAGE as missing if the test fails.
need() {
    local package=$1 reason=$2
    shift 2
    local kind=optional
    if [ "$1" = essential ]; then
        kind=essential
        shift
    fi
    shift
    if ! "$@" >/dev/null 2>&1; then
        missing+=("$package")
        why+=("$package ($reason)")
        if [ "$kind" = essential ]; then essential+=("$package"); fi
    fi
}

has_library() {
    ldconfig -p | grep -q "$1"
}

python_has() {
    /usr/bin/python3 -c "import importlib.util as u, sys; sys.exit(u.find_spec('$1') is None)"
}

# Checks for h5py itself: Debian 13 can install its parallel part, in the same directory, without the rest.
python_has_h5py() {
    /usr/bin/python3 -c "import importlib.util as u, sys; spec = u.find_spec('h5py'); sys.exit(spec is None or spec.origin is None)"
}

# Looks for the package only: importing h5py would start MPI.
python_has_parallel_h5py() {
    [ -d /usr/lib/python3/dist-packages/h5py/_debian_h5py_mpi ] || python_has h5py._debian_h5py_mpi
}

for_build() {
    need gcc "C compiler" essential -- have cc
    need libc6-dev "C headers" essential -- test -e /usr/include/stdio.h
}

# Debian's mpi4py and h5py are built for Open MPI.
for_python_with_mpi() {
    need openmpi-bin "MPI" -- have mpirun.openmpi
    need python3 "programs to trace" -- test -x /usr/bin/python3
    need python3-mpi4py "the demo's program" -- python_has mpi4py
    need python3-numpy "the demo's program" -- python_has numpy
    need python3-h5py "the demo's program" -- python_has_h5py
    need python3-h5py-mpi "the demo's program" -- python_has_parallel_h5py
}

# Needs nothing if some Python works with some installed MPI, wherever they are from.
for_demo() {
    demo_python || for_python_with_mpi
}

for_test() {
    for_python_with_mpi
    need g++ "a C++ program to trace" -- have c++
    need musl-tools "programs of another C library" -- have musl-gcc
    need clang "programs with another AddressSanitizer" -- have clang
    need libclang-rt-dev "the same" -- has_clang_asan
    need mpich "MPI, another" -- have mpirun.mpich
    need libmpich-dev "to build MPI programs" -- have mpicc.mpich
    need libopenmpi-dev "to build MPI programs" -- have mpicc.openmpi
    need gfortran "to build Fortran programs" -- have gfortran
    need make "a program to trace" -- have make
    need git "a program to trace" -- have git
    need lammps "a program to trace" -- have lmp
    need quantum-espresso "a program to trace" -- have pw.x
    need quantum-espresso-data "its data" -- test -d /usr/share/espresso/pseudo
    need hmmer "a program to trace" -- have hmmsearch
    need hmmer-examples "its data" -- test -d /usr/share/doc/hmmer/examples/testsuite
    need libjemalloc2 "a library to preload beside ours" -- has_library libjemalloc.so.2
    need lmod "to load module files" -- test -d /usr/share/lmod
    need pkg-config "to build HDF5 programs" -- have pkg-config
    need libhdf5-dev "to build HDF5 programs" -- pkg-config --exists hdf5-serial
    need libhdf5-mpich-dev "to build HDF5 programs" -- pkg-config --exists hdf5-mpich
    need libhdf5-openmpi-dev "to build HDF5 programs" -- pkg-config --exists hdf5-openmpi
    need sqlite3 "a program to trace" -- have sqlite3
    need libaio-dev "to build a program to trace" -- test -e /usr/include/libaio.h
    need liburing-dev "to build a program to trace" -- test -e /usr/include/liburing.h
    need fio "a program to trace" -- have fio
    need strace "to compare traces with" -- have strace
    need fuse3 "a file system that serves layouts to programs" -- have fusermount3
    need python3-fusepy "the same" -- python_has fusepy
    need python3-venv "tests that read exports with other tools" -- python_has ensurepip
    need python3-zstandard "a reader of traces in Python" -- python_has zstandard
    need valgrind "to count instructions" -- have valgrind
    need protobuf-compiler "another reader of signatures" -- have protoc
    need prometheus "a server that live answers" -- have prometheus
    need prometheus-node-exporter "what dashboards ask beside it" -- have prometheus-node-exporter
    need victoria-metrics "a server that live writes to" -- have victoria-metrics
    need postgresql "a server that live writes to" -- has_postgresql
    need nats-server "a server that live writes to and reads from" -- has_nats
    need openssl "to make servers' certificates" -- have openssl
    need chromium "to test the report page" -- have chromium
    need chromium-driver "to test the report page" -- have chromedriver
    need shellcheck "to check these scripts" -- have shellcheck
    need binutils "to look at symbols" -- have nm
    need util-linux "to change users, and to hide directories from programs" -- have setpriv
    need bubblewrap "to confine programs" -- have bwrap
    need libcap2-bin "to give programs rights" -- have setcap
    need libc6-dev-i386 "programs of 32 bits" -- test -e /usr/lib32/crt1.o
}

has_clang_asan() { test -e "$(clang -print-file-name=libclang_rt.asan-"$(uname -m)".a)"; }

# Debian installs these outside of users' PATH.
has_postgresql() { compgen -G "/usr/lib/postgresql/*/bin/initdb"; }
has_nats() { have nats-server || test -x /usr/sbin/nats-server; }

check_packages() {
    missing=() essential=() why=()
    for_build
    case $purpose in demo | test) "for_$purpose" ;; esac
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

may_install() {
    have apt-get && { [ "$(id -u)" = 0 ] || { have sudo && sudo -n true 2>/dev/null; }; }
}

# logged COMMAND...: runs a command with its output in a log, which is shown on failure.
log=
logged() {
    [ -n "$log" ] || log=$(mktemp "${TMPDIR:-/tmp}/dxt-setup.XXXXXX.log")
    "$@" </dev/null >>"$log" 2>&1
}

# apt_install PURPOSE PACKAGE...: prints packages and sizes, and installs the packages.
apt_install() {
    local plan size wanted=$1
    shift
    plan=$(LC_ALL=C apt-get install --assume-no --no-install-recommends "$@" 2>/dev/null </dev/null || true)
    # Number of packages, bytes to download and bytes on disk, from the last lines of apt-get's output.
    size=$(sed -nE 's/.*, ([0-9]+) newly installed.*/\1 Debian packages/p
        s/^Need to get ([^\/ ]* [^\/ ]*)(\/.*)? of archives.*/\1 to download/p
        s/^After this operation, (.*) of additional disk space.*/\1 on disk/p' <<<"$plan" | paste -sd';' | sed 's/;/, /g')
    say "installing $wanted${size:+: $size}"
    say "    $*"
    logged as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends -o Dpkg::Use-Pty=0 "$@"
}

say() { printf '%s\n' "$*" >&2; }

failed=
failed_to() {
    failed=yes
    say "failed to $1; the output of apt-get is in $log and ends with:"
    tail -n 5 "$log" | sed 's/^/    /' >&2
}

install_packages() {
    local package before=$SECONDS
    say "updating the package lists of apt-get"
    logged as_root apt-get update -q || say "apt-get update failed ($log); trying with the existing lists"
    # Installs all packages together, else each by itself: a package that this release lacks must not prevent the others.
    if ! apt_install "the packages that the $purpose needs" "${missing[@]}"; then
        failed_to "install the packages together"
        for package in "${missing[@]}"; do
            apt_install "$package" "$package" || failed_to "install $package"
        done
    fi
    say "done in $((SECONDS - before)) s"
}

# Components of Rust that only tests need.
components=()
if [ "$purpose" = test ]; then components=(-c clippy -c rustfmt); fi

# Installs a toolchain by rustup: from the system's package if there is one, else by the installer of rust-lang.org.
install_rust() {
    if ! have rustup && may_install && [ -n "$(apt-cache search --names-only '^rustup$' 2>/dev/null)" ]; then
        apt_install rustup rustup || failed_to "install rustup"
    fi
    if have rustup; then
        logged rustup toolchain install stable --profile minimal "${components[@]}" && logged rustup default stable
        return
    fi
    if ! have curl && may_install; then
        apt_install "downloads of Rust" curl ca-certificates || failed_to "install curl"
    fi
    have curl || return 1
    installer=$(mktemp "${TMPDIR:-/tmp}/dxt-rustup.XXXXXX")
    logged curl --proto '=https' --tlsv1.2 -sSf -o "$installer" https://sh.rustup.rs &&
        logged sh "$installer" -y --no-modify-path --profile minimal "${components[@]}"
    local status=$?
    rm -f -- "$installer"
    return $status
}

check_packages
if [ ${#missing[@]} -gt 0 ] && may_install; then
    install_packages
    check_packages
fi
if [ ${#missing[@]} -gt 0 ]; then
    say "missing, please install (names as in Debian):"
    printf '    %s\n' "${why[@]}" >&2
    [ ${#essential[@]} -eq 0 ] || die "the project cannot be built without ${essential[*]}"
    case $purpose in
    test) say "tests that need these packages will be skipped, with a message" ;;
    demo) say "the demo runs a smaller program instead, if there is an MPI compiler" ;;
    esac
fi
if ! rust_is_new_enough; then
    say "installing Rust by rustup: about 150 MB to download, 600 MB on disk in ${RUSTUP_HOME:-~/.rustup}" \
        "($least_rust or newer is needed; found: $(found_rust))"
    install_rust || { [ -z "$log" ] || say "installing Rust failed; its output is in $log"; }
    hash -r
    rust_is_new_enough || die "Rust $least_rust or newer is needed: see https://rustup.rs"
fi
if [ "$purpose" = test ] && have rustup && ! { cargo fmt --version && cargo clippy --version; } >/dev/null 2>&1; then
    logged rustup component add clippy rustfmt || say "failed to add clippy and rustfmt ($log)"
fi
[ -z "$log" ] || [ -n "$failed" ] || rm -f -- "$log"
