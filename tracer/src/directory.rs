//! Opens and creates the directories of the tracer's files: traces, spools and the budget file. The output directory is looked up by name
//! once and then used through a descriptor, so that renames on its path have no effect. Search and write permission suffice.
#![expect(unsafe_code, reason = "open(2), mkdir(2), chmod(2), unlink(2)")]

use crate::{errno, own_directories};
use std::ffi::{CStr, CString};

/// File descriptor owned by the tracer; closed when dropped.
#[derive(Debug)]
pub(crate) struct Handle(libc::c_int);

impl Handle {
    /// Opens `name`, relative to the directory descriptor `at`, with `flags`; returns the errno on failure.
    pub(crate) fn open(at: libc::c_int, name: &CStr, flags: libc::c_int, mode: u32) -> Result<Self, libc::c_int> {
        let flags = flags | libc::O_CLOEXEC;
        // SAFETY: the name is NUL-terminated. Raw system calls throughout this file, since libc's functions may be wrapped.
        let file = unsafe { crate::sys::syscall!(libc::SYS_openat, at, name.as_ptr(), flags, mode) };
        if file < 0 { Err(errno::save().value()) } else { Ok(Self(file as libc::c_int)) }
    }

    pub(crate) const fn number(&self) -> libc::c_int {
        self.0
    }

    pub(crate) fn about(&self) -> Result<libc::stat, libc::c_int> {
        crate::file_status::fstat(self.0).ok_or_else(|| errno::save().value())
    }

    /// Closes the descriptor and returns any error: some file systems write data only on close.
    pub(crate) fn close(self) -> Result<(), libc::c_int> {
        let number = self.0;
        std::mem::forget(self);
        // SAFETY: this handle is the descriptor's only owner.
        let closed = unsafe { crate::sys::syscall!(libc::SYS_close, number) } == 0;
        if closed { Ok(()) } else { Err(errno::save().value()) }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: this handle is the descriptor's only owner.
        unsafe { crate::sys::syscall!(libc::SYS_close, self.0) };
    }
}

#[derive(Debug)]
pub(crate) struct Directory {
    handle: Handle,
    path: Vec<u8>,
    private: bool,
}

impl Directory {
    /// Opens the directory at `path`, which is absolute.
    ///
    /// # Errors
    /// Fails if the directory cannot be opened.
    pub(crate) fn open(path: &[u8]) -> Result<Self, String> {
        if own_directories::is_in_force() {
            return Self::held(path);
        }
        Ok(Self::opened(libc::AT_FDCWD, path, path, 0)?.0)
    }

    /// Returns the directory at `path` by a descriptor that the tracer opened before chroot(2) or a similar call.
    ///
    /// # Errors
    /// Fails if the tracer holds no descriptor of the directory.
    pub(crate) fn held(path: &[u8]) -> Result<Self, String> {
        let number = own_directories::number(path).ok_or_else(|| out_of_reach(path))?;
        Ok(Self::opened(number, b".", path, 0)?.0)
    }

    /// Opens `name`, relative to the descriptor `at`, as a directory. Returns the directory and the user id of its owner. `path` is used in messages.
    fn opened(at: libc::c_int, name: &[u8], path: &[u8], flags: libc::c_int) -> Result<(Self, libc::uid_t), String> {
        let name = CString::new(name).map_err(|_| "the output path contains a NUL byte".to_owned())?;
        let failed = |errno| failed("open the directory", path, errno);
        let handle = Handle::open(at, &name, libc::O_PATH | libc::O_DIRECTORY | flags, 0).map_err(failed)?;
        let about = handle.about().map_err(failed)?;
        let private = names_stay(about.st_uid, about.st_mode, crate::job::effective_user());
        Ok((Self { handle, path: path.to_vec(), private }, about.st_uid))
    }

