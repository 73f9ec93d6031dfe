//! The directory that a trace goes into: found once by its name, from then on a handle, so that what others do to names on
//! the way to it changes nothing. No more is asked of it than that it can be searched and written to.
#![expect(unsafe_code, reason = "open(2), mkdir(2), chmod(2), fstat(2), unlink(2)")]

use crate::{errno, held};
use std::ffi::{CStr, CString};

/// A descriptor of the tracer's own; closed when it goes.
#[derive(Debug)]
pub(super) struct Handle(libc::c_int);

impl Handle {
    /// `name` in `at`, opened with `flags`, or the errno.
    pub(super) fn open(at: libc::c_int, name: &CStr, flags: libc::c_int, mode: u32) -> Result<Self, libc::c_int> {
        let flags = flags | libc::O_CLOEXEC;
        // SAFETY: the name ends in NUL. Raw system calls throughout, since the functions may be wrapped.
        let file = unsafe { crate::sys::syscall!(libc::SYS_openat, at, name.as_ptr(), flags, mode) };
        if file < 0 { Err(errno::save().value()) } else { Ok(Self(file as libc::c_int)) }
    }

    /// Its number.
    pub(super) const fn number(&self) -> libc::c_int {
        self.0
    }

    /// What it stands for.
    pub(super) fn about(&self) -> Result<libc::stat, libc::c_int> {
        // SAFETY: an all-zero stat is a valid one.
        let mut about: libc::stat = unsafe { std::mem::zeroed() };
        // SAFETY: the structure is ours.
        let known = unsafe { crate::sys::syscall!(libc::SYS_fstat, self.0, &raw mut about) } == 0;
        if known { Ok(about) } else { Err(errno::save().value()) }
    }

    /// Closes it, and says whether that was all right: some file systems write only now.
    pub(super) fn close(self) -> Result<(), libc::c_int> {
        let number = self.0;
        std::mem::forget(self);
        // SAFETY: ours, and nobody else's.
        let closed = unsafe { crate::sys::syscall!(libc::SYS_close, number) } == 0;
        if closed { Ok(()) } else { Err(errno::save().value()) }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: ours, and nobody else's.
        unsafe { crate::sys::syscall!(libc::SYS_close, self.0) };
    }
}

/// A directory.
#[derive(Debug)]
pub(super) struct Directory {
    handle: Handle,
    path: Vec<u8>,
    private: bool,
}

impl Directory {
    /// The one at `path`, which is absolute.
    ///
    /// # Errors
    /// Why it cannot be opened.
    pub(super) fn open(path: &[u8]) -> Result<Self, String> {
        if held::is_in_force() {
            return Self::held(path);
        }
        Ok(Self::opened(libc::AT_FDCWD, path, path, 0)?.0)
    }

    /// The held one of this path.
    ///
    /// # Errors
    /// That it is out of reach.
    pub(super) fn held(path: &[u8]) -> Result<Self, String> {
        let number = held::number(path).ok_or_else(|| out_of_reach(path))?;
        Ok(Self::opened(number, b".", path, 0)?.0)
    }

    /// The one called `name` in `at`, whose path is `path`, and its owner.
    fn opened(at: libc::c_int, name: &[u8], path: &[u8], flags: libc::c_int) -> Result<(Self, libc::uid_t), String> {
        let name = CString::new(name).map_err(|_| "the output path holds a NUL".to_owned())?;
        let failed = |errno| failed("open the directory", path, errno);
        let handle = Handle::open(at, &name, libc::O_PATH | libc::O_DIRECTORY | flags, 0).map_err(failed)?;
        let about = handle.about().map_err(failed)?;
        let private = names_stay(about.st_uid, about.st_mode, crate::job::effective_user());
        Ok((Self { handle, path: path.to_vec(), private }, about.st_uid))
    }

