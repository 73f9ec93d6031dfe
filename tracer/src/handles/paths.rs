//! Makes path names absolute lexically, relative to the working directory or to a descriptor's directory.
#![expect(unsafe_code, reason = "getcwd(2), readlink(2)")]

use super::canonical_name::{self, Moment};
use super::resolve::link_of;
use crate::file_status;
use libc::c_int;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};

/// Size of a buffer that suffices for paths of common length, in bytes.
pub(super) const COMMON_BYTES: usize = 512;

/// True if `name` is absolute and no component is empty or begins with a dot.
pub(super) fn is_normal(name: &[u8]) -> bool {
    name.len() > 1
        && name.first() == Some(&b'/')
        && name.last() != Some(&b'/')
        && !name.windows(2).any(|pair| pair[0] == b'/' && (pair[1] == b'/' || pair[1] == b'.'))
}

/// Writes the absolute form of `name` to `out`. Returns its length, and true if a component was `..`. `None` if the name is empty, too long
/// for `out`, or relative to an unknown directory. Changes errno.
pub(super) fn absolute(at: c_int, name: &[u8], out: &mut [u8], now: Moment) -> Option<(usize, bool)> {
    let first = name.first()?;
    let mut length = 0;
    let mut goes_back = false;
    if *first != b'/' {
        length = if at == libc::AT_FDCWD { working_directory(out)? } else { directory(at, out, now)? };
        if length == 1 {
            length = 0;
        }
    }
    for part in name.split(|&byte| byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => {
                goes_back = true;
                length = out[..length].iter().rposition(|&byte| byte == b'/').unwrap_or(0);
            }
            _ => {
                let end = length + 1 + part.len();
                let place = out.get_mut(length..end)?;
                place[0] = b'/';
                place[1..].copy_from_slice(part);
                length = end;
            }
        }
    }
    if length == 0 {
        *out.first_mut()? = b'/';
        length = 1;
    }
    Some((length, goes_back))
}

/// Returns `length` if the directory path in `out` begins with a slash (else the directory is unreachable from this process's root) and is
/// not truncated.
fn whole(length: usize, out: &[u8]) -> Option<usize> {
    (length > 0 && length < out.len() && out.first() == Some(&b'/')).then_some(length)
}

fn working_directory(out: &mut [u8]) -> Option<usize> {
    // SAFETY: the buffer is a Rust slice; the result counts the NUL.
    let length = unsafe { crate::sys::syscall!(libc::SYS_getcwd, out.as_mut_ptr(), out.len()) };
    whole(usize::try_from(length - 1).ok()?, out)
}

fn directory(number: c_int, out: &mut [u8], now: Moment) -> Option<usize> {
    let identity = identity(number);
    // A child process may just have renamed the directory.
    if let Some(identity) = identity.filter(|_| canonical_name::is_alone())
        && let Some(length) = Directory::of(identity).path(identity, now, out)
    {
        return Some(length);
    }
    let mut link = [0_u8; 40];
    let link = link_of(number, &mut link);
    // SAFETY: the name ends in NUL, and the buffer is a Rust slice.
    let length =
        unsafe { crate::sys::syscall!(libc::SYS_readlinkat, libc::AT_FDCWD, link, out.as_mut_ptr(), out.len()) };
    let length = whole(usize::try_from(length).ok()?, out)?;
    if let Some(identity) = identity {
        Directory::of(identity).keep(identity, now, &out[..length]);
    }
    Some(length)
}

/// Returns device, inode and mount ID of a directory, which identify its path. `None` if the directory was removed or the IDs are unknown.
fn identity(number: c_int) -> Option<[u64; 3]> {
    let about = file_status::of(number).filter(|about| about.links > 0)?;
    Some([about.device, about.inode, about.mount?])
}

const WORDS: usize = 32;

/// Cache entry: path of a directory to which a descriptor of the program refers.
struct Directory {
    /// Sequence lock of the cache entry: odd while a thread writes the entry.
    turn: AtomicU32,
    moment: AtomicU64,
    identity: [AtomicU64; 3],
    length: AtomicUsize,
    path: [AtomicU64; WORDS],
}

static DIRECTORIES: [Directory; 64] = [const {
    Directory {
        turn: AtomicU32::new(0),
        moment: AtomicU64::new(0),
        identity: [const { AtomicU64::new(0) }; 3],
        length: AtomicUsize::new(0),
        path: [const { AtomicU64::new(0) }; WORDS],
    }
}; 64];

impl Directory {
    /// Returns the cache entry for a directory. Several directories have the same entry, which holds the latest of them.
    fn of([device, inode, mount]: [u64; 3]) -> &'static Self {
        let mixed = (inode ^ device.rotate_left(32) ^ mount.rotate_left(16)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        &DIRECTORIES[(mixed >> 32) as usize % DIRECTORIES.len()]
    }

