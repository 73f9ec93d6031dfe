//! Wraps calls that open, duplicate and close descriptors.
//!
//! open(2) and fcntl(2) are variadic in C. On x86-64 and AArch64 Linux, a variadic argument is passed in the same register as a named one.
//! So the wrappers declare the argument; if the caller did not pass it, the register is passed on unread.
#![expect(unsafe_code, reason = "C functions")]

use super::super::uring;
use crate::handles::{self, Asked, Manner, Used};
use crate::hooks::admission;
use crate::ops::{POSIX_CLOSE, POSIX_DUP, POSIX_OPEN};
use crate::process::seems_own as is_own_process;
use crate::real::hooks;
use crate::record::{self, Call, End};
use crate::{clock, errno, lifecycle, own_directories, registry, say};
use libc::{AT_FDCWD, c_char, c_int, c_uint, mode_t};
use trace_format::meta::LayoutMoment;
use trace_format::segment::NO_OFFSET;

/// Runs and records `call`, which opens `path` relative to the directory `at`, with `flags` of open(2).
#[inline(always)]
pub(super) fn opening(at: c_int, path: *const c_char, flags: c_int, call: impl FnOnce() -> c_int) -> c_int {
    let asked = Asked::with_flags(at, path, flags);
    opening_as(asked, Some(asked), || flags, call)
}

/// Runs and records `call` like [`opening`], for a call that may resolve the path differently than open(2) does (openat2(2)). `flags` is
/// evaluated only on success.
#[inline(always)]
pub(super) fn opening_elsewhere(
    at: c_int,
    path: *const c_char,
    flags: impl FnOnce() -> c_int,
    call: impl FnOnce() -> c_int,
) -> c_int {
    opening_as(Asked::with_flags(at, path, 0), None, flags, call)
}

/// Runs and records `call`, which opens the path `asked`. `found`: the same path if `call` resolves it like open(2), so that a cached name
/// may be used; else `None`.
#[inline(always)]
fn opening_as(
    asked: Asked,
    found: Option<Asked>,
    flags: impl FnOnce() -> c_int,
    call: impl FnOnce() -> c_int,
) -> c_int {
    let Some(thread) = admission::thread().filter(|_| is_own_process()) else {
        let number = unrecorded(call());
        if number == libc::STDERR_FILENO && is_own_process() {
            say::opened(number);
        }
        return number;
    };
    let timer = Call::begin(thread);
    let number = call();
    if number >= 0 {
        say::opened(number);
        let (end, errno) = (clock::of_call(), errno::save());
        if handles::has_own_table() {
            timer.end_uncertain(end, &POSIX_OPEN, 0);
        } else if let Some(opened) = handles::opened(number, found, Manner::of_opening(flags())) {
            timer.finish(opened.file, &POSIX_OPEN, End::at(end));
        }
        errno.restore();
    } else {
        opening_failed(timer, asked.at, asked.name);
    }
    number
}

#[cold]
fn opening_failed(timer: Call, at: c_int, path: *const c_char) {
    let errno = errno::save();
    if let Some(file) = handles::failed_name(at, path, errno.value()) {
        timer.failed_with(errno.value(), file, &POSIX_OPEN, NO_OFFSET);
    }
    errno.restore();
}

/// Marks a descriptor that an unrecorded call has opened as unknown; it is looked up in the kernel at its first use.
fn unrecorded(number: c_int) -> c_int {
    if number >= 0 && record::is_on() && is_own_process() {
        handles::forget(number);
    }
    number
}

/// Runs `call`, which duplicates the descriptor `old` to a new number, and updates the descriptor table.
#[inline(always)]
pub(super) fn duplicating(old: c_int, call: impl FnOnce() -> c_int) -> c_int {
    duplicating_as(old, None, call)
}

/// Runs `call`, which duplicates the descriptor `old` as `new` and closes the previous `new`; updates the descriptor table.
#[inline(always)]
pub(super) fn replacing(old: c_int, new: c_int, call: impl FnOnce() -> c_int) -> c_int {
    own_directories::make_way(new);
    duplicating_as(old, (old != new && new >= 0).then_some(new), call)
}

