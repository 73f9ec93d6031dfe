//! `export --to fio`: a directory with an iolog for each thread that reads or writes, a job file that plays them side by side, and one that
//! makes the files which are read. `topics/signatures/uses/fio.rs` knows the formats; here is what is played, and where it goes.
//!
//! Played is what reaches the system: calls of POSIX, also those inside MPI-IO and HDF5, and of C streams; of files of which only MPI-IO calls
//! are on record, these. They stand in the order of the trace, in which the signatures of the trace are made too.

use super::Job;
use super::calls::times;
use crate::exit::UsageError;
use crate::model::{Process, ProcessId, Run, Stream};
use crate::progress::Bar;
use crate::progress::say;
use crate::scan::{Lost, Progress, Reader, segments_of};
use crate::text::units;
use crate::topics::signatures::uses::fio::{Call, Counts, Files, Op, Timing, job_file};
use crate::written::{Ours, Target, create_new, workshop};
use anyhow::{Context, Result, bail, ensure};
use std::collections::HashSet;
use std::io::{BufWriter, Write as _};
use std::path::{Component, Path, PathBuf};
use trace_format::op::{Layer, OpClass};

/// Where files are played without `--directory`, beside the job files.
const FILES: &str = "files";
/// The job file that plays all.
const REPLAY: &str = "replay.fio";
/// The one that makes what is read.
const PREPARE: &str = "prepare.fio";
/// Jobs that fio 3.33 runs at most: with 4,095 it fails to set up its memory.
const MOST_JOBS: usize = 4088;

/// Writes the directory; returns what was lost on the way.
pub(crate) fn write(job: &Job<'_>) -> Result<Lost> {
    let place = &job.args.output;
    if place.as_os_str() == "-" {
        return Err(UsageError("-o -: jobs of fio are written to a directory".into()).into());
    }
    let failed = || format!("failed to write {}", place.display());
    let directory = match &job.args.directory {
        None => FILES.to_owned(),
        Some(named) => named.to_str().map(str::to_owned).unwrap_or_default(),
    };
    let files = Files::new(&directory).map_err(|error| UsageError(format!("--directory: {error}")))?;
    // fio runs in the place of the jobs.
    check_directory(job.run, &place.join(&directory))?;
    let made = std::fs::symlink_metadata(place).is_err();
    std::fs::create_dir_all(place).with_context(failed)?;
    let filled = job.args.force || std::fs::read_dir(place).with_context(failed)?.next().is_none();
    ensure!(filled, "{}: the directory is not empty; --force replaces files of the same names in it", failed());
    let done = fill(job, files);
    if done.is_err() && made {
        // Only if it is empty, as it was.
        let _ = std::fs::remove_dir(place);
    }
    done.with_context(failed)
}

fn fill(job: &Job<'_>, files: Files) -> Result<Lost> {
    let place = &job.args.output;
    let partial = workshop(place)?;
    let timing = if job.args.times { Timing::AsRecorded } else { Timing::AtOnce };
    let mut player = Player::new(job.run, partial.path(), timing, files);
    player.all()?;
    ensure!(
        !player.iologs.is_empty(),
        "no reads or writes that reach the system and whose offsets are known are among these segments"
    );
    if job.args.directory.is_some() {
        check_names(place, &player.files, job.args.force)?;
    }
    let mut names: Vec<&str> = player.iologs.iter().map(|iolog| iolog.file.as_str()).collect();
    let text = job_file(player.iologs.iter().map(|iolog| (iolog.name.as_str(), iolog.file.as_str())))?;
    create_new(&partial.path().join(REPLAY))?.write_all(text.as_bytes())?;
    names.push(REPLAY);
    let preparation = player.files.preparation();
    if let Some(text) = &preparation {
        create_new(&partial.path().join(PREPARE))?.write_all(text.as_bytes())?;
        names.push(PREPARE);
    }
    let targets: Vec<PathBuf> = names.iter().map(|name| place.join(name)).collect();
    let target = |path| Target::new(path, Ours::Never, job.args.force);
    targets.iter().try_for_each(|path| target(path).check())?;
    names.iter().zip(&targets).try_for_each(|(name, path)| target(path).take(&partial.path().join(name)))?;
    if job.args.directory.is_none() {
        std::fs::create_dir_all(place.join(FILES))?;
    }
    // What an earlier export left would make files that are not read now.
    let stale = place.join(PREPARE);
    if preparation.is_none() && stale.is_file() {
        std::fs::remove_file(stale)?;
    }
    player.say(place);
    Ok(player.lost.sorted())
}

/// Fails if files of the trace lie where they are played: a replay must not touch them.
fn check_directory(run: &Run, directory: &Path) -> Result<()> {
    let absolute = plain(&std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned()));
    let real = std::fs::canonicalize(directory).unwrap_or_else(|_| absolute.clone());
    let is_there = |file: &&crate::model::File| {
        let Some(folder) = Path::new(&file.name).parent().filter(|folder| folder.is_absolute()) else { return false };
        folder == absolute || folder == real || std::fs::canonicalize(folder).is_ok_and(|folder| folder == real)
    };
    match run.files.iter().find(is_there) {
        Some(file) => Err(UsageError(format!(
            "--directory {}: {} of the trace lies there, and a replay must not touch it; name an empty directory",
            directory.display(),
            file.name
        ))
        .into()),
        None => Ok(()),
    }
}

/// Without the parts `..`, as if there were no links.
fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                out.pop();
            }
            part => out.push(part),
        }
    }
    out
}

