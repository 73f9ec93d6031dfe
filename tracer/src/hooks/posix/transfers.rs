//! Wraps calls that transfer bytes (read, write, ...). The length of a segment is the number of bytes really transferred; its offset is the
//! start of the transfer in the file, from the call's argument or the descriptor's file position.
#![expect(unsafe_code, reason = "C functions")]

use crate::handles::{self, Description, Manner, Placed, Target};
use crate::hooks::{admission, printing};
use crate::ops::{Op, POSIX_READ, POSIX_READV, POSIX_WRITE, POSIX_WRITEV};
use crate::real::hooks;
use crate::record::{self, Call, End};
use crate::{errno, file_status};
use libc::{c_int, c_void, iovec, off_t, size_t, ssize_t};
use trace_format::segment::NO_OFFSET;

/// Program memory that a call reads or writes; evaluated only after the call has succeeded.
pub(super) trait Memory {
    /// Returns the buffer's address; for several buffers the bitwise OR of their addresses, which shows their common alignment.
    fn address(self) -> usize;
}

impl Memory for *mut c_void {
    #[inline(always)]
    fn address(self) -> usize {
        self.addr()
    }
}

impl Memory for *const c_void {
    #[inline(always)]
    fn address(self) -> usize {
        self.addr()
    }
}

/// Buffer list of a vectored call (readv, writev), with its number of entries.
pub(super) struct Vector(pub(super) *const iovec, pub(super) c_int);

impl Memory for Vector {
    fn address(self) -> usize {
        let count = if record::marks_memory() { usize::try_from(self.1).unwrap_or(0) } else { 0 };
        (0..count).fold(0, |all, at| {
            // SAFETY: the call has succeeded, so the program's list has `count` entries.
            let entry = unsafe { self.0.add(at) };
            // SAFETY: the call has succeeded, so the program's list has `count` entries; read by value.
            let entry = unsafe { entry.read() };
            all | if entry.iov_len > 0 { entry.iov_base.addr() } else { 0 }
        })
    }
}

/// Runs and records `call`, which transfers bytes of the file open as `number` at `offset` and leaves the file position alone.
#[inline(always)]
pub(super) fn at_offset(
    number: c_int,
    op: &'static Op,
    memory: impl Memory,
    offset: off_t,
    call: impl FnOnce() -> ssize_t,
) -> ssize_t {
    let Some(thread) = admission::thread() else { return call() };
    let Some(target) = handles::descriptor(number) else { return call() };
    let timer = Call::begin(thread);
    let result = call();
    let end = crate::clock::of_call();
    let Some(used) = target.used() else {
        timer.end_uncertain(end, op, result as i64);
        return result;
    };
    if result >= 0 {
        let timer = timer.with_memory(memory.address());
        // Flags that do not apply to the call, such as O_APPEND to reads, change nothing either.
        if used.is_plain() || used.manner(op.writes()) == Manner::PLAIN {
            timer.finish(used.file(), op, End { at: end, placed: Placed::at(offset), length: result as u64 });
        } else {
            let placed = placed(target, offset, result, used.manner(op.writes()));
            timer.finish(used.file(), op, End { at: end, placed, length: result as u64 });
        }
    } else {
        timer.failed(used.file(), op, offset);
    }
    result
}

/// Returns the start offset of a transfer with an explicit offset. With O_APPEND, pwrite(2) appends regardless of the offset (pwrite(2),
/// BUGS). Inlined: a target that lies in memory would cost every call two instructions.
#[inline(always)]
fn placed(target: Target, offset: off_t, length: ssize_t, manner: Manner) -> Placed {
    if !manner.appends() {
        return Placed::at(offset).by(manner);
    }
    let placed = appended_at(target.number, offset, length);
    // The size is that of the file if the descriptor still refers to it.
    if target.used().is_some() { placed } else { Placed::at(NO_OFFSET) }.by(manner)
}

/// Estimates the start offset of an append that does not move the position: file size minus `length`. Others may have appended meanwhile.
#[cold]
#[inline(never)]
fn appended_at(number: c_int, offset: off_t, length: ssize_t) -> Placed {
    let errno = errno::save();
    let status = file_status::of(number);
    errno.restore();
    Placed::about(status.map_or(offset, |status| (status.size - length as i64).max(0)), true)
}

/// Runs and records `call`, which transfers bytes at the file position of descriptor `number` and moves the position.
#[inline(always)]
pub(super) fn at_position(
    number: c_int,
    op: &'static Op,
    memory: impl Memory,
    call: impl FnOnce() -> ssize_t,
) -> ssize_t {
    at_position_with(number, op, memory, 0, call)
}

/// Runs and records `call` like [`at_position`], with `flags` of pwritev2(2).
#[inline(always)]
fn at_position_with(
    number: c_int,
    op: &'static Op,
    memory: impl Memory,
    flags: c_int,
    call: impl FnOnce() -> ssize_t,
) -> ssize_t {
    let Some(thread) = admission::thread() else { return call() };
    let Some(target) = handles::descriptor(number) else {
        return printing::waiting(thread, number, op, call, |moved| *moved as i64);
    };
    let description = target.description;
    let mover = description.moving();
    let timer = Call::begin(thread);
    let result = call();
    let end = crate::clock::of_call();
    let Some(used) = target.used() else {
        Description::settle(description, mover);
        timer.end_uncertain(end, op, result as i64);
        return result;
    };
    if result >= 0 {
        let manner = Manner::of_transfer(used.manner(true), op, flags);
        let placed = description.moved(mover, target, result as i64, manner.appends()).by(manner);
        let end = End { at: end, placed, length: result as u64 };
        timer.with_memory(memory.address()).finish(used.file(), op, end);
    } else {
        let offset = description.position(op.writes());
        Description::settle(description, mover);
        timer.failed(used.file(), op, offset);
    }
    result
}

