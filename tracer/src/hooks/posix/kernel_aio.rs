//! Wraps Linux asynchronous I/O (io_submit(2)), called through libaio or syscall(2). A segment lasts from the submission until the program
//! collects the completion, which has the number of bytes really transferred. Submitting and collecting calls are recorded too, as time
//! that blocks the program's thread: io_submit(2) may perform an operation instead of only starting it. Operations whose completions the
//! program reads directly from the completion ring in its memory, without a call, are only counted.
//!
//! libaio's functions return errors as negative numbers and leave errno alone. Its oldest io_getevents (LIBAIO_0.1, before 2003) has other
//! arguments than later versions; programs that call it cannot be traced.
#![expect(unsafe_code, reason = "C functions, structures of the kernel")]

use super::readable::{Answer, Pages};
use crate::handles::pending::{self, Key, Pending};
use crate::handles::{self, Manner, Sent};
use crate::hooks::admission;
use crate::notes::Note;
use crate::ops::{
    Op, POSIX_IO_SUBMIT_DATA_SYNC, POSIX_IO_SUBMIT_READ, POSIX_IO_SUBMIT_SYNC, POSIX_IO_SUBMIT_WRITE, POSIX_SUBMIT,
    POSIX_WAIT,
};
use crate::real::hooks;
use crate::record::{self, Call};
use crate::tls::Thread;
use crate::{clock, errno, threads};
use libc::{c_int, c_long, c_void, timespec};
use std::ops::Range;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// Control block of an operation: `struct iocb` of <linux/aio_abi.h>, on little-endian machines.
#[repr(C)]
pub(super) struct Control {
    data: u64,
    key: u32,
    /// Flags of the operation as in pwritev2(2) (RWF_...).
    call_flags: i32,
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

/// Completion event: `struct io_event` of <linux/aio_abi.h>.
#[repr(C)]
pub(super) struct Event {
    data: u64,
    block: u64,
    result: i64,
    second: i64,
}

/// Returns the operation to record for an IOCB_CMD_... opcode of Linux asynchronous I/O; `None` if operations with this opcode are not
/// recorded.
fn op_of(opcode: u16) -> Option<&'static Op> {
    match opcode {
        0 | 7 => Some(&POSIX_IO_SUBMIT_READ),
        1 | 8 => Some(&POSIX_IO_SUBMIT_WRITE),
        2 => Some(&POSIX_IO_SUBMIT_SYNC),
        3 => Some(&POSIX_IO_SUBMIT_DATA_SYNC),
        _ => None,
    }
}

/// Upper bound of the number of operations per io_submit(2) call (fs.aio-max-nr is 65,536 by default).
const MOST: usize = 1 << 20;
/// Number of operations for which every context has room (Linux, fs/aio.c: `aio_setup_ring`).
const FEW: usize = 64;
/// Number of operations submitted by io_submit(2) so far; gives each operation its sequence number (turn).
static TURNS: AtomicU64 = AtomicU64::new(0);

/// Completion ring: `struct aio_ring` (Linux, fs/aio.c); its address is the context's ID.
#[repr(C)]
struct Ring {
    id: u32,
    events: u32,
    head: u32,
    tail: u32,
    magic: u32,
}
const RING_MAGIC: u32 = 0xA10A_10A1;

fn key_of(context: usize, block: *const Control) -> Key {
    Key { owner: context, mark: block as u64 }
}

/// Returns the operation that a control block describes, with submission time `start` and sequence number `turn`; `None` unless the
/// operation is on a recorded file.
fn described(block: *const Control, start: u64, turn: u64) -> Option<Pending> {
    // SAFETY: a control block of the program that is known to be readable.
    let about = unsafe { block.read_unaligned() };
    let op = op_of(about.opcode)?;
    let target = handles::descriptor(about.descriptor as c_int)?;
    let (to, opened) = target.sent();
    let (manner, offset) = Manner::of_operation(opened, op, about.call_flags, about.offset);
    // In a single-threaded process nothing can replace the descriptor meanwhile.
    let to = if threads::is_single() { to.settled() } else { to };
    Some(Pending { to, op, offset, manner, length: 0, start, end: 0, turn })
}

