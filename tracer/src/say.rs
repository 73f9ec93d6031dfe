//! Writes one-line messages to standard error, without stdio or allocation. They go to the file that was standard error at process start,
//! or nowhere: the program may have given descriptor 2 to a data file.
//!
//! Standard error is recognized by its file's identity plus creation time, since file systems reuse inode numbers. A descriptor that the
//! program opens itself belongs to the program, even if it refers to the same file. Messages never block and raise no signal: they are
//! dropped if a pipe has no reader or no room, or if a file may not grow.
#![expect(unsafe_code, reason = "fcntl(2), poll(2), write(2)")]

use crate::blocking::Blocked;
use crate::file_status;
use std::ffi::c_int;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Identity of the file behind a descriptor: device, inode and creation time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
    kind: libc::mode_t,
    /// Creation time of the file in seconds and nanoseconds; zeros if unknown.
    made: [u64; 2],
}

static STDERR: OnceLock<Identity> = OnceLock::new();
/// True if the program itself has opened descriptor 2, which then gets no messages if it is a regular file.
static IS_PROGRAMS: AtomicBool = AtomicBool::new(false);

/// Preferred lowest number for the duplicate of standard error that messages are written to: the program may expect to get lower numbers.
const HIGH: c_int = 400;
/// Maximum wait for room in a pipe, in ms; then a message to standard error is dropped.
const PATIENCE: c_int = 200;

fn identity(number: c_int) -> Option<Identity> {
    let status = file_status::of(number)?;
    Some(Identity { device: status.device, inode: status.inode, kind: status.mode & libc::S_IFMT, made: status.made })
}

/// Stores the identity of the file behind standard error at process start.
pub(crate) fn remember_stderr() {
    let errno = crate::errno::save();
    if let Some(identity) = identity(libc::STDERR_FILENO) {
        let _ = STDERR.set(identity);
    }
    errno.restore();
}

/// Records that the program has opened a file as descriptor `number`. If that is 2 (standard error), messages may have to stop.
#[inline(always)]
pub(crate) fn opened(number: c_int) {
    if number == libc::STDERR_FILENO {
        IS_PROGRAMS.store(true, Ordering::Relaxed);
    }
}

/// Records that descriptor `number` is now a duplicate of another descriptor. If `number` is 2 (standard error), the identity of its file
/// decides if messages may still go there.
#[inline(always)]
pub(crate) fn copied(number: c_int) {
    if number == libc::STDERR_FILENO {
        IS_PROGRAMS.store(false, Ordering::Relaxed);
    }
}

/// Writes one line to standard error: `dxt: ` and the concatenated `parts`. Preserves errno.
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
    // Terminals and /dev/null count as standard error even if the program opened them itself.
    let is_programs = |known: &Identity| known.kind == libc::S_IFREG && IS_PROGRAMS.load(Ordering::Relaxed);
    if let Some(known) = STDERR.get().filter(|known| !is_programs(known)) {
        // No signal handler may run between the check and the write: it might never return.
        let blocked = Blocked::all();
        write(known, &line[..length], &blocked);
    }
    errno.restore();
}

/// Writes `line` to standard error through a duplicate of its descriptor, which other threads cannot change between check and write.
fn write(known: &Identity, line: &[u8], blocked: &Blocked) {
    let copy = |least: c_int| {
        // SAFETY: duplicating a descriptor has no visible effect.
        let copy = unsafe { crate::sys::syscall!(libc::SYS_fcntl, libc::STDERR_FILENO, libc::F_DUPFD_CLOEXEC, least) };
        (copy >= 0).then_some(copy as c_int)
    };
    let own = copy(HIGH).or_else(|| copy(libc::STDERR_FILENO + 1));
    // If no number is left for a duplicate, uses descriptor 2 itself.
    let number = own.unwrap_or(libc::STDERR_FILENO);
    if identity(number).as_ref() == Some(known) && has_room(number) {
        blocked.without([libc::SIGPIPE, libc::SIGXFSZ], || {
            // SAFETY: the buffer belongs to the caller; a failed or short write of a message does no harm.
            unsafe { crate::sys::syscall!(libc::SYS_write, number, line.as_ptr(), line.len()) };
        });
    }
    if let Some(own) = own {
        // SAFETY: the descriptor was created above.
        unsafe { crate::sys::syscall!(libc::SYS_close, own) };
    }
}

/// True if a write to descriptor `number` will not block. Waits up to [`PATIENCE`] ms for room in a pipe.
fn has_room(number: c_int) -> bool {
    let mut asked = libc::pollfd { fd: number, events: libc::POLLOUT, revents: 0 };
    let mut patience = libc::timespec { tv_sec: 0, tv_nsec: i64::from(PATIENCE) * 1_000_000 };
    let no_mask = std::ptr::null::<u8>();
    // SAFETY: both structures are local variables.
    let ready = unsafe { crate::sys::syscall!(libc::SYS_ppoll, &raw mut asked, 1, &raw mut patience, no_mask, 8) };
    ready == 1 && asked.revents & libc::POLLOUT != 0 && asked.revents & libc::POLLERR == 0
}
