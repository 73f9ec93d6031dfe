//! Node quota file: a shared counter of the bytes of DXT_JOB_BYTES that the job's processes on this node have reserved. Each process opens
//! the file, locks it, changes the number and closes it. The process that brings the number to zero deletes the file, so a job that leaves
//! nothing leaves no quota file either.
//!
//! Bounds: a dozen system calls without contention, a few hundred bytes of stack, no allocation, and at most [`MOST_WAITS`] ms of waiting
//! in total, even if the file is deleted and recreated meanwhile. The wait is bounded because the lock holder may be stopped. Callers that
//! can proceed without an answer do not wait ([`Patience`]).
//! The lock belongs to the open file description, not to the process (fcntl(2), F_OFD_SETLK), and is released before the close. A child
//! forked meanwhile by another thread shares the description and closes its copy. A killed process leaves no lock.
//!
//! Other users may be able to write to the directory. The file is trusted only if it is a regular file of this user without further hard
//! links, not writable by others, and either empty or this job's quota file; symbolic links are not followed, and no other file is ever
//! written to. Ownership is checked before waiting for the lock, since another user could hold it forever.
#![expect(unsafe_code, reason = "open(2), fcntl(2), stat(2), pread(2), pwrite(2), mkdir(2), unlink(2)")]

use crate::{errno, held, process, threads};
use std::ffi::{CStr, CString};
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use trace_format::meta::path_hash;

/// Path of a quota file, and the job to which it belongs.
#[derive(Debug)]
pub(super) struct Quota {
    directory: CString,
    path: CString,
    /// Number that identifies the job; the quota file contains it.
    job: u64,
}

/// Reason why the quota could not be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// Transient: another process holds the lock for long, no descriptor is left, or the program has confined itself.
    ForNow,
    /// Permanent: the file cannot be created, locked or written to, or is no quota file.
    ForGood,
}

/// Limit on the wait for a lock that another process holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Patience {
    /// Waits for the lock up to this many ms, at most [`MOST_WAITS`].
    Waits(u32),
    /// Never sleeps for the lock; only yields the processor a few times.
    Hardly,
}

/// Objects to create if the quota file does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Making {
    /// The quota file and its directory.
    All,
    /// The quota file only.
    Quota,
    /// Nothing; the number of reserved bytes then counts as 0.
    Nothing,
}

/// Layout of the file, in 8-byte words: magic, job, reserved bytes, hash of the other words.
const WORDS: usize = 4;
const BYTES: usize = WORDS * 8;
const MAGIC: u64 = u64::from_le_bytes(*b"DXTPOT\0\x01");

/// Maximum total wait for the lock, in ms (sleeps of 1 ms). The `YIELDS` attempts at each open come first and only yield the processor.
pub(super) const MOST_WAITS: u32 = 100;
const YIELDS: u32 = 20;
/// Maximum number of attempts to open a quota file that other processes delete meanwhile.
const MOST_OPENS: u32 = 8;

/// Descriptor of the open quota file, or -1. Kept, with the file's device and inode, so that a forked child can close its copy.
static OPEN: AtomicI32 = AtomicI32::new(-1);
static OPEN_DEVICE: AtomicU64 = AtomicU64::new(0);
static OPEN_INODE: AtomicU64 = AtomicU64::new(0);

/// Quota file that is open, locked or not; `is_new` if this process created it.
struct Opened {
    file: libc::c_int,
    is_new: bool,
}

impl Opened {
    fn open(path: &CStr, flags: libc::c_int) -> Result<Self, libc::c_int> {
        // O_NONBLOCK: never waits for the other end of a planted FIFO.
        let flags = flags | libc::O_RDWR | libc::O_CLOEXEC | libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
        let (at, name) = held::at(path);
        // SAFETY: the name ends in NUL. Raw system calls throughout, since the functions may be wrapped.
        let file = unsafe { crate::sys::syscall!(libc::SYS_openat, at, name.as_ptr(), flags, 0o600) };
        if file < 0 {
            return Err(errno::save().value());
        }
        let opened = Self { file: file as libc::c_int, is_new: flags & libc::O_CREAT != 0 };
        if let Some(about) = opened.about() {
            OPEN_DEVICE.store(about.st_dev, Ordering::Relaxed);
            OPEN_INODE.store(about.st_ino, Ordering::Relaxed);
            OPEN.store(opened.file, Ordering::Release);
        }
        Ok(opened)
    }

    /// Tries once to lock the quota file; the error is an errno value.
    fn lock(&self) -> Result<(), libc::c_int> {
        let lock = whole_file(libc::F_WRLCK);
        // SAFETY: the structure is ours.
        let done = unsafe { crate::sys::syscall!(libc::SYS_fcntl, self.file, libc::F_OFD_SETLK, &raw const lock) } == 0;
        if done { Ok(()) } else { Err(errno::save().value()) }
    }