fn duplicating_as(old: c_int, new: Option<c_int>, call: impl FnOnce() -> c_int) -> c_int {
    let Some(thread) = admission::thread().filter(|_| is_own_process()) else {
        let taken = new.filter(|_| record::is_on() && is_own_process()).map(handles::take_to_book);
        let number = call();
        match taken {
            Some(taken) => taken.close(),
            None => _ = unrecorded(number),
        }
        if number == libc::STDERR_FILENO && number != old && is_own_process() {
            say::copied(number);
        }
        return number;
    };
    let target = handles::descriptor(old);
    let taken = new.map(handles::take_to_book);
    let timer = Call::begin(thread);
    let number = call();
    let (end, errno) = (clock::of_call(), errno::save());
    let file = target.and_then(|target| target.used()).map(Used::file);
    match (taken, &target) {
        (Some(taken), _) if number < 0 => taken.give_back(),
        (Some(taken), Some(target)) => taken.become_one(target),
        (Some(taken), None) => taken.close(),
        (None, target) if number >= 0 && number != old => handles::duplicate(target.as_ref(), number),
        (None, _) => {}
    }
    if number >= 0 && number != old {
        say::copied(number);
    }
    match file {
        Some(file) if number < 0 => timer.failed_with(errno.value(), file, &POSIX_DUP, NO_OFFSET),
        Some(file) if number != old => timer.finish(file, &POSIX_DUP, End::at(end)),
        None if target.is_some() && number != old => timer.end_uncertain(end, &POSIX_DUP, number.min(0).into()),
        _ => {}
    }
    errno.restore();
    number
}

/// Runs `call`, which duplicates the descriptor `old` to the first free number not below `new`; updates the descriptor table.
#[inline(always)]
pub(super) fn duplicating_to(old: c_int, new: c_int, call: impl FnOnce() -> c_int) -> c_int {
    own_directories::make_way(new);
    duplicating(old, call)
}

/// Runs and records `call`, which closes the descriptor `number`.
#[inline(always)]
pub(super) fn closing(number: c_int, call: impl FnOnce() -> c_int) -> c_int {
    uring::closing(number);
    if number == libc::STDERR_FILENO {
        lifecycle::losing_stderr();
    }
    let Some(thread) = admission::thread().filter(|_| is_own_process()) else {
        let taken = (record::is_on() && is_own_process()).then(|| handles::take(number));
        let result = own_directories::unless_held(number, call);
        taken.into_iter().for_each(handles::Taken::close);
        return result;
    };
    let taken = handles::take(number);
    let Some(file) = taken.file() else {
        let result = own_directories::unless_held(number, call);
        taken.close();
        return result;
    };
    let errno = errno::save();
    registry::read_layout(file, number, LayoutMoment::Close);
    errno.restore();
    let timer = Call::begin(thread);
    let result = call();
    if result == 0 {
        timer.finish(file, &POSIX_CLOSE, End::at(clock::of_call()));
    } else {
        timer.failed(file, &POSIX_CLOSE, NO_OFFSET);
    }
    taken.close();
    result
}

/// Runs `call`, which closes the descriptors `first` to `last`. Descriptors that are still open afterwards are looked up again at their next use.
pub(super) fn closing_range(first: c_uint, last: c_uint, call: impl FnMut(c_uint, c_uint) -> c_int) -> c_int {
    let close = || own_directories::around(first, last, call);
    if !record::is_on() || !is_own_process() {
        return close();
    }
    uring::ending_range(first, last);
    handles::take_range(first, last, close)
}

/// Flag CLOSE_RANGE_UNSHARE of close_range(2).
const UNSHARE: c_uint = 1 << 1;
/// Flag CLOSE_RANGE_CLOEXEC of close_range(2).
const CLOSE_LATER: c_uint = 1 << 2;

/// Runs `call`, which is close_range(2) with `flags` on the descriptors `first` to `last`; updates the descriptor table.
pub(super) fn closing_range_with(
    first: c_uint,
    last: c_uint,
    flags: c_uint,
    mut call: impl FnMut(c_uint, c_uint) -> c_int,
) -> c_int {
    // CLOSE_RANGE_UNSHARE gives this thread a descriptor table of its own, if the process has other threads.
    let parts = flags & UNSHARE != 0 && record::is_on() && is_own_process() && !handles::is_only_thread();
    let result = match (flags & CLOSE_LATER != 0, parts) {
        (true, _) => call(first, last),
        (false, true) => own_directories::around(first, last, call),
        (false, false) => closing_range(first, last, call),
    };
    if parts && result == 0 {
        handles::unshared();
    }
    result
}