    /// The same, made first where it is absent, with those above it; `mode` is what others may do in new ones.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub(super) fn make(path: &[u8], mode: u32) -> Result<Self, String> {
        let there = Self::open(path);
        if there.is_ok() || held::is_in_force() {
            return there;
        }
        let ends = path.iter().enumerate().skip(1).filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        let mut unmade = None;
        for end in ends.chain([path.len()]) {
            let Ok(name) = CString::new(&path[..end]) else { continue };
            // SAFETY: the name ends in NUL.
            let made = unsafe { crate::sys::syscall!(libc::SYS_mkdirat, libc::AT_FDCWD, name.as_ptr(), mode) } == 0;
            // One that exists is fine. Of the others the first says why: those below it lack what could not be made.
            let errno = errno::save().value();
            if made {
                give(libc::AT_FDCWD, &name, mode);
            } else if errno != libc::EEXIST && unmade.is_none() && !exists(&name) {
                unmade = Some((end, errno));
            }
        }
        Self::open(path).map_err(|why| match unmade {
            Some((end, errno)) => failed("make the directory", &path[..end], errno),
            None => why,
        })
    }

    /// The directories `own` below `shared`, which is there and which others may write to too: each is made where it is absent, and must be
    /// this user's and no link. So nobody can have prepared another one for this user's traces.
    ///
    /// # Errors
    /// As [`Self::make`], or whose it is.
    pub(super) fn make_own(shared: &[u8], own: &[u8], mode: u32) -> Result<Self, String> {
        if held::is_in_force() {
            return Self::held(&[shared, own].concat());
        }
        let above = shared.strip_suffix(b"/").filter(|above| !above.is_empty()).unwrap_or(shared);
        // Made here it would shut out all other users.
        let mut here = Self::open(above)?;
        for name in own.split(|&byte| byte == b'/').filter(|name| !name.is_empty()) {
            let path = [here.path.strip_suffix(b"/").unwrap_or(&here.path), b"/", name].concat();
            let c_name = CString::new(name).map_err(|_| "the output path holds a NUL".to_owned())?;
            // SAFETY: the name ends in NUL. One that exists is looked at; any other failure shows there.
            if unsafe { crate::sys::syscall!(libc::SYS_mkdirat, here.number(), c_name.as_ptr(), mode) } == 0 {
                give(here.number(), &c_name, mode);
            }
            let (there, owner) = Self::opened(here.number(), name, &path, libc::O_NOFOLLOW)?;
            if owner != crate::job::effective_user() {
                return Err(format!("{} belongs to user {owner}", String::from_utf8_lossy(&path)));
            }
            here = there;
        }
        Ok(here)
    }

    /// For calls that take a directory and a name.
    pub(super) const fn number(&self) -> libc::c_int {
        self.handle.number()
    }

    /// Path of `name` in it, for messages.
    pub(super) fn path_of(&self, name: &CStr) -> Vec<u8> {
        [self.path.as_slice(), b"/", name.to_bytes()].concat()
    }

    /// Path, as it was opened.
    pub(super) fn path(&self) -> &[u8] {
        &self.path
    }

    /// Whether no other user can take away what this one puts into it. Root can, always.
    pub(super) const fn is_private(&self) -> bool {
        self.private
    }

    /// Whether files can be made in it, by its permissions and those of its file system.
    ///
    /// # Errors
    /// Why not.
    pub(super) fn can_be_written(&self) -> Result<(), String> {
        let needed = libc::W_OK | libc::X_OK;
        // SAFETY: the name ends in NUL.
        let may = unsafe { crate::sys::syscall!(libc::SYS_faccessat, self.number(), c".".as_ptr(), needed) } == 0;
        if may { Ok(()) } else { Err(failed("write into", &self.path, errno::save().value())) }
    }

    /// Takes a name away.
    pub(super) fn remove(&self, name: &CStr) {
        // SAFETY: the name ends in NUL.
        unsafe { crate::sys::syscall!(libc::SYS_unlinkat, self.number(), name.as_ptr(), 0) };
    }
}

/// Whether a name in a directory of this owner and mode stays with what `user` gave it to: only the owner and root may write
/// there, or the sticky bit keeps others from what is not theirs, and neither of them is a stranger. (POSIX ACLs show in
/// the group's bits; acl(5).)
const fn names_stay(owner: libc::uid_t, mode: libc::mode_t, user: libc::uid_t) -> bool {
    (owner == user || owner == 0) && (mode & 0o022 == 0 || mode & libc::S_ISVTX != 0)
}

