//! Recovery: from the spools that killed processes left behind to a trace. The bytes are `trace_format::spool`'s business;
//! here is what concerns this machine: its clocks, whether the owner still runs, files.

mod spill;
mod stale;
pub mod view;
mod written;

pub use stale::{Stale, stale};

use self::spill::Spill;
use crate::exit::UsageError;
use crate::spools::files::{self, Bytes, Owned};
use crate::spools::{clock, owner};
use crate::written::{Ours, Target};
use anyhow::{Context, Result, bail};
use rayon::prelude::*;
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;
use trace_format::spool::{Recovered, Spool};
use trace_format::write::{self, Encoder};

/// What was found in one spool.
#[derive(Clone, Debug, Serialize)]
pub struct FromSpool {
    /// Path of the spool.
    pub spool: PathBuf,
    /// Key of its job.
    pub job: String,
    /// Node.
    pub node: String,
    /// Process id.
    pub pid: u32,
    /// Rank, or -1.
    pub rank: i32,
    /// Whether its owner still runs: then this is how far it had come.
    pub running: bool,
    /// Segments.
    pub segments: u64,
    /// Calls that are in counters only.
    pub folded: u64,
    /// Calls that are in segments and may be in counters too.
    pub uncertain: u64,
}

/// What became of all of them.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Recovery {
    /// Spools with something in them.
    pub spools: Vec<FromSpool>,
    /// Spools with nothing in them that is not in a trace already.
    pub empty: Vec<PathBuf>,
    /// Traces written.
    pub written: Vec<PathBuf>,
    /// Spools that could not be read, or spills beside them, and why.
    pub failed: Vec<String>,
    /// Files that were deleted without a trace of them, if that was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deleted: Vec<PathBuf>,
    /// Spools that are not stale: of processes that run, or that ended not long ago.
    #[serde(skip_serializing_if = "is_zero")]
    pub not_stale: u64,
    /// Within what time.
    #[serde(skip)]
    pub older_than: Duration,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// One spool, put together.
struct Found {
    /// User id of the file's owner, who alone can have written it.
    owner: u32,
    about: FromSpool,
    recovered: Recovered,
}

/// What is in a spool that is in no trace yet, and why what it had spilled is not with it.
struct Looked {
    found: Option<Found>,
    without_spill: Option<String>,
}

/// Spools in the order named; of a directory, all that are in it.
///
/// # Errors
/// [`UsageError`] if a name stands for nothing.
pub fn find(named: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for name in named {
        let about = std::fs::metadata(name).with_context(|| format!("failed to find {}", name.display()))?;
        if !about.is_dir() {
            paths.push(name.clone());
            continue;
        }
        let failed = || format!("failed to list {}", name.display());
        for entry in std::fs::read_dir(name).with_context(failed)? {
            let path = entry.with_context(failed)?.path();
            if path.extension().is_some_and(|extension| extension == "spool") {
                paths.push(path);
            }
        }
    }
    paths.sort();
    paths.dedup();
    Ok(paths)
}

/// Whether `--output` means a directory: one that exists, or a name that is no trace's.
fn is_directory(output: &Path) -> bool {
    output.is_dir() || output.extension().is_none_or(|extension| extension != "dxt")
}

/// Puts the processes of `spools` together, one trace per job, in `output`: a file, if it is named `*.dxt`, or a directory,
/// made if it is absent, in which traces are named as the tracer would. With `remove`, spools of processes that have ended are removed once their trace is written. With `force`, traces
/// replace files of other origin.
///
/// # Errors
/// If no spool can be read, if there are several jobs and `output` is a file, or if a trace cannot be written.
pub fn recover(spools: &[PathBuf], output: &Path, remove: bool, force: bool) -> Result<Recovery> {
    let mut result = Recovery::default();
    let mut found = Vec::new();
    let read: Vec<_> = spools.par_iter().map(|path| (path, read(path))).collect();
    for (path, one) in read {
        match one {
            Ok(Looked { found: one, without_spill }) => {
                result.failed.extend(without_spill);
                match one {
                    Some(one) => found.push(one),
                    None => result.empty.push(path.clone()),
                }
            }
            Err(error) => result.failed.push(format!("{}: {error:#}", path.display())),
        }
    }
    if found.is_empty() && result.empty.is_empty() && !result.failed.is_empty() {
        bail!("failed to recover anything: {}", result.failed.join("; "));
    }
    found.sort_by(|a, b| key(a).cmp(&key(b)));
    let mut jobs: Vec<Vec<Found>> = Vec::new();
    for one in found {
        match jobs.last_mut().filter(|job| job.last().is_some_and(|last| is_one_job(last, &one))) {
            Some(job) => job.push(one),
            None => jobs.push(vec![one]),
        }
    }
    if jobs.len() > 1 && !is_directory(output) {
        let keys: Vec<&str> = jobs.iter().filter_map(|job| job.first()).map(|one| one.about.job.as_str()).collect();
        let why = format!("the spools are of {} jobs ({}): give --output a directory", jobs.len(), keys.join(", "));
        return Err(UsageError(why).into());
    }
    for job in jobs {
        let (path, about) = write_job(job, output, force)?;
        result.written.push(path);
        result.spools.extend(about);
    }
    if remove {
        let ended = result.spools.iter().filter(|one| !one.running).map(|one| &one.spool);
        for path in ended.chain(&result.empty) {
            std::fs::remove_file(path).with_context(|| format!("failed to remove {}", path.display()))?;
            if let Some(spill) = spill::path(path).filter(|spill| spill.symlink_metadata().is_ok()) {
                std::fs::remove_file(&spill).with_context(|| format!("failed to remove {}", spill.display()))?;
            }
        }
    }
    Ok(result)
}

