//! DXT_JOB_BYTES: what a process may leave in files. Each rank has an equal share of the job's bytes as an upper bound, any other process
//! the part of its node ([`part`]). What they really take they draw ([`drawing`]) from the node's [`pot`], a file that all of the job's
//! processes there share, and give back at their end what their traces did not take; one that is killed gives nothing back. So the sum of them
//! holds, however many there are. Where there can be no pot, each process has its share, and nobody counts them; so it is for as long as
//! somebody holds the pot up.
//!
//! A process that ends as it should leaves a trace (`flush::budget`); one that is killed leaves a spool and perhaps a spill: of these, a
//! quarter of the share is for names, without which nothing could be recovered, and what counters do not take of the rest is for segments.

mod drawing;
mod part;
mod pot;

pub(crate) use drawing::{asks_anew, prepare};

use crate::held::{self, For};
use crate::{config, mpi, registry, spool};
use drawing::{Beginning, covers, source};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Bytes of segments in the traces of this process so far.
static WRITTEN: AtomicU64 = AtomicU64::new(0);
/// Bytes that segments have in the spool and beside it, and bytes of all else there.
static SEGMENTS: AtomicU64 = AtomicU64::new(0);
static OTHERS: AtomicU64 = AtomicU64::new(0);
/// How often segments were refused room for the budget's sake.
static REFUSED: AtomicU64 = AtomicU64::new(0);

/// Bytes of this process's traces, and of the one that is being written.
static LEFT: AtomicU64 = AtomicU64::new(0);
static GOING: AtomicU64 = AtomicU64::new(0);

/// The pot was empty when the spool was made, which is as small as can be.
static IS_LEAST: AtomicBool = AtomicBool::new(false);

/// A pot with less than that is empty for a process that begins.
const LEAST_BEGINNING: u64 = 16 << 10;

/// One part in so many of a share is for names.
const NAMES_PART: u64 = 4;
/// Names of a few files are told, and some segments are kept on their way into the trace, however small the share is.
const LEAST_NAMES: u64 = 8 << 10;
const LEAST_SEGMENTS: u64 = 256 << 10;
/// So many bytes of segments lie in a spool that is as small as can be, until they are counted.
pub(crate) const LEAST_ARENA: u64 = 8 << 10;
/// What the spool of a process with few threads has beside segments and names: its header, counters, and a block on its way.
const COUNTERS: u64 = 256 << 10;
/// Pieces of this size are never refused to what is no segment: counters are exact, and calls have files.
const SMALL_PIECE: u64 = 128 << 10;

/// About what is written of a file besides its path, and of a stream with counters; both are compressed afterwards.
pub(crate) const FILE_BYTES: u64 = 48;
pub(crate) const STREAM_BYTES: u64 = 64;

/// This process's share; `None`: there is no budget.
pub(crate) fn share() -> Option<u64> {
    let job = config::current()?.site.job_bytes?;
    let own = job / mpi::world().map_or(1, |world| u64::from(world.size.unsigned_abs()).max(1));
    Some(source().map_or(own, |source| own.min(source.share)))
}

/// Whether a trace of so many bytes finds room beside those that there are. The spool gives way to it.
pub(crate) fn covers_trace(bytes: u64) -> bool {
    share().is_none() || covers(LEFT.load(Ordering::Relaxed) + bytes)
}

/// A spool is about to be made, usually of `bytes` at its beginning: whether there is room for that. If not, it is to be as small as can be,
/// and may grow if the pot has anything at all.
pub(crate) fn begin_spool(bytes: u64) -> bool {
    let Some(share) = share() else { return true };
    let begun = drawing::begin(LEFT.load(Ordering::Relaxed) + bytes, LEAST_BEGINNING.min(share));
    IS_LEAST.store(begun == Beginning::Nothing, Ordering::Relaxed);
    begun == Beginning::Whole
}

/// Whether the spool was made as small as can be, and nothing is to be kept in it but counters.
pub(crate) fn is_least() -> bool {
    IS_LEAST.load(Ordering::Relaxed)
}

/// A trace of so many bytes is about to be written.
pub(crate) fn goes_into(bytes: usize) {
    GOING.store(bytes as u64, Ordering::Relaxed);
}