    /// Opens the directory at `path`. First creates the directory and its parents, where absent, with the permissions `mode`.
    ///
    /// # Errors
    /// Fails like [`Self::open`].
    pub(crate) fn make(path: &[u8], mode: u32) -> Result<Self, String> {
        let there = Self::open(path);
        if there.is_ok() || own_directories::is_in_force() {
            return there;
        }
        let ends = path.iter().enumerate().skip(1).filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        let mut unmade = None;
        for end in ends.chain([path.len()]) {
            let Ok(name) = CString::new(&path[..end]) else { continue };
            // SAFETY: the name is NUL-terminated.
            let made = unsafe { crate::sys::syscall!(libc::SYS_mkdirat, libc::AT_FDCWD, name.as_ptr(), mode) } == 0;
            // EEXIST is no failure. Of other failures only the first is reported: the missing parent explains the rest.
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

    /// Opens the directories `own` below `shared`, an existing directory to which other users may write. Creates each absent directory,
    /// with permissions `mode`. Each must belong to this user and be no symbolic link, so that no other user can have prepared a directory
    /// for this user's traces.
    ///
    /// # Errors
    /// Fails like [`Self::make`], or if a directory belongs to another user.
    pub(crate) fn make_own(shared: &[u8], own: &[u8], mode: u32) -> Result<Self, String> {
        if own_directories::is_in_force() {
            return Self::held(&[shared, own].concat());
        }
        let above = shared.strip_suffix(b"/").filter(|above| !above.is_empty()).unwrap_or(shared);
        // `shared` itself is never created: as this user's directory it would lock out all other users.
        let mut here = Self::open(above)?;
        for name in own.split(|&byte| byte == b'/').filter(|name| !name.is_empty()) {
            let path = [here.path.strip_suffix(b"/").unwrap_or(&here.path), b"/", name].concat();
            let c_name = CString::new(name).map_err(|_| "the output path contains a NUL byte".to_owned())?;
            // SAFETY: the name is NUL-terminated. An existing directory is checked below; any other failure makes the open below fail.
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

    pub(crate) const fn number(&self) -> libc::c_int {
        self.handle.number()
    }

    /// Returns the path of `name` in the directory, for messages.
    pub(crate) fn path_of(&self, name: &CStr) -> Vec<u8> {
        [self.path.as_slice(), b"/", name.to_bytes()].concat()
    }

    pub(crate) fn path(&self) -> &[u8] {
        &self.path
    }

    /// True if no other user except root can remove or replace this user's files in the directory.
    pub(crate) const fn is_private(&self) -> bool {
        self.private
    }

    /// Checks, by the permissions of the directory and of its file system, that files can be created in the directory.
    ///
    /// # Errors
    /// Returns a message with the path and the errno if files cannot be created.
    pub(crate) fn can_be_written(&self) -> Result<(), String> {
        let needed = libc::W_OK | libc::X_OK;
        // SAFETY: the name is NUL-terminated.
        let may = unsafe { crate::sys::syscall!(libc::SYS_faccessat, self.number(), c".".as_ptr(), needed) } == 0;
        if may { Ok(()) } else { Err(failed("write into", &self.path, errno::save().value())) }
    }

    pub(crate) fn remove(&self, name: &CStr) {
        // SAFETY: the name is NUL-terminated.
        unsafe { crate::sys::syscall!(libc::SYS_unlinkat, self.number(), name.as_ptr(), 0) };
    }
}

/// True if users other than root cannot replace a file of `user` in a directory with this owner and mode. The owner must be `user` or root,
/// and either only the owner may write or the sticky bit is set. POSIX ACLs show in the group bits (acl(5)).
const fn names_stay(owner: libc::uid_t, mode: libc::mode_t, user: libc::uid_t) -> bool {
    (owner == user || owner == 0) && (mode & 0o022 == 0 || mode & libc::S_ISVTX != 0)
}

/// Adds the permissions in `mode` that the umask removed from the directory `name` (relative to `at`), which this process has just created.
pub(crate) fn give(at: libc::c_int, name: &CStr, mode: u32) {
    let flags = libc::O_PATH | libc::O_DIRECTORY | libc::O_NOFOLLOW;
    let Ok(made) = Handle::open(at, name, flags, 0) else { return };
    let Ok(about) = made.about() else { return };
    // Another user may have replaced the directory.
    if about.st_mode & mode == mode || about.st_uid != crate::job::effective_user() {
        return;
    }
    let mode = about.st_mode & 0o7777 | mode;
    // SAFETY: the name is NUL-terminated.
    let given = unsafe { crate::sys::syscall!(libc::SYS_fchmodat, made.number(), c".".as_ptr(), mode) } == 0;
    // Without search permission the owner cannot name "." in the directory; the path in /proc works.
    if !given && let Ok(path) = CString::new(format!("/proc/self/fd/{}", made.number())) {
        // SAFETY: the path is NUL-terminated.
        unsafe { crate::sys::syscall!(libc::SYS_fchmodat, libc::AT_FDCWD, path.as_ptr(), mode) };
    }
}

/// True if a file or directory `name` exists. The result of mkdir(2) does not show that: mkdir(2) may fail with EROFS before checking for
/// existence.
fn exists(name: &CStr) -> bool {
    // SAFETY: the name is NUL-terminated.
    let found = unsafe { crate::sys::syscall!(libc::SYS_faccessat, libc::AT_FDCWD, name.as_ptr(), libc::F_OK) };
    found == 0
}

/// Returns the message about a directory that its path no longer leads to.
pub(crate) fn out_of_reach(path: &[u8]) -> String {
    format!("{} is another directory here or does not exist (chroot, or another mount)", String::from_utf8_lossy(path))
}

/// Returns an error message such as `failed to open /x: No such file or directory`, with `what` as the first part.
pub(crate) fn failed(what: &str, path: &[u8], errno: libc::c_int) -> String {
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
            // The owner of a sticky directory may rename files in the directory.
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
