//! DXT_JOB_BYTES: budget, i.e. upper bound, for the bytes that a job leaves in files.
//! - Upper bound per rank: job bytes / ranks. Per other process: job bytes / nodes ([`part`]).
//! - Within that bound, a process reserves what it needs ([`reservation`]) from the node quota ([`quota`]), a file shared by all of the
//!   job's processes on a node. At its end, it returns what its traces did not use. A killed process returns nothing. So the sum is
//!   bounded for any number of processes.
//! - Without a quota file, or while another process blocks it, each process may use its own share, and the sum is not checked.
//!
//! A process that ends normally leaves a trace (`flush::budget`). A killed process leaves a spool and perhaps a spill file. Of the share,
//! 1/4 is for names, without which nothing can be recovered. The rest minus the counters is for segments.

mod part;
mod quota;
mod reservation;

pub(crate) use reservation::{asks_anew, prepare};

use crate::config;
use crate::held::{self, For};
use reservation::{Beginning, covers, source};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Number of ranks among which the budget is divided; 0 without MPI.
static RANKS: AtomicU64 = AtomicU64::new(0);
/// Bytes of segments in the traces that this process has written so far.
static WRITTEN: AtomicU64 = AtomicU64::new(0);
/// Bytes of segments in the spool and in the files beside it.
static SEGMENTS: AtomicU64 = AtomicU64::new(0);
/// Bytes of everything except segments in the spool and in the files beside it.
static OTHERS: AtomicU64 = AtomicU64::new(0);
/// Number of times that segments were refused memory or file space because the budget was exhausted.
static REFUSED: AtomicU64 = AtomicU64::new(0);

/// Bytes of this process's finished traces.
static LEFT: AtomicU64 = AtomicU64::new(0);
/// Bytes of the trace that is being written.
static GOING: AtomicU64 = AtomicU64::new(0);

/// True if the quota was exhausted when the spool was created; the spool then has its minimum size.
static IS_LEAST: AtomicBool = AtomicBool::new(false);

/// Remaining quota, in bytes, below which a starting process treats the quota as exhausted.
const LEAST_BEGINNING: u64 = 16 << 10;

/// Divisor of a process's share: 1/4 of it is for names.
const NAMES_PART: u64 = 4;
/// Minimum bytes for names, and for segments not yet written to the trace, however small the process's share is.
const LEAST_NAMES: u64 = 8 << 10;
const LEAST_SEGMENTS: u64 = 256 << 10;
/// Bytes for segments in a spool of minimum size; once they are full, segments are folded into counters.
pub(crate) const LEAST_ARENA: u64 = 8 << 10;
/// Bytes of a spool other than segments and names, for a process with few threads: header, counters, and one block being transferred.
const COUNTERS: u64 = 256 << 10;
/// Maximum request for names and counters that is never refused, in bytes, so that counters stay exact and calls keep their file names.
const SMALL_PIECE: u64 = 128 << 10;

/// Approximate size of a trace's file entry without its path, or of one set of counters, in bytes before compression.
pub(crate) const FILE_BYTES: u64 = 48;
pub(crate) const STREAM_BYTES: u64 = 64;

/// Divides the budget among `ranks` ranks from now on.
pub(crate) fn divide_among(ranks: i32) {
    RANKS.store(ranks.unsigned_abs().into(), Ordering::Relaxed);
}

/// Returns this process's share of the budget, in bytes; `None` if there is no budget.
pub(crate) fn share() -> Option<u64> {
    let job = config::current()?.site.job_bytes?;
    let own = job / RANKS.load(Ordering::Relaxed).max(1);
    Some(source().map_or(own, |source| own.min(source.share)))
}

/// True if a trace of `bytes` fits into the budget beside the existing traces. The spool does not count, since the trace replaces it.
pub(crate) fn covers_trace(bytes: u64) -> bool {
    share().is_none() || covers(LEFT.load(Ordering::Relaxed) + bytes)
}

/// Reserves `bytes` for a spool that is about to be created; true if granted in full. Otherwise the spool must start at its minimum size.
/// It may still grow if the quota was not exhausted.
pub(crate) fn begin_spool(bytes: u64) -> bool {
    let Some(share) = share() else { return true };
    let begun = reservation::begin(LEFT.load(Ordering::Relaxed) + bytes, LEAST_BEGINNING.min(share));
    IS_LEAST.store(begun == Beginning::Nothing, Ordering::Relaxed);
    begun == Beginning::Whole
}

/// True if the spool has its minimum size and holds nothing but counters.
pub(crate) fn is_least() -> bool {
    IS_LEAST.load(Ordering::Relaxed)
}

/// Registers the size of the trace that is about to be written.
pub(crate) fn goes_into(bytes: usize) {
    GOING.store(bytes as u64, Ordering::Relaxed);
}

/// Returns the reserved bytes that traces and spool do not use, once nothing more is to be written for now. Bytes used without a
/// reservation are registered if there is room. Preserves errno.
pub(crate) fn give_back() {
    if share().is_none() {
        return;
    }
    let spool = SEGMENTS.load(Ordering::Relaxed) + OTHERS.load(Ordering::Relaxed);
    reservation::keep_only(LEFT.load(Ordering::Relaxed) + spool);
}

