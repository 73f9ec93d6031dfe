//! Files that a call names and does not open: the name made absolute, lexically, against the working directory or a
//! descriptor's directory. Symbolic links are not followed: that would take system calls that the program does not make.
#![expect(unsafe_code, reason = "access(2); a string of the program")]

use super::certain::Moment;
use super::paths;
use crate::config::Mode;
use crate::memory::Loan;
use crate::notes::Note;
use crate::registry::{self, File, Identity, Verdict};
use libc::{c_char, c_int};
use std::ffi::CStr;
use std::sync::atomic::{AtomicU32, Ordering};

/// Most files that are made for names of failing calls: a search along a path must not fill the table.
const MOST_FAILED_NAMES: u32 = 1 << 14;
/// In counters mode, which has room for few files, a quarter of them.
fn most_failed_names() -> u32 {
    match crate::config::current() {
        Some(config) if config.mode == Mode::Counters => (config.counters_files / 4) as u32,
        _ => MOST_FAILED_NAMES,
    }
}
static FAILED_NAMES: AtomicU32 = AtomicU32::new(0);
/// Most files that are made for names of calls that open nothing.
const MOST_NAMES: u32 = 1 << 15;
static NAMES: AtomicU32 = AtomicU32::new(0);
/// Most directories whose other names are told apart.
const MOST_DIRECTORIES: u32 = 1 << 13;
static DIRECTORIES: AtomicU32 = AtomicU32::new(0);

/// The recorded file that a call which succeeded calls `name`, relative to the directory `at`. May change errno.
pub(crate) fn named(at: c_int, name: *const c_char) -> Option<&'static File> {
    with_path(at, name, |path| {
        let file = registry::find_file(path).or_else(|| new_name(path));
        if file.is_none() {
            Note::FileTableFull.count();
        }
        file
    })
}

/// The file of a path that was not seen before. Programs that walk over millions of names must not fill the table: beyond a
/// number of them the others of a directory are one, whose path is the directory's with a slash behind, as no file's is.
fn new_name(path: &[u8]) -> Option<&'static File> {
    if let Some(file) = within(&NAMES, MOST_NAMES, path) {
        return Some(file);
    }
    if let Some(file) = registry::condensed(path) {
        return Some(file);
    }
    Note::MoreNames.count();
    let end = path.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
    let directory = &path[..end];
    let known = registry::find_file(directory).or_else(|| within(&DIRECTORIES, MOST_DIRECTORIES, directory));
    // All others are under the root.
    known.or_else(|| registry::find_or_add(b"/", Identity::default()))
}

/// Makes a file if fewer than `most` were made so.
fn within(made: &AtomicU32, most: u32, path: &[u8]) -> Option<&'static File> {
    if made.load(Ordering::Relaxed) >= most {
        return None;
    }
    let file = registry::find_or_add(path, Identity::default())?;
    made.fetch_add(1, Ordering::Relaxed);
    Some(file)
}

/// As [`named`], for a call that failed with `error`.
pub(crate) fn failed_name(at: c_int, name: *const c_char, error: c_int) -> Option<&'static File> {
    if !is_readable(name, error) {
        Note::Name.count();
        return None;
    }
    with_path(at, name, failed_path)
}

/// The recorded file of an absolute path on which a call failed.
fn failed_path(path: &[u8]) -> Option<&'static File> {
    if let Some(file) = registry::find_file(path) {
        return Some(file);
    }
    let file = within(&FAILED_NAMES, most_failed_names(), path).or_else(|| registry::condensed(path));
    if file.is_none() {
        Note::Name.count();
    }
    file
}

/// The same for a path that may be none that is recorded.
pub(crate) fn failed_canonical(path: &[u8]) -> Option<&'static File> {
    if is_recorded(path) { failed_path(path) } else { None }
}

/// Whether calls on this name are recorded; counts those that are not.
fn is_recorded(path: &[u8]) -> bool {
    match registry::judge(path) {
        Verdict::Recorded => return true,
        Verdict::System | Verdict::MpiInternal => Note::SystemName.count(),
        Verdict::Excluded | Verdict::NotIncluded => Note::FilteredName.count(),
    }
    false
}

/// Whether the string can be read. Only the kernel can tell; most errors say that it has read it.
fn is_readable(name: *const c_char, error: c_int) -> bool {
    match error {
        libc::EFAULT => false,
        // These may come before the kernel looks at the name.
        libc::EINVAL | libc::ENOSYS | libc::EPERM | libc::EBADF => {
            // SAFETY: asks whether the file exists; a bad pointer is an error of the system call.
            let result = unsafe { crate::sys::syscall!(libc::SYS_faccessat, libc::AT_FDCWD, name, libc::F_OK) };
            result == 0 || crate::errno::save().value() != libc::EFAULT
        }
        _ => !name.is_null(),
    }
}

fn with_path(
    at: c_int,
    name: *const c_char,
    find: impl FnOnce(&[u8]) -> Option<&'static File>,
) -> Option<&'static File> {
    // SAFETY: the kernel has read the string. A null pointer with AT_EMPTY_PATH is an empty name (Linux 6.11).
    let name = if name.is_null() { b"" } else { unsafe { CStr::from_ptr(name) }.to_bytes() };
    if name.is_empty() && at >= 0 {
        return super::resolve::descriptor(at).and_then(|target| target.file());
    }
    let Some(mut path) = Loan::take() else {
        Note::Name.count();
        return None;
    };
    let Some((length, _)) = paths::absolute(at, name, &mut *path, Moment::now()) else {
        Note::Name.count();
        return None;
    };
    let path = &path[..length];
    if is_recorded(path) { find(path) } else { None }
}
