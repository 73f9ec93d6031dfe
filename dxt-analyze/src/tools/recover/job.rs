//! The spools of one job, and their trace. A job may have left more of them than fit into memory: they are read once to know whose they are,
//! and once more, some at a time, when their trace is made.

use super::{Found, FromSpool, Held, Looked, Recovery, is_directory, read};
use crate::spools::files;
use crate::written::{Ours, Target};
use anyhow::{Context, Result};
use rayon::prelude::*;
use std::io::Write;
use std::path::{Path, PathBuf};
use trace_format::meta::Job;
use trace_format::write::{self, Encoder};

/// Spools that are in memory at a time.
pub(super) const AT_ONCE: usize = 16;

/// What is known of a spool that was read.
pub(super) enum Known {
    /// It holds calls that are in no trace.
    Calls(Box<OfJob>),
    /// As [`Held::Nothing`].
    Nothing,
    /// As [`Held::Cut`].
    Cut(String),
}

/// A spool of a job.
pub(super) struct OfJob {
    /// User id of the file's owner.
    owner: u32,
    pub(super) about: FromSpool,
    exe: Vec<u8>,
    start_unix_ns: i64,
    /// What is in it, if it was kept.
    found: Option<Box<Found>>,
}

impl Known {
    /// Of a spool, and whatever is to be said of its spill.
    pub(super) fn of(Looked { what, without_spill }: Looked, keeps: bool) -> (Self, Option<String>) {
        let known = match what {
            Held::Nothing => Self::Nothing,
            Held::Cut(why) => Self::Cut(why),
            Held::Calls(found) => {
                let info = &found.recovered.job.info;
                Self::Calls(Box::new(OfJob {
                    owner: found.owner,
                    about: found.about.clone(),
                    exe: info.exe.clone(),
                    start_unix_ns: info.start_unix_ns,
                    found: keeps.then_some(found),
                }))
            }
        };
        (known, without_spill)
    }
}

/// By job, in a fixed order.
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
    /// A spool may say anything of itself: nobody gets into another user's job.
    fn is_of(&self, owner: u32, job: &str) -> bool {
        (self.owner, self.about.job.as_str()) == (owner, job)
    }

    /// What is in it, read once more if it was not kept; `None` if nothing is any more.
    fn found(&mut self) -> Result<Option<Box<Found>>> {
        if let Some(found) = self.found.take() {
            return Ok(Some(found));
        }
        let Held::Calls(found) = read(&self.about.spool)?.what else { return Ok(None) };
        anyhow::ensure!(self.is_of(found.owner, &found.about.job), "it has changed while it was read");
        Ok(Some(found))
    }
}

/// Writes the trace of one job.
pub(super) fn write(mut job: Vec<OfJob>, output: &Path, force: bool, result: &mut Recovery) -> Result<()> {
    let in_directory = is_directory(output);
    let path = if in_directory {
        std::fs::create_dir_all(output)
            .with_context(|| format!("failed to make the directory {}", output.display()))?;
        output.join(file_name(&job))
    } else {
        output.to_owned()
    };
    // Who recovers a process that runs once more wants the newer trace.
    let own = job.iter().all(|one| one.owner == files::own_user());
    let mut encoder = Encoder::new()?;
    let (mut regions, mut about) = (Vec::new(), Vec::new());
    let mut block: Option<Job> = None;
    for some in job.chunks_mut(AT_ONCE) {
        let found: Vec<_> = some.par_iter_mut().map(|one| (one.found(), one.about.spool.clone())).collect();
        for (found, spool) in found {
            match found {
                Ok(Some(mut found)) => {
                    regions.push(found.recovered.region(&mut encoder, regions.len() as u32)?);
                    found.about.segments = found.recovered.process.info.segments;
                    found.about.folded = found.recovered.process.info.missing;
                    about.push(found.about);
                    // The process that knows of MPI knows most of the job.
                    let knows_more = |block: &Job| block.info.mpi.is_none() && found.recovered.job.info.mpi.is_some();
                    if block.as_ref().is_none_or(knows_more) {
                        block = Some(found.recovered.job);
                    }
                }
                // Its process has written its trace meanwhile.
                Ok(None) => {}
                Err(error) => result.failed.push(format!("{}: {error:#}", spool.display())),
            }
        }
    }
    let Some(block) = block else { return Ok(()) };
    let bytes = write::file(&mut encoder, &block, regions)?;
    // What others' spools say of themselves replaces nothing.
    let (ours, force) = if own { (Ours::Recovery, force) } else { (Ours::Never, force && !in_directory) };
    let others = (2..1000).map(|number| path.with_extension(format!("{number}.dxt"))).filter(|_| in_directory);
    let may_be = |path: &PathBuf| Target::new(path, ours, force).check().is_ok();
    let path = std::iter::once(path.clone()).chain(others).find(may_be).unwrap_or(path);
    Target::new(&path, ours, force).private().file(|file| Ok(file.write_all(&bytes)?))?;
    result.written.push(path);
    result.spools.extend(about);
    Ok(())
}

/// `<program>_<start>_<node>_<pid>_recovered.dxt`, with the number of processes if there are several.
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
