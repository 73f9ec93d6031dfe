#!/usr/bin/env bash
# Installs what building, testing and the demo need and this machine lacks. Does nothing, fast, where nothing is missing.
# With apt-get and the right to use it (root, or sudo without a password) it installs; elsewhere it says what to install
# and fails only if the project cannot even be built.
set -euo pipefail
# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# The oldest Rust that builds this: rust-version in Cargo.toml.
least_rust=$(sed -n 's/^rust-version *= *"\(.*\)"/\1/p' "$project/Cargo.toml")

missing=()    # Debian packages
essential=()  # of these, what the build cannot do without
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

# The modules' own packages only: importing h5py itself would start MPI.
python_has_parallel_h5py() {
    [ -d /usr/lib/python3/dist-packages/h5py/_debian_h5py_mpi ] || python_has h5py._debian_h5py_mpi
}

check_packages() {
    missing=() essential=() why=()
    need gcc "C compiler" essential -- have cc
    need libc6-dev "C headers" essential -- test -e /usr/include/stdio.h
    need g++ "a C++ program to trace" -- have c++
    need mpich "MPI, first of two" -- have mpirun.mpich
    need libmpich-dev "to build MPI programs" -- have mpicc.mpich
    need openmpi-bin "MPI, second of two" -- have mpirun.openmpi
    need libopenmpi-dev "to build MPI programs" -- have mpicc.openmpi
    need gfortran "to build Fortran programs" -- have gfortran
    need python3 "programs to trace" -- test -x /usr/bin/python3
    need python3-mpi4py "the demo's program" -- python_has mpi4py
    need python3-numpy "the demo's program" -- python_has numpy
    need python3-h5py-mpi "the demo's program" -- python_has_parallel_h5py
    need make "a program to trace" -- have make
    need git "a program to trace" -- have git
    need lammps "a program to trace" -- have lmp
    need quantum-espresso "a program to trace" -- have pw.x
    need quantum-espresso-data "its data" -- test -d /usr/share/espresso/pseudo
    need hmmer "a program to trace" -- have hmmsearch
    need hmmer-examples "its data" -- test -d /usr/share/doc/hmmer/examples/testsuite
    need libjemalloc2 "a library to preload beside ours" -- has_library libjemalloc.so.2
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
    need valgrind "to count instructions" -- have valgrind
    need chromium "to test the report page" -- have chromium
    need chromium-driver "to test the report page" -- have chromedriver
    need shellcheck "to check these scripts" -- have shellcheck
    need binutils "to look at symbols" -- have nm
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

may_install() {
    have apt-get && { [ "$(id -u)" = 0 ] || { have sudo && sudo -n true 2>/dev/null; }; }
}

apt_install() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@" </dev/null >&2
}

rust_is_new_enough() {
    local found
    have cargo && have rustc || return 1
    found=$(rustc --version 2>/dev/null | awk '{print $2}')
    [ -n "$found" ] && [ "$(printf '%s\n%s\n' "$least_rust" "$found" | sort -V | head -n 1)" = "$least_rust" ]
}

# A toolchain by rustup: the system's package if there is one, else the installer that rust-lang.org names.
install_rust() {
    if ! have rustup && may_install && [ -n "$(apt-cache search --names-only '^rustup$' 2>/dev/null)" ]; then
        apt_install rustup
    fi
    if have rustup; then
        rustup toolchain install stable --profile minimal -c clippy -c rustfmt >&2 && rustup default stable >&2
        return
    fi
    if ! have curl && may_install; then
        apt_install curl ca-certificates
    fi
    have curl || return 1
    curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs |
        sh -s -- -y --no-modify-path --profile minimal -c clippy -c rustfmt >&2
}

check_packages
if [ ${#missing[@]} -gt 0 ] && may_install; then
    echo "installing ${missing[*]}" >&2
    as_root apt-get update -q >&2 </dev/null || echo "apt-get update failed; trying with the lists that are there" >&2
    # All together, else one by one: a package that this release lacks must not cost the others.
    if ! apt_install "${missing[@]}"; then
        for package in "${missing[@]}"; do
            apt_install "$package" || echo "failed to install $package" >&2
        done
    fi
    check_packages
fi
if [ ${#missing[@]} -gt 0 ]; then
    echo "missing, please install (names as in Debian):" >&2
    printf '    %s\n' "${why[@]}" >&2
    [ ${#essential[@]} -eq 0 ] || die "the project cannot be built without ${essential[*]}"
    echo "tests that need them will be skipped and say so" >&2
fi
if ! rust_is_new_enough; then
    echo "installing Rust (this needs $least_rust or newer; found: $(rustc --version 2>/dev/null || echo none))" >&2
    install_rust || true
    hash -r
    rust_is_new_enough || die "Rust $least_rust or newer is needed: see https://rustup.rs"
fi
