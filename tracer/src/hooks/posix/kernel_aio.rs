//! Linux asynchronous I/O (io_submit(2)), through libaio or syscall(2). A segment begins at the submission and ends where
//! the program is told of the end, with what was really moved. The calls that hand over and that bring events are recorded too, as what
//! keeps the program's thread: io_submit(2) itself may do what it should only begin. Events that the program takes out of the completion ring in
//! its own memory, without a call, are not seen; those operations are counted.
//!
//! libaio's functions answer errors as negative numbers and leave errno alone. Its oldest io_getevents (LIBAIO_0.1, before
//! 2003) has other arguments than the one that has been linked ever since; programs that call it cannot be traced.
#![expect(unsafe_code, reason = "C functions, structures of the kernel")]

use crate::handles::pending::{self, Key, Pending};
use crate::handles::{self, Manner};
use crate::memory::PAGE_BYTES;
use crate::ops::{Op, POSIX_IO_SUBMIT_READ, POSIX_IO_SUBMIT_SYNC, POSIX_IO_SUBMIT_WRITE, POSIX_SUBMIT, POSIX_WAIT};
use crate::real::hooks;
use crate::record::{self, Call};
use crate::registry::File;
use crate::tls::Thread;
use crate::{clock, errno, sys, threads};
use libc::{c_int, c_long, c_void, timespec};
use std::sync::atomic::{AtomicU8, Ordering};
use trace_format::segment::NO_OFFSET;

/// `struct iocb` of <linux/aio_abi.h>, on little-endian machines.
#[repr(C)]
pub(super) struct Control {
    data: u64,
    key: u32,
    flags: u32,
    opcode: u16,
    priority: i16,
    descriptor: u32,
    buffer: u64,
    bytes: u64,
    offset: i64,
    reserved: u64,
    more_flags: u32,
    signalled: u32,
}
const _: () = assert!(size_of::<Control>() == 64);

/// `struct io_event`.
#[repr(C)]
pub(super) struct Event {
    data: u64,
    block: u64,
    result: i64,
    second: i64,
}

/// IOCB_CMD_PREAD and its kin.
fn op_of(opcode: u16) -> Option<&'static Op> {
    match opcode {
        0 | 7 => Some(&POSIX_IO_SUBMIT_READ),
        1 | 8 => Some(&POSIX_IO_SUBMIT_WRITE),
        2 | 3 => Some(&POSIX_IO_SUBMIT_SYNC),
        _ => None,
    }
}

/// Whether an address can be one of data: what is certainly none is left to the kernel to complain of.
fn is_plausible<T>(address: *const T) -> bool {
    let bits = if cfg!(target_arch = "x86_64") { 47 } else { 48 };
    address.is_aligned() && (0x1_0000..1 << bits).contains(&address.addr())
}

/// Whether the kernel can read there; it reads a signal set and then finds that there is nothing to do with it. False if it may
/// not be asked.
fn is_readable<T>(address: *const T) -> bool {
    let nothing = std::ptr::null_mut::<u8>();
    // SAFETY: an operation of 99 changes nothing.
    let result = unsafe { sys::syscall!(libc::SYS_rt_sigprocmask, 99, address, nothing, 8) };
    result == 0 || !matches!(errno::save().value(), libc::EFAULT | libc::EPERM)
}

/// Most operations that a context can have under way (fs.aio-max-nr is 65,536 unless somebody has raised it).
const MOST: c_long = 1 << 20;

/// Whether somebody has read a list and what it points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Read {
    /// The kernel has.
    ByKernel,
    /// Nobody: it may lie anywhere.
    No,
}

/// Looks at each page before it is read, once if the next one is the same; at none that the kernel has read.
struct Pages(Read, usize);

impl Pages {
    /// Whether all of `what` can be read.
    fn has<T>(&mut self, what: *const T) -> bool {
        if self.0 == Read::ByKernel || !is_plausible(what) {
            return is_plausible(what);
        }
        let last = what.wrapping_byte_add(size_of::<T>() - 1);
        [what.addr(), last.addr()].into_iter().all(|address| {
            let page = address & !(PAGE_BYTES - 1);
            let there = self.1 == page || is_readable(std::ptr::with_exposed_provenance::<u8>(page));
            self.1 = if there { page } else { usize::MAX };
            there
        })
    }
}

