//! Writer of a directory of fio jobs: an iolog for each thread or rank that reads or writes, a job file that replays all iologs
//! concurrently, and a job file that creates the files to be read. `topics/signatures/uses/fio.rs` documents the formats.

use crate::exit::UsageError;
use crate::progress::say;
use crate::text::units;
use crate::topics::signatures::uses::fio::{Call, Counts, Files, Timing, job_file};
use crate::written::{Ours, Target, create_new, workshop};
use anyhow::{Context, Result, bail, ensure};
use std::collections::HashSet;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Default directory, beside the job files, of the files that a replay reads and writes.
pub(crate) const FILES: &str = "files";
/// Name of the job file that replays all iologs.
const REPLAY: &str = "replay.fio";
/// Name of the job file that creates the files to be read.
const PREPARE: &str = "prepare.fio";
/// Maximum number of jobs in a job file, for fio 3.33: with 4,095 jobs, fio fails to set up its memory.
const MOST_JOBS: usize = 4088;

struct Iolog {
    /// Name of the fio job that replays this iolog (fio's list of calls of one thread or rank).
    name: String,
    file: String,
}

/// Output directory under construction; the files are moved into place only at the end.
pub(crate) struct Jobs<'a> {
    place: &'a Path,
    /// Directory of the files that a replay reads and writes; `None` for [`FILES`].
    directory: Option<&'a Path>,
    force: bool,
    /// Temporary directory in which the files are made. Dropped before `made`, which removes the output directory only if that is empty.
    partial: TempDir,
    made: Made<'a>,
    files: Files,
    iologs: Vec<Iolog>,
    names: HashSet<String>,
    counts: Counts,
}

impl<'a> Jobs<'a> {
    /// Starts an output directory at `place`, which must be new or empty. Fails if fio cannot parse the name of `directory`.
    pub(crate) fn new(place: &'a Path, directory: Option<&'a Path>, force: bool) -> Result<Self> {
        if place.as_os_str() == "-" {
            return Err(UsageError("-o -: jobs of fio are written to a directory".into()).into());
        }
        let named = directory.map_or(FILES, |named| named.to_str().unwrap_or_default());
        let files = Files::new(named).map_err(|error| UsageError(format!("--directory: {error}")))?;
        let failed = || format!("failed to write {}", place.display());
        let is_new = std::fs::symlink_metadata(place).is_err();
        std::fs::create_dir_all(place).with_context(failed)?;
        let made = Made(is_new.then_some(place));
        let filled = !force && std::fs::read_dir(place).with_context(failed)?.next().is_some();
        ensure!(!filled, "{}: the directory is not empty; --force replaces files of the same names in it", failed());
        let partial = workshop(place).with_context(failed)?;
        let (iologs, names, counts) = (Vec::new(), HashSet::new(), Counts::default());
        Ok(Self { place, directory, force, partial, made, files, iologs, names, counts })
    }

