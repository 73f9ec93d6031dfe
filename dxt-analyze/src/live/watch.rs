//! Where spools appear: directories of this node, looked at once and watched from then on (inotify(7)). Spools that came and went
//! before they could be opened are counted.

use crate::spools::files::Owned;
use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use std::collections::{BTreeMap, BTreeSet};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A spool that was not there before.
pub struct Found {
    /// Its path.
    pub path: PathBuf,
    /// Its file.
    pub(crate) file: Owned,
}

/// The directories.
pub struct Watch {
    inotify: OwnedFd,
    /// Those asked for, whether they are there yet or not.
    wanted: Vec<PathBuf>,
    watched: BTreeMap<i32, PathBuf>,
    known: BTreeSet<PathBuf>,
    /// Spools that came and went unopened.
    missed: u64,
    /// What could not be opened, and why, for messages.
    failed: Vec<String>,
}

impl Watch {
    /// Watches these; one that is not there yet is looked for again and again.
    ///
    /// # Errors
    /// If the system has no more watches to give.
    pub fn new(directories: Vec<PathBuf>) -> Result<Self> {
        let inotify =
            inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).context("failed to watch directories")?;
        Ok(Self {
            inotify,
            wanted: directories,
            watched: BTreeMap::new(),
            known: BTreeSet::new(),
            missed: 0,
            failed: Vec::new(),
        })
    }

    /// Spools that came and went before they could be opened.
    #[must_use]
    pub const fn missed(&self) -> u64 {
        self.missed
    }

    /// What could not be opened since the last question, and why.
    pub fn failed(&mut self) -> Vec<String> {
        std::mem::take(&mut self.failed)
    }

    /// Waits until something happens in a directory, at most so long.
    pub fn wait(&self, most: Duration) {
        let timeout = Timespec { tv_sec: most.as_secs().cast_signed(), tv_nsec: most.subsec_nanos().into() };
        // An interrupt wakes as well.
        let _ = poll(&mut [PollFd::new(&self.inotify, PollFlags::IN)], Some(&timeout));
    }

    /// The spools that have appeared since the last question.
    pub fn new_spools(&mut self) -> Vec<Found> {
        let mut found = Vec::new();
        for (directory, name) in self.events() {
            self.named(&directory, Path::new(&name), &mut found);
        }
        for directory in self.wanted.clone() {
            self.begin(&directory, &mut found);
        }
        found
    }

    /// Begins to watch a directory, and looks at what is there.
    fn begin(&mut self, directory: &Path, found: &mut Vec<Found>) {
        if self.watched.values().any(|watched| watched == directory) {
            return;
        }
        let flags = WatchFlags::CREATE | WatchFlags::MOVED_TO | WatchFlags::ONLYDIR | WatchFlags::DELETE_SELF;
        let Ok(number) = inotify::add_watch(&self.inotify, directory, flags) else { return };
        self.watched.insert(number, directory.to_owned());
        let Ok(listed) = std::fs::read_dir(directory) else { return };
        for entry in listed.flatten() {
            self.named(directory, Path::new(&entry.file_name()), found);
        }
    }

    /// Looks at a name that is there, or was just now.
    fn named(&mut self, directory: &Path, name: &Path, found: &mut Vec<Found>) {
        let path = directory.join(name);
        // `dxt-run` gives each run a directory of its own.
        if name.as_os_str().as_bytes().starts_with(b"dxt-run.") && self.wanted.iter().any(|wanted| wanted == directory)
        {
            return self.begin(&path, found);
        }
        let is_spool = name.extension().is_some_and(|end| end == "spool");
        if !is_spool || !name.as_os_str().as_bytes().starts_with(b"dxt-") || !self.known.insert(path.clone()) {
            return;
        }
        match Owned::open(&path) {
            Ok(file) => found.push(Found { path, file }),
            Err(_) if path.symlink_metadata().is_err() => self.missed += 1,
            Err(error) => self.failed.push(format!("{}: {error:#}", path.display())),
        }
    }

    /// A name may come again, for another process.
    pub fn forget(&mut self, path: &Path) {
        self.known.remove(path);
    }

    /// What the kernel tells: directories and names.
    fn events(&mut self) -> Vec<(PathBuf, std::ffi::OsString)> {
        let mut told = Vec::new();
        let mut gone = Vec::new();
        let mut lost = false;
        let mut buffer = [MaybeUninit::uninit(); 8192];
        let mut reader = inotify::Reader::new(&self.inotify, &mut buffer);
        while let Ok(event) = reader.next() {
            lost |= event.events().contains(ReadFlags::QUEUE_OVERFLOW);
            if event.events().contains(ReadFlags::IGNORED) {
                gone.push(event.wd());
            }
            if let (Some(directory), Some(name)) = (self.watched.get(&event.wd()), event.file_name()) {
                told.push((directory.clone(), std::ffi::OsStr::from_bytes(name.to_bytes()).to_owned()));
            }
        }
        for number in gone {
            self.watched.remove(&number);
        }
        // Looked at as if for the first time.
        if lost {
            self.watched.clear();
        }
        told
    }
}

/// Where tracers put spools that are told nothing else: `DXT_SPOOL`, `TMPDIR`, `/tmp`, `/dev/shm`.
#[must_use]
pub fn usual_directories() -> Vec<PathBuf> {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let mut all: Vec<PathBuf> = [set("DXT_SPOOL"), set("TMPDIR")].into_iter().flatten().collect();
    all.extend(["/tmp", "/dev/shm"].map(PathBuf::from));
    let mut known = BTreeSet::new();
    all.retain(|path| known.insert(path.clone()));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spools_are_found_whether_they_come_before_or_after() {
        let folder = tempfile::tempdir().unwrap();
        let later = folder.path().join("later");
        std::fs::write(folder.path().join("dxt-0-1-2-0.spool"), "").unwrap();
        std::fs::write(folder.path().join("other.spool"), "").unwrap();
        let mut watch = Watch::new(vec![folder.path().to_owned(), later.clone()]).unwrap();
        let names = |watch: &mut Watch| -> Vec<String> {
            let mut names: Vec<String> = watch
                .new_spools()
                .iter()
                .map(|found| found.path.file_name().unwrap().to_str().unwrap().into())
                .collect();
            names.sort();
            names
        };
        assert_eq!(names(&mut watch), ["dxt-0-1-2-0.spool"]);
        assert!(names(&mut watch).is_empty());
        std::fs::write(folder.path().join("dxt-0-3-4-0.spool"), "").unwrap();
        std::fs::create_dir(&later).unwrap();
        std::fs::write(later.join("dxt-0-5-6-0.spool"), "").unwrap();
        let run = folder.path().join("dxt-run.abc");
        std::fs::create_dir(&run).unwrap();
        std::fs::write(run.join("dxt-0-7-8-0.spool"), "").unwrap();
        assert_eq!(names(&mut watch), ["dxt-0-3-4-0.spool", "dxt-0-5-6-0.spool", "dxt-0-7-8-0.spool"]);
        // One that came and went, and one in a directory that is made anew.
        std::fs::write(folder.path().join("dxt-0-9-9-0.spool"), "").unwrap();
        std::fs::remove_file(folder.path().join("dxt-0-9-9-0.spool")).unwrap();
        std::fs::remove_dir_all(&later).unwrap();
        assert!(names(&mut watch).is_empty());
        assert_eq!(watch.missed(), 1);
        std::fs::create_dir(&later).unwrap();
        std::fs::write(later.join("dxt-0-5-7-0.spool"), "").unwrap();
        assert_eq!(names(&mut watch), ["dxt-0-5-7-0.spool"]);
    }
}
