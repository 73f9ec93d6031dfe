//! Wraps file locks: fcntl(2), lockf(3), flock(2). Locking and unlocking are separate operations. Ranges are recorded from the start of the
//! file; a length of 0 means up to the end of the file and beyond.
#![expect(unsafe_code, reason = "C functions")]

use crate::errno;
use crate::handles::{self, Placed, Target, Used};
use crate::hooks::admission;
use crate::ops::{Op, POSIX_LOCK, POSIX_UNLOCK};
use crate::real::hooks;
use crate::record::{Call, End};
use libc::{c_int, off_t};
use trace_format::segment::NO_OFFSET;

/// Locked byte range of a file: (offset, length).
type Range = (i64, u64);

/// Returns the range of `length` bytes from `start`, or before `start` if the length is negative (fcntl(2), POSIX 2001).
fn range(start: i64, length: i64) -> Range {
    let first = if length < 0 { start.saturating_add(length) } else { start };
    (first.max(NO_OFFSET), length.unsigned_abs())
}

/// Runs and records `call`, which locks or unlocks. `op_of` returns operation and range after the call has validated the arguments.
fn locking(
    number: c_int,
    op_of: impl FnOnce(&Target, c_int) -> Option<(&'static Op, Range)>,
    call: impl FnOnce() -> c_int,
) -> c_int {
    let Some(thread) = admission::thread() else { return call() };
    let Some(target) = handles::descriptor(number) else { return call() };
    let timer = Call::begin(thread);
    let result = call();
    let (end, errno) = (crate::clock::of_call(), errno::save());
    let error = if result == 0 { 0 } else { errno.value() };
    if let Some((op, (offset, length))) = op_of(&target, error) {
        match (target.used().map(Used::file), error) {
            (Some(file), 0) => timer.finish(file, op, End { at: end, placed: Placed::at(offset), length }),
            (Some(file), error) => timer.failed_with(error, file, op, offset),
            (None, error) => timer.end_uncertain_with(end, op, result.min(0).into(), error),
        }
    }
    errno.restore();
    result
}

/// Runs and records fcntl(2) with a locking command; `argument` is the third argument, a `struct flock` pointer.
pub(super) fn by_fcntl(number: c_int, argument: usize, call: impl FnOnce() -> c_int) -> c_int {
    let op_of = |target: &Target, error| {
        if error == libc::EFAULT {
            return None;
        }
        // SAFETY: the kernel has read the structure.
        let lock = unsafe { std::ptr::with_exposed_provenance::<libc::flock>(argument).as_ref() }?;
        let op = if lock.l_type == libc::F_UNLCK as i16 { &POSIX_UNLOCK } else { &POSIX_LOCK };
        let base = match c_int::from(lock.l_whence) {
            libc::SEEK_CUR => target.description.position_asked(*target),
            libc::SEEK_END => size_of_file(number),
            _ => 0,
        };
        Some((op, range(base.saturating_add(lock.l_start), lock.l_len)))
    };
    locking(number, op_of, call)
}

fn size_of_file(number: c_int) -> i64 {
    // SAFETY: an all-zero stat is valid.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the structure is a local variable.
    unsafe { crate::sys::syscall!(libc::SYS_fstat, number, &raw mut stat) };
    stat.st_size
}

fn by_lockf(number: c_int, command: c_int, length: off_t, call: impl FnOnce() -> c_int) -> c_int {
    let op = match command {
        libc::F_LOCK | libc::F_TLOCK => &POSIX_LOCK,
        libc::F_ULOCK => &POSIX_UNLOCK,
        _ => return call(),
    };
    locking(number, |target, _| Some((op, range(target.description.position_asked(*target), length))), call)
}

fn by_flock(number: c_int, operation: c_int, call: impl FnOnce() -> c_int) -> c_int {
    let op = if operation & libc::LOCK_UN != 0 { &POSIX_UNLOCK } else { &POSIX_LOCK };
    locking(number, |_, _| Some((op, (0, 0))), call)
}

hooks! { LOCKS, missing = { errno::set(libc::ENOSYS); -1 };
    /// Wraps lockf(3), whose range is relative to the file position. F_TEST is not recorded.
    [lockf, lockf64](number: c_int, command: c_int, length: off_t) -> c_int
        = |real| by_lockf(number, command, length, || real(number, command, length));
    /// Wraps flock(2), recorded as a lock on the whole file.
    [flock](number: c_int, operation: c_int) -> c_int
        = |real| by_flock(number, operation, || real(number, operation));
}
