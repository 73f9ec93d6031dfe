//! Output of `export --to fio`: selects the calls that fio replays, per thread. `topics/signatures/uses/fio.rs` documents the formats.
//!
//! fio replays the calls that reach the kernel: POSIX calls, including those inside MPI-IO and HDF5, and calls of C streams; for files that
//! have only MPI-IO calls, the MPI-IO calls. Calls have the order of the trace, as in signatures (loops that describe the accesses of a
//! process).

use super::Job;
use super::calls::times;
use super::jobs::{FILES, Jobs};
use crate::exit::UsageError;
use crate::model::{Process, ProcessId, Run, Stream};
use crate::progress::Bar;
use crate::progress::say;
use crate::scan::{Lost, Progress, Reader, segments_of};
use crate::text::units;
use crate::topics::signatures::uses::fio::{Call, Op, Timing};
use anyhow::{Context, Result};
use std::path::{Component, Path, PathBuf};
use trace_format::op::{Layer, OpClass};

pub(crate) fn write(job: &Job<'_>) -> Result<Lost> {
    let place = &job.args.output;
    let directory = job.args.directory.as_deref();
    // fio runs in the directory of its job files, so relative paths start there.
    check_directory(job.run, &place.join(directory.unwrap_or(Path::new(FILES))))?;
    let jobs = Jobs::new(place, directory, job.args.force)?;
    let timing = if job.args.times { Timing::AsRecorded } else { Timing::AtOnce };
    let mut player =
        Player { run: job.run, timing, jobs, reader: Reader::default(), lost: Lost::default(), no_offset: 0 };
    player.all().with_context(|| format!("failed to write {}", place.display()))?;
    let (no_offset, lost) = (player.no_offset, player.lost.sorted());
    player.jobs.finish()?;
    if no_offset > 0 {
        say!(
            "dxt-analyze: {} not in the replay, since the trace has no offset of these calls",
            units::counted(no_offset, "call")
        );
    }
    Ok(lost)
}

/// Fails if the replay directory contains files that the traced program used, which a replay must not touch.
fn check_directory(run: &Run, directory: &Path) -> Result<()> {
    let absolute = plain(&std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned()));
    let real = std::fs::canonicalize(directory).unwrap_or_else(|_| absolute.clone());
    let is_there = |file: &&crate::model::File| {
        let Some(folder) = Path::new(&file.name).parent().filter(|folder| folder.is_absolute()) else { return false };
        folder == absolute || folder == real || std::fs::canonicalize(folder).is_ok_and(|folder| folder == real)
    };
    match run.files.iter().find(is_there) {
        Some(file) => Err(UsageError(format!(
            "--directory {}: {} of the trace is in it, and a replay must not change that file; give an empty directory",
            directory.display(),
            file.name
        ))
        .into()),
        None => Ok(()),
    }
}

/// Resolves `..` components lexically, without following symbolic links.
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

struct Player<'a> {
    run: &'a Run,
    timing: Timing,
    jobs: Jobs<'a>,
    reader: Reader,
    lost: Lost,
    no_offset: u64,
}

impl Player<'_> {
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

    /// Writes the iolog (fio's list of calls to replay) of one thread, unless it would be empty.
    fn thread(
        &mut self,
        number: ProcessId,
        process: &Process,
        index: usize,
        blocks: &[(u32, u32)],
        bar: &Bar,
    ) -> Result<()> {
        let run = self.run;
        let (reader, lost, no_offset) = (&mut self.reader, &mut self.lost, &mut self.no_offset);
        let of_stream: Vec<Option<(Op, &str)>> = process.streams.iter().map(|stream| played(run, stream)).collect();
        // Only the calls of one block are in memory at a time.
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
        self.jobs.add(calls, self.timing, || name(run, number, process, index, blocks))
    }
}

/// Returns the name of a thread's job, such as `rank-3` or `pid-4711`; all threads of a process but the first have their thread id appended.
fn name(run: &Run, number: ProcessId, process: &Process, index: usize, blocks: &[(u32, u32)]) -> String {
    let name = run.process_name(number).replace(' ', "-");
    match blocks.first().filter(|_| index > 0) {
        Some((thread, _)) => format!("{name}-thread-{}", process.tid(*thread)),
        None => name,
    }
}

/// Returns the fio operation and file path that replay the calls of a stream (one operation on one file); `None` unless the calls are
/// successful reads or writes that reach the kernel.
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
