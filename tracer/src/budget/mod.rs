//! DXT_JOB_BYTES: byte budget, an upper bound for the bytes that a job leaves in files.
//! - Upper bound per rank: job bytes / ranks. Per process without MPI: job bytes / nodes ([`part`]).
//! - Within that bound, a process reserves bytes from the node quota ([`quota`]): a file that all processes of the job on a node share. It
//!   reserves in large portions, so that the file is rarely opened, and at its end returns the bytes that its traces did not use. A killed
//!   process returns nothing. So the sum is bounded for any number of processes.
//! - While another process blocks the quota file, a process acts on the last answer. Without an answer or a file, it may use its whole
//!   share, and its trace reports so. Once the file is accessible, the process registers the bytes used meanwhile.
//!
//! A fixed share per process with a check at process end cannot replace the file: the number of processes that a shell script or a further
//! job step will start is unknown, and a killed process leaves a spool without any check.
//!
//! A process that ends normally leaves a trace (`flush::budget`). A killed process leaves a spool and perhaps a spill file. Of its share,
//! 1/4 is for names, without which nothing can be recovered; the rest minus the counters is for segments.
//!
//! Except [`prepare`], all functions allocate nothing and preserve errno: they may be called wherever the spool grows or a file gets a
//! name, also in a signal handler.
#![expect(unsafe_code, reason = "shares what is leaked")]

mod part;
mod quota;

use crate::config::{self, Config, Environment};
use crate::notes::Note;
use crate::own_directories::{self, For};
use crate::{anonymize, job, random, sys};
use quota::{Quota, Trouble};
use std::ffi::CString;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// Handle of the node quota (file in which a node's processes reserve bytes of the job's budget). Null without a budget, or if the job
/// cannot have other processes. Never freed.
static QUOTA: AtomicPtr<Quota> = AtomicPtr::new(std::ptr::null_mut());
/// True once the node quota (file in which processes reserve bytes) has proved unusable. A forked child finds out for itself.
static IS_UNUSABLE: AtomicBool = AtomicBool::new(false);
/// Number of ranks among which the job's byte budget is divided; 0 without MPI.
static RANKS: AtomicU64 = AtomicU64::new(0);

/// Bytes of segments that this process has in its spool (file of recorded data that survives a kill) and in the files beside the spool.
static SEGMENTS: AtomicU64 = AtomicU64::new(0);
/// Bytes of everything else (names, counters, headers) that this process has in its spool (file of recorded data that survives a kill) and
/// in the files beside the spool.
static OTHERS: AtomicU64 = AtomicU64::new(0);
/// Bytes of the finished traces of this process, which count in the job's byte budget.
static LEFT: AtomicU64 = AtomicU64::new(0);

/// True if segments (records of calls) were refused memory or file space because the budget was exhausted.
static HAS_REFUSED: AtomicBool = AtomicBool::new(false);
/// True if the node quota was exhausted when the spool (file of recorded data) was created, so that the spool has its minimum size.
static IS_LEAST: AtomicBool = AtomicBool::new(false);
/// True if the node quota (file in which processes reserve bytes of the job's budget) was exhausted when this process last got an answer
/// from that file.
static IS_EMPTY: AtomicBool = AtomicBool::new(false);
/// True if the trace already counts (as a note) this process as one that uses a fixed share of the budget instead of the quota.
static IS_NOTED: AtomicBool = AtomicBool::new(false);

/// Number of requests for bytes of the node quota since the last granted one. Only requests 1, 2, 4, 8, ... access the quota file
/// (exponential backoff).
static REQUESTS: AtomicU64 = AtomicU64::new(0);
/// Interval of additional accesses to the quota file: every request whose number is a multiple of this accesses the file, unless the quota
/// was exhausted at its last answer. An inaccessible quota file is then retried sooner than by the backoff of [`REQUESTS`] alone.
const MOST_UNASKED: u64 = 64;
/// Time that this process has waited for access to the quota file since it last got access, in ms.
static WAITED: AtomicU32 = AtomicU32::new(0);
/// Time for which this process has waited for the quota file ([`WAITED`]), in ms, from which a request to reserve bytes for more data gives
/// up.
const MOST_TO_TAKE: u32 = 20;
/// Time for which this process has waited for the quota file ([`WAITED`]), in ms, from which the request before the trace is written, and
/// the return of bytes, give up.
const MOST_TO_SETTLE: u32 = 120;

