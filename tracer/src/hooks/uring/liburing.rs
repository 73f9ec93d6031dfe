//! Wraps liburing 2's functions that may submit entries, examine completions, or register files; inline functions call them too.
#![expect(unsafe_code, reason = "C functions")]

use super::layout::{LibraryRing, Queues};
use super::system::{self, by_library, entering, registering as registering_any, setting_up};
use super::watch;
use crate::handles::rings::{self, Name, Ring};
use crate::hooks::admission;
use crate::real::hooks;
use crate::record::{self, Call};
use crate::{clock, errno};
use libc::{c_int, c_uint, c_ulong, c_void};
use std::sync::atomic::{AtomicU8, Ordering};

pub(in crate::hooks) fn resolve() {
    if LIBURING.first().is_some_and(|slot| !slot.address().is_null()) {
        LIBURING.iter().for_each(|slot| _ = slot.address());
    }
}

/// True if the resolved functions belong to liburing 2, whose structures are known.
fn is_known() -> bool {
    const UNKNOWN: u8 = 0;
    const YES: u8 = 1;
    const NO: u8 = 2;
    static IS: AtomicU8 = AtomicU8::new(UNKNOWN);
    if IS.load(Ordering::Relaxed) == UNKNOWN {
        let is = LIBURING[0].is_of(&[b"liburing", b".so.2"]);
        IS.store(if is { YES } else { NO }, Ordering::Relaxed);
    }
    IS.load(Ordering::Relaxed) == YES
}

/// Returns the ring, its queues, and the index after the last entry that the program has prepared.
fn ring_of(ring: *const LibraryRing) -> Option<(&'static Ring, Queues, u32)> {
    if !is_known() {
        return None;
    }
    // SAFETY: the program's own ring, which liburing has set up.
    let (queues, name, prepared) = unsafe { Queues::of_library(ring) }?;
    let name = Name::Address(name);
    let ring =
        rings::find(name).or_else(|| rings::add(name, queues.taken(), queues.completed(), std::ptr::null_mut()))?;
    Some((ring, queues, prepared))
}

/// Runs and records `call`, which may wait for completions and, if `submits` is true, submit the prepared entries.
fn using(ring: *const LibraryRing, submits: bool, call: impl FnOnce() -> c_int) -> c_int {
    let Some(thread) = admission::thread().filter(|thread| !thread.is_in_library()) else { return call() };
    let Some((known, queues, prepared)) = ring_of(ring) else { return thread.in_library(call) };
    watch::look(thread, known, &queues);
    let entries = submits.then(|| watch::handing_over(known, &queues, prepared));
    let timer = Call::begin(thread);
    let result = thread.in_library(call);
    let (end, errno) = (clock::of_call(), errno::save());
    // SAFETY: the program's own ring, which the function has just used.
    if let Some((queues, _, _)) = unsafe { Queues::of_library(ring) } {
        let handed_over = entries.and_then(|entries| watch::handed_over(known, &queues, entries));
        let ended = watch::look(thread, known, &queues);
        watch::kept(timer, end, ended, handed_over);
    }
    errno.restore();
    result
}

/// Runs `call`, which destroys the ring; records the ring's last completions before.
fn leaving(ring: *const LibraryRing, call: impl FnOnce()) {
    if record::is_on() && is_known() {
        // SAFETY: the program's own ring, before the call destroys it.
        let found = unsafe { Queues::of_library(ring) };
        if let Some((queues, name, _)) = found
            && let Some(known) = rings::find(Name::Address(name))
        {
            watch::end(admission::thread(), known, &queues);
            known.end(|_| ());
        }
    }
    call();
}

/// Runs `call`, which creates a ring, and adds the ring to the table. An earlier ring at the same address no longer exists.
fn starting(ring: *const LibraryRing, call: impl FnOnce() -> c_int) -> c_int {
    let Some(thread) = admission::thread().filter(|thread| !thread.is_in_library()) else { return call() };
    let result = thread.in_library(call);
    if result < 0 || !is_known() {
        return result;
    }
    // SAFETY: the call has initialized the ring.
    let found = unsafe { Queues::of_library(ring) };
    if let Some((_, name, _)) = found
        && let Some(known) = rings::find(Name::Address(name))
    {
        known.end(|_| ());
    }
    if ring_of(ring).is_none() {
        crate::notes::Note::Ring.count();
    }
    result
}