/// Has the directory `name` in `at`, just made by this process, those of the permissions `mode` that its umask took away.
pub(crate) fn give(at: libc::c_int, name: &CStr, mode: u32) {
    let flags = libc::O_PATH | libc::O_DIRECTORY | libc::O_NOFOLLOW;
    let Ok(made) = Handle::open(at, name, flags, 0) else { return };
    let Ok(about) = made.about() else { return };
    // Somebody may have put another in its place.
    if about.st_mode & mode == mode || about.st_uid != crate::job::effective_user() {
        return;
    }
    let mode = about.st_mode & 0o7777 | mode;
    // SAFETY: the name ends in NUL.
    let given = unsafe { crate::sys::syscall!(libc::SYS_fchmodat, made.number(), c".".as_ptr(), mode) } == 0;
    // Nothing in a directory can be named that its owner may not search.
    if !given && let Ok(path) = CString::new(format!("/proc/self/fd/{}", made.number())) {
        // SAFETY: as above.
        unsafe { crate::sys::syscall!(libc::SYS_fchmodat, libc::AT_FDCWD, path.as_ptr(), mode) };
    }
}

/// Whether a name stands for something. Above what can be made may be what cannot: mkdir(2) may refuse a file system that cannot be written to
/// before it looks whether the name is taken.
fn exists(name: &CStr) -> bool {
    // SAFETY: the name ends in NUL.
    let found = unsafe { crate::sys::syscall!(libc::SYS_faccessat, libc::AT_FDCWD, name.as_ptr(), libc::F_OK) };
    found == 0
}

/// Message about a directory to which no name leads any more.
pub(super) fn out_of_reach(path: &[u8]) -> String {
    format!("{} is another directory here, or none (chroot, or another mount)", String::from_utf8_lossy(path))
}

/// `failed to open /x: No such file or directory`.
pub(super) fn failed(what: &str, path: &[u8], errno: libc::c_int) -> String {
    format!("failed to {what} {}: {}", String::from_utf8_lossy(path), std::io::Error::from_raw_os_error(errno))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_whose_directories_names_stay() {
        for (owner, mode, stay) in [
            (1000, 0o755, true),
            (1000, 0o700, true),
            (0, 0o755, true),
            (0, 0o1777, true),
            (1000, 0o1777, true),
            (1000, 0o775, false),
            (0, 0o2770, false),
            (1000, 0o707, false),
            // The owner of a sticky directory may rename what is in it.
            (1001, 0o1777, false),
            (1001, 0o755, false),
        ] {
            assert_eq!(names_stay(owner, mode, 1000), stay, "{owner} {mode:o}");
        }
    }

    #[test]
    fn ones_own_directories_are_no_links_and_nobody_elses() {
        let place = std::env::temp_dir().join(format!("dxt-own-{}", std::process::id()));
        std::fs::create_dir(&place).unwrap();
        let shared = format!("{}/", place.display());
        let made = |own: &str| Directory::make_own(shared.as_bytes(), own.as_bytes(), 0o700).map(|made| made.path);
        assert_eq!(made("1000/a"), Ok(place.join("1000/a").to_str().unwrap().as_bytes().to_vec()));
        assert!(made("1000/a").is_ok(), "it is there");
        std::os::unix::fs::symlink("1000", place.join("link")).unwrap();
        assert!(made("link").unwrap_err().contains("/link"));
        assert!(Directory::make_own(format!("{shared}no/").as_bytes(), b"x", 0o700).is_err());
        if crate::job::effective_user() == 0 {
            std::os::unix::fs::chown(place.join("1000"), Some(65_534), None).unwrap();
            assert!(made("1000/a").unwrap_err().ends_with("belongs to user 65534"));
        }
        std::fs::remove_dir_all(place).unwrap();
    }

    #[test]
    fn what_cannot_be_made_says_which_and_why() {
        let place = std::env::temp_dir().join(format!("dxt-unmade-{}", std::process::id()));
        std::fs::write(&place, "a file").unwrap();
        let below = place.join("a/b");
        let why = Directory::make(below.to_str().unwrap().as_bytes(), 0o700).unwrap_err();
        assert_eq!(why, format!("failed to make the directory {}/a: Not a directory (os error 20)", place.display()));
        std::fs::remove_file(place).unwrap();
    }

    #[test]
    fn a_handle_outlives_its_name() {
        let place = std::env::temp_dir().join(format!("dxt-directory-{}", std::process::id()));
        let (a, b) = (place.join("a/b"), place.join("c"));
        let directory = Directory::make(a.to_str().unwrap().as_bytes(), 0o700).unwrap();
        std::fs::rename(place.join("a"), &b).unwrap();
        let file = Handle::open(directory.number(), c"x", libc::O_CREAT | libc::O_WRONLY, 0o600).unwrap();
        assert!(b.join("b/x").exists());
        file.close().unwrap();
        directory.remove(c"x");
        assert!(!b.join("b/x").exists());
        std::fs::remove_dir_all(place).unwrap();
    }
}
