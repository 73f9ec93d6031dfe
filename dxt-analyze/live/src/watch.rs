//! Discovery of spools: lists the spool directories of this node once, then watches them (inotify(7)). Counts spools created and removed
//! before they could be opened, and retries spools for which no file descriptor was left.

use crate::shown::path as shown;
use anyhow::{Context, Result};
use dxt_base::spools::files::{Owned, own_user};
use dxt_base::text::units::agree;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::mem::MaybeUninit;
use std::ops::Bound;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Newly found spool (file with a process's calls) or spill (file with compressed calls of a spool), opened so that it can be read even
/// after its name is removed.
pub struct Found {
    /// Path at which the spool or spill (file with recorded calls) was found.
    pub path: PathBuf,
    pub(crate) file: Owned,
    /// True if the file existed when the watch began; its owner may then have ended long ago.
    pub was_there: bool,
    pub(crate) share: Option<Share>,
}

/// Reservation of one of this process's file descriptors for a user's file; drop releases it.
pub(crate) struct Share {
    owner: u32,
    shared: Arc<Shared>,
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut open = self.shared.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.entry(self.owner).and_modify(|count| *count = count.saturating_sub(1));
        open.retain(|_, count| *count > 0);
    }
}

impl Found {
    /// True if the file is a spill: a file beside a spool, with compressed calls.
    #[must_use]
    pub fn is_spill(&self) -> bool {
        self.path.extension().is_some_and(|end| end == "spill")
    }
}

/// Watch on the spool directories. A separate thread opens new files at once, regardless of the agent's other work.
pub struct Watch {
    found: Receiver<Found>,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    /// Number of spools (files with recorded calls) that were removed before they could be opened.
    missed: AtomicU64,
    /// Number of spools not yet opened for lack of file descriptors.
    unopened: AtomicU64,
    open: Mutex<BTreeMap<u32, u64>>,
    /// Pending messages about files and directories that could not be opened.
    failed: Mutex<Vec<String>>,
    ending: AtomicBool,
}

impl Watch {
    /// Watches `directories`; missing ones are retried periodically. Existing spools are found before this function returns. `named` is
    /// true if the user named the directories, so that failures to watch them are reported.
    ///
    /// # Errors
    /// Fails if a named directory cannot be watched, or the system has no inotify instance or thread left.
    pub fn new(directories: Vec<PathBuf>, named: bool) -> Result<Self> {
        allow_many_files();
        let (sender, found) = std::sync::mpsc::channel();
        let shared = Arc::new(Shared::default());
        let mut looker = Looker::new(directories, sender, shared.clone())?;
        if named {
            looker.begin_named()?;
        }
        looker.look();
        let name = std::thread::Builder::new().name("watch".into());
        name.spawn(move || looker.run()).context("failed to start watching")?;
        Ok(Self { found, shared })
    }

    /// Returns the number of spools (files with recorded calls) that were created and removed before the agent could open them.
    #[must_use]
    pub fn missed(&self) -> u64 {
        self.shared.missed.load(Ordering::Relaxed)
    }

    /// Returns the number of existing spools (files with recorded calls) that cannot be opened because this process has too many open
    /// files.
    #[must_use]
    pub fn unopened(&self) -> u64 {
        self.shared.unopened.load(Ordering::Relaxed)
    }

    /// Takes the pending messages about files and directories that could not be opened.
    pub fn failed(&mut self) -> Vec<String> {
        std::mem::take(&mut *self.shared.failed.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits up to `most` for a new spool (file with recorded calls) or spill (file with compressed calls of a spool).
    #[must_use]
    pub fn wait(&self, most: Duration) -> Option<Found> {
        self.found.recv_timeout(most).ok()
    }

    /// Returns an iterator over the spools (files with recorded calls) and spills (files with compressed calls) found so far, without
    /// waiting.
    pub fn found(&self) -> impl Iterator<Item = Found> {
        self.found.try_iter()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.shared.ending.store(true, Ordering::Relaxed);
    }
}

/// Raises this process's limit of open files to the maximum, since each watched spool stays open.
fn allow_many_files() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // A failure is harmless: spools that cannot be opened are reported.
    let _ = setrlimit(Resource::Nofile, limit);
}

fn most_files() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Nofile).current
}

