//! Wrapped functions (hooks), one table per interface. A hook uses only the real function, the re-entrancy guard, the clock, the handle
//! table and `record`. `admission.rs` decides if a call is recorded; `entry.rs` has the constructor and destructor.

mod admission;
mod entry;
mod hdf5;
#[cfg(not(dxt_static))]
mod loading;
mod mpi;
mod posix;
mod printing;
mod process;
mod signals;
mod stdio;
mod uring;
mod variadic;

/// Resolves (looks up) all real functions behind wrappers that must be known before the program runs: close(2) and others may be called in
/// signal handlers, where dlsym(3) is not allowed. Makes no system call. MPI functions are resolved at their first call, since the MPI
/// library may be loaded late.
fn resolve_all() {
    let families = [
        posix::OPENING,
        posix::CLOSING,
        posix::TRANSFERS,
        posix::POSITIONS,
        posix::METADATA,
        posix::NAMING,
        posix::SHARING,
        posix::MAPS,
        posix::COPIES,
        posix::ASYNCHRONOUS,
        posix::LOCKS,
        stdio::STREAMS,
        stdio::BLOCKS,
        stdio::CHARACTERS,
        #[cfg(not(dxt_static))]
        stdio::GETS,
        stdio::FORMATTED,
        stdio::TOUCHES,
        stdio::WIDE,
        stdio::NUMBERS,
        process::ENDS,
        process::BECOMES,
        process::LIMITS,
        process::CONFINES,
        signals::SIGNALS,
    ];
    for slot in families.into_iter().flatten() {
        slot.find_ahead();
    }
    #[cfg(not(dxt_static))]
    loading::prepare();
    stdio::prepare();
    posix::prepare();
    uring::prepare();
}

/// Resolves (looks up) the real functions behind wrappers that are normally resolved at their first call, if their library is loaded.
/// Needed before the program installs a seccomp filter, which may forbid system calls.
fn resolve_late() {
    if crate::mpi::world().is_some() {
        resolve_mpi();
    }
    uring::resolve();
    posix::resolve_late();
}

/// Resolves the real MPI functions, once the program has initialized MPI.
fn resolve_mpi() {
    for slot in mpi::FAMILIES.into_iter().flatten() {
        slot.address();
    }
    // Resolve a group only if its first function exists: searching for missing symbols takes long.
    for group in mpi::LARGE {
        let mut slots = group.iter().copied().flatten();
        if slots.next().is_some_and(|slot| !slot.address().is_null()) {
            slots.for_each(|slot| _ = slot.address());
        }
    }
}
