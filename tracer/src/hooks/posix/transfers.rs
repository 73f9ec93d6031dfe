//! Calls that move bytes. The length of a segment is what was really transferred; its offset is where in the file the
//! transfer began, whether the call said so or the descriptor's position did.
#![expect(unsafe_code, reason = "C functions")]

use crate::errno;
use crate::handles::{self, Description, Manner, Placed};
use crate::ops::{Op, POSIX_READ, POSIX_READV, POSIX_WRITE, POSIX_WRITEV};
use crate::real::hooks;
use crate::record::{self, Call};
use libc::{c_int, c_void, iovec, off_t, size_t, ssize_t};

/// Where in memory a call reads or writes; asked once the call has succeeded.
pub(super) trait Memory {
    /// The address; of several, all of them or'ed.
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

/// The buffers of a vectored call and their number.
pub(super) struct Vector(pub(super) *const iovec, pub(super) c_int);

impl Memory for Vector {
    fn address(self) -> usize {
        let count = if record::marks_memory() { usize::try_from(self.1).unwrap_or(0) } else { 0 };
        (0..count).fold(0, |all, at| {
            // SAFETY: the call has succeeded, so the program's list has `count` entries.
            let entry = unsafe { self.0.add(at) };
            // SAFETY: as above; read by value.
            let entry = unsafe { entry.read() };
            all | if entry.iov_len > 0 { entry.iov_base.addr() } else { 0 }
        })
    }
}

/// Runs `call`, which transfers at `offset` and leaves the position alone.
#[inline(always)]
pub(super) fn at_offset(
    number: c_int,
    op: &'static Op,
    memory: impl Memory,
    offset: off_t,
    call: impl FnOnce() -> ssize_t,
) -> ssize_t {
    let Some(thread) = record::thread() else { return call() };
    let Some(target) = handles::descriptor(number) else { return call() };
    let timer = Call::begin(thread);
    let result = call();
    let end = crate::clock::of_call();
    if !target.is_certain() {
        timer.end_uncertain(end, op, result as i64);
        return result;
    }
    let description = target.description;
    if result >= 0 {
        let timer = timer.with_memory(memory.address());
        let manner = description.manner(op.writes());
        if manner == Manner::PLAIN {
            timer.end_at(end, description.file(), op, offset, result as u64);
        } else {
            timer.end_placed(end, description.file(), op, placed(number, offset, result, manner), result as u64);
        }
    } else {
        timer.failed(description.file(), op, offset);
    }
    result
}

/// Where a call has begun that was given an offset: pwrite(2) on a descriptor opened with O_APPEND appends, whatever the offset says
/// (pwrite(2), BUGS).
#[cold]
fn placed(number: c_int, offset: off_t, length: ssize_t, manner: Manner) -> Placed {
    let placed = if manner.appends() { appended_at(number, offset, length) } else { Placed::at(offset) };
    placed.by(manner)
}

/// Where a call has appended that leaves the position alone: before the end of the file as it is now. Others may have appended
/// meanwhile.
#[cold]
fn appended_at(number: c_int, offset: off_t, length: ssize_t) -> Placed {
    let errno = errno::save();
    // SAFETY: an all-zero stat is a valid one.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the structure is ours.
    let known = unsafe { crate::sys::syscall!(libc::SYS_fstat, number, &raw mut stat) } == 0;
    errno.restore();
    Placed::about(if known { (stat.st_size - length as i64).max(0) } else { offset }, true)
}

/// Runs `call`, which transfers at the descriptor's position and moves it.
#[inline(always)]
pub(super) fn at_position(
    number: c_int,
    op: &'static Op,
    memory: impl Memory,
    call: impl FnOnce() -> ssize_t,
) -> ssize_t {
    at_position_with(number, op, memory, 0, call)
}

/// As [`at_position`], with flags of pwritev2(2).
#[inline(always)]
fn at_position_with(
    number: c_int,
    op: &'static Op,
    memory: impl Memory,
    flags: c_int,
    call: impl FnOnce() -> ssize_t,
) -> ssize_t {
    let Some(thread) = record::thread() else { return call() };
    let Some(target) = handles::descriptor(number) else { return call() };
    let description = target.description;
    let mover = description.moving();
    let timer = Call::begin(thread);
    let result = call();
    let end = crate::clock::of_call();
    if !target.is_certain() {
        Description::settle(description, mover);
        timer.end_uncertain(end, op, result as i64);
        return result;
    }
    if result >= 0 {
        let manner = Manner::of_transfer(description.manner(true), op, flags);
        let placed = description.moved(mover, number, result as i64, manner.appends()).by(manner);
        timer.with_memory(memory.address()).end_placed(end, description.file(), op, placed, result as u64);
    } else {
        let offset = description.position(op.writes());
        Description::settle(description, mover);
        timer.failed(description.file(), op, offset);
    }
    result
}

/// preadv2(2) and pwritev2(2): an offset of -1 means the position, which is moved behind the bytes also where they are appended;
/// with another offset RWF_APPEND appends and leaves the position alone.
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
    let Some(thread) = record::thread() else { return call() };
    let Some(target) = handles::descriptor(number) else { return call() };
    let timer = Call::begin(thread);
    let result = call();
    let end = crate::clock::of_call();
    if !target.is_certain() {
        timer.end_uncertain(end, op, result as i64);
        return result;
    }
    let description = target.description;
    let (manner, offset) = Manner::of_operation(description.manner(true), op, flags, offset);
    if result >= 0 {
        let placed = placed(number, offset, result, manner);
        timer.with_memory(memory.address()).end_placed(end, description.file(), op, placed, result as u64);
    } else {
        timer.failed(description.file(), op, offset);
    }
    result
}