/// Number of file descriptors reserved for uses other than spools, such as connections and reading /proc.
const RESERVE: u64 = 64;
/// Maximum number of queued messages about files and directories that could not be opened.
const MOST_FAILED: usize = 100;
/// Maximum number of paths of found files that are remembered.
const MOST_KNOWN: usize = 100_000;
/// Maximum number of paths that wait for a file descriptor.
const MOST_WAITING: usize = 10_000;
/// Maximum number of waiting paths that each poll retries.
const TRIED: usize = 256;

/// Opens a spool or spill (file with recorded calls), unless too few descriptors would remain for the rest of this process. Each other user
/// may have up to max(1, free / 2) files open, where `free` is the number of descriptors left for all spools. So each of a dozen users gets
/// some of 256 descriptors, regardless of the others.
fn open(path: &Path, shared: &Arc<Shared>) -> Result<(Owned, Share)> {
    let owned = Owned::open(path)?;
    let number = u64::try_from(owned.file.as_raw_fd()).unwrap_or(0);
    let mut open = shared.open.lock().unwrap_or_else(PoisonError::into_inner);
    let of_user = open.get(&owned.owner).copied().unwrap_or(0);
    let is_late = most_files().is_some_and(|most| {
        let most = most - RESERVE.min(most / 4);
        let left = most.saturating_sub(open.values().sum());
        // The kernel assigns the lowest free descriptor number.
        number >= most || owned.owner != own_user() && of_user >= (left / 2).max(1)
    });
    if is_late {
        return Err(Errno::MFILE.into());
    }
    open.insert(owned.owner, of_user + 1);
    let share = Share { owner: owned.owner, shared: Arc::clone(shared) };
    Ok((owned, share))
}

/// True if the error may disappear once other files are closed.
fn is_for_now(error: &anyhow::Error) -> bool {
    let of = |errno: Errno| matches!(errno, Errno::MFILE | Errno::NFILE);
    error.downcast_ref::<Errno>().is_some_and(|errno| of(*errno))
}

/// State of the thread that watches the spool directories and opens new files.
struct Looker {
    inotify: OwnedFd,
    /// Directories to watch, whether they exist yet or not.
    wanted: Vec<PathBuf>,
    watched: BTreeMap<i32, PathBuf>,
    /// Paths of existing spools and spills (files with recorded calls) that were already found.
    known: BTreeSet<PathBuf>,
    /// Paths not opened for lack of descriptors; the value is true if the file existed when the watch began.
    waiting: BTreeMap<PathBuf, bool>,
    /// Directories for which a failure to watch them was already reported.
    reported: BTreeSet<PathBuf>,
    /// True if the lack of descriptors was already reported.
    reported_waiting: bool,
    /// Waiting path that was retried last; the next retry continues after this path.
    tried: PathBuf,
    sender: Sender<Found>,
    shared: Arc<Shared>,
    begins: bool,
}

/// Period of retries for directories that do not exist yet, and for waiting files.
const LOOK_EVERY: Duration = Duration::from_millis(200);

impl Looker {
    fn new(wanted: Vec<PathBuf>, sender: Sender<Found>, shared: Arc<Shared>) -> Result<Self> {
        let flags = CreateFlags::NONBLOCK | CreateFlags::CLOEXEC;
        let inotify = inotify::init(flags).context("failed to watch directories")?;
        Ok(Self {
            inotify,
            wanted,
            watched: BTreeMap::new(),
            known: BTreeSet::new(),
            waiting: BTreeMap::new(),
            reported: BTreeSet::new(),
            reported_waiting: false,
            tried: PathBuf::new(),
            sender,
            shared,
            begins: true,
        })
    }

    fn run(&mut self) {
        let timeout = Timespec { tv_sec: 0, tv_nsec: LOOK_EVERY.subsec_nanos().into() };
        while !self.shared.ending.load(Ordering::Relaxed) {
            // An interrupt (EINTR) also ends the wait.
            let _ = poll(&mut [PollFd::new(&self.inotify, PollFlags::IN)], Some(&timeout));
            self.look();
        }
    }

