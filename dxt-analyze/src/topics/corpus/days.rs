//! Incremental corpus: one directory per day of job start, with the tables of that day's jobs and a list of their source files, so that a
//! later run knows which files were read. A day is built in another directory and swapped in atomically: after any interruption, a job's
//! rows exist once or not yet.

use super::parquet::Tables;
use super::places::Places;
use super::repeated_runs::{Groups, OneRun, Program};
use super::slow_run::Known;
use super::sources::{Entry, Source};
use super::worker::Done;
use crate::input;
use crate::load::corpus::OfJob;
use crate::written::{create_new, growing, lock_file, sync_folder};
use anyhow::{Context, Result, ensure};
use rustc_hash::{FxHashMap, FxHashSet};
use rustix::fs::{CWD, FlockOperation, RenameFlags, flock, renameat_with};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// File with the rows of a day's jobs, one job per line, compressed. The day's tables are rebuilt from this file when jobs are added.
const ROWS: &str = ".rows.jsonl.zst";
/// File with the call durations over each run of a day, one run per line, compressed. Later runs are compared with these runs.
const PACES: &str = ".paces.jsonl.zst";
/// File that lists the source files of a day's jobs.
const SOURCES: &str = ".sources.jsonl";
/// Name of the directory in which days (directories with the jobs of one day) are built.
const NEW: &str = ".new";
/// Name of the directory to which a day's old directory is moved while it is replaced.
const OLD: &str = ".old";
const ZSTD_LEVEL: i32 = 3;
/// Maximum number of files of job rows (one per day) open at once.
const OPEN: usize = 16;
/// Number of days (latest first, only days with jobs) in which earlier runs are searched.
const DAYS_BACK: usize = 60;

#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    entry: Entry,
    done: Done,
}

pub(super) struct Days {
    place: PathBuf,
    /// Lock on the corpus against other runs, held as long as this process runs.
    _lock: File,
    /// Source files by absolute path: state when read, and the job's key in its traces.
    known: FxHashMap<PathBuf, (Source, Option<String>)>,
    places: Places,
}

impl Days {
    /// Opens the corpus in directory `place`, creating it if missing, and repairs what an interrupted run of the command left incomplete.
    ///
    /// # Errors
    /// Fails if another run is using the corpus, or if the corpus cannot be read.
    pub(super) fn open(place: &Path) -> Result<Self> {
        let failed = || format!("failed to open the corpus {}", place.display());
        std::fs::create_dir_all(place).with_context(failed)?;
        let lock = lock_file(&place.join(".lock")).with_context(failed)?;
        let alone = flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok();
        ensure!(alone, "another run is collecting into {}", place.display());
        // Readers of `*/jobs.parquet` could not distinguish day directories from single tables.
        ensure!(
            !place.join("jobs.parquet").exists(),
            "{} has tables that were not collected with --incremental: give another directory",
            place.display()
        );
        repair(place).with_context(failed)?;
        let (mut known, mut places) = (FxHashMap::default(), Places::default());
        for day in days(place).with_context(failed)? {
            let file = place.join(&day).join(SOURCES);
            let opened = input::open_no_link(&file).with_context(|| format!("failed to open {}", file.display()))?;
            for line in BufReader::new(opened).lines() {
                let entry: Entry = parse(&line.with_context(failed)?, &file)?;
                for source in &entry.sources {
                    known.insert(source.path.clone(), (source.clone(), entry.key.clone()));
                }
                places.add(entry, day.clone());
            }
        }
        Ok(Self { place: place.to_owned(), _lock: lock, known, places })
    }

    /// Takes the keys and day directories of the known jobs out of `self`; a second call returns none.
    pub(super) fn places(&mut self) -> Places {
        std::mem::take(&mut self.places)
    }

    /// Returns the job of an unchanged source file (inner `None` for a Darshan log); outer `None` if the file is new or has changed.
    pub(super) fn known(&self, path: &Path) -> Option<Option<OfJob>> {
        let now = Source::of(path).ok()?;
        let (source, key) = self.known.get(&now.path)?;
        (*source == now).then(|| key.clone().map(|key| (source.owner, key)))
    }

