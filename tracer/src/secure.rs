//! Restricts tracing of privileged programs (AT_SECURE: set-user-ID, set-group-ID, file capabilities), which load the library by
//! /etc/ld.so.preload. User settings are ignored and nothing is printed. Such programs are recorded only if the site's own configuration
//! file asks for it. Their trace goes into a directory that no user can modify, with mode 0600; there is no spool, shared budget or any
//! other file.
#![expect(unsafe_code, reason = "lstat(2)")]

use crate::config::{Config, Environment, Filled, Overflow, Spool};
use std::ffi::CStr;

/// Configuration file of the site's administrator, the only one read for privileged programs.
const FILE: &[u8] = b"/etc/dxt/dxt.conf";

/// Source of the settings of a privileged program: those of the site's configuration file only.
pub(crate) struct Site;

impl Environment for Site {
    fn get(&self, name: &CStr) -> Option<&[u8]> {
        (name == c"DXT_CONFIG").then_some(FILE)
    }

    fn each_name(&self, _: &mut dyn FnMut(&[u8])) {}
}

/// True if the site's configuration file exists and only root can have written it. Allocates nothing.
pub(crate) fn may_start() -> bool {
    is_roots(FILE, libc::S_IFREG)
}

/// Disables, for a privileged program, all settings that write outside of the trace directory. Returns false unless the trace directory is
/// a fixed path (no placeholders) to which only root can write.
pub(crate) fn restrict(config: &mut Config) -> bool {
    config.trace_mode = 0o600;
    config.verbose = 0;
    config.live = false;
    config.spool = Spool::Off;
    config.site.job_bytes = None;
    if config.overflow == Overflow::Spill {
        config.overflow = Overflow::Compact;
    }
    config.output_dir.as_it_is().is_some_and(is_roots_directory)
}

/// True if `path` is a directory that only root can write to, and that no other user can replace.
pub(crate) fn is_roots_directory(path: &[u8]) -> bool {
    is_roots(path, libc::S_IFDIR)
}

/// True if this program is unprivileged, or may write its trace to this directory as a privileged one.
pub(crate) fn may_write_to(filled: &Filled) -> bool {
    !crate::real::is_secure() || is_roots_directory(&filled.path)
}

/// True if the file at the absolute `path` is of type `kind` and belongs to root, other users cannot write to it, and other users cannot
/// rename or replace any directory on the path. Follows no symbolic links.
fn is_roots(path: &[u8], kind: libc::mode_t) -> bool {
    let path = path.strip_suffix(b"/").unwrap_or(path);
    let ends = path.iter().enumerate().skip(1).filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
    let above = |end: usize| is_roots_alone(&path[..end], libc::S_IFDIR, true);
    path.starts_with(b"/") && ends.into_iter().all(above) && is_roots_alone(path, kind, false)
}

/// Checks owner and permissions of the last component of `path` only. `may_be_sticky`: also accepts a directory with the sticky bit, in
/// which others may create files but remove no files of root.
fn is_roots_alone(path: &[u8], kind: libc::mode_t, may_be_sticky: bool) -> bool {
    let mut name = [0_u8; libc::PATH_MAX as usize];
    let Some(room) = name.get_mut(..path.len()).filter(|room| room.len() < libc::PATH_MAX as usize) else {
        return false;
    };
    room.copy_from_slice(path);
    // SAFETY: an all-zero stat is valid.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    let (here, no_links) = (libc::AT_FDCWD, libc::AT_SYMLINK_NOFOLLOW);
    // SAFETY: the name ends in NUL, since it is shorter than its buffer; the structure is a local variable.
    let known =
        unsafe { crate::sys::syscall!(libc::SYS_newfstatat, here, name.as_ptr(), &raw mut stat, no_links) } == 0;
    let others_may = stat.st_mode & 0o022 != 0 && !(may_be_sticky && stat.st_mode & libc::S_ISVTX != 0);
    known && stat.st_mode & libc::S_IFMT == kind && stat.st_uid == 0 && !others_may
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_root_alone_can_write_is_roots() {
        assert!(is_roots(b"/etc/passwd", libc::S_IFREG) && is_roots_directory(b"/usr") && is_roots_directory(b"/usr/"));
        for path in [b"/tmp".as_slice(), b"etc", b"", b"/", b"/no/such/directory", b"/etc/passwd", b"/proc/self"] {
            assert!(!is_roots_directory(path), "{}", String::from_utf8_lossy(path));
        }
        assert!(!is_roots_directory(&[b'/'; 5000]));
    }
}