/// Retries a reservation that failed because the quota file was not accessible. Called before a trace is written, since the trace reports
/// the result.
pub(crate) fn ask_again() {
    if share().is_some() {
        let spool = SEGMENTS.load(Ordering::Relaxed) + OTHERS.load(Ordering::Relaxed);
        reservation::ask_again(LEFT.load(Ordering::Relaxed) + spool);
    }
}

/// Returns (job number of the quota, bytes reserved for this process's spool); zeros if there is no quota. The spool stays when the process
/// executes another program; the process that later removes the spool returns those bytes ([`is_gone`]).
pub(crate) fn known_of_spool() -> (u64, u64) {
    share().and_then(|_| reservation::known_beside(LEFT.load(Ordering::Relaxed))).unwrap_or_default()
}

/// Returns to the quota `job` the `bytes` of a spool that was removed. Works without settings, since an untraced process may call it.
pub(crate) fn is_gone((job, bytes): (u64, u64)) {
    if share().is_some() || reservation::is_prepared() {
        reservation::is_gone(job, bytes);
    }
}

/// Returns the bytes of segments in the traces that this process has written.
pub(crate) fn written() -> u64 {
    WRITTEN.load(Ordering::Relaxed)
}

/// Ends the writing of a trace with `bytes` of segments; `written` is true if the trace exists.
pub(crate) fn settle(bytes: u64, written: bool) {
    let going = GOING.swap(0, Ordering::Relaxed);
    if written {
        WRITTEN.fetch_add(bytes, Ordering::Relaxed);
        LEFT.fetch_add(going, Ordering::Relaxed);
    }
}

/// True if the budget for names is exhausted: new files and data sets no longer get names of their own. `names`: returns the bytes that
/// names take; called only if there is a budget.
pub(crate) fn is_spent_on_names(names: impl FnOnce() -> u64) -> bool {
    let Some(share) = share() else { return false };
    let names = names();
    names >= LEAST_NAMES && (names >= share / NAMES_PART || !covers_trace(names))
}

/// Content for which space in the spool is requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Segments, compressed or not.
    Segments,
    /// Names, counters and everything else except segments.
    Others,
}

impl Piece {
    const fn taken(self) -> &'static AtomicU64 {
        match self {
            Self::Segments => &SEGMENTS,
            Self::Others => &OTHERS,
        }
    }

    /// Reserves `bytes` of growth for the spool or the files beside it; returns false if refused.
    pub(crate) fn take(self, bytes: usize) -> bool {
        let Some(share) = share() else { return true };
        let (bytes, names) = (bytes as u64, share / NAMES_PART);
        let least = if is_least() { LEAST_ARENA } else { LEAST_SEGMENTS };
        let others = (names + COUNTERS).max(OTHERS.load(Ordering::Relaxed));
        let most = match self {
            Self::Segments => share.saturating_sub(others + written()).max(least),
            // Tables in use double in size while enough is left.
            Self::Others if bytes > SMALL_PIECE => names,
            Self::Others => u64::MAX,
        };
        let after = |taken: u64| taken.checked_add(bytes).filter(|&after| after <= most);
        let mut taken = self.taken().fetch_update(Ordering::Relaxed, Ordering::Relaxed, after).is_ok();
        if taken && !self.is_covered(bytes, least) {
            self.give_back(bytes as usize);
            taken = false;
        }
        if !taken && self == Self::Segments {
            REFUSED.fetch_add(1, Ordering::Relaxed);
        }
        taken
    }

    /// True if the `bytes` just reserved are permitted: the quota covers them, or they are within the minimum that every process may use.
    fn is_covered(self, bytes: u64, least: u64) -> bool {
        let segments = SEGMENTS.load(Ordering::Relaxed);
        covers(LEFT.load(Ordering::Relaxed) + segments + OTHERS.load(Ordering::Relaxed))
            || match self {
                Self::Segments => segments <= least,
                Self::Others => bytes <= SMALL_PIECE,
            }
    }

    /// Returns `bytes` reserved for space that was not or is no longer used.
    pub(crate) fn give_back(self, bytes: usize) {
        let left = |taken: u64| Some(taken.saturating_sub(bytes as u64));
        let _ = self.taken().fetch_update(Ordering::Relaxed, Ordering::Relaxed, left);
    }
}

/// Keeps the directory of the quota file open, if there is one, so that it stays reachable.
pub(crate) fn hold_directory() {
    if let Some(source) = share().and_then(|_| source()) {
        held::open(For::Budget, source.directory());
    }
}

/// True if segments were refused space because the budget was exhausted.
pub(crate) fn has_refused() -> bool {
    REFUSED.load(Ordering::Relaxed) > 0
}

/// Resets the budget state in a forked child, which has its own share and has written nothing yet.
pub(crate) fn in_child() {
    WRITTEN.store(0, Ordering::Relaxed);
    SEGMENTS.store(0, Ordering::Relaxed);
    OTHERS.store(0, Ordering::Relaxed);
    REFUSED.store(0, Ordering::Relaxed);
    LEFT.store(0, Ordering::Relaxed);
    GOING.store(0, Ordering::Relaxed);
    IS_LEAST.store(false, Ordering::Relaxed);
    reservation::in_child();
}