    /// Adds earlier runs to `groups` (runs that may be repeats of one program), latest days first. Skips the jobs `again`, which are being
    /// read again. Days whose stored runs cannot be read are added to `unread`.
    ///
    /// # Errors
    /// Fails if the corpus cannot be listed.
    pub(super) fn earlier(&self, groups: &mut Groups, again: &FxHashSet<&str>, unread: &mut Unread) -> Result<()> {
        let failed = || format!("failed to read the corpus {}", self.place.display());
        for day in days(&self.place).with_context(failed)?.iter().rev().take(DAYS_BACK) {
            if !groups.want_more() {
                break;
            }
            let folder = self.place.join(day);
            let read = each_run(&folder, |_, about| {
                if groups.want(&about.program) && !again.contains(about.known.job.as_str()) {
                    let AboutRun { program, known, paces } = about;
                    groups.offer(OneRun { program, known, paces: parse(paces.get(), &folder.join(PACES))? });
                }
                Ok(())
            });
            if let Err(error) = read {
                unread.insert(day.clone(), error);
            }
        }
        Ok(())
    }

    /// Returns a collector for the rows of newly read jobs; [`Incoming::settle`] moves the rows to the jobs' days.
    pub(super) fn incoming(&self) -> Result<Incoming<'_>> {
        let folder = self.place.join(NEW);
        std::fs::create_dir_all(&folder).with_context(|| format!("failed to make {}", folder.display()))?;
        Ok(Incoming { place: &self.place, days: BTreeMap::new(), open: VecDeque::new() })
    }
}

/// Stored run: program, identity, and call durations over the run, which are parsed only if needed.
#[derive(Deserialize)]
struct AboutRun<'a> {
    program: Program,
    known: Known,
    #[serde(borrow)]
    paces: &'a RawValue,
}

/// Days whose stored runs cannot be read, with the error. Job rows are in other files and not affected.
pub(super) type Unread = BTreeMap<String, anyhow::Error>;

/// Passes each stored run of a day, with its line of text, to `take`. Days written by versions that did not store runs have none.
///
/// # Errors
/// Fails if the runs cannot be read; the runs before the error have been passed.
fn each_run(day: &Path, mut take: impl FnMut(&str, AboutRun<'_>) -> Result<()>) -> Result<()> {
    let path = day.join(PACES);
    let failed = || format!("failed to read {}", path.display());
    let file = match input::open_no_link(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        file => file.with_context(failed)?,
    };
    let lines = zstd::stream::read::Decoder::new(file).with_context(failed)?;
    for line in BufReader::new(lines).lines() {
        let line = line.with_context(failed)?;
        take(&line, parse(&line, &path)?)?;
    }
    Ok(())
}

/// Writer of a day's stored runs, to a temporary file.
struct Paces {
    path: PathBuf,
    out: zstd::stream::write::Encoder<'static, File>,
}

impl Paces {
    fn new(path: PathBuf) -> Result<Self> {
        let out = zstd::stream::write::Encoder::new(create_new(&path)?, ZSTD_LEVEL)?;
        Ok(Self { path, out })
    }

    fn add(&mut self, line: &str) -> Result<()> {
        let written = self.out.write_all(line.as_bytes()).and_then(|()| self.out.write_all(b"\n"));
        written.with_context(|| format!("failed to write {}", self.path.display()))
    }

    fn finish(self, place: &Path) -> Result<()> {
        self.out.finish()?;
        Ok(std::fs::rename(self.path, place)?)
    }
}

/// Rows of newly read jobs, collected in one temporary file per day.
pub(super) struct Incoming<'a> {
    place: &'a Path,
    days: BTreeMap<String, FxHashSet<String>>,
    /// Open files of the most recently used days; an archive has more days than a process may have open files.
    open: VecDeque<(String, BufWriter<File>)>,
}

