//! DXT_JOB_BYTES: budget for the bytes that a job leaves in files.
//! - Upper bound per rank: job bytes / ranks. Per other process: job bytes / nodes ([`part`]).
//! - Within it, a process reserves what it needs ([`reservation`]) from the node quota ([`quota`]), a file shared by all of the job's processes
//!   on a node. At its end it returns what its traces did not take. A killed process returns nothing. So the sum is bounded for any
//!   number of processes.
//! - While there is no quota file, or another process blocks it, each process has its share, and the sum is not checked.
//!
//! A process that ends normally leaves a trace (`flush::budget`). A killed process leaves a spool and perhaps a spill file: 1/4 of the
//! share is for names, without which nothing can be recovered, and the rest minus the counters is for segments.

mod part;
mod quota;
mod reservation;

pub(crate) use reservation::{asks_anew, prepare};

use crate::held::{self, For};
use crate::{config, mpi, registry, spool};
use reservation::{Beginning, covers, source};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Bytes of segments in the traces of this process so far.
static WRITTEN: AtomicU64 = AtomicU64::new(0);
/// Bytes of segments in the spool and beside it, and bytes of everything else there.
static SEGMENTS: AtomicU64 = AtomicU64::new(0);
static OTHERS: AtomicU64 = AtomicU64::new(0);
/// Number of times that segments were refused room because of the budget.
static REFUSED: AtomicU64 = AtomicU64::new(0);

/// Bytes of this process's finished traces, and of the trace that is being written.
static LEFT: AtomicU64 = AtomicU64::new(0);
static GOING: AtomicU64 = AtomicU64::new(0);

/// True if the quota was exhausted when the spool was created, which then has its minimum size.
static IS_LEAST: AtomicBool = AtomicBool::new(false);

/// Quota below which a starting process counts it as exhausted, in bytes.
const LEAST_BEGINNING: u64 = 16 << 10;

/// Divisor of the share that gives the part for names.
const NAMES_PART: u64 = 4;
/// Minimum for names and for segments on their way into the trace, in bytes, however small the share is.
const LEAST_NAMES: u64 = 8 << 10;
const LEAST_SEGMENTS: u64 = 256 << 10;
/// Segment bytes in a spool of minimum size, before segments are folded into counters.
pub(crate) const LEAST_ARENA: u64 = 8 << 10;
/// Spool bytes besides segments and names, of a process with few threads: header, counters, and a block in transit.
const COUNTERS: u64 = 256 << 10;
/// Largest piece that is never refused to names and counters, in bytes: counters stay exact, and calls keep their files.
const SMALL_PIECE: u64 = 128 << 10;

/// Approximate size of a file entry without its path, and of a stream with counters, in bytes before compression.
pub(crate) const FILE_BYTES: u64 = 48;
pub(crate) const STREAM_BYTES: u64 = 64;

/// Returns this process's share in bytes; `None` if there is no budget.
pub(crate) fn share() -> Option<u64> {
    let job = config::current()?.site.job_bytes?;
    let own = job / mpi::world().map_or(1, |world| u64::from(world.size.unsigned_abs()).max(1));
    Some(source().map_or(own, |source| own.min(source.share)))
}

/// True if a trace of `bytes` fits beside the existing traces; the spool is not counted, since it gives way to the trace.
pub(crate) fn covers_trace(bytes: u64) -> bool {
    share().is_none() || covers(LEFT.load(Ordering::Relaxed) + bytes)
}

/// Reserves `bytes` for a spool that is about to be created; true if granted in full. Otherwise the spool must start at its minimum size,
/// and may grow if the quota was not exhausted.
pub(crate) fn begin_spool(bytes: u64) -> bool {
    let Some(share) = share() else { return true };
    let begun = reservation::begin(LEFT.load(Ordering::Relaxed) + bytes, LEAST_BEGINNING.min(share));
    IS_LEAST.store(begun == Beginning::Nothing, Ordering::Relaxed);
    begun == Beginning::Whole
}

/// True if the spool has its minimum size and keeps nothing but counters.
pub(crate) fn is_least() -> bool {
    IS_LEAST.load(Ordering::Relaxed)
}

/// Notes the size of a trace that is about to be written.
pub(crate) fn goes_into(bytes: usize) {
    GOING.store(bytes as u64, Ordering::Relaxed);
}

