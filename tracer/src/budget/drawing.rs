//! What this process draws from the pot of its node, and gives back: a good deal at once, so that the pot is seldom opened, and never more
//! than its share. Threads of one process take turns. May be called wherever the spool grows or a file gets a name, also in a signal handler:
//! takes no memory, and keeps errno.
//!
//! Where the pot cannot be asked in time, that is no answer: the process goes on as the pot's last word was, at first as if it had its share
//! to itself, and has the pot know of what it has taken as soon as that can be asked. It waits for that shortly as it begins, and once more before it writes or when
//! it gives back.
#![expect(unsafe_code, reason = "shares what is leaked")]

use super::part;
use super::pot::{self, MOST_WAITS as MOST_WAIT, Making, Patience, Pot, Trouble};
use crate::config::{Config, Environment};
use crate::memory::Blocked;
use crate::notes::Note;
use crate::{anonymize, errno, job, random, spool, sys, threads, tls};
use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Bytes of the job's budget that are this process's.
static RESERVED: AtomicU64 = AtomicU64::new(0);

/// What this process may draw on.
pub(super) struct Source {
    pot: Pot,
    /// Bytes of the node's part.
    part: u64,
    /// Bytes that are this process's at most, as far as is known before MPI_Init.
    pub(super) share: u64,
}

/// Null if there is no budget, or no job that others could be of. Kept for good.
static SOURCE: AtomicPtr<Source> = AtomicPtr::new(std::ptr::null_mut());

/// Whether the pot can be used.
static STANDING: AtomicU8 = AtomicU8::new(UNKNOWN);
const UNKNOWN: u8 = 0;
const USED: u8 = 1;
const UNUSABLE: u8 = 2;

/// The thread that changes the pot, or 0: one at a time. Times that another looks, nearly all a millisecond apart.
static CHANGING: AtomicUsize = AtomicUsize::new(0);
const MOST_WAITS: u32 = 300;

/// Times in a row that the pot had nothing, or could not be asked, and how often it is not asked before it is asked again: twice as often
/// each time.
static FAILED: AtomicU32 = AtomicU32::new(0);
static SKIPS: AtomicU64 = AtomicU64::new(0);
const MOST_DOUBLINGS: u32 = 20;
/// The same where it could not be asked, which costs little without a wait.
const MOST_UNASKED_DOUBLINGS: u32 = 6;

/// The pot's last word was that it has nothing.
static IS_EMPTY: AtomicBool = AtomicBool::new(false);

/// Times that this process has waited in vain since the pot has last answered: once to take, and once more to settle.
static IN_VAIN: AtomicU32 = AtomicU32::new(0);
const MOST_TO_TAKE: u32 = 1;
const MOST_IN_VAIN: u32 = 2;

/// Milliseconds that a process waits as it begins: it loses nothing if that is in vain.
const WAIT_TO_BEGIN: u32 = 20;

/// It is counted that this process could not ask the pot.
static NOTED: AtomicBool = AtomicBool::new(false);

/// One part in so many of a node's part is taken at once, within these bounds.
const QUANTA: u64 = 1 << 10;
const LEAST_QUANTUM: u64 = 64 << 10;
const MOST_QUANTUM: u64 = 4 << 20;

/// Finds out which pot there may be. For the constructor, when it is known who this process is.
pub(crate) fn prepare(config: &Config, environment: &impl Environment) {
    let Some(identity) = job::identity() else { return };
    let (Some(job), Some(whole)) = (config.site.job_bytes, &identity.whole) else { return };
    let Some(directory) = spool::shared_directory(config) else { return };
    let text = [whole.as_bytes(), b"\0", identity.host.as_bytes()].concat();
    let hash = match anonymize::is_on() {
        true => String::from_utf8_lossy(&anonymize::in_file_name(&text)).into_owned(),
        false => format!("{:016x}", random::scattered(&text)),
    };
    let name = format!("dxt-{}-{hash}.budget", job::effective_user());
    let Some(pot) = Pot::new(directory, &name, random::scattered(hash.as_bytes())) else { return };
    let part = job / part::nodes(environment);
    let share = part.min(job / part::ranks(environment).unwrap_or(1));
    SOURCE.store(Box::into_raw(Box::new(Source { pot, part, share })), Ordering::Release);
}

impl Source {
    /// Directory of the pot.
    pub(super) fn directory(&self) -> &CStr {
        self.pot.directory()
    }
}

/// Whether [`prepare`] has found that there may be one.
pub(super) fn is_prepared() -> bool {
    !SOURCE.load(Ordering::Acquire).is_null()
}

/// What this process draws on; `None` if it has its share to itself. Only where there is a budget.
pub(super) fn source() -> Option<&'static Source> {
    if STANDING.load(Ordering::Relaxed) == UNUSABLE {
        return None;
    }
    // SAFETY: null, or leaked.
    let source = unsafe { SOURCE.load(Ordering::Acquire).as_ref() };
    if source.is_none() {
        is_unusable();
    }
    source
}

