//! Output directory: the pattern that is passed to the tracer, the resulting path, and the directories to create.

use crate::conf::Conf;
use crate::files::{current, resolved};
use crate::texts::{doubled, expanded, os, variable};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::Permissions;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Output directory for traces.
pub(crate) struct Place {
    /// Pattern of the output directory to pass to the tracer; may still contain placeholders.
    pub(crate) pattern: OsString,
    /// Path of the output directory that results from expanding the pattern in this process.
    pub(crate) directory: PathBuf,
    /// Parent of the user's own directory, if the pattern has the user ID. The tracer creates the directories below and checks their owner.
    above: Option<PathBuf>,
}

impl Place {
    /// Determines the output directory. A directory given with -o is taken literally. In a pattern from the environment or configuration
    /// file, only `%j` and relative paths are expanded; the tracer expands the rest (docs/configuration.md).
    pub(crate) fn new(output: Option<&OsStr>, conf: &Conf, number: &OsStr) -> Self {
        let number: Vec<u8> = number
            .as_bytes()
            .iter()
            .map(|byte| if byte.is_ascii_alphanumeric() || b"_-".contains(byte) { *byte } else { b'_' })
            .collect();
        let with_job =
            |pattern: OsString| expanded(pattern.as_bytes(), |letter| (letter == b'j').then(|| number.clone()));
        let given = output.filter(|output| !output.is_empty()).map(doubled);
        let pattern = given.unwrap_or_else(|| with_job(conf.set("DXT_OUTPUT_DIR").unwrap_or_default()));
        let mut pattern = if pattern.starts_with(b"/") {
            pattern
        } else {
            let slash: &[u8] = if pattern.is_empty() { b"" } else { b"/" };
            [&doubled(current().as_os_str()), slash, &pattern].concat()
        };
        let directory = resolved(Path::new(&path_of(&pattern)));
        let mut user_at = None;
        let mut at = 0;
        while at + 1 < pattern.len() && user_at.is_none() {
            user_at = (pattern[at] == b'%' && pattern[at + 1] == b'u').then_some(at);
            at += if pattern[at] == b'%' { 2 } else { 1 };
        }
        let above = user_at.map(|at| {
            let end = pattern[..at].iter().rposition(|byte| *byte == b'/').unwrap_or(0);
            resolved(Path::new(&path_of(&pattern[..=end])))
        });
        if !pattern.contains(&b'%') {
            pattern = directory.clone().into_os_string().into_vec();
        }
        Self { pattern: os(pattern), directory, above }
    }

    /// True if the directory is a user's own (`%u`), which the tracer creates.
    pub(crate) fn is_of_user(&self) -> bool {
        self.above.is_some()
    }

    /// Creates the directory. Users who may read traces may also enter new directories, regardless of the umask.
    pub(crate) fn make(&self, conf: &Conf) -> std::io::Result<()> {
        let missing: Vec<&Path> = self.directory.ancestors().take_while(|place| !place.exists()).collect();
        std::fs::create_dir_all(&self.directory).or_else(|error| {
            // If the umask closes a new directory, only root can create anything below it.
            if self.directory.is_dir() { Ok(()) } else { Err(error) }
        })?;
        if let Some(mode) = conf.trace_mode() {
            for place in missing {
                std::fs::set_permissions(place, Permissions::from_mode(mode | (mode & 0o444) >> 2))?;
            }
        }
        Ok(())
    }

    /// True if this user owns the user's own directory (`%u`) and all directories below it, and so may write there.
    pub(crate) fn is_own(&self) -> bool {
        let Some(above) = &self.above else { return true };
        let user = rustix::process::geteuid().as_raw();
        let mut of_user = self.directory.ancestors().take_while(|place| place != above && place.parent().is_some());
        of_user.all(|place| place.metadata().map_or(true, |known| known.uid() == user))
    }

    /// Returns the paths of the traces that exist now in the output directory.
    pub(crate) fn traces(&self) -> BTreeSet<PathBuf> {
        let entries = std::fs::read_dir(&self.directory).into_iter().flatten().flatten();
        let is_file = |entry: &std::fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_file());
        let files = entries.filter(is_file).map(|entry| self.directory.join(entry.file_name()));
        files.filter(|file| file.extension().is_some_and(|end| end == "dxt")).collect()
    }
}

/// Replaces the placeholders of a pattern (`%u`, `%j`, ...) by their values in this process.
fn path_of(pattern: &[u8]) -> OsString {
    os(expanded(pattern, |letter| match letter {
        b'%' => Some(b"%".to_vec()),
        b'u' => Some(rustix::process::getuid().as_raw().to_string().into_bytes()),
        b'd' => Some(jiff::Timestamp::now().strftime("%F").to_string().into_bytes()),
        _ => None,
    }))
}

