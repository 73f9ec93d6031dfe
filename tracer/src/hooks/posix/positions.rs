//! Wraps calls that move a descriptor's file position (lseek) or make written bytes durable (fsync).
#![expect(unsafe_code, reason = "C functions")]

use super::metadata::on_descriptor;
use crate::clock;
use crate::errno;
use crate::handles::{self, Placed, Used};
use crate::hooks::admission;
use crate::ops::{Op, POSIX_DATA_SYNC, POSIX_SEEK, POSIX_SYNC};
use crate::real::hooks;
use crate::record::{Call, End};
use libc::{c_int, off_t};
use trace_format::segment::NO_OFFSET;

/// Runs and records `call`, which moves the file position of descriptor `number` and returns the new position.
pub(super) fn seeking(number: c_int, call: impl FnOnce() -> off_t) -> off_t {
    let Some(thread) = admission::thread() else { return call() };
    let Some(target) = handles::descriptor(number) else { return call() };
    let description = target.description;
    let mover = description.moving();
    let timer = Call::begin(thread);
    let position = call();
    let Some(file) = target.used().map(Used::file) else {
        description.settle(mover);
        timer.end_uncertain(clock::of_call(), &POSIX_SEEK, position.min(0));
        return position;
    };
    if position >= 0 {
        description.moved_to(&mover, position);
        timer.finish(file, &POSIX_SEEK, End { placed: Placed::at(position), ..End::at(clock::of_call()) });
    } else {
        timer.failed(file, &POSIX_SEEK, NO_OFFSET);
    }
    description.settle_moved(&mover, target);
    position
}

/// Runs and records `call`, which makes the written bytes of the file open as `number` durable (`op`: fsync, fdatasync, ...).
pub(super) fn syncing(number: c_int, op: &'static Op, call: impl FnOnce() -> c_int) -> c_int {
    on_descriptor(number, op, NO_OFFSET, 0, call)
}

hooks! { POSITIONS, missing = { errno::set(libc::ENOSYS); -1 };
    /// Wraps lseek(2). The segment's offset is the new file position.
    [lseek, lseek64](number: c_int, offset: off_t, whence: c_int) -> off_t
        = |real| seeking(number, || real(number, offset, whence));
    [fsync](number: c_int) -> c_int
        = |real| syncing(number, &POSIX_SYNC, || real(number));
    [fdatasync](number: c_int) -> c_int
        = |real| syncing(number, &POSIX_DATA_SYNC, || real(number));
}