/// There can be no pot, or none any more: said once.
fn is_unusable() {
    if STANDING.swap(UNUSABLE, Ordering::Relaxed) != UNUSABLE && !NOTED.swap(true, Ordering::Relaxed) {
        Note::OwnShare.count();
    }
}

/// Runs `change` while no other thread of this process changes the pot, and no handler can come between; `None` if another thread takes
/// long. Keeps errno.
fn changing<T>(change: impl FnOnce() -> T) -> Option<T> {
    let errno = errno::save();
    // Also abort(3): the handler that comes of it gives back, and would wait for what it has interrupted.
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

/// What comes of asking the pot.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    Covered,
    /// There is not as much as asked for.
    Nothing,
    /// It could not be asked in time.
    None,
}

/// How long the pot is waited for, if it was waited for in vain less often.
#[derive(Clone, Copy)]
struct Wait {
    ms: u32,
    most_in_vain: u32,
}

const TO_BEGIN: Wait = Wait { ms: WAIT_TO_BEGIN, most_in_vain: MOST_TO_TAKE };
const TO_TAKE: Wait = Wait { ms: MOST_WAIT, most_in_vain: MOST_TO_TAKE };
const TO_SETTLE: Wait = Wait { ms: MOST_WAIT, most_in_vain: MOST_IN_VAIN };

impl Source {
    /// Whether the pot covers `bytes` of this process in all.
    fn has(bytes: u64) -> bool {
        bytes <= RESERVED.load(Ordering::Relaxed)
    }

