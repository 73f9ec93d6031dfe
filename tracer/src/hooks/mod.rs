//! The wrapped functions, one table per family. A hook touches the real symbol, the re-entrancy guard, the clock, the
//! handle table and `record`; nothing else. To wrap another function, add an entry to the table of its family.

mod hdf5;
#[cfg(not(dxt_static))]
mod loading;
mod mpi;
mod posix;
mod process;
mod signals;
mod stdio;
mod uring;
mod variadic;

pub(crate) use process::look_at_programs;
pub(crate) use uring::{prepare as prepare_rings, unseen as unseen_by_rings};

/// Every slot that must be found before the program runs: close(2) and others are called in signal handlers, where dlsym
/// must not be. Makes no system call. MPI's are found at the first call, since the library may be loaded late.
pub(crate) fn resolve_all() {
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
}

/// Finds what is found at its first call as a rule, as far as it is there: later there may be no system calls.
pub(crate) fn resolve_late() {
    if crate::mpi::world().is_some() {
        resolve_mpi();
    }
    uring::resolve();
    posix::resolve_late();
}

/// The same for MPI's functions, once the program has started MPI.
fn resolve_mpi() {
    for slot in mpi::FAMILIES.into_iter().flatten() {
        slot.address();
    }
    // To look for what is not there takes long.
    for family in mpi::LARGE {
        let is_there = family.first().is_some_and(|slot| !slot.address().is_null());
        for slot in family.iter().filter(|_| is_there) {
            slot.address();
        }
    }
}
