//! Directory and file names of spools, on storage local to this node.
#![expect(unsafe_code, reason = "statfs(2), shares a leaked string")]

use crate::config::{self, Config, Spool};
use crate::job;
use crate::own_directories::{self, For};
use std::ffi::{CStr, CString};
use std::sync::atomic::{AtomicPtr, Ordering};
use trace_format::spool::is_seen_elsewhere;

/// Common prefix of the file names of this process's spools and spill file; null until first needed. Never freed.
static STEM: AtomicPtr<CString> = AtomicPtr::new(std::ptr::null_mut());

/// Returns a path in `directory`, ending in `end`, that is unique to this process on this machine and does not change with exec(3).
pub(super) fn name(directory: &CStr, end: &str) -> Option<CString> {
    CString::new([directory.to_bytes(), b"/", stem()?.to_bytes(), end.as_bytes()].concat()).ok()
}

/// Returns the prefix of the process's file names. Fixed once used, since readers find files by it, while its components may change
/// (setuid(2)) or become inaccessible (proc(5)).
fn stem() -> Option<&'static CStr> {
    let mut kept = STEM.load(Ordering::Acquire);
    if kept.is_null() {
        let (pid, _) = job::process_ids();
        let made = CString::new(format!("dxt-{}-{pid}-{}", job::user(), job::started(pid))).ok()?;
        let made = Box::into_raw(Box::new(made));
        kept = match STEM.compare_exchange(kept, made, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => made,
            Err(others) => others,
        };
    }
    // SAFETY: the pointer is not null, and the string is leaked.
    Some(unsafe { &*kept })
}

/// Forgets the prefix of the spool's file name in a forked child, which gets its own prefix.
pub(super) fn forget() {
    STEM.store(std::ptr::null_mut(), Ordering::Release);
}

pub(super) fn directory() -> Option<CString> {
    if own_directories::is_in_force() {
        own_directories::path(For::Spool).map(CStr::to_owned)
    } else {
        directory_by(config::current()?)
    }
}

/// Returns the directory for the spool file according to `config`, which need not be the settings of this process.
pub(super) fn directory_by(config: &Config) -> Option<CString> {
    match &config.spool {
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

/// Returns the directory for the spill file: the spool's directory, where readers look for the spill file, else a temporary directory.
/// `spool`: NUL-terminated path of the spool.
pub(super) fn spill_directory(spool: Option<&[u8]>) -> Option<CString> {
    match spool {
        Some(path) => directory_of(path),
        None => directory().or_else(|| first_of_this_node(b"").filter(|_| !own_directories::is_in_force())),
    }
}

/// Returns the directory for data shared by the processes of this node: the spool directory if all processes have the same one, else a
/// local temporary directory. TMPDIR is not used, since it may belong to one program that removes it at its end, as `dxt-run` does. A
/// relative spool directory depends on the directory in which a process starts.
pub(super) fn shared_directory(config: &Config) -> Option<CString> {
    let is_of_run = |path: &[u8]| job::basename(path.strip_suffix(b"/").unwrap_or(path)).starts_with(b"dxt-run.");
    match &config.spool {
        Spool::In(path) if path.starts_with(b"/") && !is_of_run(path) => directory_by(config),
        Spool::In(_) | Spool::Auto(_) | Spool::Off => first_of_this_node(b""),
    }
}

/// Returns the directory part of a path, which may end in NUL.
pub(super) fn directory_of(path: &[u8]) -> Option<CString> {
    CString::new(path.rsplitn(2, |&byte| byte == b'/').nth(1)?).ok()
}

fn first_of_this_node(temporary: &[u8]) -> Option<CString> {
    let candidates = [temporary, b"/tmp", b"/dev/shm"];
    let usable = |path: &&[u8]| path.starts_with(b"/");
    candidates.into_iter().filter(usable).filter_map(|path| CString::new(path).ok()).find(is_of_this_node)
}

fn is_of_this_node(path: &CString) -> bool {
    // SAFETY: an all-zero statfs is valid.
    let mut about: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: the name is NUL-terminated, and the structure is a local variable. A raw system call, since statfs(3) may be wrapped.
    let known = unsafe { crate::sys::syscall!(libc::SYS_statfs, path.as_ptr(), &raw mut about) } == 0;
    known && !is_seen_elsewhere(about.f_type as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_processes_share_is_where_all_of_them_look() {
        let of = |spool: &str| {
            let environment: &[(&CStr, &str)] =
                &[(c"DXT_ENABLE", "trace"), (c"DXT_SPOOL", spool), (c"TMPDIR", "/some/where")];
            shared_directory(&config::read(&environment).ok().flatten().expect("settings that make sense"))
        };
        let of_node = first_of_this_node(b"");
        assert_eq!(of("/x/spools").as_deref(), Some(c"/x/spools"));
        assert_eq!(of("/x/dxt-run.spools/y").as_deref(), Some(c"/x/dxt-run.spools/y"));
        for spool in ["/x/dxt-run.a1b2c3d4", "/x/dxt-run.a1b2c3d4/", "spools", "./x/spools", "off", ""] {
            assert_eq!(of(spool), of_node, "{spool}");
        }
    }
}