hooks! { TRANSFERS, missing = { errno::set(libc::ENOSYS); -1 };
    /// read(2).
    [read](number: c_int, buffer: *mut c_void, count: size_t) -> ssize_t
        = |real| at_position(number, &POSIX_READ, buffer, || real(number, buffer, count));
    /// write(2).
    [write](number: c_int, buffer: *const c_void, count: size_t) -> ssize_t
        = |real| at_position(number, &POSIX_WRITE, buffer, || real(number, buffer, count));
    /// pread(2).
    [pread, pread64](number: c_int, buffer: *mut c_void, count: size_t, offset: off_t) -> ssize_t
        = |real| at_offset(number, &POSIX_READ, buffer, offset, || real(number, buffer, count, offset));
    /// pwrite(2).
    [pwrite, pwrite64](number: c_int, buffer: *const c_void, count: size_t, offset: off_t) -> ssize_t
        = |real| at_offset(number, &POSIX_WRITE, buffer, offset, || real(number, buffer, count, offset));
    /// read(2) as programs compiled with _FORTIFY_SOURCE call it (LSB, libc: __read_chk).
    [__read_chk](number: c_int, buffer: *mut c_void, count: size_t, size: size_t) -> ssize_t
        = |real| at_position(number, &POSIX_READ, buffer, || real(number, buffer, count, size));
    /// pread(2), likewise.
    [__pread_chk, __pread64_chk](number: c_int, buffer: *mut c_void, count: size_t, offset: off_t, size: size_t) -> ssize_t
        = |real| at_offset(number, &POSIX_READ, buffer, offset, || real(number, buffer, count, offset, size));
    /// readv(2).
    [readv](number: c_int, list: *const iovec, count: c_int) -> ssize_t
        = |real| at_position(number, &POSIX_READV, Vector(list, count), || real(number, list, count));
    /// writev(2).
    [writev](number: c_int, list: *const iovec, count: c_int) -> ssize_t
        = |real| at_position(number, &POSIX_WRITEV, Vector(list, count), || real(number, list, count));
    /// preadv(2).
    [preadv, preadv64](number: c_int, list: *const iovec, count: c_int, offset: off_t) -> ssize_t
        = |real| at_offset(number, &POSIX_READV, Vector(list, count), offset, || real(number, list, count, offset));
    /// pwritev(2).
    [pwritev, pwritev64](number: c_int, list: *const iovec, count: c_int, offset: off_t) -> ssize_t
        = |real| at_offset(number, &POSIX_WRITEV, Vector(list, count), offset, || real(number, list, count, offset));
    /// preadv2(2).
    [preadv2, preadv64v2](number: c_int, list: *const iovec, count: c_int, offset: off_t, flags: c_int) -> ssize_t
        = |real| at_either(number, &POSIX_READV, Vector(list, count), offset, flags, || real(number, list, count, offset, flags));
    /// pwritev2(2).
    [pwritev2, pwritev64v2](number: c_int, list: *const iovec, count: c_int, offset: off_t, flags: c_int) -> ssize_t
        = |real| at_either(number, &POSIX_WRITEV, Vector(list, count), offset, flags, || real(number, list, count, offset, flags));
}
