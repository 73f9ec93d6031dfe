//! Stacks of the tracer's own. A thread of the program may have only 16 KiB of stack, a signal handler 8 KiB. So larger work (creating the
//! spool, compressing, writing the trace) runs on a stack of the tracer. Such work allocates memory, and is abandoned if memory runs out
//! ([`crate::abandonable`]).
//!
//! Bounds: a fixed number of stacks, reserved at the start and committed at first use. A thread that finds no free stack skips the work.
//! While a hook's work runs on such a stack, signals are blocked, since a handler of the program must not run there. At the end of the
//! process, which may take long, signals are blocked only if the calling code runs on the program's signal stack. Code of MPI and other
//! libraries is never called on such a stack.
#![expect(unsafe_code, reason = "runs work on stacks of its own")]

use crate::abandonable::run;
pub(crate) use crate::abandonable::{abandon, attempt};
use crate::blocking::{Blocked, is_on_signal_stack};
use crate::memory::{self, PAGE_BYTES};
use crate::tls;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

/// Number of stacks if address space is unlimited: one per thread that compresses data or ends the process.
const STACKS: usize = 20;
/// Number of the tracer's own stacks if the process's address space is limited.
const FEW_STACKS: usize = 6;
/// If all reservations of the tracer are divided by this scale or more, it keeps two stacks only, and reserves some 10 MiB of addresses in total.
const TINY: usize = 64;
/// Size of a stack in bytes, including its guard page. Exceeds the needs of all work of the tracer, with room for the program's signal handlers.
const STACK_BYTES: usize = 1 << 20;
const SMALL_STACK_BYTES: usize = 256 << 10;
/// Minimum number of free bytes on one of the tracer's stacks for further work to run on that stack.
const ENOUGH_BYTES: usize = 192 << 10;
/// Maximum number of attempts to find a free stack of the tracer.
const MOST_TRIES: u32 = 1_000;

static START: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());
static BYTES: AtomicUsize = AtomicUsize::new(0);
static COUNT: AtomicUsize = AtomicUsize::new(0);

struct Place {
    /// Number (`tls::number`) of the thread that uses this stack of the tracer, or 0.
    holder: AtomicUsize,
    usable: AtomicBool,
}

static PLACES: [Place; STACKS] =
    [const { Place { holder: AtomicUsize::new(0), usable: AtomicBool::new(false) } }; STACKS];

/// Reserves memory for the tracer's stacks. Called from the library's constructor.
pub(crate) fn prepare() {
    let roomy = memory::scale() == 1;
    let (count, bytes) = if roomy { (STACKS, STACK_BYTES) } else { (FEW_STACKS, SMALL_STACK_BYTES) };
    let start = memory::reserve(count * bytes);
    if !start.is_null() {
        BYTES.store(bytes, Ordering::Relaxed);
        START.store(start, Ordering::Relaxed);
        COUNT.store(count, Ordering::Release);
    }
}

/// Reserves the tracer's stacks once for all tests, which run in parallel.
#[cfg(test)]
pub(crate) fn prepare_once() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(prepare);
}

/// Returns address and size of the memory reserved for all of the tracer's stacks.
fn range() -> (*mut u8, usize) {
    (START.load(Ordering::Relaxed), COUNT.load(Ordering::Acquire) * BYTES.load(Ordering::Relaxed))
}

/// Returns address and size of each of the tracer's stacks that has not been released.
pub(crate) fn ranges() -> impl Iterator<Item = (*mut u8, usize)> {
    let (start, each) = (START.load(Ordering::Relaxed), BYTES.load(Ordering::Relaxed));
    let kept = PLACES.iter().take(COUNT.load(Ordering::Acquire)).enumerate();
    let kept = kept.filter(|(_, place)| place.holder.load(Ordering::Relaxed) != GONE);
    kept.map(move |(number, _)| (start.wrapping_add(number * each), each))
}

/// Releases the memory of unused stacks of the tracer for good, except for a few: the larger `scale`, the fewer are kept.
pub(crate) fn shrink(scale: usize) {
    let (count, bytes) = (COUNT.load(Ordering::Acquire), BYTES.load(Ordering::Relaxed));
    let kept = if scale < TINY { FEW_STACKS } else { 2 };
    for (number, place) in PLACES.iter().enumerate().take(count).skip(kept) {
        // Marks the stack as held for good, by no thread.
        if place.holder.compare_exchange(0, GONE, Ordering::Acquire, Ordering::Relaxed).is_ok() {
            memory::unmap(START.load(Ordering::Relaxed).wrapping_add(number * bytes), bytes);
        }
    }
}

/// Value of `holder` for a stack whose memory was released for good.
const GONE: usize = usize::MAX;

