//! This process's reservation from its node quota. It is taken in large portions, so that the quota file is opened rarely; it never exceeds
//! the process's share; and unused bytes are returned. Threads of a process are serialized. The functions may be called wherever the spool
//! grows or a file gets a name, also in a signal handler: they allocate nothing and preserve errno.
//!
//! If the quota file cannot be accessed in time, the process acts on the last answer; without one, it may use its whole share. Once the
//! file is accessible, it registers the bytes used meanwhile. It waits for the file briefly at start, and once more before it writes or
//! returns bytes.
#![expect(unsafe_code, reason = "shares what is leaked")]

use super::part;
use super::quota::{self, MOST_WAITS as MOST_WAIT, Making, Patience, Quota, Trouble};
use crate::blocking::Blocked;
use crate::config::{Config, Environment};
use crate::notes::Note;
use crate::{anonymize, errno, job, random, sys, threads, tls};
use std::ffi::{CStr, CString};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Bytes of the job's budget reserved for this process.
static RESERVED: AtomicU64 = AtomicU64::new(0);

/// Quota from which this process reserves bytes.
pub(super) struct Source {
    quota: Quota,
    /// Bytes of the job's budget that belong to this node.
    part: u64,
    /// Upper bound for this process, in bytes, computed from what is known before MPI_Init.
    pub(super) share: u64,
}

/// Quota of this process; null without a budget, or without a job that could have other processes. Never freed.
static SOURCE: AtomicPtr<Source> = AtomicPtr::new(std::ptr::null_mut());

/// State of the node quota: unknown yet, in use, or unusable.
static STANDING: AtomicU8 = AtomicU8::new(UNKNOWN);
const UNKNOWN: u8 = 0;
const USED: u8 = 1;
const UNUSABLE: u8 = 2;

/// Number of the thread that is changing the quota, or 0. `MOST_WAITS` bounds the retries of another thread: after 99 that only yield the
/// processor, they are 1 ms apart.
static CHANGING: AtomicUsize = AtomicUsize::new(0);
const MOST_WAITS: u32 = 300;

/// Exponential backoff: number of consecutive failures (quota exhausted or not accessible).
static FAILED: AtomicU32 = AtomicU32::new(0);
/// Exponential backoff: number of requests to skip before the next attempt, 2^failures.
static SKIPS: AtomicU64 = AtomicU64::new(0);
const MOST_DOUBLINGS: u32 = 20;
/// Maximum exponent of the backoff if the quota was not accessible, since an attempt without waiting is cheap.
const MOST_UNASKED_DOUBLINGS: u32 = 6;

/// True if the quota was exhausted when it last answered.
static IS_EMPTY: AtomicBool = AtomicBool::new(false);

/// Number of unsuccessful waits since the quota last answered: at most one to reserve, and one more to return bytes.
static IN_VAIN: AtomicU32 = AtomicU32::new(0);
const MOST_TO_TAKE: u32 = 1;
const MOST_IN_VAIN: u32 = 2;

/// Maximum wait at process start, in ms; an unsuccessful wait does no harm.
const WAIT_TO_BEGIN: u32 = 20;

/// True if the trace already reports that this process could not access the quota.
static NOTED: AtomicBool = AtomicBool::new(false);

/// Portion reserved at once, in bytes: 1/`QUANTA` of the node's part, within the bounds below.
const QUANTA: u64 = 1 << 10;
const LEAST_QUANTUM: u64 = 64 << 10;
const MOST_QUANTUM: u64 = 4 << 20;

