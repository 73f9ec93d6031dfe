//! Names of trace files, and writing one by system calls. A file has the suffix `.partial` until it is whole.
#![expect(unsafe_code, reason = "open(2), write(2), rename(2), mkdir(2)")]

use crate::config::Config;
use crate::job;
use std::ffi::CString;

/// `YYYYMMDDThhmmssZ` of a wall-clock time. Civil date from days: Hinnant, "chrono-Compatible Low-Level Date Algorithms".
fn stamp(unix_ns: i64) -> String {
    let seconds = unix_ns.div_euclid(1_000_000_000);
    let (days, in_day) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hour, minute, second) = (in_day / 3600, in_day / 60 % 60, in_day % 60);
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
}

/// Keeps what is harmless in a file name.
fn clean(text: &[u8]) -> String {
    let keep = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    text.iter().map(|byte| if keep(byte) { char::from(*byte) } else { '_' }).take(64).collect()
}

/// Directory and the start of the name: `<dir>/<exe>_<time>`.
fn prefix(config: &Config) -> Vec<u8> {
    let Some(identity) = job::identity() else { return b"trace".to_vec() };
    let mut path = Vec::new();
    if !config.output_dir.starts_with(b"/") {
        path.extend_from_slice(&identity.cwd);
        path.push(b'/');
    }
    path.extend_from_slice(&config.output_dir);
    if !path.ends_with(b"/") {
        path.push(b'/');
    }
    let name = format!("{}_{}", clean(job::basename(&identity.exe)), stamp(identity.start_unix_ns));
    path.extend_from_slice(name.as_bytes());
    path
}

/// Where a process's own trace goes.
pub(super) fn process_path(config: &Config, (node, pid): (&str, u32)) -> Vec<u8> {
    let mut path = prefix(config);
    path.extend_from_slice(format!("_{}_{pid}.dxt", clean(node.as_bytes())).as_bytes());
    path
}

/// Where the trace of all ranks goes; asked of rank 0.
pub(super) fn job_path(config: &Config, ranks: i32) -> Vec<u8> {
    let mut path = prefix(config);
    path.extend_from_slice(format!("_{}_{ranks}ranks.dxt", job::process_ids().0).as_bytes());
    path
}

fn c_string(path: &[u8], suffix: &str) -> Result<CString, String> {
    let mut bytes = path.to_vec();
    bytes.extend_from_slice(suffix.as_bytes());
    CString::new(bytes).map_err(|_| "the output path holds a NUL".to_owned())
}

fn failed(what: &str, path: &CString) -> String {
    let errno = crate::errno::save().value();
    format!("failed to {what} {}: {}", path.to_string_lossy(), std::io::Error::from_raw_os_error(errno))
}

/// Makes the directories above `path`.
pub(super) fn make_directories(path: &[u8]) {
    for (at, _) in path.iter().enumerate().skip(1).filter(|(_, byte)| **byte == b'/') {
        if let Ok(directory) = CString::new(&path[..at]) {
            // SAFETY: the name ends in NUL. One that exists is fine; any other failure shows when the file is made.
            unsafe { crate::sys::syscall!(libc::SYS_mkdirat, libc::AT_FDCWD, directory.as_ptr(), 0o777) };
        }
    }
}