    /// Takes the lock; waits up to `waits` ms and subtracts the time spent from `waits`.
    fn wait_for_lock(&self, waits: &mut u32) -> Result<(), Trouble> {
        let mut yields = 0;
        loop {
            match self.lock() {
                Ok(()) => return Ok(()),
                Err(libc::EAGAIN | libc::EACCES | libc::EINTR) => {}
                Err(libc::ENOMEM) => return Err(Trouble::ForNow),
                Err(_) => return Err(Trouble::ForGood),
            }
            if yields < YIELDS {
                yields += 1;
                threads::give_way();
            } else if *waits > 0 {
                *waits -= 1;
                threads::pause(1_000_000);
            } else {
                return Err(Trouble::ForNow);
            }
        }
    }

    fn about(&self) -> Option<libc::stat> {
        about(self.file)
    }

    fn read(&self) -> Option<[u64; WORDS]> {
        let mut words = [0_u64; WORDS];
        // SAFETY: the buffer is ours and as long as said.
        let read = unsafe { crate::sys::syscall!(libc::SYS_pread64, self.file, words.as_mut_ptr(), BYTES, 0_i64) };
        (read == BYTES as i64).then_some(words)
    }

    fn write(&self, words: [u64; WORDS]) -> bool {
        // SAFETY: the words are ours.
        let written = unsafe { crate::sys::syscall!(libc::SYS_pwrite64, self.file, words.as_ptr(), BYTES, 0_i64) };
        written == BYTES as i64
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        // The program may be about to confine itself, waiting for this thread: neither lock nor descriptor may stay behind then
        // (`sys::finish`).
        let unlocked = whole_file(libc::F_UNLCK);
        // Explicit unlock: copies of the descriptor may still be open.
        // SAFETY: the structure is ours.
        unsafe { crate::sys::finish!(libc::SYS_fcntl, self.file, libc::F_OFD_SETLK, &raw const unlocked) };
        OPEN.store(-1, Ordering::Release);
        // SAFETY: opened here.
        unsafe { crate::sys::finish!(libc::SYS_close, self.file) };
    }
}

fn whole_file(kind: libc::c_int) -> libc::flock {
    // SAFETY: an all-zero flock is a valid one: of the whole file.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    (lock.l_type, lock.l_whence) = (kind as libc::c_short, libc::SEEK_SET as libc::c_short);
    lock
}

fn about(file: libc::c_int) -> Option<libc::stat> {
    // SAFETY: an all-zero stat is a valid one.
    let mut about: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the structure is ours.
    let known = unsafe { crate::sys::syscall!(libc::SYS_fstat, file, &raw mut about) } == 0;
    known.then_some(about)
}

/// True if only this user could have written to the file, judging by its owner and mode.
fn is_ours(about: &libc::stat) -> bool {
    about.st_mode & libc::S_IFMT == libc::S_IFREG
        && about.st_uid == crate::job::effective_user()
        && about.st_mode & 0o177 == 0
}

/// Closes the quota file in a forked child, in case another thread of the parent had it open at the fork.
pub(super) fn in_child() {
    let open = OPEN.swap(-1, Ordering::Relaxed);
    let which = (OPEN_DEVICE.load(Ordering::Relaxed), OPEN_INODE.load(Ordering::Relaxed));
    // The descriptor number may belong to another file here.
    if open >= 0 && which.1 != 0 && about(open).is_some_and(|about| (about.st_dev, about.st_ino) == which) {
        // SAFETY: the tracer's own descriptor.
        unsafe { crate::sys::syscall!(libc::SYS_close, open) };
    }
}

/// Returns the hash of all words except the last, which stores it.
fn check(words: &[u64; WORDS]) -> u64 {
    let mut bytes = [0; BYTES];
    for (place, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words.iter().take(WORDS - 1)) {
        *place = word.to_le_bytes();
    }
    path_hash(&bytes)
}

impl Quota {
    /// Makes a handle for the quota file `name` in `directory`, for the job with this number. Opens nothing.
    pub(super) fn new(directory: CString, name: &str, job: u64) -> Option<Self> {
        let path = CString::new([directory.to_bytes(), b"/", name.as_bytes()].concat()).ok()?;
        Some(Self { directory, path, job })
    }

    /// Returns the directory of the quota file.
    pub(super) fn directory(&self) -> &CStr {
        &self.directory
    }

    /// Returns the number that identifies the job.
    pub(super) const fn job(&self) -> u64 {
        self.job
    }

    /// Applies `change` to the number of reserved bytes; returns (before, after). Must be called by one thread of a process at a time and
    /// with signals blocked, since a handler would wait for the code that it interrupted. Preserves errno.
    pub(super) fn change(
        &self,
        making: Making,
        patience: Patience,
        change: impl FnOnce(u64) -> u64,
    ) -> Result<(u64, u64), Trouble> {
        let saved = errno::save();
        let changed = self.changed(making, patience, change);
        saved.restore();
        // A system call refused by confinement says nothing about the quota file.
        if crate::sys::is_shut() { changed.map_err(|_| Trouble::ForNow) } else { changed }
    }