    /// Handles the kernel's inotify events, and retries missing directories and waiting files.
    fn look(&mut self) {
        for (directory, name, is_there) in self.events() {
            if is_there {
                // An event is about a file that appeared after the watch began, even before the first poll.
                self.named(&directory, Path::new(&name), false);
            } else {
                let path = directory.join(name);
                self.known.remove(&path);
                let missed = self.waiting.remove(&path).is_some() && is_spool(&path);
                self.shared.missed.fetch_add(u64::from(missed), Ordering::Relaxed);
            }
        }
        for directory in self.wanted.clone() {
            if let Err(why) = self.begin(&directory) {
                self.cannot_watch(&directory, why);
            }
        }
        self.again();
        self.begins = false;
    }

    /// Starts watching the directories named by the user. Fails if a directory exists but cannot be watched; a missing directory may appear
    /// later.
    fn begin_named(&mut self) -> Result<()> {
        for directory in self.wanted.clone() {
            match self.begin(&directory) {
                Ok(()) => {}
                Err(Errno::NOENT) => self.say(format!("{} does not exist: waiting for it", shown(&directory))),
                Err(why) => {
                    let failed = || format!("failed to watch {}", shown(&directory));
                    return Err(why).context(reason(why)).with_context(failed);
                }
            }
        }
        Ok(())
    }

    /// Reports once that a directory cannot be watched; a missing one is not reported.
    fn cannot_watch(&mut self, directory: &Path, why: Errno) {
        if why != Errno::NOENT && self.reported.insert(directory.to_owned()) {
            self.say(format!("failed to watch {}: {}: {why}", shown(directory), reason(why)));
        }
    }

    fn say(&self, text: String) {
        let mut failed = self.shared.failed.lock().unwrap_or_else(PoisonError::into_inner);
        if failed.len() < MOST_FAILED {
            failed.push(text);
        }
    }

    /// Retries files for which no descriptors were left, at most `TRIED` of them, round-robin.
    fn again(&mut self) {
        let behind = (Bound::Excluded(self.tried.clone()), Bound::Unbounded);
        let mut tried: Vec<(PathBuf, bool)> =
            self.waiting.range(behind).take(TRIED).map(|(path, was_there)| (path.clone(), *was_there)).collect();
        let before = TRIED - tried.len();
        let first = self.waiting.range(..=self.tried.clone()).take(before);
        tried.extend(first.map(|(path, was_there)| (path.clone(), *was_there)));
        self.tried = tried.last().map(|(path, _)| path.clone()).unwrap_or_default();
        for (path, was_there) in tried {
            self.waiting.remove(&path);
            if let (Some(directory), Some(name)) = (path.parent(), path.file_name()) {
                self.named(directory, Path::new(name), was_there);
            }
        }
        let spools = self.waiting.keys().filter(|path| is_spool(path)).count() as u64;
        self.shared.unopened.store(spools, Ordering::Relaxed);
        if spools > 0 && !std::mem::replace(&mut self.reported_waiting, true) {
            let most = most_files()
                .map_or("no more files can be open".to_owned(), |most| format!("at most {most} files can be open"));
            self.say(format!(
                "{spools} {} not watched yet: {most} (ulimit -Hn); each is watched once another process ends",
                agree(spools, "process is", "processes are")
            ));
        }
    }

    /// Starts watching a directory, and finds the files already in it.
    fn begin(&mut self, directory: &Path) -> Result<(), Errno> {
        if self.watched.values().any(|watched| watched == directory) {
            return Ok(());
        }
        let comes = WatchFlags::CREATE | WatchFlags::MOVED_TO;
        let goes = WatchFlags::DELETE | WatchFlags::MOVED_FROM | WatchFlags::DELETE_SELF;
        // A directory that does not exist yet is awaited in its nearest existing ancestor.
        let number = match inotify::add_watch(&self.inotify, directory, comes | goes | WatchFlags::ONLYDIR) {
            Ok(number) => number,
            Err(why) => {
                let above = directory.ancestors().skip(1).find(|above| above.is_dir());
                let flags = comes | WatchFlags::ONLYDIR | WatchFlags::MASK_ADD;
                let _ = above.map(|above| inotify::add_watch(&self.inotify, above, flags));
                return Err(why);
            }
        };
        // A directory that cannot be listed is retried as a whole; otherwise files already in it would never be found.
        let listed = std::fs::read_dir(directory).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        self.watched.insert(number, directory.to_owned());
        for entry in listed.flatten() {
            self.named(directory, Path::new(&entry.file_name()), self.begins);
        }
        Ok(())
    }

