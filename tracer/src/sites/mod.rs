//! Call sites: the call stacks from which the program makes its calls (`DXT_SITES`).
//!
//! A hook's entry notes return address and stack pointer in the thread's block. With the return addresses of up to four outer frames they
//! identify a call stack: they are looked up in a cache of the thread. Only if they are not found, the stack is walked, on a stack of the
//! tracer's own, and its frames are stored in a tree that all threads share; the number of the innermost frame in that tree is the call
//! site. Now and then a known stack is walked again and compared. A call site is part of a stream, so an append costs nothing more.
//!
//! In a Python program the call stack continues in scripts ([`python`]); the instructions that scripts execute are then part of the stack's identity.
//!
//! In a hook nothing here waits for a lock of the program or of its libraries; threads that add modules give way to each other for a bounded number
//! of times. Memory is bounded: call sites beyond a bound are unknown.

mod cache;
mod frames;
#[cfg(target_arch = "x86_64")]
mod modules;
#[cfg(target_arch = "x86_64")]
mod objects;
#[cfg(target_arch = "x86_64")]
mod program;
#[cfg(target_arch = "x86_64")]
mod python;
#[cfg(target_arch = "x86_64")]
mod walk;

use crate::tls::Thread;
use crate::{budget, errno, process, sys};
#[cfg(not(dxt_static))]
pub(crate) use cache::GENERATION;
pub(crate) use cache::{known_stream, remember_stream};
pub(crate) use frames::{definitions, note_all};
use std::sync::atomic::{AtomicBool, Ordering};

/// Number of a call site: the index of its frame plus one. 0 stands for an unknown one.
pub(crate) type Site = u32;

/// Maximum number of frames of all call stacks, and thus of call sites.
const MOST_FRAMES: usize = 1 << 16;
/// Maximum number of modules (executables, shared libraries and scripts), including those that were unloaded and loaded again elsewhere.
const MOST_MODULES: usize = 1 << 12;
/// Maximum number of functions of scripts.
const MOST_FUNCTIONS: usize = 1 << 15;
/// Maximum number of streams that differ from others in their call site: each may need counters of its own.
pub(crate) const MOST_STREAMS: usize = 1 << 16;
/// Maximum number of threads whose calls have call sites.
const MOST_THREADS: usize = 1 << 12;

/// Maximum scale (divisor of tables, since memory is limited) with which call sites are recorded.
const MOST_SCALE: usize = 16;
/// Number of a thread's chunk (piece of memory for its calls) before which its call sites are not looked at again.
const FIRST_CHUNK: u32 = 4;

/// True if call sites are recorded.
static WANTED: AtomicBool = AtomicBool::new(false);

/// Begins to record call sites. Called from the library's constructor. `scale`: number by which tables are divided if memory is limited.
pub(crate) fn prepare(scale: usize) {
    if cfg!(not(target_arch = "x86_64")) || scale > MOST_SCALE {
        return;
    }
    #[cfg(target_arch = "x86_64")]
    if !walk::prepare() {
        return;
    }
    #[cfg(target_arch = "x86_64")]
    python::prepare();
    frames::prepare(scale);
    cache::prepare(MOST_THREADS / scale);
    WANTED.store(true, Ordering::Relaxed);
}

/// Value of [`Thread::sites`] in a thread whose call sites are not recorded.
const NOWHERE: usize = 1;
/// Returns the call site of the hook that the thread has just entered; 0 if unknown. A hook can ask once: later questions in it get 0.
#[inline(always)]
pub(crate) fn of_call(thread: &Thread) -> Site {
    let Some(cache) = cache::of(thread) else {
        return if thread.sites.get() == NOWHERE { 0 } else { first(thread) };
    };
    let (address, stack) = (thread.caller.address.replace(0), thread.caller.stack.get());
    match cache::find(cache, address, stack) {
        Some(site) => site,
        None => missed(thread, cache, address, stack),
    }
}

/// Gives the thread a cache at its first call. Preserves errno.
#[cold]
#[inline(never)]
fn first(thread: &Thread) -> Site {
    let is_wanted = WANTED.load(Ordering::Relaxed) && !thread.is_lent() && !budget::is_least();
    let errno = errno::save();
    let cache = if is_wanted && !sys::is_shut() && process::is_own() { thread.while_busy(cache::make) } else { None };
    errno.restore();
    thread.sites.set(cache.unwrap_or(NOWHERE));
    if cache.is_some() { of_call(thread) } else { 0 }
}

/// Looks the call site up that is not in its first place in the thread's cache.
#[cold]
#[inline(never)]
fn missed(thread: &Thread, cache: &cache::Cache, address: usize, stack: usize) -> Site {
    #[cfg(target_arch = "x86_64")]
    {
        let (mut address, mut stack, mut frame) = (address, stack, thread.caller.frame.get());
        // A variadic function of this library has called the hook: its caller is the program's.
        if cache::is_of_variadic(address) {
            let caller = &thread.variadic_caller;
            (address, stack, frame) = (caller.address.get(), caller.stack.get(), caller.frame.get());
        }
        if address == 0 {
            return 0;
        }
        let python = python::key(stack);
        match cache::find_elsewhere(cache, address, stack, python) {
            Some(site) => site,
            None => walk::site(thread, cache, python, [address, stack, frame]),
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = (thread, cache, address, stack);
        0
    }
}

/// Called when a thread gets its chunk (piece of memory for its calls) number `sequence`: now and then, and less often the longer it runs, the
/// stacks of known call sites are walked once more.
pub(crate) fn at_chunk(thread: &Thread, sequence: u32) {
    cache::refill(thread);
    if sequence >= FIRST_CHUNK && sequence.is_power_of_two() {
        cache::look_again(thread);
    }
}

/// Forgets, in a forked child, what other threads of its parent were doing.
pub(crate) fn in_child() {
    #[cfg(target_arch = "x86_64")]
    walk::in_child();
}
