//! The pot: a file of one number, the bytes of DXT_JOB_BYTES that a job's processes on this node have reserved. Each opens it, locks it,
//! changes the number, and closes it again. Who finds that nothing is reserved any more takes the file away: a job that leaves nothing leaves
//! no pot.
//!
//! Bounds: a dozen system calls where nobody interferes, a few hundred bytes of stack, no memory, and no waits longer than [`MOST_WAITS`] ms
//! in all, however often the pot comes and goes meanwhile: whoever holds the lock may be stopped. Who need not have an answer does not wait
//! ([`Patience`]). The lock belongs to the open file, not to the process (fcntl(2), F_OFD_SETLK), and is given up before that is closed; a
//! child that another thread forks meanwhile has the same open file, and closes its own. Who is killed in between leaves no lock.
//!
//! Others may write to the directory, too. What lies under the name is believed only if it is a regular file of this user's that has no
//! other name, nobody else may write to, and is a pot of this job or empty; no link is followed, and nothing else is ever written to. Whose
//! it is, is seen before its lock is waited for: another user may hold that for ever.
#![expect(unsafe_code, reason = "open(2), fcntl(2), stat(2), pread(2), pwrite(2), mkdir(2), unlink(2)")]

use crate::{errno, held, threads};
use std::ffi::{CStr, CString};
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use trace_format::meta::path_hash;

/// A pot's name and what is in it.
#[derive(Debug)]
pub(super) struct Pot {
    directory: CString,
    path: CString,
    /// Tells the job's pot from others.
    job: u64,
}

/// Why the number could not be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// Another process has the lock for long, there is no descriptor left, or the program has confined itself: it may be better next time.
    ForNow,
    /// It cannot be made, locked or written to, or is no pot.
    ForGood,
}

/// Whether a lock that another has is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Patience {
    /// So many milliseconds, at most [`MOST_WAITS`].
    Waits(u32),
    /// Hardly: the processor is given way a few times.
    Hardly,
}

/// What is made where there is no pot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Making {
    /// The pot, and its directory.
    All,
    /// The pot.
    Pot,
    /// Nothing: then nothing is reserved.
    Nothing,
}

/// The file's words: what it is, of which job, bytes that are reserved, and a hash of the others.
const WORDS: usize = 4;
const BYTES: usize = WORDS * 8;
const MAGIC: u64 = u64::from_le_bytes(*b"DXTPOT\0\x01");

/// Times that a process looks whether it may have the lock, a millisecond apart but for the first few, each time that it opens the pot.
pub(super) const MOST_WAITS: u32 = 100;
const YIELDS: u32 = 20;
/// Times that a pot is opened which somebody has taken away meanwhile.
const MOST_OPENS: u32 = 8;

/// The pot's descriptor while there is one, and which file that is: a forked child closes its own, whether the lock was had or waited for.
static OPEN: AtomicI32 = AtomicI32::new(-1);
static OPEN_DEVICE: AtomicU64 = AtomicU64::new(0);
static OPEN_INODE: AtomicU64 = AtomicU64::new(0);

/// An open pot, locked or not, and whether it was made by that.
struct Opened {
    file: libc::c_int,
    is_new: bool,
}