/// Fails if a replay would write to files that are there already.
fn check_names(place: &Path, files: &Files, force: bool) -> Result<()> {
    let exists = |path: &str| std::fs::symlink_metadata(place.join(path)).is_ok();
    let there = files.played().iter().find(|file| !force && exists(&file.path));
    match there {
        Some(file) => bail!("{} exists, and a replay would change it; name an empty directory, or --force", file.path),
        None => Ok(()),
    }
}

/// An iolog that was written.
struct Iolog {
    /// Whose it is.
    name: String,
    /// Name of its file.
    file: String,
}

/// What is made, thread by thread.
struct Player<'a> {
    run: &'a Run,
    folder: &'a Path,
    timing: Timing,
    files: Files,
    iologs: Vec<Iolog>,
    names: HashSet<String>,
    reader: Reader,
    lost: Lost,
    counts: Counts,
    no_offset: u64,
}

impl<'a> Player<'a> {
    fn new(run: &'a Run, folder: &'a Path, timing: Timing, files: Files) -> Self {
        Self {
            run,
            folder,
            timing,
            files,
            iologs: Vec::new(),
            names: HashSet::new(),
            reader: Reader::default(),
            lost: Lost::default(),
            counts: Counts::default(),
            no_offset: 0,
        }
    }

    fn all(&mut self) -> Result<()> {
        let bar = Bar::new(self.run.segments(), "writing");
        for (number, process) in self.run.numbered_processes() {
            // Blocks are sorted by thread.
            let blocks: Vec<(u32, u32)> =
                process.blocks.iter().enumerate().map(|(index, block)| (block.head.thread, index as u32)).collect();
            for (index, blocks) in blocks.chunk_by(|a, b| a.0 == b.0).enumerate() {
                self.thread(number, process, index, blocks, &bar)?;
            }
        }
        Ok(())
    }

    /// Writes one thread's iolog, unless it would be empty.
    fn thread(
        &mut self,
        number: ProcessId,
        process: &Process,
        index: usize,
        blocks: &[(u32, u32)],
        bar: &Bar,
    ) -> Result<()> {
        let run = self.run;
        let place = self.folder.join(format!("{}.partial", self.iologs.len()));
        let mut out = BufWriter::new(create_new(&place)?);
        let (reader, lost, no_offset) = (&mut self.reader, &mut self.lost, &mut self.no_offset);
        let of_stream: Vec<Option<(Op, &str)>> = process.streams.iter().map(|stream| played(run, stream)).collect();
        // One block's calls at a time.
        let calls = blocks.iter().flat_map(|&(_, block)| {
            let mut calls = Vec::new();
            for row in reader.block(run, number, block, lost).iter().flat_map(crate::scan::Block::rows) {
                let Some(Some((op, file))) = of_stream.get(row.stream.index()) else { continue };
                let Ok(offset) = u64::try_from(row.offset) else {
                    *no_offset += 1;
                    continue;
                };
                let (start_ns, _) = times(process, &row);
                calls.push(Call { op: *op, file, offset, length: row.length, start_ns });
            }
            bar.advance(segments_of(run, number, block));
            calls
        });
        let counts = self.files.iolog(calls, self.timing, &mut out)?;
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
            "fio runs at most {MOST_JOBS} jobs at once, and there are more threads than that; choose some by --ranks"
        );
        let name = self.name(number, process, index, blocks);
        let file = format!("{name}.iolog");
        std::fs::rename(place, self.folder.join(&file))?;
        self.iologs.push(Iolog { name, file });
        Ok(())
    }

    /// A name that no other thread has: `rank-3`, `pid-4711`; further threads with their number.
    fn name(&mut self, number: ProcessId, process: &Process, index: usize, blocks: &[(u32, u32)]) -> String {
        let mut name = self.run.process_name(number).replace(' ', "-");
        if let Some((thread, _)) = blocks.first().filter(|_| index > 0) {
            name += &format!("-thread-{}", process.tid(*thread));
        }
        let base = name.clone();
        let mut further = 1;
        while !self.names.insert(name.clone()) {
            further += 1;
            name = format!("{base}-{further}");
        }
        name
    }

    /// Says what is played and what is not.
    fn say(&self, place: &Path) {
        let (calls, jobs) =
            (units::counted(self.counts.calls, "call"), units::counted(self.iologs.len() as u64, "job"));
        let bytes = self.files.preparation_bytes();
        let prepare = if bytes > 0 { format!("fio {PREPARE} && ") } else { String::new() };
        say!("dxt-analyze: {calls} in {jobs}; to play them: cd {} && {prepare}fio {REPLAY}", place.display());
        if bytes > 0 {
            say!("dxt-analyze: {PREPARE} makes files of {}", units::bytes(bytes));
        }
        let said = |count, what: &str| {
            if count > 0 {
                say!("dxt-analyze: {} {what}", units::counted(count, "call"));
            }
        };
        said(self.no_offset, "without an offset on record left out");
        said(self.counts.left_out, "that moved nothing, or more than a call can, left out");
        said(self.counts.split, "longer than Linux moves at once split");
    }
}

/// What is played of a stream's calls: reads and writes that were made and reach the system.
fn played<'a>(run: &'a Run, stream: &Stream) -> Option<(Op, &'a str)> {
    let op = run.op(stream);
    let reaches = stream.storage || matches!(op.layer, Some(Layer::Posix | Layer::Stdio));
    let made = stream.chosen && !stream.failed && !stream.overview && !stream.meets;
    let what = match op.class? {
        OpClass::Read => Op::Read,
        OpClass::Write => Op::Write,
        _ => return None,
    };
    let file = run.file(stream.file)?;
    (reaches && made).then_some((what, file.name.as_str()))
}
