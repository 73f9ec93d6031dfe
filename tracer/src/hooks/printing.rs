//! Writes to standard output and standard error that wait for their reader: a pipe, socket or terminal. Only writes of [`LONG_NS`] and more are
//! recorded, on a pseudo-file, so that a program that prints freely has no segments for it.
#![expect(unsafe_code, reason = "fstat(2)")]

use crate::handles;
use crate::ops::Op;
use crate::record::{Call, End};
use crate::registry::{Identity, STANDARD_PATHS};
use crate::tls::Thread;
use crate::{clock, errno};
use libc::c_int;

/// Minimum duration of a recorded write, in ns: a pipe with room takes some microseconds.
const LONG_NS: u64 = 1_000_000;

/// Runs `call`, a transfer on a descriptor whose file is not recorded; `moved` extracts the number of bytes from its result, negative on failure.
#[cold]
#[inline(never)]
pub(super) fn waiting<T>(
    thread: &'static Thread,
    number: c_int,
    op: &'static Op,
    call: impl FnOnce() -> T,
    moved: impl FnOnce(&T) -> i64,
) -> T {
    let path = usize::try_from(number).ok().filter(|_| op.writes()).and_then(|number| STANDARD_PATHS.get(number));
    let Some(path) = path.filter(|path| !path.is_empty()) else { return call() };
    let timer = Call::begin(thread);
    let result = call();
    let end = clock::of_call();
    let (ticks, length) = (end.saturating_sub(timer.start()), moved(&result));
    // No clock has fewer ticks than ns.
    if ticks >= LONG_NS && length >= 0 {
        let errno = errno::save();
        let scale = clock::scale_now();
        let is_long = scale.nanoseconds(scale.base.saturating_add(ticks)) >= LONG_NS;
        if is_long
            && has_reader(number)
            && let Some(file) = handles::file_of(path, Identity::default())
        {
            timer.finish(file, op, End { length: length as u64, ..End::at(end) });
        }
        errno.restore();
    }
    result
}

/// True if `number` is a pipe, socket or terminal.
fn has_reader(number: c_int) -> bool {
    if crate::sys::is_shut() {
        return false;
    }
    // SAFETY: an all-zero stat is valid.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the structure is a local variable.
    let known = unsafe { crate::sys::syscall!(libc::SYS_fstat, number, &raw mut stat) } == 0;
    known && [libc::S_IFIFO, libc::S_IFSOCK, libc::S_IFCHR].contains(&(stat.st_mode & libc::S_IFMT))
}