/// Determines the quota file of this process, if any. `directory`: returns the directory that the processes of a node share; called only if
/// there is a budget. Called by the constructor, once the identity of the process is known.
pub(crate) fn prepare(
    config: &Config,
    environment: &impl Environment,
    directory: impl FnOnce(&Config) -> Option<CString>,
) {
    let Some(identity) = job::identity() else { return };
    let (Some(job), Some(whole)) = (config.site.job_bytes, &identity.whole) else { return };
    let Some(directory) = directory(config) else { return };
    let text = [whole.as_bytes(), b"\0", identity.host.as_bytes()].concat();
    let hash = match anonymize::is_on() {
        true => String::from_utf8_lossy(&anonymize::in_file_name(&text)).into_owned(),
        false => format!("{:016x}", random::scattered(&text)),
    };
    let name = format!("dxt-{}-{hash}.budget", job::effective_user());
    let Some(quota) = Quota::new(directory, &name, random::scattered(hash.as_bytes())) else { return };
    let part = job / part::nodes(environment);
    let share = part.min(job / part::ranks(environment).unwrap_or(1));
    SOURCE.store(Box::into_raw(Box::new(Source { quota, part, share })), Ordering::Release);
}

impl Source {
    /// Returns the directory of the quota file.
    pub(super) fn directory(&self) -> &CStr {
        self.quota.directory()
    }
}

/// True if [`prepare`] has found a quota that this process may have to use.
pub(super) fn is_prepared() -> bool {
    !SOURCE.load(Ordering::Acquire).is_null()
}

/// Returns the quota from which to reserve; `None` if no quota applies and this process may use its whole share. Call only if there is a
/// budget.
pub(super) fn source() -> Option<&'static Source> {
    if STANDING.load(Ordering::Relaxed) == UNUSABLE {
        return None;
    }
    // SAFETY: null, or leaked and thus never freed.
    let source = unsafe { SOURCE.load(Ordering::Acquire).as_ref() };
    if source.is_none() {
        is_unusable();
    }
    source
}

/// Marks the quota as unusable for the rest of the process, and counts that once in the trace.
fn is_unusable() {
    if STANDING.swap(UNUSABLE, Ordering::Relaxed) != UNUSABLE && !NOTED.swap(true, Ordering::Relaxed) {
        Note::OwnShare.count();
    }
}

/// Runs `change` while no other thread of this process changes the quota and no signal handler can interrupt. Returns `None` if another
/// thread holds the quota for too long. Preserves errno.
fn changing<T>(change: impl FnOnce() -> T) -> Option<T> {
    let errno = errno::save();
    // Blocks SIGABRT too: its handler returns bytes, and would wait for the code that it has interrupted.
    let blocked = Blocked::all();
    let changed = alone(change);
    drop(blocked);
    errno.restore();
    changed
}

fn alone<T>(change: impl FnOnce() -> T) -> Option<T> {
    let me = tls::number();
    let mut waited = 0;
    while let Err(other) = CHANGING.compare_exchange(0, me, Ordering::Acquire, Ordering::Relaxed) {
        waited += 1;
        if other == me || waited > MOST_WAITS {
            return None;
        }
        if waited < 100 { threads::give_way() } else { threads::pause(1_000_000) }
    }
    let result = change();
    CHANGING.store(0, Ordering::Release);
    Some(result)
}

/// Result of a request for bytes of the quota.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    Covered,
    /// Refused: less is left than was requested.
    Nothing,
    /// No answer: the quota could not be accessed in time.
    None,
}

/// Limit on the wait for the quota's lock, in ms; no wait after `most_in_vain` unsuccessful ones.
#[derive(Clone, Copy)]
struct Wait {
    ms: u32,
    most_in_vain: u32,
}

const TO_BEGIN: Wait = Wait { ms: WAIT_TO_BEGIN, most_in_vain: MOST_TO_TAKE };
const TO_TAKE: Wait = Wait { ms: MOST_WAIT, most_in_vain: MOST_TO_TAKE };
const TO_SETTLE: Wait = Wait { ms: MOST_WAIT, most_in_vain: MOST_IN_VAIN };

impl Source {
    /// True if the reservation covers a total of `bytes` for this process.
    fn has(bytes: u64) -> bool {
        bytes <= RESERVED.load(Ordering::Relaxed)
    }