/// Flags of open(2) with which mkstemp(3) creates files.
const MADE: c_int = libc::O_CREAT | libc::O_EXCL;

hooks! { OPENING, missing = { errno::set(libc::ENOSYS); -1 };
    /// Wraps open(2), recorded without offset and length; a failed call is recorded under the requested path.
    unlike "variadic; what it takes is in registers all the same" [open, open64](path: *const c_char, flags: c_int, mode: mode_t) -> c_int
        = |real| opening(AT_FDCWD, path, flags, || real(path, flags, mode));
    unlike "variadic; what it takes is in registers all the same" [openat, openat64](dir: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int
        = |real| opening(dir, path, flags, || real(dir, path, flags, mode));
    [creat, creat64](path: *const c_char, mode: mode_t) -> c_int
        = |real| opening(AT_FDCWD, path, 0, || real(path, mode));
    /// Wraps open(2) as compiled with _FORTIFY_SOURCE (LSB, libc: __open_2).
    [__open_2, __open64_2](path: *const c_char, flags: c_int) -> c_int
        = |real| opening(AT_FDCWD, path, flags, || real(path, flags));
    /// Wraps openat(2) as compiled with _FORTIFY_SOURCE.
    [__openat_2, __openat64_2](dir: c_int, path: *const c_char, flags: c_int) -> c_int
        = |real| opening(dir, path, flags, || real(dir, path, flags));
    /// Wraps mkstemp(3). A failed call is recorded under the template.
    [mkstemp, mkstemp64](template: *mut c_char) -> c_int
        = |real| opening(AT_FDCWD, template, MADE, || real(template));
    [mkostemp, mkostemp64](template: *mut c_char, flags: c_int) -> c_int
        = |real| opening(AT_FDCWD, template, flags | MADE, || real(template, flags));
    [mkstemps, mkstemps64](template: *mut c_char, suffix: c_int) -> c_int
        = |real| opening(AT_FDCWD, template, MADE, || real(template, suffix));
    [mkostemps, mkostemps64](template: *mut c_char, suffix: c_int, flags: c_int) -> c_int
        = |real| opening(AT_FDCWD, template, flags | MADE, || real(template, suffix, flags));
    /// Wraps close(2). Like close(2), the wrapper is async-signal-safe.
    [close](number: c_int) -> c_int
        = |real| closing(number, || real(number));
    /// Wraps close_range(2), which is not recorded; only the descriptor table is updated.
    [close_range](first: c_uint, last: c_uint, flags: c_int) -> c_int
        = |real| closing_range_with(first, last, flags as c_uint, |first, last| real(first, last, flags));
    /// Wraps dup(2). The duplicate shares the file position.
    [dup](old: c_int) -> c_int
        = |real| duplicating(old, || real(old));
    [dup2](old: c_int, new: c_int) -> c_int
        = |real| replacing(old, new, || real(old, new));
    [dup3](old: c_int, new: c_int, flags: c_int) -> c_int
        = |real| replacing(old, new, || real(old, new, flags));
    /// Wraps fcntl(2). F_DUPFD and F_DUPFD_CLOEXEC duplicate, F_SETFL may change O_APPEND and O_DIRECT, F_SETLK and its variants lock.
    /// Queries (F_GETLK, F_GETFL, ...) are not recorded.
    unlike "variadic; what it takes is in registers all the same" [fcntl, fcntl64](number: c_int, command: c_int, argument: usize) -> c_int
        = |real| controlling(number, command, argument, || real(number, command, argument));
}

/// Runs `call`, which is fcntl(2) with `command` and `argument`, and records or tracks its effect.
pub(super) fn controlling(number: c_int, command: c_int, argument: usize, call: impl FnOnce() -> c_int) -> c_int {
    match command {
        libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => duplicating_to(number, argument as c_int, call),
        libc::F_SETLK | libc::F_SETLKW | libc::F_OFD_SETLK | libc::F_OFD_SETLKW => {
            super::locks::by_fcntl(number, argument, call)
        }
        libc::F_SETFL => setting_flags(number, argument as c_int, call),
        _ => call(),
    }
}

fn setting_flags(number: c_int, flags: c_int, call: impl FnOnce() -> c_int) -> c_int {
    let result = call();
    if result == 0
        && admission::thread().is_some()
        && is_own_process()
        && let Some(target) = handles::descriptor(number)
    {
        target.set_flags(flags);
    }
    result
}