    /// Changes the pot. What cannot be asked is told in the trace until it can.
    fn ask(&self, making: Making, wait: Wait, change: &dyn Fn(u64) -> u64) -> Result<(u64, u64), Trouble> {
        let in_vain = IN_VAIN.load(Ordering::Relaxed);
        let patience = if in_vain < wait.most_in_vain { Patience::Waits(wait.ms) } else { Patience::Hardly };
        let changed = self.pot.change(making, patience, change);
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

    /// Has the pot cover `needed` bytes of this process in all, or at least `least` of those that it does not cover yet.
    fn draw(&self, needed: u64, least: u64, wait: Wait) -> Answer {
        let drawn = changing(|| {
            // Another thread may have been here.
            let have = RESERVED.load(Ordering::Relaxed);
            let Some(lacking) = needed.checked_sub(have).filter(|&lacking| lacking > 0) else { return Answer::Covered };
            let most = super::share().unwrap_or(u64::MAX).saturating_sub(have);
            let take = |reserved: u64| reserved + self.portion(lacking, least.min(lacking), most, reserved);
            // Who has had something of it had a directory.
            let making = if STANDING.load(Ordering::Relaxed) == USED { Making::Pot } else { Making::All };
            match self.ask(making, wait, &take) {
                Ok((before, after)) => {
                    RESERVED.fetch_add(after - before, Ordering::Relaxed);
                    if after > before { Answer::Covered } else { Answer::Nothing }
                }
                Err(Trouble::ForNow) => Answer::None,
                // There is none: this process has its share.
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

    /// What a process gets that lacks so many bytes and may have `most`, when so many are reserved.
    fn portion(&self, lacking: u64, least: u64, most: u64, reserved: u64) -> u64 {
        let rest = self.part.saturating_sub(reserved);
        if lacking <= rest.min(most) {
            let quantum = (self.part / QUANTA).clamp(LEAST_QUANTUM, MOST_QUANTUM);
            lacking.next_multiple_of(quantum).min(most).min(rest)
        } else if least <= rest.min(most) {
            // Who comes next is to have something, too: a shell keeps what it has until all that it starts have ended.
            (rest / 2).max(least).min(most)
        } else {
            0
        }
    }
}

/// Whether this process may leave `bytes` in all: the pot covers them, or there is none, or it could not be asked and had something when it
/// last could. Only where there is a budget.
pub(super) fn covers(bytes: u64) -> bool {
    let Some(pot) = source() else { return true };
    if Source::has(bytes) {
        return true;
    }
    let skips = SKIPS.load(Ordering::Relaxed);
    if skips > 0 {
        SKIPS.store(skips - 1, Ordering::Relaxed);
    } else {
        pot.draw(bytes, u64::MAX, TO_TAKE);
    }
    source().is_none() || Source::has(bytes) || !IS_EMPTY.load(Ordering::Relaxed)
}

/// Asks again where the pot could not be asked: it is to cover `bytes` of this process in all. Only where there is a budget.
pub(super) fn ask_again(bytes: u64) {
    let Some(pot) = source().filter(|_| NOTED.load(Ordering::Relaxed)) else { return };
    if !Source::has(bytes) {
        pot.draw(bytes, u64::MAX, TO_SETTLE);
    } else if NOTED.swap(false, Ordering::Relaxed) {
        Note::OwnShare.take_back();
    }
}

/// The pot is to be asked next time, however often it had nothing.
pub(crate) fn asks_anew() {
    SKIPS.store(0, Ordering::Relaxed);
}

/// What the pot has for a process that begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beginning {
    /// All that it wants, or there is none.
    Whole,
    /// Less.
    Part,
    /// Nothing.
    Nothing,
}

/// Draws `needed` bytes for this process in all, or at least some `least` of them. Only where there is a budget.
pub(super) fn begin(needed: u64, least: u64) -> Beginning {
    let answer = match source() {
        Some(source) if !Source::has(needed) => source.draw(needed, least, TO_BEGIN),
        _ => Answer::Covered,
    };
    match answer {
        Answer::Nothing => Beginning::Nothing,
        // It takes no more at once than where little is left, as long as the pot does not know of it.
        Answer::None if IS_EMPTY.load(Ordering::Relaxed) => Beginning::Nothing,
        Answer::None => Beginning::Part,
        // It may have turned out to be none.
        Answer::Covered if source().is_none() || Source::has(needed) => Beginning::Whole,
        Answer::Covered => Beginning::Part,
    }
}

/// This process leaves `needed` bytes, and for now wants no more: gives back the others, or has the pot know of them, as far as there is room.
/// Only where there is a budget.
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
            // Where there is no pot, there is nothing to give back.
            _ if needed <= have => Making::Nothing,
            USED => Making::Pot,
            _ => Making::All,
        };
        match source.ask(making, TO_SETTLE, &change) {
            Ok((before, after)) => {
                // What somebody has cleaned up is gone.
                RESERVED.store(if needed < have { needed } else { have + (after - before) }, Ordering::Relaxed);
                true
            }
            Err(Trouble::ForNow) => IN_VAIN.load(Ordering::Relaxed) >= MOST_IN_VAIN || sys::is_shut(),
            Err(Trouble::ForGood) => true,
        }
    };
    changing(|| while !settle() {});
}

/// What of this process the pot knows beside `bytes`, and which pot that is: for the next program that it becomes.
pub(super) fn known_beside(bytes: u64) -> Option<(u64, u64)> {
    let source = source()?;
    Some((source.pot.job(), RESERVED.load(Ordering::Relaxed).saturating_sub(bytes)))
}

/// A file is gone for which the pot of `job` had reserved `bytes`, as [`known_beside`] told.
pub(super) fn is_gone(job: u64, bytes: u64) {
    let Some(source) = source().filter(|source| source.pot.job() == job && bytes > 0) else { return };
    changing(|| {
        let give_back = |reserved: u64| reserved.saturating_sub(bytes);
        if source.ask(Making::Nothing, TO_TAKE, &give_back) == Err(Trouble::ForNow) {
            // It is this process's now, which gives it back with the rest, or, as a launcher, keeps it: less is left than there is.
            RESERVED.fetch_add(bytes, Ordering::Relaxed);
        }
    });
}

/// In a forked child, which has nothing yet, and says for itself whether the pot can be used. Where its parent has waited in vain, it does not.
pub(super) fn in_child() {
    pot::in_child();
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
    use std::ffi::{CStr, CString};

    /// No file is opened, none is named, and nobody waits for anybody.
    #[test]
    fn without_a_budget_there_is_no_pot() {
        let environment: &[(&CStr, &str)] = &[(c"DXT_ENABLE", "trace"), (c"DXT_JOB_ID", "7"), (c"SLURM_JOB_ID", "7")];
        prepare(&config::read(&environment).ok().flatten().unwrap(), &environment);
        // Whoever asked for a turn would get none.
        CHANGING.store(usize::MAX, Ordering::Relaxed);
        assert!(covers_trace(u64::MAX / 2) && begin_spool(1 << 40) && !is_least() && !is_spent_on_names());
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
        let source = |part: u64| Source { pot: Pot::new(CString::default(), "x", 0).unwrap(), part, share: part };
        let (k, all) = (1 << 10, u64::MAX);
        let gigabytes = source(1 << 30);
        // Quanta; the last one is what is there.
        assert_eq!(gigabytes.portion(k, k, all, 0), 1 << 20);
        assert_eq!(gigabytes.portion(k, k, all, (1 << 30) - 2 * k), 2 * k);
        assert_eq!(gigabytes.portion(k, k, all, 1 << 30), 0);
        assert_eq!(gigabytes.portion(k, k, all, 2 << 30), 0);
        // A share is the most, and nothing is too little.
        assert_eq!(gigabytes.portion(3 * k, 3 * k, 5 * k, 0), 5 * k);
        assert_eq!(gigabytes.portion(3 * k, 3 * k, 2 * k, 0), 0);
        // A beginning is content with less.
        let small = source(256 * k);
        let begin = |reserved: u64, most: u64| small.portion(320 * k, 16 * k, most, reserved);
        assert_eq!([0, 128 * k, 236 * k, 241 * k].map(|reserved| begin(reserved, all)), [128 * k, 64 * k, 16 * k, 0]);
        assert_eq!((begin(0, 20 * k), begin(0, 15 * k)), (20 * k, 0));
    }
}
