//! Writes the trace of one job from its spools. A job may have left more spools than fit in memory. All spools are therefore read once to
//! find their jobs, and again, a few at a time, to write the traces.

use super::{Found, FromSpool, Held, How, Looked, Recovery, is_directory, read, spill_or_nothing};
use crate::spools::files::{self, Identity};
use crate::written::{Ours, Target};
use anyhow::{Context, Result};
use rayon::prelude::*;
use std::fs::File;
use std::io::{BufWriter, ErrorKind, Write};
use std::os::unix::fs::{FileExt, fchown};
use std::path::{Path, PathBuf};
use trace_format::frame::IndexEntry;
use trace_format::meta::Job;
use trace_format::write::{self, Encoder};

/// Maximum number of spools (files with a process's recorded calls) whose contents are in memory at once.
pub(super) const AT_ONCE: usize = 16;

/// Result of reading a spool (file with the calls that a process recorded so far) for the first time; its contents need not be kept.
pub(super) enum Known {
    /// Spool with calls that no trace contains yet.
    Calls(Box<OfJob>),
    /// Spool without calls, or with calls that are all in a trace already ([`Held::Nothing`]).
    Nothing,
    /// Truncated spool without a call in the part that is left; holds the reason ([`Held::Cut`]).
    Cut(String),
    /// Spool with an incomplete header, with the reason, see [`Held::NoHeader`].
    NoHeader(String),
}

pub(super) struct OfJob {
    /// User id of the user who owns the spool file.
    owner: u32,
    identity: Identity,
    pub(super) about: FromSpool,
    exe: Vec<u8>,
    start_unix_ns: i64,
    /// True if the process had initialized MPI, so that its spool contains the job's MPI data.
    knows_mpi: bool,
    /// Decoded contents of the spool, if kept in memory.
    found: Option<Box<Found>>,
}

impl Known {
    /// Summarizes a spool that was read; `keeps` is true to keep the contents in memory. Also returns the error of the spill file, if any.
    pub(super) fn of(Looked { what, without_spill }: Looked, keeps: bool) -> (Self, Option<String>) {
        let known = match what {
            Held::Nothing => Self::Nothing,
            Held::Cut(why) => Self::Cut(why),
            Held::NoHeader(why) => Self::NoHeader(why),
            Held::Calls(found) => {
                let info = &found.recovered.job.info;
                Self::Calls(Box::new(OfJob {
                    owner: found.owner,
                    identity: found.identity,
                    about: found.about.clone(),
                    exe: info.exe.clone(),
                    start_unix_ns: info.start_unix_ns,
                    knows_mpi: info.mpi.is_some(),
                    found: keeps.then_some(found),
                }))
            }
        };
        (known, without_spill)
    }
}

/// Groups spools (files with a process's recorded calls) by job; the result does not depend on the order of `found`.
pub(super) fn apart(mut found: Vec<OfJob>) -> Vec<Vec<OfJob>> {
    found.sort_by(|a, b| key(a).cmp(&key(b)));
    let mut jobs: Vec<Vec<OfJob>> = Vec::new();
    for one in found {
        match jobs.last_mut().filter(|job| job.last().is_some_and(|last| last.is_of(one.owner, &one.about.job))) {
            Some(job) => job.push(one),
            None => jobs.push(vec![one]),
        }
    }
    jobs
}

fn key(one: &OfJob) -> (u32, &str, i32, &str, u32) {
    (one.owner, &one.about.job, one.about.rank, &one.about.node, one.about.pid)
}

impl OfJob {
    /// Returns true if the spool belongs to `owner` and `job`. A spool may claim any job: comparing owners keeps it out of other users' jobs.
    fn is_of(&self, owner: u32, job: &str) -> bool {
        (self.owner, self.about.job.as_str()) == (owner, job)
    }

    /// Returns the contents of the spool, reading it again if they were not kept; `None` if the process has written its trace meanwhile.
    fn found(&mut self) -> Result<Option<Box<Found>>> {
        if let Some(found) = self.found.take() {
            return Ok(Some(found));
        }
        let Held::Calls(found) = read(&self.about.spool, Some(self.identity))?.what else { return Ok(None) };
        anyhow::ensure!(self.is_of(found.owner, &found.about.job), "it changed while it was read");
        Ok(Some(found))
    }
}

pub(super) fn write(mut job: Vec<OfJob>, output: &Path, how: How, result: &mut Recovery) -> Result<()> {
    let (force, owner) = (how.force, job.first().map(|one| one.owner).filter(|_| how.gives));
    let in_directory = is_directory(output);
    let path = if in_directory {
        std::fs::create_dir_all(output)
            .with_context(|| format!("failed to make the directory {}", output.display()))?;
        output.join(file_name(&job))
    } else {
        output.to_owned()
    };
    // A running process can be recovered repeatedly; each new trace replaces the earlier one.
    let own = job.iter().all(|one| one.owner == files::own_user());
    let Some(block) = block_of(&mut job) else { return Ok(()) };
    // Traces made from other users' spools must not replace files, since a spool may claim any name.
    let (ours, force) = if own { (Ours::Recovery, force) } else { (Ours::Never, force && !in_directory) };
    let others = (2..1000).map(|number| path.with_extension(format!("{number}.dxt"))).filter(|_| in_directory);
    let may_be = |path: &PathBuf| Target::new(path, ours, force).check().is_ok();
    let path = std::iter::once(path.clone()).chain(others).find(may_be).unwrap_or(path);
    let mut about = Vec::new();
    let rights = if own { rights(&block) } else { PRIVATE };
    let has_written = Target::new(&path, ours, force).with_rights(rights).file(|file| {
        about = regions(&mut job, &block, file, &mut result.failed)?;
        if about.is_empty() {
            return Err(Nothing.into());
        }
        // Changes the owner through the open file, before the file gets its name: a file put under that name by others must not be given away.
        owner
            .map_or(Ok(()), |owner| fchown(&*file, Some(owner), None))
            .context("failed to make the spool's user its owner")
    });
    match has_written {
        Err(error) if error.is::<Nothing>() => return Ok(()),
        done => done?,
    }
    result.written.push(path);
    result.spools.extend(about);
    Ok(())
}