    /// Opens the file `name` if it is named like a spool or spill (file with recorded calls). `was_there` is true if it existed when the
    /// watch began.
    fn named(&mut self, directory: &Path, name: &Path, was_there: bool) {
        let path = directory.join(name);
        let bytes = name.as_os_str().as_bytes();
        // `dxt-run` creates a directory for each run.
        if bytes.starts_with(b"dxt-run.") && self.wanted.iter().any(|wanted| wanted == directory) {
            match self.begin(&path) {
                Err(Errno::MFILE | Errno::NFILE) => {
                    self.waiting.insert(path, was_there);
                }
                // A result of `dxt-run` may be named like its spool directory. Directories of other users are left to their agents.
                Ok(()) | Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS) => {}
                Err(why) => self.cannot_watch(&path, why),
            }
            return;
        }
        let is_spill = name.extension().is_some_and(|end| end == "spill");
        if !(is_spool(name) || is_spill) || !bytes.starts_with(b"dxt-") || self.known.contains(&path) {
            return;
        }
        match open(&path, &self.shared) {
            // A failed send means that the receiver is gone, and so this thread is about to end.
            Ok((file, share)) => {
                let found = Found { path: path.clone(), file, was_there, share: Some(share) };
                self.sender.send(found).unwrap_or_default();
            }
            Err(_) if path.symlink_metadata().is_err() => {
                self.shared.missed.fetch_add(u64::from(is_spool(name)), Ordering::Relaxed);
            }
            Err(error) if is_for_now(&error) && is_for_own_user(&path) => {
                if self.waiting.len() < MOST_WAITING {
                    self.waiting.insert(path, was_there);
                } else {
                    self.shared.missed.fetch_add(u64::from(is_spool(name)), Ordering::Relaxed);
                }
                return;
            }
            // Spools of other users are left to those users' agents.
            Err(_) if path.symlink_metadata().is_ok_and(|about| about.uid() != own_user()) => {}
            Err(error) => self.say(format!("{}: {error:#}", path.display())),
        }
        if self.known.len() < MOST_KNOWN {
            self.known.insert(path);
        }
    }

    /// Returns the kernel's inotify events: directory, file name, and true if the file appeared (false if it was removed).
    fn events(&mut self) -> Vec<(PathBuf, OsString, bool)> {
        let mut reported = Vec::new();
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
                reported.push((directory.clone(), OsStr::from_bytes(name.to_bytes()).to_owned(), is_there));
            }
        }
        for number in gone {
            if let Some(directory) = self.watched.remove(&number) {
                self.known.retain(|path| path.parent() != Some(&directory));
                let before = self.waiting.len();
                self.waiting.retain(|path, _| path.parent() != Some(&directory) || !is_spool(path));
                self.shared.missed.fetch_add((before - self.waiting.len()) as u64, Ordering::Relaxed);
            }
        }
        // If the kernel dropped events, lists all directories as if for the first time.
        if lost {
            let what = "the kernel dropped file events: processes may have started and ended unobserved";
            self.say(what.into());
            self.watched.clear();
        }
        reported
    }
}

fn is_spool(name: &Path) -> bool {
    name.extension().is_some_and(|end| end == "spool")
}

/// True if this user may read the spool (file with recorded calls); root may read all spools.
fn is_for_own_user(path: &Path) -> bool {
    own_user() == 0 || path.symlink_metadata().is_ok_and(|about| about.uid() == own_user())
}

/// Returns the reason why a directory cannot be watched, in words more helpful than the system's.
const fn reason(why: Errno) -> &'static str {
    match why {
        Errno::NOTDIR => "it is not a directory",
        Errno::ACCESS => "this user may not read it",
        Errno::NOSPC => "the limit of inotify watches is reached (fs.inotify.max_user_watches)",
        _ => "the system refused",
    }
}

/// Returns the default spool directories: `DXT_SPOOL`, `TMPDIR`, `/tmp`, `/dev/shm`.
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
        // Three spools: one that is removed again, a later one of that name, and one in a directory that was created again.
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