/// Control blocks of one io_submit(2) call.
struct Submission {
    context: usize,
    list: *const *const Control,
    /// Sequence number of the first operation of the call.
    turn: u64,
    /// Number of control blocks, from the first on, that are already in the table of pending operations.
    noted: usize,
    /// Indices of the first `FEW` operations of the call in the table of pending operations.
    places: [u16; FEW],
    /// First operation of the call on a recorded file: its index in the list, and its target.
    first: Option<(usize, Sent)>,
    pages: Pages,
}

impl Submission {
    fn block(&self, at: usize) -> *const Control {
        // SAFETY: callers have checked that this entry is readable.
        unsafe { self.list.wrapping_add(at).read_unaligned() }
    }

    fn note(&mut self, at: usize, start: u64) {
        let (block, turn) = (self.block(at), self.turn + at as u64);
        self.noted = at + 1;
        if let Some(pending) = described(block, start, turn) {
            let place = pending::add_block(key_of(self.context, block), &pending, self.turn);
            self.places.get_mut(at).into_iter().for_each(|noted| *noted = place);
            self.first = self.first.or(Some((at, pending.to)));
        }
    }

    /// Probes the elements of an array with indices in `range`, in order. Returns the index of the first element that cannot be read, and
    /// the reason; without one, the end of `range` and [`Answer::Readable`]. `address` maps an index to the element's address; each element
    /// has `bytes` bytes.
    fn readable(
        &mut self,
        range: Range<usize>,
        bytes: usize,
        address: impl Fn(&Self, usize) -> usize,
    ) -> (usize, Answer) {
        let (mut at, mut most) = (range.start, usize::MAX);
        while at < range.end {
            let behind = range.end.min(at.saturating_add(most));
            let has_room = |at: &usize| {
                let address = address(self, *at);
                self.pages.add(address, bytes)
            };
            let until = (at..behind).take_while(has_room).count() + at;
            match self.pages.ask() {
                Answer::Readable => at = until,
                // Probe one element at a time to find the unreadable one.
                Answer::Unreadable if until - at > 1 => most = 1,
                other => return (at, other),
            }
        }
        (at, Answer::Readable)
    }

    /// Returns the index of the first control block that cannot be read, and the reason (the kernel stops there too). Without one, returns
    /// the end of `range` and [`Answer::Readable`].
    fn blocks(&mut self, range: Range<usize>) -> (usize, Answer) {
        let start = range.start;
        let (end, of_list) = self.readable(range, size_of::<usize>(), |all, at| all.list.wrapping_add(at).addr());
        let (until, of_blocks) = self.readable(start..end, size_of::<Control>(), |all, at| all.block(at).addr());
        (until, if until < end { of_blocks } else { of_list })
    }

    /// Returns how many of `count` control blocks the kernel examines: at most the size of the context's completion ring. The second value
    /// is [`Answer::Readable`] unless the ring's size cannot be read.
    fn looked_at(&mut self, count: usize) -> (usize, Answer) {
        if count <= FEW {
            return (count, Answer::Readable);
        }
        match self.readable(0..1, size_of::<Ring>(), |all, _| all.context) {
            (_, Answer::Readable) => {}
            (_, other) => return (0, other),
        }
        // SAFETY: checked above to be readable.
        let ring = unsafe { std::ptr::with_exposed_provenance::<Ring>(self.context).read_unaligned() };
        (if ring.magic == RING_MAGIC { count.min(ring.events as usize) } else { count }, Answer::Readable)
    }