fn key(one: &Found) -> (u32, &str, i32, &str, u32) {
    (one.owner, &one.about.job, one.about.rank, &one.about.node, one.about.pid)
}

/// A spool may say anything of itself: nobody gets into another user's job.
fn is_one_job(one: &Found, other: &Found) -> bool {
    (one.owner, &one.about.job) == (other.owner, &other.about.job)
}

/// Reads one spool.
fn read(path: &Path) -> Result<Looked> {
    let Owned { file, owner } = Owned::open(path)?;
    let spool = Spool::read(&Bytes(file))?;
    let here = owner::is_of_this_boot(spool.head());
    let in_trace = spool.head().cut().is_some_and(|cut| written::is_there(&cut, owner));
    let (spilled, without_spill) = match spill::read(path, spool.head(), owner)? {
        Spill::Whole(bytes) => (bytes, None),
        // What it held is in the trace as well.
        Spill::Gone(_) if in_trace => (Vec::new(), None),
        Spill::Gone(why) => (Vec::new(), Some(format!("the spill beside {}: {why}", path.display()))),
    };
    let recovered = spool.recover(&spilled, clock::now(spool.head()).filter(|_| here), in_trace)?;
    let running = here && owner::is_running(spool.head());
    if recovered.is_empty() {
        // A running process may record more at any moment.
        return if running {
            bail!("its process {} runs and has recorded nothing", spool.head().pid())
        } else {
            Ok(Looked { found: None, without_spill })
        };
    }
    let info = &recovered.process.info;
    let about = FromSpool {
        spool: path.to_owned(),
        job: recovered.job.info.key.clone(),
        node: info.node.clone(),
        pid: spool.head().pid(),
        rank: info.rank,
        running,
        segments: 0,
        folded: 0,
        uncertain: recovered.uncertain,
    };
    Ok(Looked { found: Some(Found { owner, about, recovered }), without_spill })
}

/// Writes the trace of one job.
fn write_job(job: Vec<Found>, output: &Path, force: bool) -> Result<(PathBuf, Vec<FromSpool>)> {
    let mut encoder = Encoder::new()?;
    let (mut regions, mut about) = (Vec::new(), Vec::new());
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
    // The process that knows of MPI knows most of the job.
    let best = job.iter().find(|one| one.recovered.job.info.mpi.is_some()).or(job.first());
    let block = best.map(|one| one.recovered.job.clone()).unwrap_or_default();
    for (number, mut one) in job.into_iter().enumerate() {
        regions.push(one.recovered.region(&mut encoder, number as u32)?);
        one.about.segments = one.recovered.process.info.segments;
        one.about.folded = one.recovered.process.info.missing;
        about.push(one.about);
    }
    let bytes = write::file(&mut encoder, &block, regions)?;
    // What others' spools say of themselves replaces nothing.
    let (ours, force) = if own { (Ours::Recovery, force) } else { (Ours::Never, force && !in_directory) };
    let others = (2..1000).map(|number| path.with_extension(format!("{number}.dxt"))).filter(|_| in_directory);
    let may_be = |path: &PathBuf| Target::new(path, ours, force).check().is_ok();
    let path = std::iter::once(path.clone()).chain(others).find(may_be).unwrap_or(path);
    Target::new(&path, ours, force).private().file(|file| Ok(file.write_all(&bytes)?))?;
    Ok((path, about))
}

/// `<program>_<start>_<node>_<pid>_recovered.dxt`, with the number of processes if there are several.
fn file_name(job: &[Found]) -> String {
    let Some(first) = job.first() else { return "recovered.dxt".into() };
    let info = &first.recovered.job.info;
    let exe = String::from_utf8_lossy(&info.exe);
    let program = exe.rsplit('/').next().unwrap_or("program");
    let start = jiff::Timestamp::from_nanosecond(i128::from(info.start_unix_ns)).unwrap_or_default();
    let (start, about) = (start.strftime("%Y%m%dT%H%M%SZ"), &first.about);
    let many = if job.len() > 1 { format!("_{}processes", job.len()) } else { String::new() };
    let name = format!("{program}_{start}_{}_{}{many}_recovered.dxt", about.node, about.pid);
    name.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' }).collect()
}
