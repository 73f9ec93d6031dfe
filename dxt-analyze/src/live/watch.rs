//! Where spools appear: directories of this node, looked at once and watched from then on (inotify(7)). Spools that came and went
//! before they could be opened are counted.

use crate::spools::files::{Owned, own_user};
use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A spool or spill that was not there before, opened: it can be read whatever becomes of its name.
pub struct Found {
    /// Its path.
    pub path: PathBuf,
    /// Its file.
    pub(crate) file: Owned,
    /// It was there when the watch began: its owner may have ended long ago.
    pub was_there: bool,
}

impl Found {
    /// Whether it is a file of packed blocks beside a spool.
    #[must_use]
    pub fn is_spill(&self) -> bool {
        self.path.extension().is_some_and(|end| end == "spill")
    }
}

/// The directories, watched by a thread of its own: what comes and goes is opened at once, however much there is to do else.
pub struct Watch {
    found: Receiver<Found>,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    /// Spools that came and went unopened.
    missed: AtomicU64,
    /// What could not be opened, and why.
    failed: Mutex<Vec<String>>,
    ending: AtomicBool,
}

impl Watch {
    /// Watches these; one that is not there yet is looked for again and again. What is there is found when this returns.
    ///
    /// # Errors
    /// If the system has no more watches to give.
    pub fn new(directories: Vec<PathBuf>) -> Result<Self> {
        allow_many_files();
        let (sender, found) = std::sync::mpsc::channel();
        let shared = Arc::new(Shared::default());
        let mut looker = Looker::new(directories, sender, shared.clone())?;
        looker.look();
        let name = std::thread::Builder::new().name("watch".into());
        name.spawn(move || looker.run()).context("failed to begin watching")?;
        Ok(Self { found, shared })
    }

    /// Spools that came and went before they could be opened.
    #[must_use]
    pub fn missed(&self) -> u64 {
        self.shared.missed.load(Ordering::Relaxed)
    }

    /// What could not be opened since the last question, and why.
    pub fn failed(&mut self) -> Vec<String> {
        std::mem::take(&mut *self.shared.failed.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits for something new, at most so long.
    #[must_use]
    pub fn wait(&self, most: Duration) -> Option<Found> {
        self.found.recv_timeout(most).ok()
    }

    /// What has been found and not been taken.
    pub fn found(&self) -> impl Iterator<Item = Found> {
        self.found.try_iter()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.shared.ending.store(true, Ordering::Relaxed);
    }
}

/// A spool is a file that stays open: as many as the system lets this process have.
fn allow_many_files() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // With fewer, those that could not be opened are told.
    let _ = setrlimit(Resource::Nofile, limit);
}

/// What the thread does.
struct Looker {
    inotify: OwnedFd,
    /// Directories asked for, whether they are there yet or not.
    wanted: Vec<PathBuf>,
    watched: BTreeMap<i32, PathBuf>,
    /// Names that are there and have been found.
    known: BTreeSet<PathBuf>,
    sender: Sender<Found>,
    shared: Arc<Shared>,
    /// This is the first look.
    begins: bool,
}

/// How often a directory is looked for that is not there yet.
const LOOK_EVERY: Duration = Duration::from_millis(200);

impl Looker {
    fn new(wanted: Vec<PathBuf>, sender: Sender<Found>, shared: Arc<Shared>) -> Result<Self> {
        let flags = CreateFlags::NONBLOCK | CreateFlags::CLOEXEC;
        let inotify = inotify::init(flags).context("failed to watch directories")?;
        Ok(Self { inotify, wanted, watched: BTreeMap::new(), known: BTreeSet::new(), sender, shared, begins: true })
    }

    fn run(&mut self) {
        let timeout = Timespec { tv_sec: 0, tv_nsec: LOOK_EVERY.subsec_nanos().into() };
        while !self.shared.ending.load(Ordering::Relaxed) {
            // An interrupt wakes as well.
            let _ = poll(&mut [PollFd::new(&self.inotify, PollFlags::IN)], Some(&timeout));
            self.look();
        }
    }

    /// Takes what the kernel tells, and looks for directories.
    fn look(&mut self) {
        for (directory, name, is_there) in self.events() {
            if is_there {
                self.named(&directory, Path::new(&name));
            } else {
                self.known.remove(&directory.join(name));
            }
        }
        for directory in self.wanted.clone() {
            self.begin(&directory);
        }
        self.begins = false;
    }

    /// Begins to watch a directory, and looks at what is there.
    fn begin(&mut self, directory: &Path) {
        if self.watched.values().any(|watched| watched == directory) {
            return;
        }
        let comes = WatchFlags::CREATE | WatchFlags::MOVED_TO;
        let goes = WatchFlags::DELETE | WatchFlags::MOVED_FROM | WatchFlags::DELETE_SELF;
        // One that is not there yet is waited for where it will appear.
        let Ok(number) = inotify::add_watch(&self.inotify, directory, comes | goes | WatchFlags::ONLYDIR) else {
            let above = directory.ancestors().skip(1).find(|above| above.is_dir());
            let flags = comes | WatchFlags::ONLYDIR | WatchFlags::MASK_ADD;
            let _ = above.map(|above| inotify::add_watch(&self.inotify, above, flags));
            return;
        };
        self.watched.insert(number, directory.to_owned());
        let Ok(listed) = std::fs::read_dir(directory) else { return };
        for entry in listed.flatten() {
            self.named(directory, Path::new(&entry.file_name()));
        }
    }

