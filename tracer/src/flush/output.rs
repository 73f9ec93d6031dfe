//! Output directory, file names and writing of traces. A trace file has the suffix `.partial` until it is complete.

use super::stages;
use super::unfinished::{self, Unfinished};
use crate::config::{Config, Filled, Filling};
use crate::directory::{Directory, out_of_reach};
use crate::notes::Note;
use crate::own_directories::{self, For};
use crate::say::say;
use crate::{anonymize, job, secure, spool};
use std::ffi::CStr;
use trace_format::frame::{FLUSH_FRAME_BYTES, FlushStage, INDEX_ENTRY_BYTES, TRAILER_BYTES};

/// Converts a Unix time to year, month, day and second of the day. Algorithm: Hinnant, "chrono-Compatible Low-Level Date Algorithms".
fn date(unix_ns: i64) -> (i64, i64, i64, i64) {
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
    (year_of_era + era * 400 + i64::from(month <= 2), month, day, in_day)
}

/// Formats a wall-clock time as `YYYYMMDDThhmmssZ`.
fn stamp(unix_ns: i64) -> String {
    let (year, month, day, in_day) = date(unix_ns);
    let (hour, minute, second) = (in_day / 3600, in_day / 60 % 60, in_day % 60);
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
}

/// Replaces characters that are unsafe in file names by `_`, and truncates to 64 bytes.
fn clean(text: &[u8]) -> String {
    let keep = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    text.iter().map(|byte| if keep(byte) { char::from(*byte) } else { '_' }).take(64).collect()
}

fn directory(config: &Config) -> Filled {
    let identity = job::identity();
    let (year, month, day, _) = date(identity.map_or(0, |identity| identity.start_unix_ns));
    let day = format!("{year:04}-{month:02}-{day:02}");
    let job = identity.map_or("", |identity| &identity.name);
    let mut filled = config.output_dir.fill(&Filling { user: job::effective_user(), job, day: &day });
    if !filled.path.starts_with(b"/") {
        let cwd = identity.map(|identity| identity.cwd.as_slice()).unwrap_or_default();
        filled.shared_bytes += cwd.len() + 1;
        filled.path = [cwd, b"/", filled.path.as_slice()].concat();
    }
    while filled.path.len() > 1 && filled.path.ends_with(b"/") {
        filled.path.pop();
    }
    filled
}

fn prefix() -> String {
    let Some(identity) = job::identity() else { return "trace".to_owned() };
    let program = anonymize::in_file_name(job::basename(&identity.exe));
    format!("{}_{}", clean(&program), stamp(identity.start_unix_ns))
}

/// Returns the name of the trace file of one process, without the extension.
fn process_stem((node, pid): (&str, u32)) -> String {
    format!("{}_{}_{pid}", prefix(), clean(node.as_bytes()))
}

/// Returns the path that the trace file of one process will have, unless that name is taken. `place`: node name and process id.
pub(super) fn process_path(config: &Config, place: (&str, u32)) -> Vec<u8> {
    [directory(config).path.as_slice(), b"/", process_stem(place).as_bytes(), b".dxt"].concat()
}

/// Returns the name of the trace file of all ranks, without the extension. Called on rank 0.
pub(super) fn job_stem(ranks: i32) -> String {
    format!("{}_{}_{ranks}ranks", prefix(), job::process_ids().0)
}

/// Returns the permissions of the output directory: users who may read a trace (`mode`) may also search the directory.
const fn directory_mode(mode: u32) -> u32 {
    mode | (mode & 0o444) >> 2
}

/// Creates a trace file named `stem` in the output directory. Creates the directory if absent.
///
/// # Errors
/// Fails if the directory or the file cannot be created.
pub(super) fn new_file(config: &Config, stem: &str) -> Result<Unfinished, String> {
    Unfinished::new(made_directory(config)?, stem, config.trace_mode)
}

/// Opens the output directory, creating it if absent.
fn made_directory(config: &Config) -> Result<Directory, String> {
    let filled = directory(config);
    // The program may have changed its root directory since the settings were checked.
    if !secure::may_write_to(&filled) {
        return Err("users other than root may be able to write to or replace the directory".to_owned());
    }
    let Filled { path, shared_bytes } = filled;
    let mode = directory_mode(config.trace_mode);
    if is_out_of_reach(config, &path) {
        return Err(out_of_reach(&path));
    }
    match path.split_at_checked(shared_bytes) {
        Some((shared, own)) if !own.is_empty() => Directory::make_own(shared, own, mode),
        _ => Directory::make(&path, mode),
    }
}