/// Runs `call`, which registers `files` with the ring from index `at` on, and returns 0 or, if `counts` is true, the number of files.
fn registering(
    ring: *const LibraryRing,
    at: c_uint,
    files: *const c_int,
    count: c_uint,
    counts: bool,
    call: impl FnOnce() -> c_int,
) -> c_int {
    let Some(thread) = admission::thread() else { return call() };
    let result = thread.in_library(call);
    let done = if counts {
        c_uint::try_from(result).unwrap_or(0)
    } else if result == 0 {
        count
    } else {
        0
    };
    if done > 0
        && let Some((ring, _, _)) = ring_of(ring)
    {
        system::registered(ring, at, files, done);
    }
    result
}

/// Runs `call`, after which no file is registered with the ring.
fn unregistering(ring: *const LibraryRing, call: impl FnOnce() -> c_int) -> c_int {
    let Some(thread) = admission::thread() else { return call() };
    let result = thread.in_library(call);
    if let Some((ring, _, _)) = ring_of(ring) {
        ring.forget_files();
    }
    result
}

/// Value that a wrapped function returns if the loaded liburing lacks the function, for each result type.
trait Missing {
    const ANSWER: Self;
}

impl Missing for c_int {
    const ANSWER: Self = -libc::ENOSYS;
}

impl Missing for c_uint {
    const ANSWER: Self = 0;
}

impl Missing for () {
    const ANSWER: Self = ();
}