/// Writes `bytes` to `path`, or to `path` with a number if that exists; returns the name taken.
pub(super) fn write(path: &[u8], bytes: &[u8]) -> Result<Vec<u8>, String> {
    make_directories(path);
    let partial = c_string(path, ".partial")?;
    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC | libc::O_CLOEXEC;
    // SAFETY: the name ends in NUL.
    let file = unsafe { crate::sys::syscall!(libc::SYS_openat, libc::AT_FDCWD, partial.as_ptr(), flags, 0o666) };
    if file < 0 {
        return Err(failed("create", &partial));
    }
    let mut rest = bytes;
    while !rest.is_empty() {
        // SAFETY: the buffer is as long as said.
        let written = unsafe { crate::sys::syscall!(libc::SYS_write, file, rest.as_ptr(), rest.len()) };
        if written > 0 {
            rest = rest.get(written as usize..).unwrap_or_default();
        } else if crate::errno::save().value() != libc::EINTR {
            let message = failed("write", &partial);
            // SAFETY: opened above.
            unsafe { crate::sys::syscall!(libc::SYS_close, file) };
            remove(&partial);
            return Err(message);
        }
    }
    // SAFETY: opened above.
    if unsafe { crate::sys::syscall!(libc::SYS_close, file) } != 0 {
        let message = failed("close", &partial);
        remove(&partial);
        return Err(message);
    }
    finish(path)
}

fn remove(path: &CString) {
    // SAFETY: the name ends in NUL.
    unsafe { crate::sys::syscall!(libc::SYS_unlinkat, libc::AT_FDCWD, path.as_ptr(), 0) };
}

/// Removes the unfinished file of `path`.
pub(super) fn abandon(path: &[u8]) {
    if let Ok(partial) = c_string(path, ".partial") {
        remove(&partial);
    }
}

/// Gives the finished `path.partial` its name: `path`, or `path` with a number where that is taken. A link fails if the
/// name exists, so no other process's trace is ever replaced.
pub(super) fn finish(path: &[u8]) -> Result<Vec<u8>, String> {
    let partial = c_string(path, ".partial")?;
    let stem = path.strip_suffix(b".dxt").unwrap_or(path);
    for number in 1..1000 {
        let mut name = stem.to_vec();
        if number > 1 {
            name.extend_from_slice(format!(".{number}").as_bytes());
        }
        name.extend_from_slice(b".dxt");
        let target = c_string(&name, "")?;
        // SAFETY: both names end in NUL.
        let result = unsafe {
            crate::sys::syscall!(
                libc::SYS_renameat2,
                libc::AT_FDCWD,
                partial.as_ptr(),
                libc::AT_FDCWD,
                target.as_ptr(),
                libc::RENAME_NOREPLACE,
            )
        };
        if result == 0 {
            return Ok(name);
        }
        match crate::errno::save().value() {
            libc::EEXIST => {}
            // File systems without RENAME_NOREPLACE: look first, which is as good as it gets there.
            libc::EINVAL | libc::ENOSYS => {
                // SAFETY: as above.
                let exists =
                    unsafe { crate::sys::syscall!(libc::SYS_faccessat, libc::AT_FDCWD, target.as_ptr(), libc::F_OK) }
                        == 0;
                // SAFETY: as above.
                let rename = || unsafe {
                    crate::sys::syscall!(
                        libc::SYS_renameat2,
                        libc::AT_FDCWD,
                        partial.as_ptr(),
                        libc::AT_FDCWD,
                        target.as_ptr(),
                        0,
                    )
                };
                if !exists && rename() == 0 {
                    return Ok(name);
                }
            }
            _ => return Err(failed("rename", &partial)),
        }
    }
    Err(format!("failed to find a free name for {}", partial.to_string_lossy()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_are_dates() {
        assert_eq!(stamp(0), "19700101T000000Z");
        assert_eq!(stamp(951_782_400_000_000_000), "20000229T000000Z");
        assert_eq!(stamp(1_795_910_399_999_999_999), "20261128T235959Z");
    }

    #[test]
    fn a_taken_name_gets_a_number() {
        let directory = std::env::temp_dir().join(format!("dxt-output-{}", std::process::id()));
        let path = directory.join("a/b/x.dxt");
        let bytes = path.to_str().unwrap().as_bytes();
        assert_eq!(write(bytes, b"one").unwrap(), bytes);
        assert!(write(bytes, b"two").unwrap().ends_with(b"x.2.dxt"));
        assert_eq!(std::fs::read(&path).unwrap(), b"one");
        std::fs::remove_dir_all(directory).unwrap();
    }
}
