//! One-line messages on standard error, written without stdio or allocation, and only while descriptor 2 is still what
//! it was when the process started: a program may have closed it and got the number for a data file.
#![expect(unsafe_code, reason = "fstat(2), write(2)")]

use std::sync::atomic::{AtomicU64, Ordering};

static STDERR_DEVICE: AtomicU64 = AtomicU64::new(0);
static STDERR_INODE: AtomicU64 = AtomicU64::new(0);

fn stderr_identity() -> Option<(u64, u64)> {
    // SAFETY: an all-zero stat is a valid one.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the structure is ours. The raw system call, since fstat(3) may be wrapped.
    let result = unsafe { crate::sys::syscall!(libc::SYS_fstat, 2, &raw mut stat) };
    (result == 0).then_some((stat.st_dev, stat.st_ino))
}

/// Remembers what standard error is.
pub(crate) fn remember_stderr() {
    if let Some((device, inode)) = stderr_identity() {
        STDERR_DEVICE.store(device, Ordering::Relaxed);
        STDERR_INODE.store(inode, Ordering::Relaxed);
    }
}

/// Writes `dxt: ` and the parts as one line; keeps errno.
pub(crate) fn say(parts: &[&[u8]]) {
    let errno = crate::errno::save();
    let same = (STDERR_DEVICE.load(Ordering::Relaxed), STDERR_INODE.load(Ordering::Relaxed));
    if same != (0, 0) && stderr_identity() == Some(same) {
        let mut line = [0_u8; 512];
        let mut length = 0;
        for part in [b"dxt: ".as_slice()].iter().chain(parts).chain(&[b"\n".as_slice()]) {
            let room = line.len() - length;
            let taken = part.len().min(room);
            line[length..length + taken].copy_from_slice(&part[..taken]);
            length += taken;
        }
        // SAFETY: the buffer is ours; a failed or short write of a message is nobody's loss.
        unsafe { crate::sys::syscall!(libc::SYS_write, 2, line.as_ptr(), length) };
    }
    errno.restore();
}
