//! Files that a call refers to by name without opening them (stat, unlink, ...). Names are made absolute lexically, relative to the working
//! directory or a descriptor's directory. Symbolic links are not followed, which would take additional system calls.
#![expect(unsafe_code, reason = "access(2); a string of the program")]

use super::canonical_name::Moment;
use super::paths;
use crate::config::Mode;
use crate::memory::Loan;
use crate::notes::Note;
use crate::registry::{self, File, Identity, Verdict};
use libc::{c_char, c_int};
use std::ffi::CStr;
use std::sync::atomic::{AtomicU32, Ordering};
use trace_format::meta::path_hash;

/// Maximum number of file records for names on which calls failed, so that a search along a path (like PATH) cannot fill the table.
const MOST_FAILED_NAMES: u32 = 1 << 14;
/// Returns the maximum number of file records for names on which calls failed: [`MOST_FAILED_NAMES`], or in counters mode, which has room
/// for few files, a quarter of the files.
fn most_failed_names() -> u32 {
    match crate::config::current() {
        Some(config) if config.mode == Mode::Counters => (config.counters_files / 4) as u32,
        _ => MOST_FAILED_NAMES,
    }
}
static FAILED_NAMES: AtomicU32 = AtomicU32::new(0);
/// Maximum number of file records for path names in successful calls that open nothing (stat, unlink).
const MOST_NAMES: u32 = 1 << 15;
static NAMES: AtomicU32 = AtomicU32::new(0);
/// Maximum number of file records for directories whose names share a record, once [`MOST_NAMES`] is reached.
const MOST_DIRECTORIES: u32 = 1 << 13;
static DIRECTORIES: AtomicU32 = AtomicU32::new(0);

/// Returns the recorded file to which a successful call refers by `name`, relative to the directory `at`. May change errno.
pub(crate) fn named(at: c_int, name: *const c_char) -> Option<&'static File> {
    with_path(at, name, |path| {
        let file = registry::find_file(path).or_else(|| new_name(path));
        if file.is_none() {
            Note::FileTableFull.count();
        }
        file
    })
}

/// Returns the file record for a new path. Programs that stat or unlink millions of names must not fill the table: beyond [`MOST_NAMES`],
/// all names in one directory share a record. The path of that record is the directory with a trailing slash, which no other record has.
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
    // Names beyond all limits share a record for the root directory.
    known.or_else(|| registry::find_or_add(b"/", Identity::default()))
}

/// Creates a file record for `path` if `made`, the number of records created under this limit, is below `most`.
fn within(made: &AtomicU32, most: u32, path: &[u8]) -> Option<&'static File> {
    if made.load(Ordering::Relaxed) >= most {
        return None;
    }
    let file = registry::find_or_add(path, Identity::default())?;
    made.fetch_add(1, Ordering::Relaxed);
    Some(file)
}

/// Returns the recorded file like [`named`], for a call on `name` that failed with error number `error`.
pub(crate) fn failed_name(at: c_int, name: *const c_char, error: c_int) -> Option<&'static File> {
    if !is_readable(name, error) {
        Note::Name.count();
        return None;
    }
    with_path(at, name, failed_path)
}

/// Returns the recorded file for an absolute path on which a call failed.
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

/// Returns the recorded file for an absolute path on which a call failed, if the filters record the path.
pub(crate) fn failed_canonical(path: &[u8]) -> Option<&'static File> {
    if is_recorded(path) { failed_path(path) } else { None }
}

/// True if the filters record calls on this path; otherwise counts the call as left out by a filter.
fn is_recorded(path: &[u8]) -> bool {
    match registry::judge(path) {
        Verdict::Recorded => return true,
        Verdict::System | Verdict::MpiInternal => Note::SystemName.count(),
        Verdict::Excluded | Verdict::NotIncluded => Note::FilteredName.count(),
    }
    false
}

/// True if `name` is readable memory, for a call that failed with `error`. Most errors imply that the kernel has read the string.
fn is_readable(name: *const c_char, error: c_int) -> bool {
    match error {
        libc::EFAULT => false,
        // The kernel may return these errors before it reads the name.
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
    let found = with_absolute(at, name, |path| if is_recorded(path) { find(path) } else { None });
    if found.is_none() {
        Note::Name.count();
    }
    found.flatten()
}

/// Calls `with` with the absolute path of `name`, relative to the directory `at`; returns `None` if the path is not known.
fn with_absolute<T>(at: c_int, name: &[u8], with: impl FnOnce(&[u8]) -> T) -> Option<T> {
    let mut path = Loan::take()?;
    let (length, _) = paths::absolute(at, name, &mut *path, Moment::now())?;
    Some(with(&path[..length]))
}

/// Returns the hash of the absolute path of `name`, to which a call has renamed a file, relative to the directory `at`; `None` if it is not
/// known. May change errno.
pub(crate) fn hash_of_new_name(at: c_int, name: *const c_char) -> Option<u64> {
    // SAFETY: the kernel has read the string.
    let name = unsafe { CStr::from_ptr(name) }.to_bytes();
    with_absolute(at, name, path_hash)
}
