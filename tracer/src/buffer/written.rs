//! Up to when segments are in a trace already: a program may live on after MPI_Finalize, whose trace has been written.

use std::sync::atomic::{AtomicU64, Ordering};

/// Ticks until which segments have been written to a trace already: at MPI_Finalize, when the process lives on.
static WRITTEN_UNTIL: AtomicU64 = AtomicU64::new(0);

/// See [`WRITTEN_UNTIL`].
pub(crate) fn written_until() -> u64 {
    WRITTEN_UNTIL.load(Ordering::Acquire)
}

/// All segments that end before `ticks` have been written.
pub(crate) fn set_written_until(ticks: u64) {
    WRITTEN_UNTIL.store(ticks, Ordering::Release);
    crate::spool::set_written_until(ticks);
}