    /// Adds the control blocks that the kernel may accept to the pending operations, up to the first block that cannot be read. Returns the
    /// reason why that block was not added; [`Answer::Readable`] if all were added.
    fn note_before(&mut self, count: usize) -> Answer {
        let (count, of_ring) = self.looked_at(count);
        let (until, answer) = self.blocks(0..count);
        let start = clock::of_call();
        (0..until).for_each(|at| self.note(at, start));
        if of_ring == Answer::Readable { answer } else { of_ring }
    }

    /// Completes the bookkeeping after the kernel has accepted `taken` control blocks: confirms these and removes the others from the table.
    fn settle(&mut self, taken: usize) {
        // Confirm by table index: another thread may have freed the blocks already, so their memory is not probed again.
        for (at, place) in self.places.iter().enumerate().take(taken.min(self.noted)) {
            pending::settle(*place, self.context, self.turn + at as u64);
        }
        if taken >= self.noted {
            return;
        }
        let (until, _) = self.blocks(taken..self.noted);
        for at in taken..until {
            let (block, turn) = (self.block(at), self.turn + at as u64);
            if pending::take_turn(key_of(self.context, block), turn).is_none() && described(block, 0, turn).is_some() {
                // The table was full when this operation was added, so the operation was counted as lost.
                Note::Asynchronous.take_back();
            }
        }
        self.noted = taken;
    }

    /// Records the first operation as failed with `error`, since it stopped the submission, unless the list itself is unreadable.
    fn failed(&mut self, thread: &'static Thread, start: u64, error: c_int) {
        let is_known = match self.blocks(0..1).1 {
            Answer::Readable => true,
            Answer::Unreadable => false,
            // If the context is invalid, the kernel has not even read the list.
            Answer::NotAsked if error == libc::EINVAL => {
                Note::Asynchronous.count();
                false
            }
            Answer::NotAsked => error != libc::EFAULT,
        };
        if is_known && let Some(pending) = described(self.block(0), start, self.turn) {
            let pending = Pending { to: pending.to.settled(), ..pending };
            Call::since(thread, start).end_pending(clock::of_call(), &pending, -i64::from(error));
        }
    }
}

/// Returns the error number of io_submit(2) called through syscall(2), which sets errno.
pub(super) fn by_errno(_: c_long) -> c_int {
    errno::save().value()
}

/// Returns the error number of io_submit called through libaio, which returns it negated.
fn by_result(result: c_long) -> c_int {
    c_int::try_from(-result).unwrap_or(0)
}

/// Runs and records `call`, which submits up to `count` operations and returns the number accepted. `error` maps a failure to an errno value.
pub(super) fn submitting(
    context: usize,
    count: c_long,
    list: *const *const Control,
    error: fn(c_long) -> c_int,
    call: impl FnOnce() -> c_long,
) -> c_long {
    let Some(thread) = admission::thread() else { return call() };
    let count = usize::try_from(count).unwrap_or(0).min(MOST);
    let turn = TURNS.fetch_add(count as u64, Ordering::Relaxed);
    let mut submission =
        Submission { context, list, turn, noted: 0, places: [pending::NOWHERE; FEW], first: None, pages: Pages::new() };
    // Add the control blocks before the call: another thread may collect a completion and reuse its control block before this thread
    // continues. In a single-threaded process adding them afterwards suffices; where memory may not be probed, it is the only way.
    let found = errno::save();
    let next = if threads::is_single() { Answer::NotAsked } else { submission.note_before(count) };
    found.restore();
    let timer = Call::begin(thread);
    let result = call();
    let (end, errno) = (clock::of_call(), errno::save());
    // Read errno first, since probing memory changes it.
    let error = if result < 0 { error(result) } else { 0 };
    let taken = usize::try_from(result).unwrap_or(0);
    submission.settle(taken);
    if next == Answer::NotAsked {
        // The kernel has accepted, thus read, these control blocks.
        (submission.noted..taken.min(count)).for_each(|at| submission.note(at, timer.start()));
    }
    Note::Asynchronous.count_many((taken - submission.noted) as u64);
    if result < 0 && count > 0 {
        submission.failed(thread, timer.start(), error);
    }
    if let Some((_, sent)) = submission.first.filter(|(at, _)| *at < taken) {
        timer.kept_for(end, sent, &POSIX_SUBMIT);
    }
    errno.restore();
    result
}