    /// Applies `change` to the quota. If the quota is not accessible, the trace counts this process ([`Note::OwnShare`]).
    fn ask(&self, making: Making, wait: Wait, change: &dyn Fn(u64) -> u64) -> Result<(u64, u64), Trouble> {
        let in_vain = IN_VAIN.load(Ordering::Relaxed);
        let patience = if in_vain < wait.most_in_vain { Patience::Waits(wait.ms) } else { Patience::Hardly };
        let changed = self.quota.change(making, patience, change);
        match changed {
            Ok(_) => {
                STANDING.store(USED, Ordering::Relaxed);
                IN_VAIN.store(0, Ordering::Relaxed);
                if NOTED.swap(false, Ordering::Relaxed) {
                    Note::OwnShare.take_back();
                }
            }
            Err(Trouble::ForGood) => is_unusable(),
            Err(Trouble::ForNow) if sys::is_shut() => {}
            Err(Trouble::ForNow) => {
                IN_VAIN.store(in_vain.saturating_add(1), Ordering::Relaxed);
                if !NOTED.swap(true, Ordering::Relaxed) {
                    Note::OwnShare.count();
                }
            }
        }
        changed
    }

    /// Raises the reservation to a total of `needed` bytes. If not all missing bytes can be granted, `least` of them suffice.
    fn draw(&self, needed: u64, least: u64, wait: Wait) -> Answer {
        let drawn = changing(|| {
            // Another thread may have reserved meanwhile.
            let have = RESERVED.load(Ordering::Relaxed);
            let Some(lacking) = needed.checked_sub(have).filter(|&lacking| lacking > 0) else { return Answer::Covered };
            let most = super::share().unwrap_or(u64::MAX).saturating_sub(have);
            let take = |reserved: u64| reserved + self.portion(lacking, least.min(lacking), most, reserved);
            // If the process has reserved before, the directory exists.
            let making = if STANDING.load(Ordering::Relaxed) == USED { Making::Quota } else { Making::All };
            match self.ask(making, wait, &take) {
                Ok((before, after)) => {
                    RESERVED.fetch_add(after - before, Ordering::Relaxed);
                    if after > before { Answer::Covered } else { Answer::Nothing }
                }
                Err(Trouble::ForNow) => Answer::None,
                // Without a quota, this process may use its whole share.
                Err(Trouble::ForGood) => Answer::Covered,
            }
        });
        let answer = drawn.unwrap_or(Answer::None);
        let failed = if answer == Answer::Covered { 0 } else { FAILED.load(Ordering::Relaxed).saturating_add(1) };
        FAILED.store(failed, Ordering::Relaxed);
        let skips = match answer {
            Answer::Covered => 0,
            Answer::Nothing => 1 << failed.min(MOST_DOUBLINGS),
            Answer::None => 1 << failed.min(MOST_UNASKED_DOUBLINGS),
        };
        SKIPS.store(skips, Ordering::Relaxed);
        if answer != Answer::None {
            IS_EMPTY.store(answer == Answer::Nothing, Ordering::Relaxed);
        }
        answer
    }

    /// Returns the bytes to grant to a process that needs `lacking` more (or at least `least`) and may have at most `most` more, if
    /// `reserved` bytes are taken on the node.
    fn portion(&self, lacking: u64, least: u64, most: u64, reserved: u64) -> u64 {
        let rest = self.part.saturating_sub(reserved);
        if lacking <= rest.min(most) {
            let quantum = (self.part / QUANTA).clamp(LEAST_QUANTUM, MOST_QUANTUM);
            lacking.next_multiple_of(quantum).min(most).min(rest)
        } else if least <= rest.min(most) {
            // Half of the rest, so that later processes get some too: a shell keeps its reservation until all its children have ended.
            (rest / 2).max(least).min(most)
        } else {
            0
        }
    }
}