    /// Adds the calls of one thread or rank; does nothing without calls. A `name` that is already used gets a number.
    pub(crate) fn add<'c>(
        &mut self,
        calls: impl Iterator<Item = Call<'c>>,
        timing: Timing,
        name: impl FnOnce() -> String,
    ) -> Result<()> {
        let folder = self.partial.path();
        let place = folder.join(format!("{}.partial", self.iologs.len()));
        let mut out = BufWriter::new(create_new(&place)?);
        let counts = self.files.iolog(calls, timing, &mut out)?;
        out.flush()?;
        self.counts.split += counts.split;
        self.counts.left_out += counts.left_out;
        self.counts.calls += counts.calls;
        if counts.calls == 0 {
            std::fs::remove_file(place)?;
            return Ok(());
        }
        ensure!(
            self.iologs.len() < MOST_JOBS,
            "fio runs at most {MOST_JOBS} jobs at once, and there are more threads or ranks than that; select fewer with --ranks"
        );
        let base = name();
        let (mut name, mut further) = (base.clone(), 1);
        while !self.names.insert(name.clone()) {
            further += 1;
            name = format!("{base}-{further}");
        }
        let file = format!("{name}.iolog");
        std::fs::rename(place, folder.join(&file))?;
        self.iologs.push(Iolog { name, file });
        Ok(())
    }

    /// Moves all files into place, and prints on standard error how to replay them. Fails without calls to replay, or if existing files are
    /// in the way.
    pub(crate) fn finish(mut self) -> Result<()> {
        let failed = format!("failed to write {}", self.place.display());
        self.put().context(failed)?;
        self.made.0 = None;
        self.say();
        Ok(())
    }

    fn put(&self) -> Result<()> {
        ensure!(!self.iologs.is_empty(), "nothing to replay: no reads or writes with known offsets reach the kernel");
        let (place, folder) = (self.place, self.partial.path());
        if self.directory.is_some() {
            check_names(place, &self.files, self.force)?;
        }
        let mut names: Vec<&str> = self.iologs.iter().map(|iolog| iolog.file.as_str()).collect();
        let text = job_file(self.iologs.iter().map(|iolog| (iolog.name.as_str(), iolog.file.as_str())))?;
        create_new(&folder.join(REPLAY))?.write_all(text.as_bytes())?;
        names.push(REPLAY);
        let preparation = self.files.preparation();
        if let Some(text) = &preparation {
            create_new(&folder.join(PREPARE))?.write_all(text.as_bytes())?;
            names.push(PREPARE);
        }
        let targets: Vec<PathBuf> = names.iter().map(|name| place.join(name)).collect();
        let target = |path| Target::new(path, Ours::Never, self.force);
        targets.iter().try_for_each(|path| target(path).check())?;
        names.iter().zip(&targets).try_for_each(|(name, path)| target(path).take(&folder.join(name)))?;
        if self.directory.is_none() {
            std::fs::create_dir_all(place.join(FILES))?;
        }
        // A job file left by an earlier export would create files that no replay reads.
        let stale = place.join(PREPARE);
        if preparation.is_none() && stale.is_file() {
            std::fs::remove_file(stale)?;
        }
        Ok(())
    }

    fn say(&self) {
        let (calls, jobs) =
            (units::counted(self.counts.calls, "call"), units::counted(self.iologs.len() as u64, "job"));
        let bytes = self.files.preparation_bytes();
        let prepare = if bytes > 0 { format!("fio {PREPARE} && ") } else { String::new() };
        say!("dxt-analyze: {calls} in {jobs}; to replay them: cd {} && {prepare}fio {REPLAY}", self.place.display());
        if bytes > 0 {
            say!("dxt-analyze: {PREPARE} creates files of {}", units::bytes(bytes));
        }
        let said = |count, what: &str| {
            if count > 0 {
                say!("dxt-analyze: {} {what}", units::counted(count, "call"));
            }
        };
        said(self.counts.left_out, "not in the replay, since they move no bytes, or more than one call can move");
        said(self.counts.split, "split: longer than Linux moves in one call");
    }
}

/// Directory created by this export; removed on drop if still empty.
struct Made<'a>(Option<&'a Path>);

impl Drop for Made<'_> {
    fn drop(&mut self) {
        if let Some(place) = self.0 {
            // Removing fails if the directory has contents, which then stay.
            let _ = std::fs::remove_dir(place);
        }
    }
}

/// Fails if a replay would write to existing files.
fn check_names(place: &Path, files: &Files, force: bool) -> Result<()> {
    let exists = |path: &str| std::fs::symlink_metadata(place.join(path)).is_ok();
    let there = files.played().iter().find(|file| !force && exists(&file.path));
    match there {
        Some(file) => {
            bail!("{} exists, and a replay would change it; give an empty directory, or --force", file.path)
        }
        None => Ok(()),
    }
}
