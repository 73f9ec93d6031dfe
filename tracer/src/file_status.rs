//! Status of an open file as the kernel knows it, without a request to the file system (a server, a daemon).
#![expect(unsafe_code, reason = "statx(2), fstat(2)")]

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};

/// Status of an open file, from statx(2).
#[derive(Clone, Copy)]
pub(crate) struct FileStatus {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    /// File type and permissions (`st_mode`).
    pub(crate) mode: libc::mode_t,
    pub(crate) links: libc::nlink_t,
    /// Size in bytes; other nodes may have changed it.
    pub(crate) size: i64,
    /// Preferred I/O size in bytes (`st_blksize`).
    pub(crate) block_size: u32,
    /// Time of the last inode change (ctime): [seconds, nanoseconds].
    pub(crate) changed: [u64; 2],
    /// Creation time: [seconds, nanoseconds]; zeros if unknown.
    pub(crate) made: [u64; 2],
    /// ID of the mount; `None` before Linux 5.8.
    pub(crate) mount: Option<u64>,
}

/// True if statx(2) is not available (before Linux 4.11, or refused).
static WITHOUT_STATX: AtomicBool = AtomicBool::new(false);

/// Returns the status of the file that is open as `number`; `None` if the number is not open. Changes errno.
pub(crate) fn of(number: c_int) -> Option<FileStatus> {
    if WITHOUT_STATX.load(Ordering::Relaxed) { by_fstat(number) } else { by_statx(number) }
}

fn by_statx(number: c_int) -> Option<FileStatus> {
    // Network file systems and FUSE answer from cached attributes, which the open has brought.
    const FLAGS: c_int = libc::AT_EMPTY_PATH | libc::AT_STATX_DONT_SYNC;
    /// STATX_MNT_ID (Linux 5.8, <linux/stat.h>).
    const MOUNT: u32 = 0x1000;
    const MASK: u32 = libc::STATX_BASIC_STATS | libc::STATX_BTIME | MOUNT;
    // SAFETY: an all-zero structure is valid.
    let mut about: libc::statx = unsafe { std::mem::zeroed() };
    // SAFETY: an empty name that ends in NUL, and a local structure.
    if unsafe { crate::sys::syscall!(libc::SYS_statx, number, c"".as_ptr(), FLAGS, MASK, &raw mut about) } != 0 {
        return match crate::errno::save().value() {
            libc::ENOSYS | libc::EPERM if !crate::sys::is_shut() => {
                WITHOUT_STATX.store(true, Ordering::Relaxed);
                by_fstat(number)
            }
            _ => None,
        };
    }
    let time = |time: libc::statx_timestamp| [time.tv_sec as u64, u64::from(time.tv_nsec)];
    Some(FileStatus {
        device: libc::makedev(about.stx_dev_major, about.stx_dev_minor),
        inode: about.stx_ino,
        mode: about.stx_mode.into(),
        links: about.stx_nlink.into(),
        size: about.stx_size as i64,
        block_size: about.stx_blksize,
        changed: time(about.stx_ctime),
        made: if about.stx_mask & libc::STATX_BTIME == 0 { [0; 2] } else { time(about.stx_btime) },
        mount: (about.stx_mask & MOUNT != 0).then_some(about.stx_mnt_id),
    })
}

/// Returns the current status of the file that is open as `number`, which may take a request to the file system: for the tracer's own files.
/// `None` if the number is not open. Changes errno.
pub(crate) fn fstat(number: c_int) -> Option<libc::stat> {
    // SAFETY: an all-zero stat is valid.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the structure is a local variable. Raw system call, since fstat(3) may be wrapped.
    let known = unsafe { crate::sys::syscall!(libc::SYS_fstat, number, &raw mut stat) } == 0;
    known.then_some(stat)
}

fn by_fstat(number: c_int) -> Option<FileStatus> {
    fstat(number).map(|stat| FileStatus {
        device: stat.st_dev,
        inode: stat.st_ino,
        mode: stat.st_mode,
        links: stat.st_nlink,
        size: stat.st_size,
        block_size: u32::try_from(stat.st_blksize).unwrap_or(0),
        changed: [stat.st_ctime as u64, stat.st_ctime_nsec as u64],
        made: [0; 2],
        mount: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn both_calls_agree() {
        let file = std::fs::File::open(std::env::current_exe().unwrap()).unwrap();
        let [new, old] = [by_statx, by_fstat].map(|status| status(file.as_raw_fd()).unwrap());
        assert_eq!((new.device, new.inode, new.mode, new.links), (old.device, old.inode, old.mode, old.links));
        assert_eq!((new.size, new.block_size, new.changed), (old.size, old.block_size, old.changed));
        assert!(of(-1).is_none());
    }
}