hooks! { LIBURING, missing = Missing::ANSWER;
    [io_uring_submit, io_uring_submit_and_get_events](ring: *mut LibraryRing) -> c_int
        = |real| using(ring, true, || real(ring));
    [io_uring_submit_and_wait](ring: *mut LibraryRing, least: c_uint) -> c_int
        = |real| using(ring, true, || real(ring, least));
    [io_uring_submit_and_wait_timeout](ring: *mut LibraryRing, found: *mut *mut c_void, least: c_uint, timeout: *mut c_void, mask: *mut c_void) -> c_int
        = |real| using(ring, true, || real(ring, found, least, timeout, mask));
    /// Wraps io_uring_submit_and_wait_min_timeout(3) (liburing 2.8 and later).
    [io_uring_submit_and_wait_min_timeout](ring: *mut LibraryRing, found: *mut *mut c_void, least: c_uint, timeout: *mut c_void, wait: c_uint, mask: *mut c_void) -> c_int
        = |real| using(ring, true, || real(ring, found, least, timeout, wait, mask));
    /// Wraps io_uring_submit_and_wait_reg(3) (liburing 2.9 and later).
    [io_uring_submit_and_wait_reg](ring: *mut LibraryRing, found: *mut *mut c_void, least: c_uint, index: c_int) -> c_int
        = |real| using(ring, true, || real(ring, found, least, index));
    /// Wraps __io_uring_get_cqe, which the inline io_uring_wait_cqe(3) calls when there is no completion yet.
    [__io_uring_get_cqe](ring: *mut LibraryRing, found: *mut *mut c_void, submit: c_uint, least: c_uint, mask: *mut c_void) -> c_int
        = |real| using(ring, submit > 0, || real(ring, found, submit, least, mask));
    /// Wraps io_uring_wait_cqes(3). On kernels before 5.11 it also submits prepared entries, which the tracer does not see.
    [io_uring_wait_cqes](ring: *mut LibraryRing, found: *mut *mut c_void, least: c_uint, timeout: *mut c_void, mask: *mut c_void) -> c_int
        = |real| using(ring, false, || real(ring, found, least, timeout, mask));
    /// Wraps io_uring_wait_cqes_min_timeout(3) (liburing 2.8 and later).
    [io_uring_wait_cqes_min_timeout](ring: *mut LibraryRing, found: *mut *mut c_void, least: c_uint, timeout: *mut c_void, wait: c_uint, mask: *mut c_void) -> c_int
        = |real| using(ring, false, || real(ring, found, least, timeout, wait, mask));
    [io_uring_wait_cqe_timeout](ring: *mut LibraryRing, found: *mut *mut c_void, timeout: *mut c_void) -> c_int
        = |real| using(ring, false, || real(ring, found, timeout));
    /// Wraps io_uring_wait_cqe(3) and io_uring_peek_cqe(3), exported by liburing-ffi.
    [io_uring_wait_cqe, io_uring_peek_cqe](ring: *mut LibraryRing, found: *mut *mut c_void) -> c_int
        = |real| using(ring, false, || real(ring, found));
    /// Wraps io_uring_wait_cqe_nr(3), exported by liburing-ffi.
    [io_uring_wait_cqe_nr](ring: *mut LibraryRing, found: *mut *mut c_void, least: c_uint) -> c_int
        = |real| using(ring, false, || real(ring, found, least));
    [io_uring_peek_batch_cqe](ring: *mut LibraryRing, found: *mut *mut c_void, most: c_uint) -> c_uint
        = |real| using(ring, false, || real(ring, found, most) as c_int) as c_uint;
    [io_uring_get_events](ring: *mut LibraryRing) -> c_int
        = |real| using(ring, false, || real(ring));
    [io_uring_queue_init](entries: c_uint, ring: *mut LibraryRing, flags: c_uint) -> c_int
        = |real| starting(ring, || real(entries, ring, flags));
    [io_uring_queue_init_params](entries: c_uint, ring: *mut LibraryRing, parameters: *mut c_void) -> c_int
        = |real| starting(ring, || real(entries, ring, parameters));
    /// Wraps io_uring_queue_init_mem(3) (liburing 2.5 and later).
    [io_uring_queue_init_mem](entries: c_uint, ring: *mut LibraryRing, parameters: *mut c_void, memory: *mut c_void, bytes: usize) -> c_int
        = |real| starting(ring, || real(entries, ring, parameters, memory, bytes));
    [io_uring_queue_mmap](descriptor: c_int, parameters: *mut c_void, ring: *mut LibraryRing) -> c_int
        = |real| starting(ring, || real(descriptor, parameters, ring));
    /// Wraps io_uring_queue_exit(3). The ring's remaining completions are recorded before.
    [io_uring_queue_exit](ring: *mut LibraryRing) -> ()
        = |real| leaving(ring, || real(ring));
    [io_uring_register_files](ring: *mut LibraryRing, files: *const c_int, count: c_uint) -> c_int
        = |real| registering(ring, 0, files, count, false, || real(ring, files, count));
    [io_uring_register_files_tags](ring: *mut LibraryRing, files: *const c_int, tags: *const c_ulong, count: c_uint) -> c_int
        = |real| registering(ring, 0, files, count, false, || real(ring, files, tags, count));
    [io_uring_register_files_update](ring: *mut LibraryRing, at: c_uint, files: *const c_int, count: c_uint) -> c_int
        = |real| registering(ring, at, files, count, true, || real(ring, at, files, count));
    [io_uring_register_files_update_tag](ring: *mut LibraryRing, at: c_uint, files: *const c_int, tags: *const c_ulong, count: c_uint) -> c_int
        = |real| registering(ring, at, files, count, true, || real(ring, at, files, tags, count));
    [io_uring_register_files_sparse](ring: *mut LibraryRing, count: c_uint) -> c_int
        = |real| unregistering(ring, || real(ring, count));
    /// Wraps io_uring_setup(2), exported by liburing 2.3 and later.
    [io_uring_setup](entries: c_uint, about: *mut c_void) -> c_int
        = |real| setting_up(about, || by_library(|| real(entries, about))) as c_int;
    /// Wraps io_uring_enter(2), exported by liburing 2.3 and later.
    [io_uring_enter](ring: c_uint, count: c_uint, least: c_uint, flags: c_uint, mask: *mut c_void) -> c_int
        = |real| entering(ring as c_int, count, flags, || by_library(|| real(ring, count, least, flags, mask))) as c_int;
    /// Wraps io_uring_enter(2) with a size argument, exported by liburing 2.3 and later.
    [io_uring_enter2](ring: c_uint, count: c_uint, least: c_uint, flags: c_uint, mask: *mut c_void, bytes: usize) -> c_int
        = |real| entering(ring as c_int, count, flags, || by_library(|| real(ring, count, least, flags, mask, bytes))) as c_int;
    /// Wraps io_uring_register(2), exported by liburing 2.3 and later.
    [io_uring_register](ring: c_uint, what: c_uint, argument: *const c_void, count: c_uint) -> c_int
        = |real| registering_any(ring as c_int, what, argument, count, || by_library(|| real(ring, what, argument, count))) as c_int;
    [io_uring_unregister_files](ring: *mut LibraryRing) -> c_int
        = |real| unregistering(ring, || real(ring));
}
