//! Files that processes left in a spool directory and that no running process needs: spools (files with recorded calls), spills (files with
//! compressed calls of a spool), spools set aside before an exec(3), and node-quota files, through which the processes of a job share
//! DXT_JOB_BYTES.

use super::files::{Identity, own_user};
use super::owner;
use anyhow::{Context, Result};
use rustix::fs::{
    AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, fcntl_lock, fstatfs, open, openat, statat, unlinkat,
};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use trace_format::spool::is_seen_elsewhere;

/// File in a spool directory that no running process needs.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Left {
    /// User id of the file's owner.
    pub owner: u32,
    /// Path of the file in the spool directory.
    pub path: PathBuf,
    name: OsString,
    /// Device and inode number, which the file must still have when it is removed.
    pub identity: Identity,
    /// Modification time in s, which the file must still have when it is removed; `None` if no later process may write to the file.
    unchanged_since: Option<i64>,
}

/// Open spool directory. The descriptor ensures that files are examined and removed in the same directory.
pub struct SpoolDirectory {
    directory: OwnedFd,
    /// Files of processes that no longer run and did not write to any of their files for the required time; only this user's files, or for
    /// root the files of all users.
    pub left: Vec<Left>,
    /// Number of spools (files with recorded calls) kept because their processes run or recently wrote to one of their files.
    pub kept: u64,
    /// Node-quota files (shared by the processes of a job to limit their bytes) in which nothing was reserved for the required time.
    /// Excludes files of users of whom another file in the directory is kept, or of whom a traced process is seen running: a quota file is
    /// in this directory even if the user's spools are elsewhere.
    pub budgets: Vec<Left>,
}

/// Fields of a file name of the form `dxt-<user>-<pid>-<started>[-<number>].<ending>` (the tracer's `spool/file.rs`).
#[derive(Debug, PartialEq, Eq)]
struct Named {
    user: u32,
    pid: u32,
    started: u64,
    is_spool: bool,
}

/// Identity of a process: (user id, pid, start time).
type Process = (u32, u32, u64);

impl Named {
    /// Returns the user id in the name of a node-quota file, `dxt-<user>-<16 hexadecimal digits>.budget` (the tracer's `budget/mod.rs`).
    fn user_of_budget(name: &str) -> Option<u32> {
        let (user, job) = name.strip_prefix("dxt-")?.strip_suffix(".budget")?.split_once('-')?;
        let is_hash = job.len() == 16 && job.bytes().all(|byte| byte.is_ascii_hexdigit());
        user.parse().ok().filter(|_| is_hash)
    }

    const fn process(&self) -> Process {
        (self.user, self.pid, self.started)
    }

    fn parse(name: &str) -> Option<Self> {
        let (stem, ending) = name.strip_prefix("dxt-")?.rsplit_once('.')?;
        let numbers: Vec<&str> = stem.split('-').collect();
        let is_spool = ending == "spool";
        let count = if is_spool { 4 } else { 3 };
        if numbers.len() != count || !matches!(ending, "spool" | "spill" | "done") {
            return None;
        }
        numbers.get(3).map_or(Some(0), |number| number.parse::<u64>().ok())?;
        let (user, pid) = (numbers.first()?.parse().ok()?, numbers.get(1)?.parse().ok()?);
        Some(Self { user, pid, started: numbers.get(2)?.parse().ok()?, is_spool })
    }
}