/// Divisor of the node's part of the job's byte budget: 1/`QUANTA` of the part is reserved at once, but at least `LEAST_QUANTUM` bytes and
/// at most `MOST_QUANTUM`.
const QUANTA: u64 = 1 << 10;
/// Minimum number of bytes of the node quota (file in which processes reserve bytes) that a process reserves at once.
const LEAST_QUANTUM: u64 = 64 << 10;
/// Maximum number of bytes of the node quota (file in which processes reserve bytes) that a process reserves at once.
const MOST_QUANTUM: u64 = 4 << 20;
/// Free bytes of the node quota (file in which processes reserve bytes) below which a starting process treats the quota as exhausted.
const LEAST_BEGINNING: u64 = 16 << 10;

/// Divisor of a process's share of the job's byte budget: 1/4 of the share is for file names.
const NAMES_PART: u64 = 4;
/// Minimum number of bytes for file names, however small the process's share of the job's byte budget is.
const LEAST_NAMES: u64 = 8 << 10;
/// Minimum number of bytes for segments (records of calls) in the spool and the files beside it, however small the process's share is; a
/// spool of minimum size has only [`LEAST_ARENA`].
const LEAST_SEGMENTS: u64 = 256 << 10;
/// Bytes for segments (records of calls) in a spool of minimum size; once they are used, segments are folded into counters.
pub(crate) const LEAST_ARENA: u64 = 8 << 10;
/// Bytes of a spool other than segments and names, for a process with few threads: header, counters, and one block of encoded segments on
/// its way to another place.
const COUNTERS: u64 = 256 << 10;
/// Maximum size, in bytes, of a request for names and counters that is never refused, so that counters stay exact and calls keep their file names.
const SMALL_PIECE: u64 = 128 << 10;

/// Approximate size of a trace's entry for one file without its path, in bytes before compression.
pub(crate) const FILE_BYTES: u64 = 48;
/// Approximate size of one stream's counters (of calls with the same file and operation) in a trace, in bytes before compression.
pub(crate) const STREAM_BYTES: u64 = 64;

/// Determines the quota file of this process, if any. `directory` returns the directory that the processes of a node share; called only if
/// there is a budget. Called by the library's constructor, once the identity of the process is known.
pub(crate) fn prepare(
    config: &Config,
    environment: &impl Environment,
    directory: impl FnOnce(&Config) -> Option<CString>,
) {
    let Some(identity) = job::identity() else { return };
    let (Some(job), Some(whole)) = (config.site.job_bytes, &identity.whole) else { return };
    let Some(directory) = directory(config) else { return };
    let text = [whole.as_bytes(), b"\0", identity.host.as_bytes()].concat();
    let number = random::scattered(&anonymize::in_file_name(&text));
    let name = format!("dxt-{}-{number:016x}.budget", job::effective_user());
    let part = job / part::nodes(environment);
    let share = part.min(job / part::ranks(environment).unwrap_or(1));
    if let Some(quota) = Quota::new(directory, &name, number, part, share) {
        QUOTA.store(Box::into_raw(Box::new(quota)), Ordering::Release);
    }
}

fn prepared() -> Option<&'static Quota> {
    // SAFETY: the pointer is null, or leaked and thus never freed.
    unsafe { QUOTA.load(Ordering::Acquire).as_ref() }
}

/// Returns the handle of the node quota (file in which processes reserve bytes); `None` if there is none or it proved unusable.
fn quota() -> Option<&'static Quota> {
    prepared().filter(|_| !IS_UNUSABLE.load(Ordering::Relaxed))
}