    /// Copies the path to `out` if the entry belongs to this directory and may still be reused; returns the length of the path in bytes.
    fn path(&self, identity: [u64; 3], now: Moment, out: &mut [u8]) -> Option<usize> {
        let turn = self.turn.load(Ordering::Acquire);
        let same = self.identity.iter().zip(identity).all(|(known, is)| known.load(Ordering::Relaxed) == is);
        let length = self.length.load(Ordering::Relaxed);
        if !turn.is_multiple_of(2) || !same || !now.believes(self.moment.load(Ordering::Relaxed)) || length >= out.len()
        {
            return None;
        }
        for (piece, word) in out[..length].chunks_mut(8).zip(&self.path) {
            piece.copy_from_slice(&word.load(Ordering::Relaxed).to_ne_bytes()[..piece.len()]);
        }
        // Succeeds only if nobody has written to the entry meanwhile.
        fence(Ordering::Acquire);
        (self.turn.load(Ordering::Relaxed) == turn).then_some(length)
    }

    fn keep(&self, identity: [u64; 3], now: Moment, path: &[u8]) {
        let turn = self.turn.load(Ordering::Relaxed);
        let free = turn.is_multiple_of(2) && path.len() <= WORDS * 8;
        let next = turn.wrapping_add(1);
        // The path is not cached if the entry is being written by another thread, or by code that this signal handler interrupted.
        if !free || self.turn.compare_exchange(turn, next, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return;
        }
        fence(Ordering::Release);
        self.moment.store(now.raw(), Ordering::Relaxed);
        self.length.store(path.len(), Ordering::Relaxed);
        self.identity.iter().zip(identity).for_each(|(place, is)| place.store(is, Ordering::Relaxed));
        for (piece, word) in path.chunks(8).zip(&self.path) {
            let mut bytes = [0; 8];
            bytes[..piece.len()].copy_from_slice(piece);
            word.store(u64::from_ne_bytes(bytes), Ordering::Relaxed);
        }
        self.turn.store(next.wrapping_add(1), Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    fn made(at: c_int, name: &str) -> Option<(String, bool)> {
        let mut out = [0; COMMON_BYTES];
        let (length, goes_back) = absolute(at, name.as_bytes(), &mut out, Moment::now())?;
        Some((String::from_utf8_lossy(&out[..length]).into(), goes_back))
    }

    #[test]
    fn names_become_absolute() {
        let here = libc::AT_FDCWD;
        for (name, path, back) in
            [("/a/b", "/a/b", false), ("//a/./b/../c/", "/a/c", true), ("/../..", "/", true), ("/", "/", false)]
        {
            assert_eq!(made(here, name), Some((path.into(), back)));
        }
        let directory = std::env::current_dir().unwrap();
        assert_eq!(made(here, "x/../y"), Some((directory.join("y").display().to_string(), true)));
        assert_eq!(made(here, ""), None);
        assert_eq!(made(here, &"/x".repeat(3000)), None);
    }

    #[test]
    fn a_directory_behind_a_descriptor_is_remembered() {
        let root = std::env::temp_dir().canonicalize().unwrap();
        let opened = std::fs::File::open(&root).unwrap();
        let mut out = [0; COMMON_BYTES];
        let now = Moment::now();
        let expected = root.join("x").display().to_string();
        for _ in 0..2 {
            assert_eq!(made(opened.as_raw_fd(), "x"), Some((expected.clone(), false)));
        }
        let Some(identity) = identity(opened.as_raw_fd()) else { return };
        let place = Directory::of(identity);
        place.keep(identity, now, b"/the/name");
        assert_eq!(place.path(identity, now, &mut out), Some(9));
        assert_eq!(&out[..9], b"/the/name");
        assert_eq!(place.path([identity[0], identity[1], identity[2] + 1], now, &mut out), None);
        assert_eq!(place.path(identity, now, &mut [0; 9]), None);
        // A look-up ignores an entry that is being written.
        place.turn.fetch_add(1, Ordering::Relaxed);
        assert_eq!(place.path(identity, now, &mut out), None);
        place.turn.fetch_add(1, Ordering::Relaxed);
    }

    #[test]
    fn normal_names_are_reported() {
        assert!(["/a", "/a/b.c", "/a/b..", "/x-y/z"].iter().all(|name| is_normal(name.as_bytes())));
        for name in ["", "/", "a", "/a/", "//a", "/a//b", "/./a", "/a/..", "/a/../b", "/.hidden"] {
            assert!(!is_normal(name.as_bytes()), "{name}");
        }
    }
}