/// Runs and records `call`, which is preadv2(2) or pwritev2(2) with `offset` and `flags` on descriptor `number`. An offset of -1 means the
/// file position, which moves past the bytes even if they are appended. With any other offset, RWF_APPEND appends and leaves the position
/// alone.
#[inline(always)]
pub(super) fn at_either(
    number: c_int,
    op: &'static Op,
    memory: Vector,
    offset: off_t,
    flags: c_int,
    call: impl FnOnce() -> ssize_t,
) -> ssize_t {
    if offset == -1 {
        return at_position_with(number, op, memory, flags, call);
    }
    match op.writes() && Manner::is_changed_by(flags) {
        false => at_offset(number, op, memory, offset, call),
        true => at_offset_with(number, op, memory, offset, flags, call),
    }
}

#[cold]
fn at_offset_with(
    number: c_int,
    op: &'static Op,
    memory: Vector,
    offset: off_t,
    flags: c_int,
    call: impl FnOnce() -> ssize_t,
) -> ssize_t {
    let Some(thread) = admission::thread() else { return call() };
    let Some(target) = handles::descriptor(number) else { return call() };
    let timer = Call::begin(thread);
    let result = call();
    let end = crate::clock::of_call();
    let Some(used) = target.used() else {
        timer.end_uncertain(end, op, result as i64);
        return result;
    };
    let (manner, offset) = Manner::of_operation(used.manner(true), op, flags, offset);
    if result >= 0 {
        let placed = placed(target, offset, result, manner);
        let end = End { at: end, placed, length: result as u64 };
        timer.with_memory(memory.address()).finish(used.file(), op, end);
    } else {
        timer.failed(used.file(), op, offset);
    }
    result
}

hooks! { TRANSFERS, missing = { errno::set(libc::ENOSYS); -1 };
    [read](number: c_int, buffer: *mut c_void, count: size_t) -> ssize_t
        = |real| at_position(number, &POSIX_READ, buffer, || real(number, buffer, count));
    [write](number: c_int, buffer: *const c_void, count: size_t) -> ssize_t
        = |real| at_position(number, &POSIX_WRITE, buffer, || real(number, buffer, count));
    [pread, pread64](number: c_int, buffer: *mut c_void, count: size_t, offset: off_t) -> ssize_t
        = |real| at_offset(number, &POSIX_READ, buffer, offset, || real(number, buffer, count, offset));
    [pwrite, pwrite64](number: c_int, buffer: *const c_void, count: size_t, offset: off_t) -> ssize_t
        = |real| at_offset(number, &POSIX_WRITE, buffer, offset, || real(number, buffer, count, offset));
    /// Wraps read(2) as compiled with _FORTIFY_SOURCE (LSB, libc: __read_chk).
    [__read_chk](number: c_int, buffer: *mut c_void, count: size_t, size: size_t) -> ssize_t
        = |real| at_position(number, &POSIX_READ, buffer, || real(number, buffer, count, size));
    /// Wraps pread(2) as compiled with _FORTIFY_SOURCE.
    [__pread_chk, __pread64_chk](number: c_int, buffer: *mut c_void, count: size_t, offset: off_t, size: size_t) -> ssize_t
        = |real| at_offset(number, &POSIX_READ, buffer, offset, || real(number, buffer, count, offset, size));
    [readv](number: c_int, list: *const iovec, count: c_int) -> ssize_t
        = |real| at_position(number, &POSIX_READV, Vector(list, count), || real(number, list, count));
    [writev](number: c_int, list: *const iovec, count: c_int) -> ssize_t
        = |real| at_position(number, &POSIX_WRITEV, Vector(list, count), || real(number, list, count));
    [preadv, preadv64](number: c_int, list: *const iovec, count: c_int, offset: off_t) -> ssize_t
        = |real| at_offset(number, &POSIX_READV, Vector(list, count), offset, || real(number, list, count, offset));
    [pwritev, pwritev64](number: c_int, list: *const iovec, count: c_int, offset: off_t) -> ssize_t
        = |real| at_offset(number, &POSIX_WRITEV, Vector(list, count), offset, || real(number, list, count, offset));
    [preadv2, preadv64v2](number: c_int, list: *const iovec, count: c_int, offset: off_t, flags: c_int) -> ssize_t
        = |real| at_either(number, &POSIX_READV, Vector(list, count), offset, flags, || real(number, list, count, offset, flags));
    [pwritev2, pwritev64v2](number: c_int, list: *const iovec, count: c_int, offset: off_t, flags: c_int) -> ssize_t
        = |real| at_either(number, &POSIX_WRITEV, Vector(list, count), offset, flags, || real(number, list, count, offset, flags));
}