impl Incoming<'_> {
    pub(super) fn add(&mut self, day: &str, entry: Entry, done: Done) -> Result<()> {
        let path = self.rows(day);
        let failed = || format!("failed to write {}", path.display());
        self.days.entry(day.to_owned()).or_default().insert(entry.job.clone());
        let place = self.open.iter().position(|(open, _)| open == day);
        let mut file = match place.and_then(|place| self.open.remove(place)) {
            Some((_, file)) => file,
            None => BufWriter::new(appended(&path).with_context(failed)?),
        };
        serde_json::to_writer(&mut file, &Kept { entry, done }).with_context(failed)?;
        file.write_all(b"\n").with_context(failed)?;
        self.open.push_back((day.to_owned(), file));
        if self.open.len() > OPEN {
            self.close_oldest()?;
        }
        Ok(())
    }

    fn close_oldest(&mut self) -> Result<()> {
        let Some((day, mut file)) = self.open.pop_front() else { return Ok(()) };
        file.flush().with_context(|| format!("failed to write {}", self.rows(&day).display()))
    }

    fn rows(&self, day: &str) -> PathBuf {
        self.place.join(NEW).join(format!("{day}.jsonl"))
    }

    /// Rebuilds each day that got new jobs from its old jobs (except jobs read again) and the new jobs. `slow` contains the keys of new
    /// jobs that were slow. Stored runs of a day that cannot be read are dropped, and the day is added to `unread`.
    pub(super) fn settle(mut self, slow: &FxHashSet<String>, unread: &mut Unread) -> Result<()> {
        while !self.open.is_empty() {
            self.close_oldest()?;
        }
        for (day, jobs) in std::mem::take(&mut self.days) {
            let failed = || format!("failed to write {} of {}", day, self.place.display());
            let mut all = Vec::new();
            let old = self.place.join(&day).join(ROWS);
            match input::open_no_link(&old) {
                Ok(file) => {
                    // Notes the access rights of the old rows, since traces of these jobs may no longer exist.
                    input::note(&file.metadata().with_context(failed)?);
                    let lines = zstd::stream::read::Decoder::new(file).with_context(failed)?;
                    all.extend(kept(BufReader::new(lines), &old)?);
                    all.retain(|one: &Kept| !jobs.contains(&one.entry.job));
                }
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error).with_context(failed),
            }
            let new = self.rows(&day);
            let mut runs = Paces::new(self.rows(&day).with_extension("paces")).with_context(failed)?;
            let mut written = Ok(());
            let read = each_run(&self.place.join(&day), |line, about| {
                if written.is_ok() && !jobs.contains(&about.known.job) {
                    written = runs.add(line);
                }
                Ok(())
            });
            written?;
            if let Err(error) = read {
                unread.insert(day.clone(), error);
            }
            for mut one in kept(BufReader::new(input::open_no_link(&new).with_context(failed)?), &new)? {
                if let Some(mut run) = OneRun::of(&one.done.row, one.done.paces.take()) {
                    run.known.was_slow = slow.contains(&run.known.job);
                    runs.add(&serde_json::to_string(&run).with_context(failed)?)?;
                }
                all.push(one);
            }
            all.sort_by(|a, b| a.done.row.source.cmp(&b.done.row.source).then_with(|| a.entry.job.cmp(&b.entry.job)));
            let made = self.place.join(NEW).join(&day);
            write(&made, &all, runs).with_context(failed)?;
            exchange(self.place, &made, &day).with_context(failed)?;
        }
        let _ = std::fs::remove_dir_all(self.place.join(NEW));
        Ok(())
    }
}

/// Opens a file of job rows (one job per line) for appending.
fn appended(path: &Path) -> Result<File> {
    let mut file = growing(path)?;
    file.seek(SeekFrom::End(0))?;
    Ok(file)
}