/// The control blocks of the program's list in this range, as far as they can be read.
fn blocks(
    list: *const *const Control,
    range: std::ops::Range<c_long>,
    read: Read,
) -> impl Iterator<Item = *const Control> {
    let (mut places, mut pages) = (Pages(read, usize::MAX), Pages(read, usize::MAX));
    (range.start..range.end.min(MOST))
        .map_while(move |at| {
            let place = list.wrapping_add(usize::try_from(at).ok()?);
            // SAFETY: it can be read.
            places.has(place).then(|| unsafe { place.read_unaligned() })
        })
        .filter(move |block| pages.has(*block))
}

fn key_of(context: usize, block: *const Control) -> Key {
    Key { owner: context, mark: block as u64 }
}

/// Notes the operation that a control block describes; on which file, if it is recorded.
fn note(context: usize, block: *const Control, start: u64) -> Option<&'static File> {
    // SAFETY: the program's own, which the kernel reads too.
    let about = unsafe { &*block };
    let op = op_of(about.opcode)?;
    let description = handles::descriptor(about.descriptor as c_int)?;
    let manner = if op.is_data() { description.manner(op.writes()) } else { Manner::PLAIN };
    let offset = if op.is_data() && !manner.appends() { about.offset.max(NO_OFFSET) } else { NO_OFFSET };
    let file = Some(description.file());
    let pending = Pending { file, op, offset, manner, length: 0, start, end: 0, turn: 0 };
    pending::add_block(key_of(context, block), &pending);
    file
}

/// The error of io_submit(2) as syscall(2) tells it.
pub(super) fn by_errno(_: c_long) -> c_int {
    errno::save().value()
}

/// The error as libaio tells it.
fn by_result(result: c_long) -> c_int {
    c_int::try_from(-result).unwrap_or(0)
}

/// Runs `call`, which submits up to `count` operations and returns how many; `error` says why it is negative.
pub(super) fn submitting(
    context: usize,
    count: c_long,
    list: *const *const Control,
    error: fn(c_long) -> c_int,
    call: impl FnOnce() -> c_long,
) -> c_long {
    let Some(thread) = record::thread() else { return call() };
    let start = clock::of_call();
    // Another thread may see the end of an operation before this one goes on, and reuse its memory. Alone, it is better
    // to wait for the kernel to say what it could read.
    let before = !threads::is_single();
    let note_all = |count, read| {
        let noted = blocks(list, 0..count, read).map(|block| note(context, block, start));
        noted.fold(None, |first, noted| first.or(noted))
    };
    let found = errno::save();
    let mut first = if before { note_all(count, Read::No) } else { None };
    found.restore();
    let result = call();
    let (end, errno) = (clock::of_call(), errno::save());
    // Now: asking what can be read changes errno.
    let error = if result < 0 { error(result) } else { 0 };
    let not_taken =
        |from| blocks(list, from..count, Read::No).for_each(|block| _ = pending::take(key_of(context, block)));
    if result >= 0 && !before {
        first = note_all(result, Read::ByKernel);
    } else if result >= 0 {
        not_taken(result);
    } else if before {
        // Of a list with no operation none was noted, nor has one failed.
        blocks(list, 0..count.min(1), Read::No).for_each(|block| failed(thread, key_of(context, block), error));
        not_taken(1);
    } else if error != libc::EFAULT {
        for block in blocks(list, 0..count.min(1), Read::No) {
            let _ = note(context, block, start);
            failed(thread, key_of(context, block), error);
        }
    }
    if let Some(file) = first.filter(|_| result > 0) {
        Call::since(thread, start).kept(end, file, &POSIX_SUBMIT);
    }
    errno.restore();
    result
}