/// Nothing more is to be written, for now: gives back what traces and spool do not take, and has the pot know of what they do, as far as
/// there is room in it. Keeps errno.
pub(crate) fn give_back() {
    if share().is_none() {
        return;
    }
    let spool = SEGMENTS.load(Ordering::Relaxed) + OTHERS.load(Ordering::Relaxed);
    drawing::keep_only(LEFT.load(Ordering::Relaxed) + spool);
}

/// A trace is about to be written, which tells whether the pot could be asked: asks once more, if it could not.
pub(crate) fn ask_again() {
    if share().is_some() {
        let spool = SEGMENTS.load(Ordering::Relaxed) + OTHERS.load(Ordering::Relaxed);
        drawing::ask_again(LEFT.load(Ordering::Relaxed) + spool);
    }
}

/// Which pot knows of this process's spool, and of how many bytes; zeros if none does. The spool stays when the process becomes another
/// program, and whoever takes it away then gives them back ([`is_gone`]).
pub(crate) fn known_of_spool() -> (u64, u64) {
    share().and_then(|_| drawing::known_beside(LEFT.load(Ordering::Relaxed))).unwrap_or_default()
}

/// A spool has been taken away that said so of itself. A process that is not traced may have a pot and no settings.
pub(crate) fn is_gone((job, bytes): (u64, u64)) {
    if share().is_some() || drawing::is_prepared() {
        drawing::is_gone(job, bytes);
    }
}

/// Bytes of segments in this process's traces.
pub(crate) fn written() -> u64 {
    WRITTEN.load(Ordering::Relaxed)
}

/// The trace that was to be written is there, with so many bytes of segments; or (`written` is false) is not.
pub(crate) fn settle(bytes: u64, written: bool) {
    let going = GOING.swap(0, Ordering::Relaxed);
    if written {
        WRITTEN.fetch_add(bytes, Ordering::Relaxed);
        LEFT.fetch_add(going, Ordering::Relaxed);
    }
}

/// Whether no more files and data sets are to get names of their own.
pub(crate) fn is_spent_on_names() -> bool {
    let Some(share) = share() else { return false };
    let names = registry::table_bytes().max(spool::journal_bytes());
    names >= LEAST_NAMES && (names >= share / NAMES_PART || !covers_trace(names))
}

/// What a piece of the spool is for.
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

    /// Whether the spool, or what is beside it, may become larger by `bytes`, which then are taken.
    pub(crate) fn take(self, bytes: usize) -> bool {
        let Some(share) = share() else { return true };
        let (bytes, names) = (bytes as u64, share / NAMES_PART);
        let least = if is_least() { LEAST_ARENA } else { LEAST_SEGMENTS };
        let others = (names + COUNTERS).max(OTHERS.load(Ordering::Relaxed));
        let most = match self {
            Self::Segments => share.saturating_sub(others + written()).max(least),
            // What is used grows by doubling while there is enough.
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

    /// Whether `bytes` that were taken may be: the pot covers them, or they are among what every process has.
    fn is_covered(self, bytes: u64, least: u64) -> bool {
        let segments = SEGMENTS.load(Ordering::Relaxed);
        covers(LEFT.load(Ordering::Relaxed) + segments + OTHERS.load(Ordering::Relaxed))
            || match self {
                Self::Segments => segments <= least,
                Self::Others => bytes <= SMALL_PIECE,
            }
    }

    /// What was taken is not there, or not any more.
    pub(crate) fn give_back(self, bytes: usize) {
        let left = |taken: u64| Some(taken.saturating_sub(bytes as u64));
        let _ = self.taken().fetch_update(Ordering::Relaxed, Ordering::Relaxed, left);
    }
}

/// Holds the directory of the pot, if there is one.
pub(crate) fn hold_directory() {
    if let Some(source) = share().and_then(|_| source()) {
        held::open(For::Budget, source.directory());
    }
}

/// Whether segments that find no room find none for the budget's sake.
pub(crate) fn has_refused() -> bool {
    REFUSED.load(Ordering::Relaxed) > 0
}

/// In a forked child, which has its own share and has left nothing yet.
pub(crate) fn in_child() {
    WRITTEN.store(0, Ordering::Relaxed);
    SEGMENTS.store(0, Ordering::Relaxed);
    OTHERS.store(0, Ordering::Relaxed);
    REFUSED.store(0, Ordering::Relaxed);
    LEFT.store(0, Ordering::Relaxed);
    GOING.store(0, Ordering::Relaxed);
    IS_LEAST.store(false, Ordering::Relaxed);
    drawing::in_child();
}
