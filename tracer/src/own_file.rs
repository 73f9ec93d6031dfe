//! Opens the tracer's own files in the spool directory by their names. Each time checks that the name still leads to the same file, since
//! other users may write to the directory.
#![expect(unsafe_code, reason = "mkdir(2), open(2), close(2), unlink(2)")]

use crate::{config, errno, file_status, job, own_directories};
use std::ffi::CStr;
use std::sync::atomic::{AtomicU64, Ordering};

/// Device and inode number of one of the tracer's files, to recognize the file under its name.
pub(crate) struct Identity {
    device: AtomicU64,
    inode: AtomicU64,
}

impl Identity {
    pub(crate) const fn new() -> Self {
        Self { device: AtomicU64::new(0), inode: AtomicU64::new(0) }
    }

    /// Opens the file `path` and stores its identity (device, inode). Returns the descriptor, or the errno on failure.
    pub(crate) fn open(&self, path: &CStr, flags: libc::c_int) -> Result<libc::c_int, libc::c_int> {
        let file = open(path, flags)?;
        let (device, inode) = numbers(file);
        self.device.store(device, Ordering::Relaxed);
        self.inode.store(inode, Ordering::Relaxed);
        Ok(file)
    }

    /// Creates the file `path`, which must not exist, and stores its identity (device, inode).
    pub(crate) fn create(&self, path: &CStr) -> Result<libc::c_int, libc::c_int> {
        let file = self.open(path, libc::O_CREAT | libc::O_EXCL)?;
        // Independent of the umask, since the file will be reopened.
        // SAFETY: the descriptor was just opened here. The call fails on file systems without permissions.
        unsafe { crate::sys::syscall!(libc::SYS_fchmod, file, 0o600) };
        Ok(file)
    }

    pub(crate) fn numbers(&self) -> (u64, u64) {
        (self.device.load(Ordering::Relaxed), self.inode.load(Ordering::Relaxed))
    }

    /// True if the descriptor `file` refers to the file whose identity is stored.
    pub(crate) fn is_of(&self, file: libc::c_int) -> bool {
        numbers(file) == self.numbers()
    }

    /// True if the file at `path` is the one whose identity (device, inode) is stored.
    pub(crate) fn is_at(&self, path: &CStr) -> bool {
        // SAFETY: an all-zero stat is valid.
        let mut stat: libc::stat = unsafe { std::mem::zeroed() };
        let ((at, name), no_links) = (own_directories::at(path), libc::AT_SYMLINK_NOFOLLOW);
        // The file is not opened, since the process may be out of descriptors.
        // SAFETY: the name is NUL-terminated, and the structure is a local variable.
        let asked = unsafe { crate::sys::syscall!(libc::SYS_newfstatat, at, name.as_ptr(), &raw mut stat, no_links) };
        asked == 0 && (stat.st_dev, stat.st_ino) == self.numbers()
    }

    /// Opens the file at `path` again; fails with ESTALE if it is not the file whose identity is stored.
    pub(crate) fn reopen(&self, path: &CStr) -> Result<libc::c_int, libc::c_int> {
        let file = open(path, 0)?;
        if self.is_of(file) {
            return Ok(file);
        }
        close(file);
        Err(libc::ESTALE)
    }
}

pub(crate) fn open(path: &CStr, flags: libc::c_int) -> Result<libc::c_int, libc::c_int> {
    // Follow no symbolic link, and do not block on a FIFO without a peer.
    let flags = flags | libc::O_RDWR | libc::O_CLOEXEC | libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
    let (at, name) = own_directories::at(path);
    // SAFETY: the name is NUL-terminated. Raw system calls throughout this file, since libc's functions may be wrapped.
    let file = unsafe { crate::sys::syscall!(libc::SYS_openat, at, name.as_ptr(), flags, 0o600) };
    if file < 0 { Err(errno::save().value()) } else { Ok(file as libc::c_int) }
}

pub(crate) fn close(file: libc::c_int) {
    // SAFETY: the descriptor was opened by the tracer.
    unsafe { crate::sys::syscall!(libc::SYS_close, file) };
}

/// Removes the file at `path`; true if it existed.
pub(crate) fn unlink(path: &CStr) -> bool {
    let (at, name) = own_directories::at(path);
    // SAFETY: the name is NUL-terminated.
    unsafe { crate::sys::syscall!(libc::SYS_unlinkat, at, name.as_ptr(), 0) == 0 }
}

/// Creates the spool directory unless it exists.
///
/// # Errors
/// Fails with ESTALE if the path leads to another directory than the one created for this run.
pub(crate) fn make_directory(directory: &CStr) -> Result<(), libc::c_int> {
    if own_directories::is_in_force() {
        return Ok(());
    }
    let made = config::current().and_then(|config| config.spool_made.as_ref());
    if made.is_some_and(|made| made.is_elsewhere(directory.to_bytes())) {
        return Err(libc::ESTALE);
    }
    // SAFETY: the name is NUL-terminated. An existing directory is fine; after any other failure, creating the file fails too.
    if unsafe { crate::sys::syscall!(libc::SYS_mkdirat, libc::AT_FDCWD, directory.as_ptr(), 0o700) } == 0 {
        crate::directory::give(libc::AT_FDCWD, directory, 0o700);
    }
    Ok(())
}

/// Returns the status (fstat(2)) of the open file if it is a regular file of this user.
pub(crate) fn own(file: libc::c_int) -> Option<libc::stat> {
    let is_own =
        |stat: &libc::stat| stat.st_mode & libc::S_IFMT == libc::S_IFREG && stat.st_uid == job::effective_user();
    file_status::fstat(file).filter(is_own)
}

/// Returns device and inode number of the open file; zeros if unknown.
fn numbers(file: libc::c_int) -> (u64, u64) {
    file_status::fstat(file).map_or((0, 0), |stat| (stat.st_dev, stat.st_ino))
}