/// Divides the job's byte budget among `ranks` ranks from now on.
pub(crate) fn divide_among(ranks: i32) {
    RANKS.store(ranks.unsigned_abs().into(), Ordering::Relaxed);
}

/// Returns this process's share of the job's byte budget, in bytes; `None` if there is no budget. Without a usable node quota, the trace
/// reports a fixed share.
pub(crate) fn share() -> Option<u64> {
    let job = config::current()?.site.job_bytes?;
    let own = job / RANKS.load(Ordering::Relaxed).max(1);
    let quota = quota();
    if quota.is_none() {
        note(true);
    }
    Some(quota.map_or(own, |quota| own.min(quota.share)))
}

/// Counts this process in the trace, at most once, as one that uses a fixed share of the budget instead of the node quota. If
/// `has_own_share` is false, takes that count back.
fn note(has_own_share: bool) {
    let is_noted = || IS_NOTED.load(Ordering::Relaxed);
    if is_noted() != has_own_share && IS_NOTED.swap(has_own_share, Ordering::Relaxed) != has_own_share {
        if has_own_share { Note::OwnShare.count() } else { Note::OwnShare.take_back() }
    }
}

/// Sets the reservation of this process to `own(bytes reserved so far, free bytes of the node's part)`. `needed`: bytes that this process
/// needs in total. Gives up once this process has waited `most_waits` ms since the quota's last answer.
fn reserve(quota: &Quota, needed: u64, most_waits: u32, own: impl FnOnce(u64, u64) -> u64) {
    let (have, waited) = (quota.reserved(), WAITED.load(Ordering::Relaxed));
    let mut waits = most_waits.saturating_sub(waited);
    let end = waited + waits;
    match quota.change(needed > have, &mut waits, own) {
        Ok(()) => {
            WAITED.store(0, Ordering::Relaxed);
            let is_empty = needed > have && quota.reserved() <= have;
            IS_EMPTY.store(is_empty, Ordering::Relaxed);
            // A grant resets the backoff: the next request accesses the quota and sees the reservations of other processes.
            if !is_empty {
                REQUESTS.store(0, Ordering::Relaxed);
            }
            note(false);
        }
        Err(Trouble::ForNow) if sys::is_shut() => {}
        Err(trouble) => {
            WAITED.store(end - waits, Ordering::Relaxed);
            if trouble == Trouble::ForGood {
                IS_UNUSABLE.store(true, Ordering::Relaxed);
            }
            note(true);
        }
    }
}

/// Raises this process's reservation in the node quota to at least `needed` bytes. True if the reservation is sufficient now, or if the
/// quota proved unusable. If not all missing bytes can be granted, `least` of them suffice.
fn draw(quota: &Quota, needed: u64, least: u64) -> bool {
    let share = share().unwrap_or(u64::MAX);
    reserve(quota, needed, MOST_TO_TAKE, |have, free| {
        let lacking = needed.saturating_sub(have);
        have + portion(quota.part, lacking, least.min(lacking), share.saturating_sub(have), free)
    });
    quota.reserved() >= needed || self::quota().is_none()
}

/// Returns the bytes to grant to a process that needs `lacking` more bytes, of which `least` suffice. Available are the smaller of `free`
/// (free bytes of the node quota) and `most` (upper bound for this process):
/// - at least `lacking` available: `lacking` rounded up to the portion reserved at once, but at most what is available
/// - at least `least` available: half of `free`, but at least `least` and at most what is available
/// - else 0
///
/// `part`: the node's part of the budget. All in bytes.
fn portion(part: u64, lacking: u64, least: u64, most: u64, free: u64) -> u64 {
    let most = most.min(free);
    if lacking <= most {
        lacking.next_multiple_of((part / QUANTA).clamp(LEAST_QUANTUM, MOST_QUANTUM)).min(most)
    } else if least <= most {
        // Grants half of the free bytes, so that later processes get some too: a shell keeps its reservation until all its children have ended.
        (free / 2).max(least).min(most)
    } else {
        0
    }
}