/// Returns what traces and spool do not use when nothing more is to be written for now, and registers what they do use if there is room.
/// Preserves errno.
pub(crate) fn give_back() {
    if share().is_none() {
        return;
    }
    let spool = SEGMENTS.load(Ordering::Relaxed) + OTHERS.load(Ordering::Relaxed);
    reservation::keep_only(LEFT.load(Ordering::Relaxed) + spool);
}

/// Retries a reservation that failed because the quota was not accessible. Called before a trace is written, which reports the outcome.
pub(crate) fn ask_again() {
    if share().is_some() {
        let spool = SEGMENTS.load(Ordering::Relaxed) + OTHERS.load(Ordering::Relaxed);
        reservation::ask_again(LEFT.load(Ordering::Relaxed) + spool);
    }
}

/// Returns the quota's job number and the bytes that it counts for this process's spool; zeros if none. The spool stays when the process
/// executes another program, and the process that removes it returns those bytes ([`is_gone`]).
pub(crate) fn known_of_spool() -> (u64, u64) {
    share().and_then(|_| reservation::known_beside(LEFT.load(Ordering::Relaxed))).unwrap_or_default()
}

/// Returns the bytes of a removed spool with this record. A process that is not traced may have a quota but no settings.
pub(crate) fn is_gone((job, bytes): (u64, u64)) {
    if share().is_some() || reservation::is_prepared() {
        reservation::is_gone(job, bytes);
    }
}

/// Returns the bytes of segments in this process's traces.
pub(crate) fn written() -> u64 {
    WRITTEN.load(Ordering::Relaxed)
}

/// Ends the writing of a trace: `written` is true if it exists, with `bytes` of segments.
pub(crate) fn settle(bytes: u64, written: bool) {
    let going = GOING.swap(0, Ordering::Relaxed);
    if written {
        WRITTEN.fetch_add(bytes, Ordering::Relaxed);
        LEFT.fetch_add(going, Ordering::Relaxed);
    }
}

/// True if no more files and data sets may get names of their own.
pub(crate) fn is_spent_on_names() -> bool {
    let Some(share) = share() else { return false };
    let names = registry::table_bytes().max(spool::journal_bytes());
    names >= LEAST_NAMES && (names >= share / NAMES_PART || !covers_trace(names))
}

/// Purpose of a piece of the spool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Segments, packed or not.
    Segments,
    /// Names and counters.
    Others,
}

impl Piece {
    const fn taken(self) -> &'static AtomicU64 {
        match self {
            Self::Segments => &SEGMENTS,
            Self::Others => &OTHERS,
        }
    }

    /// Reserves `bytes` of growth for the spool or the files beside it; false if refused.
    pub(crate) fn take(self, bytes: usize) -> bool {
        let Some(share) = share() else { return true };
        let (bytes, names) = (bytes as u64, share / NAMES_PART);
        let least = if is_least() { LEAST_ARENA } else { LEAST_SEGMENTS };
        let others = (names + COUNTERS).max(OTHERS.load(Ordering::Relaxed));
        let most = match self {
            Self::Segments => share.saturating_sub(others + written()).max(least),
            // Tables in use grow by doubling while there is enough.
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

    /// True if `bytes` just taken are permitted: the quota covers them, or they are within the minimum of every process.
    fn is_covered(self, bytes: u64, least: u64) -> bool {
        let segments = SEGMENTS.load(Ordering::Relaxed);
        covers(LEFT.load(Ordering::Relaxed) + segments + OTHERS.load(Ordering::Relaxed))
            || match self {
                Self::Segments => segments <= least,
                Self::Others => bytes <= SMALL_PIECE,
            }
    }

    /// Returns bytes that were taken for a piece that does not exist or no longer exists.
    pub(crate) fn give_back(self, bytes: usize) {
        let left = |taken: u64| Some(taken.saturating_sub(bytes as u64));
        let _ = self.taken().fetch_update(Ordering::Relaxed, Ordering::Relaxed, left);
    }
}

/// Keeps the directory of the quota file open, if there is one.
pub(crate) fn hold_directory() {
    if let Some(source) = share().and_then(|_| source()) {
        held::open(For::Budget, source.directory());
    }
}

/// True if segments were refused room because of the budget.
pub(crate) fn has_refused() -> bool {
    REFUSED.load(Ordering::Relaxed) > 0
}

/// Resets the state in a forked child, which has its own share and has left nothing yet.
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