/// Permission bits that let only the owner read and write.
const PRIVATE: u32 = 0o600;

/// Returns the permission bits that the process would have given its trace; `block` is the process's job block.
fn rights(block: &Job) -> u32 {
    let asked = block.settings.iter().find(|(name, _)| name == "DXT_TRACE_MODE");
    let mode = asked.and_then(|(_, value)| u32::from_str_radix(value, 8).ok());
    mode.filter(|mode| mode & PRIVATE == PRIVATE && mode & !0o666 == 0).unwrap_or(PRIVATE)
}

/// Error if no calls are left to write, because the processes have written their traces meanwhile.
#[derive(Debug, thiserror::Error)]
#[error("nothing is left to write")]
struct Nothing;

/// Returns the job block (description of the job) of a process that had initialized MPI, since it has the most data; else of the first
/// process. `None` if no spool has calls any more.
fn block_of(job: &mut [OfJob]) -> Option<Job> {
    let mut order: Vec<usize> = (0..job.len()).collect();
    order.sort_by_key(|&at| !job[at].knows_mpi);
    order.into_iter().find_map(|at| {
        let found = job[at].found().ok().flatten()?;
        let block = found.recovered.job.clone();
        job[at].found = Some(found);
        Some(block)
    })
}

/// Writes the trace to `file`, process by process, and returns what was written per spool. Messages on unreadable spools are added to `failed`.
fn regions(job: &mut [OfJob], block: &Job, file: &mut File, failed: &mut Vec<String>) -> Result<Vec<FromSpool>> {
    let mut encoder = Encoder::new()?;
    let (mut about, mut index) = (Vec::new(), Vec::new());
    let mut head = write::preamble(&mut encoder, block, 0)?;
    let mut out = Counted { file: BufWriter::with_capacity(1 << 20, &mut *file), bytes: 0, refused: None };
    out.write_all(&head)?;
    for some in job.chunks_mut(AT_ONCE) {
        let found: Vec<_> = some.par_iter_mut().map(|one| (one.found(), one.about.spool.clone())).collect();
        for (found, spool) in found {
            match found {
                Ok(Some(mut found)) => {
                    let (number, offset) = (about.len() as u32, out.bytes);
                    let Found { recovered, spill, about: of_spool, .. } = &mut *found;
                    let written =
                        recovered.write_region(&mut encoder, number, spill_or_nothing(spill.as_ref()), &mut out);
                    if let Some(refused) = out.refused.take() {
                        return Err(refused.into());
                    }
                    let entry = written.with_context(|| format!("failed to read {} again", spool.display()))?;
                    index.extend_from_slice(&IndexEntry { offset, ..entry }.encode());
                    of_spool.segments = recovered.process.info.segments;
                    of_spool.folded = recovered.process.info.missing;
                    about.push(of_spool.clone());
                }
                // Nothing is left of this spool: the process has written its trace meanwhile.
                Ok(None) => {}
                Err(error) => failed.push(format!("{}: {error:#}", spool.display())),
            }
        }
    }
    let (count, index_offset) = (about.len() as u32, out.bytes);
    out.write_all(&index)?;
    out.write_all(&write::trailer(index_offset, count))?;
    out.file.flush()?;
    drop(out);
    write::count_regions(&mut head, count)?;
    file.write_all_at(&head, 0)?;
    Ok(about)
}

/// Writer that counts the bytes written, and keeps the error that stopped it.
struct Counted<W> {
    file: W,
    bytes: u64,
    refused: Option<std::io::Error>,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self.file.write(bytes) {
            Ok(written) => {
                self.bytes += written as u64;
                Ok(written)
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Err(error),
            Err(error) => {
                let kind = error.kind();
                self.refused = Some(error);
                Err(kind.into())
            }
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

/// Returns the file name of a recovered trace: `<program>_<start>_<node>_<pid>_recovered.dxt`, with the number of processes if there are several.
fn file_name(job: &[OfJob]) -> String {
    let Some(first) = job.first() else { return "recovered.dxt".into() };
    let exe = String::from_utf8_lossy(&first.exe);
    let program = exe.rsplit('/').next().unwrap_or("program");
    let start = jiff::Timestamp::from_nanosecond(i128::from(first.start_unix_ns)).unwrap_or_default();
    let (start, about) = (start.strftime("%Y%m%dT%H%M%SZ"), &first.about);
    let many = if job.len() > 1 { format!("_{}processes", job.len()) } else { String::new() };
    let name = format!("{program}_{start}_{}_{}{many}_recovered.dxt", about.node, about.pid);
    name.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' }).collect()
}
