//! One-line messages on standard error, written without stdio or allocation. They go where standard error went when the process
//! started, or nowhere: a program may have given descriptor 2 to a data file.
//!
//! What descriptor 2 stands for is told by its file's identity, with the moment when that file was made: a file system gives the number
//! of one that is gone to the next. A descriptor that the program opens itself is its own, even where it stands for the same file.
//! Nobody is waited for, and no signal comes of it: where a pipe has no reader, or no room, or a file may not grow, nothing is said.
#![expect(unsafe_code, reason = "statx(2), fcntl(2), poll(2), write(2)")]

use crate::memory::Blocked;
use std::ffi::c_int;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Which file a descriptor stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
    kind: libc::mode_t,
    /// When the file was made, in seconds and nanoseconds; zeros where nobody says.
    made: (i64, u32),
}

static STDERR: OnceLock<Identity> = OnceLock::new();
/// Descriptor 2 is a file that the program has opened.
static IS_PROGRAMS: AtomicBool = AtomicBool::new(false);

/// What the write is made through has a number from here on, where there is one: lower ones the program may expect.
const HIGH: c_int = 400;
/// Milliseconds that somebody who reads a pipe may take before nothing is said.
const PATIENCE: c_int = 200;

fn identity(number: c_int) -> Option<Identity> {
    // SAFETY: an all-zero stat is a valid one.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the structure is ours. The raw system call, since fstat(3) may be wrapped.
    if unsafe { crate::sys::syscall!(libc::SYS_fstat, number, &raw mut stat) } != 0 {
        return None;
    }
    Some(Identity {
        device: stat.st_dev,
        inode: stat.st_ino,
        kind: stat.st_mode & libc::S_IFMT,
        made: made(number).unwrap_or_default(),
    })
}

/// When the file was made.
fn made(number: c_int) -> Option<(i64, u32)> {
    // SAFETY: an all-zero structure is a valid one.
    let mut about: libc::statx = unsafe { std::mem::zeroed() };
    let (itself, flags, wanted) = (c"".as_ptr(), libc::AT_EMPTY_PATH | libc::AT_STATX_DONT_SYNC, libc::STATX_BTIME);
    // SAFETY: the structure is ours, the name ends in NUL.
    let known = unsafe { crate::sys::syscall!(libc::SYS_statx, number, itself, flags, wanted, &raw mut about) } == 0;
    (known && about.stx_mask & libc::STATX_BTIME != 0).then_some((about.stx_btime.tv_sec, about.stx_btime.tv_nsec))
}

/// Remembers what standard error is.
pub(crate) fn remember_stderr() {
    let errno = crate::errno::save();
    if let Some(identity) = identity(libc::STDERR_FILENO) {
        let _ = STDERR.set(identity);
    }
    errno.restore();
}

/// The program has opened a file as descriptor `number`.
#[inline(always)]
pub(crate) fn opened(number: c_int) {
    if number == libc::STDERR_FILENO {
        IS_PROGRAMS.store(true, Ordering::Relaxed);
    }
}

/// Descriptor `number` is a copy of another one now: what it stands for tells whose it is.
#[inline(always)]
pub(crate) fn copied(number: c_int) {
    if number == libc::STDERR_FILENO {
        IS_PROGRAMS.store(false, Ordering::Relaxed);
    }
}

/// Writes `dxt: ` and the parts as one line; keeps errno.
pub(crate) fn say(parts: &[&[u8]]) {
    let errno = crate::errno::save();
    let mut line = [0_u8; 512];
    let mut length = 0;
    for part in [b"dxt: ".as_slice()].iter().chain(parts).chain(&[b"\n".as_slice()]) {
        let room = line.len() - length;
        let taken = part.len().min(room);
        line[length..length + taken].copy_from_slice(&part[..taken]);
        length += taken;
    }
    // Terminals and /dev/null are what they are, whoever opens them.
    let is_programs = |known: &Identity| known.kind == libc::S_IFREG && IS_PROGRAMS.load(Ordering::Relaxed);
    if let Some(known) = STDERR.get().filter(|known| !is_programs(known)) {
        // No handler runs between: it may never come back.
        let blocked = Blocked::all();
        write(known, &line[..length], &blocked);
    }
    errno.restore();
}

/// Writes `line` through a descriptor of our own, so that what is looked at is what is written to, whatever other threads do with theirs.
fn write(known: &Identity, line: &[u8], blocked: &Blocked) {
    let copy = |least: c_int| {
        // SAFETY: a copy of a descriptor changes nothing that can be seen.
        let copy = unsafe { crate::sys::syscall!(libc::SYS_fcntl, libc::STDERR_FILENO, libc::F_DUPFD_CLOEXEC, least) };
        (copy >= 0).then_some(copy as c_int)
    };
    let own = copy(HIGH).or_else(|| copy(libc::STDERR_FILENO + 1));
    // There may be no number left.
    let number = own.unwrap_or(libc::STDERR_FILENO);
    if identity(number).as_ref() == Some(known) && has_room(number) {
        blocked.without([libc::SIGPIPE, libc::SIGXFSZ], || {
            // SAFETY: the buffer is ours; a failed or short write of a message is nobody's loss.
            unsafe { crate::sys::syscall!(libc::SYS_write, number, line.as_ptr(), line.len()) };
        });
    }
    if let Some(own) = own {
        // SAFETY: made above.
        unsafe { crate::sys::syscall!(libc::SYS_close, own) };
    }
}

/// Whether a write will not wait.
fn has_room(number: c_int) -> bool {
    let mut asked = libc::pollfd { fd: number, events: libc::POLLOUT, revents: 0 };
    let mut patience = libc::timespec { tv_sec: 0, tv_nsec: i64::from(PATIENCE) * 1_000_000 };
    let no_mask = std::ptr::null::<u8>();
    // SAFETY: both structures are ours.
    let ready = unsafe { crate::sys::syscall!(libc::SYS_ppoll, &raw mut asked, 1, &raw mut patience, no_mask, 8) };
    ready == 1 && asked.revents & libc::POLLOUT != 0 && asked.revents & libc::POLLERR == 0
}