/// Runs `call`, which stores the events of completed operations and returns their number; records these operations.
pub(super) fn collecting(context: usize, events: *const Event, call: impl FnOnce() -> c_long) -> c_long {
    let Some(thread) = admission::thread() else { return call() };
    let timer = Call::begin(thread);
    let result = call();
    let (end, errno) = (clock::of_call(), errno::save());
    let mut first = None;
    for at in 0..usize::try_from(result).unwrap_or(0) {
        // SAFETY: the kernel has stored `result` events.
        let place = unsafe { events.add(at) };
        // SAFETY: the kernel has stored `result` events.
        let event = unsafe { place.read_unaligned() };
        let Some(pending) = pending::take(Key { owner: context, mark: event.block }) else { continue };
        first.get_or_insert(pending.to);
        Call::since(thread, pending.start).end_pending(end, &pending, event.result);
    }
    if let Some(sent) = first {
        timer.kept_for(end, sent, &POSIX_WAIT);
    }
    errno.restore();
    result
}

/// Runs `call`, which destroys a context. The context's pending operations can no longer be collected, so they are counted and dropped.
pub(super) fn destroying(context: usize, call: impl FnOnce() -> c_long) -> c_long {
    let result = call();
    if result == 0 && record::is_on() {
        pending::abandon(context);
    }
    result
}

/// Runs `call`, a function of libaio, through the recording function `wrapped`; without recording if another library defines the function.
fn in_libaio(call: impl Fn() -> c_int, wrapped: impl FnOnce(&dyn Fn() -> c_long) -> c_long) -> c_int {
    const UNKNOWN: u8 = 0;
    const LIBAIO: u8 = 1;
    const OTHER: u8 = 2;
    static WHOSE: AtomicU8 = AtomicU8::new(UNKNOWN);
    let Some(thread) = admission::thread() else { return call() };
    if WHOSE.load(Ordering::Relaxed) == UNKNOWN {
        let whose = if KERNEL_AIO[0].is_of(&[b"libaio"]) { LIBAIO } else { OTHER };
        WHOSE.store(whose, Ordering::Relaxed);
    }
    if WHOSE.load(Ordering::Relaxed) == OTHER {
        return call();
    }
    wrapped(&|| thread.in_library(&call).into()) as c_int
}

pub(in crate::hooks) fn resolve() {
    if KERNEL_AIO.first().is_some_and(|slot| !slot.address().is_null()) {
        KERNEL_AIO.iter().for_each(|slot| _ = slot.address());
    }
}

/// Return value of a libaio function that the loaded libaio lacks.
const MISSING: c_int = -libc::ENOSYS;

hooks! { KERNEL_AIO, missing = MISSING;
    /// Wraps io_submit(3) of libaio.
    [io_submit](context: usize, count: c_long, list: *const *const Control) -> c_int
        = |real| in_libaio(|| real(context, count, list), |call| submitting(context, count, list, by_result, call));
    /// Wraps io_getevents(3) of libaio (LIBAIO_0.4).
    [io_getevents](context: usize, least: c_long, most: c_long, events: *mut Event, timeout: *mut timespec) -> c_int
        = |real| in_libaio(|| real(context, least, most, events, timeout), |call| collecting(context, events, call));
    /// Wraps io_pgetevents(3) of libaio (LIBAIO_0.5).
    [io_pgetevents](context: usize, least: c_long, most: c_long, events: *mut Event, timeout: *mut timespec, mask: *mut c_void) -> c_int
        = |real| in_libaio(|| real(context, least, most, events, timeout, mask), |call| collecting(context, events, call));
    /// Wraps io_destroy(3) of libaio.
    [io_destroy](context: usize) -> c_int
        = |real| in_libaio(|| real(context), |call| destroying(context, call));
}