/// The first operation of a list is why nothing of it was submitted.
fn failed(thread: &'static Thread, key: Key, error: c_int) {
    if let Some(pending) = pending::take(key)
        && let Some(file) = pending.file
    {
        Call::since(thread, pending.start).failed_with(error, file, pending.op, pending.offset);
    }
}

/// Runs `call`, which stores events of operations that are over and returns how many.
pub(super) fn collecting(context: usize, events: *const Event, call: impl FnOnce() -> c_long) -> c_long {
    let Some(thread) = record::thread() else { return call() };
    let timer = Call::begin(thread);
    let result = call();
    let (end, errno) = (clock::of_call(), errno::save());
    let mut first = None;
    for at in 0..usize::try_from(result).unwrap_or(0) {
        // SAFETY: the kernel has stored so many.
        let place = unsafe { events.add(at) };
        // SAFETY: as above.
        let event = unsafe { place.read_unaligned() };
        let Some(pending) = pending::take(Key { owner: context, mark: event.block }) else { continue };
        let Some(file) = pending.file else { continue };
        first.get_or_insert(file);
        let call = Call::since(thread, pending.start);
        match u64::try_from(event.result) {
            Ok(length) => call.end_placed(end, file, pending.op, pending.placed(), length),
            Err(_) => call.failed_with(-event.result as c_int, file, pending.op, pending.offset),
        }
    }
    if let Some(file) = first {
        timer.kept(end, file, &POSIX_WAIT);
    }
    errno.restore();
    result
}

/// Runs `call`, which gives up a context: nobody can ask for its operations any more.
pub(super) fn destroying(context: usize, call: impl FnOnce() -> c_long) -> c_long {
    let result = call();
    if result == 0 && record::is_on() {
        pending::abandon(context);
    }
    result
}

/// Runs `call`, a function of libaio's, as `wrapped` does. Another library may have a function of the same name.
fn in_libaio(call: impl Fn() -> c_int, wrapped: impl FnOnce(&dyn Fn() -> c_long) -> c_long) -> c_int {
    const UNKNOWN: u8 = 0;
    const LIBAIO: u8 = 1;
    const OTHER: u8 = 2;
    static WHOSE: AtomicU8 = AtomicU8::new(UNKNOWN);
    let Some(thread) = record::thread() else { return call() };
    if WHOSE.load(Ordering::Relaxed) == UNKNOWN {
        let whose = if KERNEL_AIO[0].is_of(&[b"libaio"]) { LIBAIO } else { OTHER };
        WHOSE.store(whose, Ordering::Relaxed);
    }
    if WHOSE.load(Ordering::Relaxed) == OTHER {
        return call();
    }
    wrapped(&|| thread.in_library(&call).into()) as c_int
}

/// Finds the functions, as far as the library is there.
pub(in crate::hooks) fn resolve() {
    if KERNEL_AIO.first().is_some_and(|slot| !slot.address().is_null()) {
        KERNEL_AIO.iter().for_each(|slot| _ = slot.address());
    }
}

/// What a function of libaio answers that is not there.
const MISSING: c_int = -libc::ENOSYS;

hooks! { KERNEL_AIO, missing = MISSING;
    /// io_submit(3) of libaio.
    [io_submit](context: usize, count: c_long, list: *const *const Control) -> c_int
        = |real| in_libaio(|| real(context, count, list), |call| submitting(context, count, list, by_result, call));
    /// io_getevents(3) of libaio (LIBAIO_0.4).
    [io_getevents](context: usize, least: c_long, most: c_long, events: *mut Event, timeout: *mut timespec) -> c_int
        = |real| in_libaio(|| real(context, least, most, events, timeout), |call| collecting(context, events, call));
    /// io_pgetevents(3) of libaio (LIBAIO_0.5).
    [io_pgetevents](context: usize, least: c_long, most: c_long, events: *mut Event, timeout: *mut timespec, mask: *mut c_void) -> c_int
        = |real| in_libaio(|| real(context, least, most, events, timeout, mask), |call| collecting(context, events, call));
    /// io_destroy(3) of libaio.
    [io_destroy](context: usize) -> c_int
        = |real| in_libaio(|| real(context), |call| destroying(context, call));
}