/// True if this process may have `bytes` in files: the quota covers them, does not exist, or is inaccessible and was not exhausted at its
/// last answer.
fn covers(bytes: u64) -> bool {
    let Some(quota) = quota().filter(|quota| quota.reserved() < bytes) else { return true };
    let request = REQUESTS.fetch_add(1, Ordering::Relaxed) + 1;
    let asks = request.is_power_of_two() || request.is_multiple_of(MOST_UNASKED) && !IS_EMPTY.load(Ordering::Relaxed);
    asks && draw(quota, bytes, u64::MAX) || !IS_EMPTY.load(Ordering::Relaxed)
}

/// Resets the exponential backoff of requests to the node quota (file in which processes reserve bytes), so that the next request accesses
/// the quota file.
pub(crate) fn asks_anew() {
    REQUESTS.store(0, Ordering::Relaxed);
}

/// Returns the bytes of this process's finished traces, which count in the job's byte budget.
pub(crate) fn left() -> u64 {
    LEFT.load(Ordering::Relaxed)
}

/// Returns the bytes of all files of this process: traces, the spool (file of recorded data) and the files beside it.
fn used() -> u64 {
    left() + SEGMENTS.load(Ordering::Relaxed) + OTHERS.load(Ordering::Relaxed)
}

/// True if the budget covers a trace of `bytes` in addition to the existing traces. The spool does not count, since the trace replaces it.
pub(crate) fn covers_trace(bytes: u64) -> bool {
    covers(left() + bytes)
}

/// Counts the bytes of a written trace of this process as used from the job's byte budget.
pub(crate) fn settle(bytes: u64) {
    LEFT.fetch_add(bytes, Ordering::Relaxed);
}

/// Reserves `bytes` of the node quota for a spool (file of recorded data) that is about to be created; true if granted in full. Otherwise
/// the spool must start at its minimum size, and may grow only if the quota was not exhausted.
pub(crate) fn begin_spool(bytes: u64) -> bool {
    IS_LEAST.store(false, Ordering::Relaxed);
    let (Some(share), needed) = (share(), left() + bytes) else { return true };
    let Some(quota) = quota().filter(|quota| quota.reserved() < needed) else { return true };
    let is_whole = draw(quota, needed, LEAST_BEGINNING.min(share));
    IS_LEAST.store(!is_whole && IS_EMPTY.load(Ordering::Relaxed), Ordering::Relaxed);
    is_whole
}

/// True if the spool (file of recorded data) has its minimum size because the node quota was exhausted.
pub(crate) fn is_least() -> bool {
    IS_LEAST.load(Ordering::Relaxed)
}

/// Returns to the node quota the reserved bytes that traces and spool do not use. Bytes used without a reservation are registered if the
/// quota has room. Called when nothing more is to be written for now.
pub(crate) fn give_back() {
    let (Some(quota), used) = (quota(), used()) else { return };
    if quota.reserved() == used {
        return note(false);
    }
    reserve(quota, used, MOST_TO_SETTLE, |have, free| used.min(have + free));
}

/// Retries a reservation of bytes that failed because the quota file was inaccessible. Called before a trace is written, since the trace
/// reports the result.
pub(crate) fn ask_again() {
    if share().is_some() && IS_NOTED.load(Ordering::Relaxed) {
        give_back();
    }
}

/// Returns the node quota's job number and the bytes reserved for this process's spool; zeros without a quota. The spool stays when the
/// process executes another program; the process that later removes the spool returns those bytes ([`is_gone`]).
pub(crate) fn known_of_spool() -> (u64, u64) {
    quota().map_or((0, 0), |quota| (quota.job, quota.reserved().saturating_sub(left())))
}

/// Returns the `bytes` of a removed spool (file of recorded data) to the node quota of job number `job`. Works without settings, since an
/// untraced process may call it.
pub(crate) fn is_gone((job, bytes): (u64, u64)) {
    if let Some(quota) = quota().filter(|quota| quota.job == job) {
        // If the quota is inaccessible now, this process returns the bytes later, with the rest of its reservation.
        quota.adopt(bytes);
        give_back();
    }
}