/// True if this process may leave a total of `bytes`: the quota covers them, or does not exist, or is not accessible and was not exhausted
/// at its last answer. Call only if there is a budget.
pub(super) fn covers(bytes: u64) -> bool {
    let Some(quota) = source() else { return true };
    if Source::has(bytes) {
        return true;
    }
    let skips = SKIPS.load(Ordering::Relaxed);
    if skips > 0 {
        SKIPS.store(skips - 1, Ordering::Relaxed);
    } else {
        quota.draw(bytes, u64::MAX, TO_TAKE);
    }
    source().is_none() || Source::has(bytes) || !IS_EMPTY.load(Ordering::Relaxed)
}

/// Retries to reserve a total of `bytes` if the quota was not accessible. Call only if there is a budget.
pub(super) fn ask_again(bytes: u64) {
    let Some(quota) = source().filter(|_| NOTED.load(Ordering::Relaxed)) else { return };
    if !Source::has(bytes) {
        quota.draw(bytes, u64::MAX, TO_SETTLE);
    } else if NOTED.swap(false, Ordering::Relaxed) {
        Note::OwnShare.take_back();
    }
}

/// Resets the backoff, so that the next request accesses the quota.
pub(crate) fn asks_anew() {
    SKIPS.store(0, Ordering::Relaxed);
}

/// Result of a process's first reservation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beginning {
    /// All bytes that it needs are reserved, or there is no quota.
    Whole,
    /// Some of the bytes that it needs are reserved.
    Part,
    /// Nothing is reserved.
    Nothing,
}

/// Makes this process's first reservation: a total of `needed` bytes, or at least `least`. Call only if there is a budget.
pub(super) fn begin(needed: u64, least: u64) -> Beginning {
    let answer = match source() {
        Some(source) if !Source::has(needed) => source.draw(needed, least, TO_BEGIN),
        _ => Answer::Covered,
    };
    match answer {
        Answer::Nothing => Beginning::Nothing,
        // While the quota does not know this process, it acts as if little were left.
        Answer::None if IS_EMPTY.load(Ordering::Relaxed) => Beginning::Nothing,
        Answer::None => Beginning::Part,
        // The quota may have turned out not to exist.
        Answer::Covered if source().is_none() || Source::has(needed) => Beginning::Whole,
        Answer::Covered => Beginning::Part,
    }
}

/// Sets the reservation to `needed`, the bytes of the files that this process leaves, when it wants no more for now. Returns the excess to
/// the quota, or registers missing bytes if there is room. Call only if there is a budget.
pub(super) fn keep_only(needed: u64) {
    let Some(source) = source() else { return };
    let settle = || {
        let have = RESERVED.load(Ordering::Relaxed);
        if needed == have {
            return true;
        }
        let change = |reserved: u64| match needed.checked_sub(have) {
            None => reserved.saturating_sub(have - needed),
            Some(more) => reserved + more.min(source.part.saturating_sub(reserved)),
        };
        let making = match STANDING.load(Ordering::Relaxed) {
            // Without a quota file there is nothing to return.
            _ if needed <= have => Making::Nothing,
            USED => Making::Quota,
            _ => Making::All,
        };
        match source.ask(making, TO_SETTLE, &change) {
            Ok((before, after)) => {
                // If the quota file was deleted, the registered bytes are lost.
                RESERVED.store(if needed < have { needed } else { have + (after - before) }, Ordering::Relaxed);
                true
            }
            Err(Trouble::ForNow) => IN_VAIN.load(Ordering::Relaxed) >= MOST_IN_VAIN || sys::is_shut(),
            Err(Trouble::ForGood) => true,
        }
    };
    changing(|| while !settle() {});
}

/// Returns (job number of the quota, bytes reserved for this process beyond `bytes`), to be passed to the program that it executes next.
pub(super) fn known_beside(bytes: u64) -> Option<(u64, u64)> {
    let source = source()?;
    Some((source.quota.job(), RESERVED.load(Ordering::Relaxed).saturating_sub(bytes)))
}

