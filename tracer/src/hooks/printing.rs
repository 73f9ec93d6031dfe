//! Writes to standard output and standard error that wait for their reader: a pipe, socket or terminal. Only writes of 1 ms and longer
//! ([`LONG_NS`]) are recorded, on a pseudo-file, so that a program that prints freely has no segments for it.
#![expect(unsafe_code, reason = "fstat(2), ioctl(2)")]

use crate::ops::Op;
use crate::record::{Call, End};
use crate::registry::{self, Identity, STANDARD_PATHS};
use crate::tls::Thread;
use crate::{clock, errno, mpi, state};
use libc::c_int;

/// Minimum duration of a recorded write, in ns: a pipe with room takes some microseconds.
const LONG_NS: u64 = 1_000_000;

/// Runs `call`, a transfer on a descriptor whose file is not recorded; `moved` extracts the number of bytes from its result, negative on failure.
/// Inlined: if the closures were passed on, their variables would lie in memory, which costs hooks some 17 instructions per recorded call.
#[inline(always)]
pub(super) fn waiting<T>(
    thread: &'static Thread,
    number: c_int,
    op: &'static Op,
    call: impl FnOnce() -> T,
    moved: impl FnOnce(&T) -> i64,
) -> T {
    let timer = begin(thread, number, op);
    let result = call();
    if let Some(timer) = timer {
        finish(timer, number, op, moved(&result));
    }
    result
}

/// Returns the path of the pseudo-file of descriptor `number`; `None` unless it is standard output or standard error.
fn path_of(number: c_int) -> Option<&'static [u8]> {
    STANDARD_PATHS.get(usize::try_from(number).ok()?).copied().filter(|path| !path.is_empty())
}

/// Begins a write that may have to wait; `None` unless the call writes to standard output or standard error. Also `None` once a trace of
/// the process or of all ranks is written: messages that libraries print at the end (such as MPICH's report of leaks in MPI_Finalize) would
/// cause a second trace.
#[cold]
#[inline(never)]
fn begin(thread: &'static Thread, number: c_int, op: &Op) -> Option<Call> {
    let is_over = state::is_late() || mpi::has_ended();
    (op.writes() && path_of(number).is_some() && !is_over).then(|| Call::begin(thread))
}

/// Records a write of `moved` bytes (negative: it failed) if it was long.
#[cold]
#[inline(never)]
fn finish(timer: Call, number: c_int, op: &'static Op, moved: i64) {
    let end = clock::of_call();
    let ticks = end.saturating_sub(timer.start());
    if ticks < clock::least_ticks(LONG_NS) || moved < 0 {
        return;
    }
    let errno = errno::save();
    let scale = clock::scale_now();
    // A file that shares a record with others would hide whose calls they are.
    if scale.nanoseconds(scale.base.saturating_add(ticks)) >= LONG_NS
        && has_reader(number)
        && let Some(path) = path_of(number)
        && let Some(file) = registry::find_or_add(path, Identity::default()).filter(|file| file.real_path == path)
    {
        timer.finish(file, op, End { length: moved as u64, ..End::at(end) });
    }
    errno.restore();
}

/// True if `number` is a pipe, socket or terminal.
fn has_reader(number: c_int) -> bool {
    // SAFETY: an all-zero stat is valid.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the structure is a local variable.
    let known = unsafe { crate::sys::syscall!(libc::SYS_fstat, number, &raw mut stat) } == 0;
    match stat.st_mode & libc::S_IFMT {
        libc::S_IFIFO | libc::S_IFSOCK => known,
        libc::S_IFCHR => known && is_terminal(number),
        _ => false,
    }
}

/// True if the character device `number` is a terminal (isatty(3)).
fn is_terminal(number: c_int) -> bool {
    // SAFETY: an all-zero termios is valid; the C library's structure is larger than the kernel's.
    let mut settings: libc::termios = unsafe { std::mem::zeroed() };
    // SAFETY: the structure is a local variable.
    unsafe { crate::sys::syscall!(libc::SYS_ioctl, number, libc::TCGETS, &raw mut settings) == 0 }
}