/// Returns `DEVICE:INODE:BOOT:PATH` of a directory created for this run, by which the tracer recognizes the directory: in a container or
/// behind another mount, the path may lead to another directory. `None` if unknown.
pub(crate) fn made(directory: &Path) -> Option<OsString> {
    let known = directory.metadata().ok()?;
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let numbers = format!("{}:{}:{}:", known.dev(), known.ino(), boot.trim());
    Some(os([numbers.as_bytes(), directory.as_os_str().as_bytes()].concat()))
}

/// Directory whose files are in memory (tmpfs): they are created and removed without waiting for a disk.
const IN_MEMORY: &str = "/dev/shm";

/// Least number of free bytes in [`IN_MEMORY`], and of free memory, for spools to be created there: default buffers of 256 processes.
const LEAST_FREE: u64 = 1 << 30;

/// Creates a directory for the spools (files of recorded data) of this run alone: in `TMPDIR` if set, else in memory if it may be there
/// (`in_memory`) and there is room, else in `/tmp`. The error is the temporary directory in which creation failed.
pub(crate) fn spools(in_memory: bool) -> Result<PathBuf, PathBuf> {
    let temporary = temporary();
    let may_be = in_memory && variable("TMPDIR").is_none();
    let Some(made) = made_in(may_be.then_some(Path::new(IN_MEMORY)), LEAST_FREE, &temporary) else {
        return Err(temporary);
    };
    let place = made.keep();
    // Sets the permissions regardless of the umask.
    let _ = std::fs::set_permissions(&place, Permissions::from_mode(0o700));
    Ok(place)
}

/// Creates a directory in `in_memory` if that is a tmpfs with `least` bytes free, else in `otherwise`; `None` if neither is possible.
fn made_in(in_memory: Option<&Path>, least: u64, otherwise: &Path) -> Option<tempfile::TempDir> {
    let of = |place: &Path| tempfile::Builder::new().prefix("dxt-run.").rand_bytes(8).tempdir_in(place).ok();
    in_memory.filter(|place| has_room(place, least)).and_then(of).or_else(|| of(otherwise))
}

/// True if files of `place` are in memory, and at least `least` bytes are free there and in this machine's memory.
fn has_room(place: &Path, least: u64) -> bool {
    let known = rustix::fs::statfs(place).is_ok_and(|about| about.f_type == libc::TMPFS_MAGIC);
    let free = || rustix::fs::statvfs(place).map_or(0, |free| free.f_bavail.saturating_mul(free.f_frsize));
    let memory = || {
        let known = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let line = known.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
        let kibibytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        kibibytes.unwrap_or(0).saturating_mul(1024)
    };
    known && free() >= least && memory() >= least
}

pub(crate) fn temporary() -> PathBuf {
    variable("TMPDIR").unwrap_or_else(|| "/tmp".into()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spools_are_in_memory_only_if_it_has_room() {
        let other = tempfile::tempdir().expect("a directory");
        let shm = Path::new(IN_MEMORY);
        let made = |place: Option<&Path>, least: u64| {
            let made = made_in(place, least, other.path()).expect("a directory");
            made.path().parent().map(Path::to_owned)
        };
        assert_eq!(made(Some(shm), u64::MAX).as_deref(), Some(other.path()));
        assert_eq!(made(None, 0).as_deref(), Some(other.path()));
        // Not a tmpfs, or not there.
        assert!(!has_room(Path::new("/proc"), 0) && !has_room(Path::new("/no/such/place"), 0));
        if has_room(shm, 1) {
            assert_eq!(made(Some(shm), 1).as_deref(), Some(shm));
        }
    }

    #[test]
    fn placeholders_are_the_tracers_but_for_the_job() {
        let place = |output: Option<&str>, text: &str| {
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), text).unwrap();
            Place::new(output.map(OsStr::new), &Conf::read(file.path()).unwrap(), "7.a/b".as_ref())
        };
        let user = rustix::process::getuid().as_raw();
        let own = place(None, "DXT_OUTPUT_DIR=/no/%j/50%%u/%u/x");
        assert_eq!(own.pattern, "/no/7_a_b/50%%u/%u/x");
        assert_eq!(own.directory, Path::new(&format!("/no/7_a_b/50%u/{user}/x")));
        assert_eq!(own.above.as_deref(), Some(Path::new("/no/7_a_b/50%u")));
        // A literal name that looks like a pattern is not expanded.
        let named = place(Some("/no/%u"), "");
        assert_eq!((named.pattern.to_str(), named.is_of_user()), (Some("/no/%%u"), false));
        assert_eq!(named.directory, Path::new("/no/%u"));
        assert_eq!(place(Some("/no/such/.."), "").pattern, "/no");
    }
}