impl SpoolDirectory {
    /// Finds the files in `path` whose processes no longer run and wrote to none of their files for `older_than`. All files of a process
    /// are considered, because a spill (file with compressed calls of a spool) is rarely written to but needed by its spool. Fails if the
    /// directory cannot be listed, or is on a file system that other machines share.
    pub fn look(path: &Path, older_than: Duration) -> Result<Self> {
        let failed = || format!("failed to list {}", path.display());
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = open(path, flags, Mode::empty()).with_context(failed)?;
        let kind = fstatfs(&directory).with_context(failed)?.f_type as u32;
        anyhow::ensure!(
            !is_seen_elsewhere(kind),
            "{} is on a file system that other machines share: their processes cannot be checked from here",
            path.display()
        );
        let before = SystemTime::now().checked_sub(older_than).and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let before = before.map_or(i64::MIN, |before| i64::try_from(before.as_secs()).unwrap_or(i64::MAX));
        let ((mapped, traced), user) = (mapped(), own_user());
        let (mut found, mut budgets, mut in_use) = (Vec::new(), Vec::new(), BTreeSet::<Process>::new());
        for entry in Dir::read_from(&directory).with_context(failed)? {
            let entry = entry.with_context(failed)?;
            let name = OsString::from_vec(entry.file_name().to_bytes().to_vec());
            let named = name.to_str().and_then(Named::parse);
            let of_budget = name.to_str().and_then(Named::user_of_budget);
            let Some(named_user) = named.as_ref().map(|named| named.user).or(of_budget) else { continue };
            let Ok(about) = statat(&directory, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) else { continue };
            // The owner of the file must be the user in its name.
            let is_file = FileType::from_raw_mode(about.st_mode) == FileType::RegularFile;
            if !is_file || about.st_uid != named_user || user != 0 && about.st_uid != user {
                continue;
            }
            let is_young = about.st_mtime > before;
            let identity = (about.st_dev, about.st_ino);
            let unchanged_since = named.is_none().then_some(about.st_mtime);
            let file = Left { owner: about.st_uid, path: path.join(&name), name, identity, unchanged_since };
            let Some(named) = named else {
                if !is_young {
                    budgets.push(file);
                }
                continue;
            };
            if is_young || owner::runs(named.pid, named.started) || mapped.contains(&about.st_ino) {
                in_use.insert(named.process());
            }
            found.push((named, file));
        }
        let (kept, left): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|(named, _)| in_use.contains(&named.process()));
        let kept = kept.iter().filter(|(named, _)| named.is_spool).count() as u64;
        let mut left: Vec<Left> = left.into_iter().map(|(_, file)| file).collect();
        left.sort();
        budgets
            .retain(|budget| in_use.iter().all(|(user, ..)| *user != budget.owner) && !traced.contains(&budget.owner));
        Ok(Self { directory, left, kept, budgets })
    }

    /// Removes a file if it is still the file that was found; returns true if it was removed.
    pub fn remove(&self, file: &Left) -> bool {
        // A process that reserves bytes from the quota holds this lock, and checks afterwards if the file was removed.
        let _lock = match file.unchanged_since {
            None => None,
            Some(_) => {
                let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
                let Ok(opened) = openat(&self.directory, &file.name, flags, Mode::empty()) else { return false };
                if fcntl_lock(&opened, FlockOperation::NonBlockingLockExclusive).is_err() {
                    return false;
                }
                Some(opened)
            }
        };
        let about = statat(&self.directory, &file.name, AtFlags::SYMLINK_NOFOLLOW);
        let same = about.is_ok_and(|about| {
            (about.st_dev, about.st_ino) == file.identity
                && file.unchanged_since.is_none_or(|since| about.st_mtime == since)
        });
        same && unlinkat(&self.directory, &file.name, AtFlags::empty()).is_ok()
    }
}

impl Left {
    /// True if the file's name has the extension of a spool (file with recorded calls), false for a spill (compressed calls of a spool) or
    /// another file.
    pub fn is_spool(&self) -> bool {
        self.path.extension().is_some_and(|end| end == "spool")
    }
}

/// Returns (inodes of mapped spools and spills, users): the files with recorded calls that some process has mapped, and the users of
/// processes that have such a file or the tracer's library mapped (proc(5), maps). Covers only processes visible to this user. Pids in file
/// names do not suffice, because processes in containers have other pids there.
fn mapped() -> (BTreeSet<u64>, BTreeSet<u32>) {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path());
    let is_process =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.as_encoded_bytes().iter().all(u8::is_ascii_digit));
    let inode = |line: &str| line.split_whitespace().nth(4)?.parse::<u64>().ok();
    let (mut files, mut users) = (BTreeSet::new(), BTreeSet::new());
    for process in processes.filter(is_process) {
        let text = owner::of_memory(&process, "maps");
        let text = String::from_utf8_lossy(&text);
        let is_ours = |line: &&str| line.contains(".spool") || line.contains(".spill");
        files.extend(text.lines().filter(is_ours).filter_map(inode));
        if (text.lines().any(|line| is_ours(&line)) || text.contains("libdxt_tracer"))
            && let Ok(about) = process.metadata()
        {
            users.insert(about.uid());
        }
    }
    (files, users)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_whose_they_are() {
        let named = |user, pid, started, is_spool| Some(Named { user, pid, started, is_spool });
        assert_eq!(Named::parse("dxt-0-12-345-0.spool"), named(0, 12, 345, true));
        assert_eq!(Named::parse("dxt-1000-12-345.spill"), named(1000, 12, 345, false));
        assert_eq!(Named::parse("dxt-1000-12-345.done"), named(1000, 12, 345, false));
        assert_eq!(Named::user_of_budget("dxt-1000-0123456789abcdef.budget"), Some(1000));
        for other in ["dxt-1000-0123456789abcde.budget", "dxt-x-0123456789abcdef.budget", "dxt-1-2-3.spool"] {
            assert_eq!(Named::user_of_budget(other), None, "{other}");
        }
        for other in [
            "dxt-1-2-3.spool",
            "dxt-1-2-3-4-5.spool",
            "dxt-a-2-3-4.spool",
            "x-1-2-3-4.spool",
            "dxt-1-2-3-x.spool",
            "dxt-1-2-3.txt",
        ] {
            assert_eq!(Named::parse(other), None, "{other}");
        }
    }
}