/// True if `path` no longer leads to the output directory chosen at process start (after chroot(2), for example).
fn is_out_of_reach(config: &Config, path: &[u8]) -> bool {
    match own_directories::is_in_force() {
        true => own_directories::number(path).is_none(),
        false => config.output_made.as_ref().is_some_and(|made| made.is_elsewhere(path)),
    }
}

/// Keeps a descriptor of the output directory, for use after path names may lead elsewhere (chroot(2)).
pub(super) fn hold(config: &Config) {
    if let Ok(directory) = made_directory(config) {
        own_directories::keep(For::Output, directory.path(), directory.number());
    }
}

/// Checks that files can be created in the output directory, without creating one. Creates the directory if absent. Returns the path of the
/// directory.
///
/// # Errors
/// Fails if the directory cannot be opened or written.
pub(super) fn look(config: &Config) -> Result<Vec<u8>, String> {
    let directory = made_directory(config)?;
    directory.can_be_written()?;
    Ok(directory.path().to_vec())
}

/// Opens, on another rank, the unfinished trace file that rank 0 has created as `name` in `directory`, with this inode number.
///
/// # Errors
/// Fails if the file cannot be written to from this process.
pub(super) fn file_of_rank_0(directory: &[u8], name: &CStr, inode: u64) -> Result<Unfinished, String> {
    Unfinished::of_another(Directory::open(directory)?, name, inode)
}

/// True if rank 0's trace file with inode number `inode` has its final name; waits up to 2 s for it. `stem`: final name without the extension.
pub(super) fn has_its_name(directory: &[u8], name: &CStr, inode: u64, stem: &[u8]) -> bool {
    let stem = String::from_utf8_lossy(stem);
    Directory::open(directory).is_ok_and(|directory| unfinished::got_its_name(&directory, name, inode, &stem))
}

/// End of the message about a complete trace that could not be given its final name.
pub(super) const WHOLE: &[u8] = b"; the trace is complete: pass that file to dxt-analyze";

/// Writes the trace of one process from the encoded `bytes`; returns the path. `place`: node name and process id.
///
/// # Errors
/// Fails if the trace cannot be written; the file is then removed. If only renaming fails and there is no spool to recover from, the
/// complete file keeps its temporary name, and a message is printed instead.
pub(super) fn write_process(config: &Config, place: (&str, u32), bytes: &[u8]) -> Result<Vec<u8>, String> {
    let stem = process_stem(place);
    let made = stages::during(FlushStage::Open, || new_file(config, &stem));
    if made.is_err() && is_out_of_reach(config, &directory(config).path) {
        Note::Elsewhere.count();
    }
    let mut file = made?;
    let whole = stages::during(FlushStage::Write, || file.write_at(bytes, 0));
    // The single region ends before the index, which has one entry.
    let behind = FLUSH_FRAME_BYTES + INDEX_ENTRY_BYTES + TRAILER_BYTES;
    let again = |()| file.write_at(&stages::times().frame(0), bytes.len().saturating_sub(behind) as u64);
    let whole = whole.and_then(again);
    let whole = stages::during(FlushStage::Write, || whole.and_then(|()| file.settle()));
    if let Err(why) = whole {
        file.abandon();
        return Err(why);
    }
    match file.finish(&stem) {
        Err(why) if spool::is_there() => {
            file.abandon();
            Err(why)
        }
        Err(why) => {
            say(&[why.as_bytes(), WHOLE]);
            Ok(file.path())
        }
        named => named,
    }
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
    fn names_hold_no_way_out_of_the_directory() {
        assert_eq!(clean(b"../../etc/passwd\n"), ".._.._etc_passwd_");
        assert!(!process_stem(("../x", 7)).contains('/'));
    }

    #[test]
    fn directories_are_as_open_as_traces() {
        assert_eq!([0o600, 0o640, 0o664].map(directory_mode), [0o700, 0o750, 0o775]);
    }
}
