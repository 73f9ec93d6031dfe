# shellcheck shell=bash
# Sourced by demo.sh and setup.sh: chooses the program of the demo from what this machine has. Any MPI will do that starts two
# processes in one MPI_COMM_WORLD.

# Set by the functions below: the command without its arguments, and its description.
demo_command=()
# shellcheck disable=SC2034 # the scripts that source this show it
demo_what=

# Installed MPI launchers, without duplicates.
demo_launchers() {
    local name path
    for name in mpirun mpiexec mpirun.openmpi mpirun.mpich; do
        path=$(command -v "$name") && printf '%s %s\n' "$(readlink -f "$path")" "$path"
    done | awk '!seen[$1]++ { print $2 }'
}

# launch_with LAUNCHER: sets demo_command to start processes, also more than there are processors; append their number and a program.
launch_with() {
    demo_command=("$1")
    case $("$1" --version 2>/dev/null </dev/null) in
    *"Open MPI"* | *OpenRTE* | *"Open RTE"* | *PRRTE*) demo_command+=(--oversubscribe) ;;
    esac
    demo_command+=(-n)
}

# tries LAUNCHER COMMAND...: succeeds if two processes of the command end successfully.
tries() {
    launch_with "$1"
    timeout 60 "${demo_command[@]}" 2 "${@:2}" </dev/null >/dev/null 2>&1
}

# Finds a Python whose mpi4py and parallel h5py work with an MPI of this machine.
demo_python() {
    local python launcher
    local specs='import importlib.util as u, sys; sys.exit(any(u.find_spec(m) is None for m in ("mpi4py", "numpy", "h5py")))'
    local check='import os; os.environ.setdefault("H5PY_ALWAYS_USE_MPI", "1"); import h5py, numpy
from mpi4py import MPI
raise SystemExit(not (h5py.get_config().mpi and MPI.COMM_WORLD.size == 2))'
    for python in $({ command -v python3; command -v /usr/bin/python3; } | awk '!seen[$0]++'); do
        "$python" -c "$specs" >/dev/null 2>&1 || continue
        while read -r launcher; do
            if tries "$launcher" "$python" -c "$check"; then
                demo_command+=(4 "$python" "$project/testdata/workloads/h5py_shared.py")
                demo_what="4 ranks write and read one HDF5 file with h5py (started by $launcher)"
                return 0
            fi
        done < <(demo_launchers)
    done
    return 1
}

# demo_compiled DIRECTORY: compiles a small C program in DIRECTORY, for machines with an MPI compiler but no such Python.
demo_compiled() {
    local launcher compiler
    while read -r launcher; do
        for compiler in "mpicc.${launcher##*.}" "${launcher%/*}/mpicc" mpicc; do
            have "$compiler" || continue
            "$compiler" -O1 -o "$1/program" "$project/testdata/workloads/s3d.c" >/dev/null 2>&1 || continue
            if tries "$launcher" "$1/program" "$1/tried" 8; then
                rm -f -- "$1/tried"
                demo_command+=(4 "$1/program")
                # shellcheck disable=SC2034
                demo_what="4 ranks write one file in small pieces through MPI-IO (started by $launcher)"
                return 0
            fi
        done
    done < <(demo_launchers)
    return 1
}

# demo_why: prints why neither function found a program.
demo_why() {
    local launcher name works=''
    while read -r launcher; do
        if tries "$launcher" true; then
            works=$launcher
            break
        fi
    done < <(demo_launchers)
    if [ -n "$works" ]; then
        printf '%s works, but no Python here has mpi4py and parallel h5py for it' "$works"
        for name in "mpicc.${works##*.}" "${works%/*}/mpicc" mpicc; do
            have "$name" || continue
            if "$name" -o /dev/null "$project/testdata/workloads/s3d.c" >/dev/null 2>&1; then
                echo ", and testdata/workloads/s3d.c does not run if compiled by $name"
            else
                echo ", and $name does not compile testdata/workloads/s3d.c"
            fi
            return
        done
        echo ", and there is no MPI compiler (mpicc)"
    elif [ -n "$(demo_launchers)" ]; then
        launch_with "$(demo_launchers | head -n 1)"
        echo "no MPI here can start two processes of a program: see the output of ${demo_command[*]} 2 true"
    else
        echo "there is no MPI here: neither mpirun nor mpiexec"
    fi
}