/// True if the bytes for file names within the job's budget are used up: new files and data sets get no names of their own. `names` returns
/// the bytes that names take; called only if there is a budget.
pub(crate) fn is_spent_on_names(names: impl FnOnce() -> u64) -> bool {
    let Some(share) = share() else { return false };
    let names = names();
    names >= LEAST_NAMES && (names >= share / NAMES_PART || !covers_trace(names))
}

/// Kind of content for which space in the spool (file of recorded data) is requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Segments (records of single calls), compressed or not.
    Segments,
    /// Names, counters and everything else except segments (records of single calls).
    Others,
}

impl Piece {
    const fn taken(self) -> &'static AtomicU64 {
        match self {
            Self::Segments => &SEGMENTS,
            Self::Others => &OTHERS,
        }
    }

    /// Reserves `bytes` of growth for the spool or the files beside it. Returns false if neither this process's share nor the quota covers
    /// them, and they exceed the minimum that every process may use.
    pub(crate) fn take(self, bytes: usize) -> bool {
        let (Some(share), bytes) = (share(), bytes as u64) else { return true };
        let (names, others) = (share / NAMES_PART, OTHERS.load(Ordering::Relaxed));
        // Upper bound of the sum, and sum up to which bytes are granted without the quota.
        let (most, least) = match self {
            Self::Segments => {
                let least = if is_least() { LEAST_ARENA } else { LEAST_SEGMENTS };
                (share.saturating_sub((names + COUNTERS).max(others) + left()).max(least), least)
            }
            Self::Others if bytes <= SMALL_PIECE => (u64::MAX, u64::MAX),
            // Tables in use double in size while enough is left.
            Self::Others => (names, 0),
        };
        // Only a sum within the bound is stored: otherwise another thread would be refused because of bytes that are not taken.
        let sum = |taken: u64| taken.checked_add(bytes).filter(|sum| *sum <= most);
        let taken = self.taken().fetch_update(Ordering::Relaxed, Ordering::Relaxed, sum);
        let is_granted = taken.is_ok_and(|taken| covers(used()) || taken + bytes <= least);
        if !is_granted {
            if taken.is_ok() {
                self.give_back(bytes as usize);
            }
            HAS_REFUSED.fetch_or(self == Self::Segments, Ordering::Relaxed);
        }
        is_granted
    }

    /// Returns to the budget `bytes` that were reserved for space not used, or no longer used.
    pub(crate) fn give_back(self, bytes: usize) {
        let left = |taken: u64| Some(taken.saturating_sub(bytes as u64));
        let _ = self.taken().fetch_update(Ordering::Relaxed, Ordering::Relaxed, left);
    }
}

/// Keeps the directory of the quota file open, if there is one, so that the file stays reachable after chroot(2) and similar calls.
pub(crate) fn hold_directory() {
    if let Some(quota) = quota() {
        own_directories::open(For::Budget, &quota.directory);
    }
}

pub(crate) fn has_refused() -> bool {
    HAS_REFUSED.load(Ordering::Relaxed)
}

/// Resets the budget state in a forked child, which has its own share and has written nothing yet. If the parent has waited for the quota
/// in vain, the child does not wait.
pub(crate) fn in_child() {
    if let Some(quota) = prepared() {
        quota.in_child();
    }
    [&SEGMENTS, &OTHERS, &LEFT, &REQUESTS].iter().for_each(|bytes| bytes.store(0, Ordering::Relaxed));
    [&HAS_REFUSED, &IS_LEAST, &IS_EMPTY, &IS_NOTED, &IS_UNUSABLE]
        .iter()
        .for_each(|state| state.store(false, Ordering::Relaxed));
    if WAITED.load(Ordering::Relaxed) > 0 {
        WAITED.store(MOST_TO_SETTLE, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