fn parse<'a, T: Deserialize<'a>>(line: &'a str, file: &Path) -> Result<T> {
    serde_json::from_str(line).with_context(|| {
        format!(
            "failed to read {}: another version of dxt-analyze may have made it; collect into a new directory",
            file.display()
        )
    })
}

fn kept(lines: impl BufRead, file: &Path) -> Result<Vec<Kept>> {
    lines.lines().map(|line| parse(&line?, file)).collect()
}

/// Writes the tables of a day, made from job rows (`jobs`) and call durations (`runs`), to the new directory `folder`, and syncs the
/// directory to disk.
fn write(folder: &Path, jobs: &[Kept], runs: Paces) -> Result<()> {
    let mut tables = Tables::new(folder, false)?;
    for Kept { done, .. } in jobs {
        tables.add(&done.row, &done.files, &done.findings)?;
    }
    let rows: Vec<_> = jobs.iter().map(|one| one.done.row.clone()).collect();
    tables.finish(&rows)?;
    let mut rows = zstd::stream::write::Encoder::new(create_new(&folder.join(ROWS))?, ZSTD_LEVEL)?;
    let mut sources = BufWriter::new(create_new(&folder.join(SOURCES))?);
    for one in jobs {
        serde_json::to_writer(&mut rows, one)?;
        rows.write_all(b"\n")?;
        serde_json::to_writer(&mut sources, &one.entry)?;
        sources.write_all(b"\n")?;
    }
    rows.finish()?;
    runs.finish(&folder.join(PACES))?;
    sources.into_inner().map_err(std::io::IntoInnerError::into_error)?;
    sync_folder(folder)
}

/// Swaps the finished day directory `made` into place, and removes the old directory.
fn exchange(place: &Path, made: &Path, day: &str) -> Result<()> {
    let target = place.join(day);
    if !target.exists() {
        std::fs::rename(made, &target)?;
        return sync_folder(place);
    }
    if renameat_with(CWD, made, CWD, &target, RenameFlags::EXCHANGE).is_err() {
        // Without RENAME_EXCHANGE, the swap takes two renames; the next run repairs an interruption between them.
        let old = place.join(OLD);
        std::fs::create_dir_all(&old)?;
        std::fs::rename(&target, old.join(day))?;
        std::fs::rename(made, &target)?;
        std::fs::remove_dir_all(&old)?;
        return sync_folder(place);
    }
    sync_folder(place)?;
    Ok(std::fs::remove_dir_all(made)?)
}

/// Repairs the corpus after an interrupted run: moves back days that were being replaced and have no successor, and removes unfinished
/// days.
fn repair(place: &Path) -> Result<()> {
    let old = place.join(OLD);
    for day in days(&old).unwrap_or_default() {
        if !place.join(&day).exists() {
            std::fs::rename(old.join(&day), place.join(&day))?;
        }
    }
    for folder in [old, place.join(NEW)] {
        match std::fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
    }
    Ok(())
}

fn days(place: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(place)? {
        names.extend(entry?.file_name().into_string().ok().filter(|name| name.starts_with("day=")));
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(place: &Path, text: &str) {
        std::fs::create_dir_all(place).unwrap();
        std::fs::write(place.join("x"), text).unwrap();
    }

    #[test]
    fn an_interrupted_run_is_put_right() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let read = |name: &str| std::fs::read_to_string(at(name).join("x")).unwrap();
        // Day 1 was interrupted between the two renames, day 2 after the second.
        day(&at(".old/day=1"), "one");
        day(&at(".new/day=1"), "one and more");
        day(&at(".old/day=2"), "two");
        day(&at("day=2"), "two and more");
        repair(folder.path()).unwrap();
        assert_eq!((read("day=1").as_str(), read("day=2").as_str()), ("one", "two and more"));
        assert!(!at(".old").exists() && !at(".new").exists());
        day(&at(".new/day=1"), "one and more");
        exchange(folder.path(), &at(".new/day=1"), "day=1").unwrap();
        assert_eq!(read("day=1"), "one and more");
        assert!(!at(".new/day=1").exists());
    }
}