impl Opened {
    fn open(path: &CStr, flags: libc::c_int) -> Result<Self, libc::c_int> {
        // Nobody at the other end of a pipe is waited for.
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

    /// Asks for the lock.
    fn lock(&self) -> Result<(), libc::c_int> {
        let lock = whole_file(libc::F_WRLCK);
        // SAFETY: the structure is ours.
        let done = unsafe { crate::sys::syscall!(libc::SYS_fcntl, self.file, libc::F_OFD_SETLK, &raw const lock) } == 0;
        if done { Ok(()) } else { Err(errno::save().value()) }
    }

    /// The same for as long as `waits` lasts, milliseconds that are left.
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
        // The program may be about to confine itself, and wait for this thread: nothing of it may stay then (`sys::finish`).
        let unlocked = whole_file(libc::F_UNLCK);
        // Not all of its copies may be closed now.
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

/// Whether nobody but this user could have written to it, as far as a file tells by itself.
fn is_ours(about: &libc::stat) -> bool {
    about.st_mode & libc::S_IFMT == libc::S_IFREG
        && about.st_uid == crate::job::effective_user()
        && about.st_mode & 0o177 == 0
}

/// In a forked child: another thread may have had the pot open.
pub(super) fn in_child() {
    let open = OPEN.swap(-1, Ordering::Relaxed);
    let which = (OPEN_DEVICE.load(Ordering::Relaxed), OPEN_INODE.load(Ordering::Relaxed));
    // The number may be another file's here.
    if open >= 0 && which.1 != 0 && about(open).is_some_and(|about| (about.st_dev, about.st_ino) == which) {
        // SAFETY: the tracer's own.
        unsafe { crate::sys::syscall!(libc::SYS_close, open) };
    }
}

/// Of what is in the file, but for the last word.
fn check(words: &[u64; WORDS]) -> u64 {
    let mut bytes = [0; BYTES];
    for (place, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words.iter().take(WORDS - 1)) {
        *place = word.to_le_bytes();
    }
    path_hash(&bytes)
}

impl Pot {
    /// The pot called `name` in `directory`, of the job with this number.
    pub(super) fn new(directory: CString, name: &str, job: u64) -> Option<Self> {
        let path = CString::new([directory.to_bytes(), b"/", name.as_bytes()].concat()).ok()?;
        Some(Self { directory, path, job })
    }

    /// Directory of the file.
    pub(super) fn directory(&self) -> &CStr {
        &self.directory
    }

    /// Tells the job's pot from others.
    pub(super) const fn job(&self) -> u64 {
        self.job
    }

    /// Changes the number of reserved bytes as `change` says; returns it as it was, and as it is. For one thread of a process at a
    /// time, with signals held back, or a handler would wait for what it has interrupted. Keeps errno.
    pub(super) fn change(
        &self,
        making: Making,
        patience: Patience,
        change: impl FnOnce(u64) -> u64,
    ) -> Result<(u64, u64), Trouble> {
        let saved = errno::save();
        let changed = self.changed(making, patience, change);
        saved.restore();
        // What is refused then is no trouble of the pot's.
        if crate::sys::is_shut() { changed.map_err(|_| Trouble::ForNow) } else { changed }
    }

    fn changed(
        &self,
        making: Making,
        patience: Patience,
        change: impl FnOnce(u64) -> u64,
    ) -> Result<(u64, u64), Trouble> {
        // A file over RLIMIT_FSIZE would end the program with SIGXFSZ.
        if crate::spool::size_limit() < BYTES as u64 {
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
                // A file system without permissions.
                if file.is_new {
                    self.remove(&about);
                }
                return Err(Trouble::ForGood);
            }
            file.wait_for_lock(&mut waits)?;
            let about = file.about().ok_or(Trouble::ForGood)?;
            // Somebody has cleaned up.
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
                    // One that says nothing is of no use.
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

    /// What the file says; `None` if it is not to be believed.
    fn read(&self, file: &Opened, about: &libc::stat) -> Option<u64> {
        match about.st_size {
            _ if !is_ours(about) || about.st_nlink != 1 => None,
            // Just made.
            0 => Some(0),
            size if size == BYTES as i64 => {
                let words = file.read()?.map(u64::from_le);
                let [magic, job, reserved, sum] = words;
                (magic == MAGIC && job == self.job && sum == check(&words)).then_some(reserved)
            }
            _ => None,
        }
    }

    /// Takes it away, which is locked. Who has opened it meanwhile sees that.
    fn remove(&self, locked: &libc::stat) {
        // SAFETY: an all-zero stat is a valid one.
        let mut there: libc::stat = unsafe { std::mem::zeroed() };
        let ((here, name), no_links) = (held::at(&self.path), libc::AT_SYMLINK_NOFOLLOW);
        let (path, into) = (name.as_ptr(), &raw mut there);
        // SAFETY: the name ends in NUL, the structure is ours.
        let known = unsafe { crate::sys::syscall!(libc::SYS_newfstatat, here, path, into, no_links) } == 0;
        // Somebody may have put another file in its place.
        if known && (there.st_dev, there.st_ino) == (locked.st_dev, locked.st_ino) {
            // SAFETY: the name ends in NUL.
            unsafe { crate::sys::syscall!(libc::SYS_unlinkat, here, path, 0) };
        }
    }

    /// Opens it, made if there is none and it may be; `None` if there is none otherwise.
    fn open(&self, making: Making) -> Result<Option<Opened>, Trouble> {
        for tried in 0..MOST_OPENS {
            let made = match Opened::open(&self.path, 0) {
                Err(libc::ENOENT) if making == Making::Nothing => return Ok(None),
                Err(libc::ENOENT) => Opened::open(&self.path, libc::O_CREAT | libc::O_EXCL).inspect(|file| {
                    // Whatever the umask: it will be opened again.
                    // SAFETY: the descriptor is ours. A file system without permissions refuses.
                    unsafe { crate::sys::syscall!(libc::SYS_fchmod, file.file, 0o600) };
                }),
                opened => opened,
            };
            match made {
                Ok(file) => return Ok(Some(file)),
                // Somebody was first.
                Err(libc::EEXIST | libc::EINTR) => {}
                // The directory of spools, which is made with the first of them.
                Err(libc::ENOENT) if tried == 0 && making == Making::All && !held::is_in_force() => {
                    let (here, name) = (libc::AT_FDCWD, &self.directory);
                    // SAFETY: the name ends in NUL; a failure shows when the file is made.
                    if unsafe { crate::sys::syscall!(libc::SYS_mkdirat, here, name.as_ptr(), 0o700) } == 0 {
                        crate::flush::has_mode(name, 0o700);
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
