//! Where spools are put: a directory of this node.
#![expect(unsafe_code, reason = "statfs(2)")]

use crate::config::{self, Spool};
use crate::job;
use std::ffi::CString;
use trace_format::spool::is_seen_elsewhere;

/// Directory for the spool.
pub(super) fn directory() -> Option<CString> {
    match &config::current()?.spool {
        Spool::Off => None,
        Spool::In(directory) if directory.starts_with(b"/") => CString::new(directory.clone()).ok(),
        Spool::In(directory) => {
            let mut path = job::identity()?.cwd.clone();
            path.push(b'/');
            path.extend_from_slice(directory);
            CString::new(path).ok()
        }
        Spool::Auto(temporary) => first_of_this_node(temporary),
    }
}

/// Directory for the spill: the spool's, or a temporary one.
pub(super) fn spill_directory() -> Option<CString> {
    directory().or_else(|| first_of_this_node(b""))
}

fn first_of_this_node(temporary: &[u8]) -> Option<CString> {
    let candidates = [temporary, b"/tmp", b"/dev/shm"];
    let usable = |path: &&[u8]| path.starts_with(b"/");
    candidates.into_iter().filter(usable).filter_map(|path| CString::new(path).ok()).find(is_of_this_node)
}

fn is_of_this_node(path: &CString) -> bool {
    // SAFETY: an all-zero statfs is a valid one.
    let mut about: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: the name ends in NUL, the structure is ours. The raw system call, since statfs(3) may be wrapped.
    let known = unsafe { crate::sys::syscall!(libc::SYS_statfs, path.as_ptr(), &raw mut about) } == 0;
    known && !is_seen_elsewhere(about.f_type as u32)
}
