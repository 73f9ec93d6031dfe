//! Wraps copies inside the kernel (sendfile, splice, copy_file_range). A copy is recorded as a read segment on the source file and a write
//! segment on the destination file, each if that file is recorded. Source or destination may be a pipe or a socket.
#![expect(unsafe_code, reason = "C functions")]

use crate::errno;
use crate::handles::{self, Description, Placed, Target};
use crate::hooks::admission;
use crate::ops::{Op, POSIX_COPY_READ, POSIX_COPY_WRITE};
use crate::real::hooks;
use crate::record::{self, Call};
use libc::{c_int, c_uint, off_t, size_t, ssize_t};
use trace_format::segment::NO_OFFSET;

/// Source or destination of a copy inside the kernel.
pub(super) struct End {
    /// Address of the program's offset variable, which the call advances; null if the copy uses the descriptor's file position.
    place: *const off_t,
    op: &'static Op,
    target: Option<Target>,
}

impl End {
    fn new(number: c_int, place: *const off_t, op: &'static Op) -> Self {
        Self { place, op, target: handles::descriptor(number) }
    }

    /// Returns the open file description whose file position the copy moves, if any.
    fn moving(&self) -> Option<&'static Description> {
        self.target.map(|target| target.description).filter(|_| self.place.is_null())
    }
}

pub(super) fn from(number: c_int, place: *const off_t) -> End {
    End::new(number, place, &POSIX_COPY_READ)
}

pub(super) fn to(number: c_int, place: *const off_t) -> End {
    End::new(number, place, &POSIX_COPY_WRITE)
}

/// Runs and records `call`, which copies bytes from one descriptor to another.
pub(super) fn copying(ends: impl FnOnce() -> [End; 2], call: impl FnOnce() -> ssize_t) -> ssize_t {
    let Some(thread) = admission::thread() else { return call() };
    let mut ends = ends();
    if ends.iter().all(|end| end.target.is_none()) {
        return call();
    }
    // Sort to prevent deadlock: two threads that copy in opposite directions must take their turns to move the positions in the same order.
    ends.sort_by_key(|end| end.moving().map_or(std::ptr::null(), std::ptr::from_ref));
    let movers = ends.each_ref().map(|end| end.moving().map(Description::moving));
    let timer = Call::begin(thread);
    let result = call();
    let (after, errno) = (crate::clock::of_call(), errno::save());
    for (end, mover) in ends.iter().zip(movers) {
        let Some(target) = end.target else { continue };
        let description = target.description;
        let Some(used) = target.used() else {
            mover.into_iter().for_each(|mover| description.settle(mover));
            timer.again().end_uncertain_with(after, end.op, result as i64, errno.value());
            continue;
        };
        let writes = end.op.writes();
        let manner = used.manner(writes);
        if result >= 0 {
            let placed = match mover {
                Some(mover) => description.moved(mover, target, result as i64, manner.appends()),
                None => {
                    // SAFETY: the call succeeded, so the kernel has read and written the program's offset variable.
                    let behind = unsafe { end.place.read() };
                    Placed::at(behind.saturating_sub(result as i64))
                }
            };
            let moved = record::End { at: after, placed: placed.by(manner), length: result as u64 };
            timer.again().finish(used.file(), end.op, moved);
        } else {
            let offset = if mover.is_some() { description.position(writes) } else { NO_OFFSET };
            mover.into_iter().for_each(|mover| description.settle(mover));
            timer.again().failed_with(errno.value(), used.file(), end.op, offset);
        }
    }
    errno.restore();
    result
}

hooks! { COPIES, missing = { errno::set(libc::ENOSYS); -1 };
    [copy_file_range](input: c_int, input_at: *mut off_t, output: c_int, output_at: *mut off_t, length: size_t, flags: c_uint) -> ssize_t
        = |real| copying(|| [from(input, input_at), to(output, output_at)],
            || real(input, input_at, output, output_at, length, flags));
    [sendfile, sendfile64](output: c_int, input: c_int, input_at: *mut off_t, length: size_t) -> ssize_t
        = |real| copying(|| [from(input, input_at), to(output, std::ptr::null())], || real(output, input, input_at, length));
    /// Wraps splice(2), whose source or destination is a pipe.
    [splice](input: c_int, input_at: *mut off_t, output: c_int, output_at: *mut off_t, length: size_t, flags: c_uint) -> ssize_t
        = |real| copying(|| [from(input, input_at), to(output, output_at)],
            || real(input, input_at, output, output_at, length, flags));
}