    fn changed(
        &self,
        making: Making,
        patience: Patience,
        change: impl FnOnce(u64) -> u64,
    ) -> Result<(u64, u64), Trouble> {
        // A write beyond RLIMIT_FSIZE would end the program with SIGXFSZ.
        if process::size_limit() < BYTES as u64 {
            return Err(Trouble::ForGood);
        }
        let mut waits = match patience {
            Patience::Waits(most) => most.min(MOST_WAITS),
            Patience::Hardly => 0,
        };
        for _ in 0..MOST_OPENS {
            let Some(file) = self.open(making)? else {
                let after = change(0);
                return if after == 0 { Ok((0, 0)) } else { Err(Trouble::ForGood) };
            };
            let about = file.about().ok_or(Trouble::ForGood)?;
            if !is_ours(&about) {
                // The file system does not support permissions.
                if file.is_new {
                    self.remove(&about);
                }
                return Err(Trouble::ForGood);
            }
            file.wait_for_lock(&mut waits)?;
            let about = file.about().ok_or(Trouble::ForGood)?;
            // Another process has deleted the file meanwhile.
            if about.st_nlink == 0 {
                continue;
            }
            let before = self.read(&file, &about).ok_or(Trouble::ForGood)?;
            let after = change(before);
            if after == 0 {
                self.remove(&about);
            } else if after != before {
                let mut words = [MAGIC, self.job, after, 0];
                words[WORDS - 1] = check(&words);
                if !file.write(words.map(u64::to_le)) {
                    // An empty file is of no use.
                    if about.st_size == 0 {
                        self.remove(&about);
                    }
                    return Err(Trouble::ForGood);
                }
            }
            return Ok((before, after));
        }
        Err(Trouble::ForNow)
    }

    /// Reads the number of reserved bytes; `None` if the file is not trusted.
    fn read(&self, file: &Opened, about: &libc::stat) -> Option<u64> {
        match about.st_size {
            _ if !is_ours(about) || about.st_nlink != 1 => None,
            // Just created.
            0 => Some(0),
            size if size == BYTES as i64 => {
                let words = file.read()?.map(u64::from_le);
                let [magic, job, reserved, sum] = words;
                (magic == MAGIC && job == self.job && sum == check(&words)).then_some(reserved)
            }
            _ => None,
        }
    }

    /// Deletes the locked file. Processes that have opened it meanwhile notice by its link count of 0.
    fn remove(&self, locked: &libc::stat) {
        // SAFETY: an all-zero stat is a valid one.
        let mut there: libc::stat = unsafe { std::mem::zeroed() };
        let ((here, name), no_links) = (held::at(&self.path), libc::AT_SYMLINK_NOFOLLOW);
        let (path, into) = (name.as_ptr(), &raw mut there);
        // SAFETY: the name ends in NUL, the structure is ours.
        let known = unsafe { crate::sys::syscall!(libc::SYS_newfstatat, here, path, into, no_links) } == 0;
        // Another file may have been put in its place.
        if known && (there.st_dev, there.st_ino) == (locked.st_dev, locked.st_ino) {
            // SAFETY: the name ends in NUL.
            unsafe { crate::sys::syscall!(libc::SYS_unlinkat, here, path, 0) };
        }
    }

    /// Opens the quota file, or creates it if `making` allows that. `None` if the file is missing and must not be created.
    fn open(&self, making: Making) -> Result<Option<Opened>, Trouble> {
        for tried in 0..MOST_OPENS {
            let made = match Opened::open(&self.path, 0) {
                Err(libc::ENOENT) if making == Making::Nothing => return Ok(None),
                Err(libc::ENOENT) => Opened::open(&self.path, libc::O_CREAT | libc::O_EXCL).inspect(|file| {
                    // Set regardless of the umask, since the file will be opened again.
                    // SAFETY: the descriptor is ours. A file system without permissions refuses.
                    unsafe { crate::sys::syscall!(libc::SYS_fchmod, file.file, 0o600) };
                }),
                opened => opened,
            };
            match made {
                Ok(file) => return Ok(Some(file)),
                // Another process created it first.
                Err(libc::EEXIST | libc::EINTR) => {}
                // The directory of spools is created together with the first of them.
                Err(libc::ENOENT) if tried == 0 && making == Making::All && !held::is_in_force() => {
                    let (here, name) = (libc::AT_FDCWD, &self.directory);
                    // SAFETY: the name ends in NUL; a failure shows when the file is made.
                    if unsafe { crate::sys::syscall!(libc::SYS_mkdirat, here, name.as_ptr(), 0o700) } == 0 {
                        crate::directory::give(here, name, 0o700);
                    }
                }
                Err(libc::EMFILE | libc::ENFILE | libc::ENOMEM) => return Err(Trouble::ForNow),
                Err(_) => return Err(Trouble::ForGood),
            }
        }
        Err(Trouble::ForNow)
    }
}

#[cfg(test)]
mod tests;