    /// Opens what has a spool's name and is there, or was just now.
    fn named(&mut self, directory: &Path, name: &Path) {
        let path = directory.join(name);
        let bytes = name.as_os_str().as_bytes();
        // `dxt-run` gives each run a directory of its own.
        if bytes.starts_with(b"dxt-run.") && self.wanted.iter().any(|wanted| wanted == directory) {
            return self.begin(&path);
        }
        let is_spool = name.extension().is_some_and(|end| end == "spool");
        let is_spill = name.extension().is_some_and(|end| end == "spill");
        if !(is_spool || is_spill) || !bytes.starts_with(b"dxt-") || !self.known.insert(path.clone()) {
            return;
        }
        match Owned::open(&path) {
            // Nobody listens any more: this ends.
            Ok(file) => self.sender.send(Found { path, file, was_there: self.begins }).unwrap_or_default(),
            Err(_) if path.symlink_metadata().is_err() => {
                self.shared.missed.fetch_add(u64::from(is_spool), Ordering::Relaxed);
            }
            // Other users' are theirs to watch.
            Err(_) if path.symlink_metadata().is_ok_and(|about| about.uid() != own_user()) => {}
            Err(error) => {
                let mut failed = self.shared.failed.lock().unwrap_or_else(PoisonError::into_inner);
                failed.push(format!("{}: {error:#}", path.display()));
            }
        }
    }

    /// What the kernel tells: directories, names, and whether they came.
    fn events(&mut self) -> Vec<(PathBuf, OsString, bool)> {
        let mut told = Vec::new();
        let mut gone = Vec::new();
        let mut lost = false;
        let mut buffer = [MaybeUninit::uninit(); 8192];
        let mut reader = inotify::Reader::new(&self.inotify, &mut buffer);
        while let Ok(event) = reader.next() {
            let what = event.events();
            lost |= what.contains(ReadFlags::QUEUE_OVERFLOW);
            if what.contains(ReadFlags::IGNORED) {
                gone.push(event.wd());
            }
            let is_there = !what.intersects(ReadFlags::DELETE | ReadFlags::MOVED_FROM);
            if let (Some(directory), Some(name)) = (self.watched.get(&event.wd()), event.file_name()) {
                told.push((directory.clone(), OsStr::from_bytes(name.to_bytes()).to_owned(), is_there));
            }
        }
        for number in gone {
            if let Some(directory) = self.watched.remove(&number) {
                self.known.retain(|path| path.parent() != Some(&directory));
            }
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
        let (sender, found) = std::sync::mpsc::channel();
        let shared = Arc::new(Shared::default());
        let mut watch = Looker::new(vec![folder.path().to_owned(), later.clone()], sender, shared.clone()).unwrap();
        let names = |watch: &mut Looker| -> Vec<String> {
            watch.look();
            let name = |found: Found| found.path.file_name().unwrap().to_str().unwrap().to_owned();
            let mut names: Vec<String> = found.try_iter().map(name).collect();
            names.sort();
            names
        };
        assert_eq!(names(&mut watch), ["dxt-0-1-2-0.spool"]);
        assert!(names(&mut watch).is_empty());
        std::fs::write(folder.path().join("dxt-0-3-4-0.spool"), "").unwrap();
        std::fs::write(folder.path().join("dxt-0-3-4.spill"), "").unwrap();
        std::fs::create_dir(&later).unwrap();
        std::fs::write(later.join("dxt-0-5-6-0.spool"), "").unwrap();
        let run = folder.path().join("dxt-run.abc");
        std::fs::create_dir(&run).unwrap();
        std::fs::write(run.join("dxt-0-7-8-0.spool"), "").unwrap();
        let all = ["dxt-0-3-4-0.spool", "dxt-0-3-4.spill", "dxt-0-5-6-0.spool", "dxt-0-7-8-0.spool"];
        assert_eq!(names(&mut watch), all);
        // One that came and went, one of the same name that comes later, and one in a directory that is made anew.
        std::fs::write(folder.path().join("dxt-0-9-9-0.spool"), "").unwrap();
        std::fs::remove_file(folder.path().join("dxt-0-9-9-0.spool")).unwrap();
        std::fs::remove_dir_all(&later).unwrap();
        assert!(names(&mut watch).is_empty());
        assert_eq!(shared.missed.load(Ordering::Relaxed), 1);
        std::fs::write(folder.path().join("dxt-0-9-9-0.spool"), "").unwrap();
        std::fs::create_dir(&later).unwrap();
        std::fs::write(later.join("dxt-0-5-7-0.spool"), "").unwrap();
        assert_eq!(names(&mut watch), ["dxt-0-5-7-0.spool", "dxt-0-9-9-0.spool"]);
    }
}