/// Returns to the quota of `job` the `bytes` reserved for a file that no longer exists, as reported by [`known_beside`].
pub(super) fn is_gone(job: u64, bytes: u64) {
    let Some(source) = source().filter(|source| source.quota.job() == job && bytes > 0) else { return };
    changing(|| {
        let give_back = |reserved: u64| reserved.saturating_sub(bytes);
        if source.ask(Making::Nothing, TO_TAKE, &give_back) == Err(Trouble::ForNow) {
            // The bytes count for this process now, which returns them with the rest, or, as a launcher, keeps them: errs on the safe
            // side.
            RESERVED.fetch_add(bytes, Ordering::Relaxed);
        }
    });
}

/// Resets the state in a forked child, which has reserved nothing and must find out for itself if the quota is usable. If its parent has
/// waited without success, the child does not wait.
pub(super) fn in_child() {
    quota::in_child();
    CHANGING.store(0, Ordering::Relaxed);
    RESERVED.store(0, Ordering::Relaxed);
    SKIPS.store(0, Ordering::Relaxed);
    FAILED.store(0, Ordering::Relaxed);
    STANDING.store(UNKNOWN, Ordering::Relaxed);
    IS_EMPTY.store(false, Ordering::Relaxed);
    NOTED.store(false, Ordering::Relaxed);
    if IN_VAIN.load(Ordering::Relaxed) > 0 {
        IN_VAIN.store(MOST_IN_VAIN, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Piece, begin_spool, covers_trace, give_back, has_refused, is_least, is_spent_on_names, settle};
    use super::*;
    use crate::config;

    /// Test: without a budget no file is opened, no name is set, and no thread waits.
    #[test]
    fn without_a_budget_there_is_no_pot() {
        let environment: &[(&CStr, &str)] = &[(c"DXT_ENABLE", "trace"), (c"DXT_JOB_ID", "7"), (c"SLURM_JOB_ID", "7")];
        prepare(&config::read(&environment).ok().flatten().unwrap(), &environment, |_| None);
        // A thread that needed the lock would not get it.
        CHANGING.store(usize::MAX, Ordering::Relaxed);
        assert!(covers_trace(u64::MAX / 2) && begin_spool(1 << 40) && !is_least() && !is_spent_on_names(|| 0));
        assert!(Piece::Segments.take(1 << 40) && Piece::Others.take(1 << 40));
        settle(5, true);
        give_back();
        CHANGING.store(0, Ordering::Relaxed);
        assert!(SOURCE.load(Ordering::Relaxed).is_null());
        assert_eq!((STANDING.load(Ordering::Relaxed), RESERVED.load(Ordering::Relaxed)), (UNKNOWN, 0));
        assert!(!has_refused());
    }

    #[test]
    fn portions_are_neither_too_small_nor_all_there_is() {
        let source = |part: u64| Source { quota: Quota::new(CString::default(), "x", 0).unwrap(), part, share: part };
        let (k, all) = (1 << 10, u64::MAX);
        let gigabytes = source(1 << 30);
        // Whole quanta; the last portion is the rest.
        assert_eq!(gigabytes.portion(k, k, all, 0), 1 << 20);
        assert_eq!(gigabytes.portion(k, k, all, (1 << 30) - 2 * k), 2 * k);
        assert_eq!(gigabytes.portion(k, k, all, 1 << 30), 0);
        assert_eq!(gigabytes.portion(k, k, all, 2 << 30), 0);
        // The share is the upper bound; less than needed is never granted.
        assert_eq!(gigabytes.portion(3 * k, 3 * k, 5 * k, 0), 5 * k);
        assert_eq!(gigabytes.portion(3 * k, 3 * k, 2 * k, 0), 0);
        // A process at its start accepts less.
        let small = source(256 * k);
        let begin = |reserved: u64, most: u64| small.portion(320 * k, 16 * k, most, reserved);
        assert_eq!([0, 128 * k, 236 * k, 241 * k].map(|reserved| begin(reserved, all)), [128 * k, 64 * k, 16 * k, 0]);
        assert_eq!((begin(0, 20 * k), begin(0, 15 * k)), (20 * k, 0));
    }
}