/// Frees, in a forked child, the tracer's stacks that were used by threads that do not exist in the child.
pub(crate) fn after_fork() {
    let me = tls::number();
    let others = |place: &&Place| ![me, GONE].contains(&place.holder.load(Ordering::Relaxed));
    PLACES.iter().filter(others).for_each(|place| place.holder.store(0, Ordering::Relaxed));
}

/// One of the tracer's stacks, in use by this thread; freed for other threads on drop.
struct Own {
    place: &'static Place,
    top: usize,
}

impl Own {
    fn take() -> Option<Self> {
        let me = tls::number();
        for _ in 0..MOST_TRIES {
            let count = COUNT.load(Ordering::Acquire);
            let free = PLACES.iter().take(count).enumerate().find(|(_, place)| {
                place.holder.load(Ordering::Relaxed) == 0
                    && place.holder.compare_exchange(0, me, Ordering::Acquire, Ordering::Relaxed).is_ok()
            });
            if let Some((number, place)) = free {
                let bytes = BYTES.load(Ordering::Relaxed);
                let bottom = START.load(Ordering::Relaxed).wrapping_add(number * bytes);
                let own = Self { place, top: bottom.addr() + bytes };
                // The lowest page stays a guard page, so that an overflow does not go unnoticed.
                let usable = place.usable.load(Ordering::Relaxed)
                    || memory::commit(bottom.wrapping_add(PAGE_BYTES), bytes - PAGE_BYTES);
                place.usable.store(usable, Ordering::Relaxed);
                return usable.then_some(own);
            }
            if count == 0 {
                return None;
            }
            crate::threads::give_way();
        }
        None
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        self.place.holder.store(0, Ordering::Release);
    }
}

/// True if this thread runs already on one of the tracer's stacks with enough free bytes.
fn has_room() -> bool {
    let (start, bytes) = range();
    let here = std::ptr::from_ref(&bytes).addr();
    let (at, each) = (here.wrapping_sub(start.addr()), BYTES.load(Ordering::Relaxed));
    // The memory of a released stack may now be a stack of the program.
    let is_ours = || PLACES.get(at / each).is_some_and(|place| place.holder.load(Ordering::Relaxed) == tls::number());
    at < bytes && is_ours() && at % each > ENOUGH_BYTES.min(each / 2)
}

/// Runs a hook's `work` on a stack of the tracer, with signals blocked; returns `None` if no stack is free or memory runs out.
pub(crate) fn in_hook<T>(work: impl FnOnce() -> T) -> Option<T> {
    let _blocked = Blocked::all();
    elsewhere(work)
}

/// Runs `work` at the end of the process or before exec(3), on a stack of the tracer; `work` may take long. Signal handlers may run, unless
/// this thread is on the program's signal stack, whose content a handler would overwrite.
pub(crate) fn at_end<T>(work: impl FnOnce() -> T) -> Option<T> {
    let _blocked = if is_on_signal_stack() { Blocked::all() } else { Blocked::cancellation() };
    elsewhere(work)
}

fn elsewhere<T>(work: impl FnOnce() -> T) -> Option<T> {
    if has_room() {
        return attempt(work);
    }
    let own = Own::take()?;
    // SAFETY: `own` keeps the stack for the duration of this call.
    unsafe { run(work, own.top) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_runs_elsewhere_and_can_be_abandoned() {
        prepare_once();
        let (start, bytes) = range();
        let inside = |address: usize| (start.addr()..start.addr() + bytes).contains(&address);
        let here = 0_u8;
        assert!(!inside((&raw const here).addr()));
        let nested = in_hook(|| {
            let there = [7_u8; 10_000];
            assert!(inside(there.as_ptr().addr()));
            // The inner work runs on the same stack, and is abandoned alone.
            let lost: Option<u8> = in_hook(|| {
                tls::current().busy.set(5);
                abandon();
                0
            });
            (lost, tls::current().busy.get(), there.iter().map(|&byte| u64::from(byte)).sum::<u64>())
        });
        assert_eq!(nested, Some((None, 0, 70_000)));
        assert_eq!(at_end(|| 5), Some(5));
        assert_eq!(attempt(|| inside((&raw const here).addr())), Some(false));
        abandon();
        // No stack is held any longer.
        let me = tls::number();
        assert!(PLACES.iter().all(|place| place.holder.load(Ordering::Relaxed) != me));
    }

    #[test]
    fn a_thread_that_finds_no_stack_does_without() {
        prepare_once();
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..64).map(|i| scope.spawn(move || in_hook(|| i))).collect();
            for (i, thread) in threads.into_iter().enumerate() {
                assert!([None, Some(i)].contains(&thread.join().unwrap()));
            }
        });
    }
}
