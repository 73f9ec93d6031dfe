//! Command `recover`: makes traces from spools, the files in which processes keep their calls until their trace is written. Killed
//! processes leave spools behind. `trace_format::spool` decodes spools; this module handles what depends on the machine: clocks, running
//! processes, files.

mod job;
mod spill;
mod stale;
mod unfinished;
pub mod view;
mod written;

pub use stale::{Stale, stale};

use self::job::Known;
use self::spill::Spill;
use crate::exit::UsageError;
use crate::spools::files::{self, Bytes, Identity, Owned};
use crate::spools::{clock, owner};
use crate::text::units::agree;
use anyhow::{Context, Result, bail};
use rayon::prelude::*;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use trace_format::read::Source;
use trace_format::spool::{Head, Recovered, Spool};

/// Data recovered from one spool, the file in which a process keeps its calls until its trace is written.
#[derive(Clone, Debug, Serialize)]
pub struct FromSpool {
    /// Path of the spool, the file with the calls that the process recorded.
    pub spool: PathBuf,
    /// Key of the job that the process belongs to.
    pub job: String,
    /// Host name of the node on which the process ran.
    pub node: String,
    /// Process id of the process that wrote the spool.
    pub pid: u32,
    /// MPI rank of the process, or -1 without MPI.
    pub rank: i32,
    /// True if the process is still running: the data is its progress so far.
    pub running: bool,
    /// Number of segments (recorded calls) recovered from the spool.
    pub segments: u64,
    /// Number of calls that the spool's counters contain, but no segment (record of a single call).
    pub folded: u64,
    /// Number of calls that have a segment (record), and that the spool's counters possibly contain as well.
    pub uncertain: u64,
    /// Bytes that the process had used but that the file lacks, because the file was truncated. The number of calls in these bytes is unknown.
    #[serde(skip_serializing_if = "is_zero")]
    pub missing_bytes: u64,
}

/// Result of making traces from spools (files with the calls that processes recorded so far).
#[derive(Clone, Debug, Default, Serialize)]
pub struct Recovery {
    /// Spools (files with a process's recorded calls) from which calls were recovered.
    pub spools: Vec<FromSpool>,
    /// Spools without calls to recover: any calls in them are already in a trace.
    pub empty: Vec<PathBuf>,
    /// Paths of the traces that were written.
    pub written: Vec<PathBuf>,
    /// Error messages on spools that could not be read, or on the spill files beside them.
    pub failed: Vec<String>,
    /// Truncated spools from which no trace was made, with the reason; the files are kept.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cut: Vec<String>,
    /// Spools with an incomplete header, with the reason. `--stale` removes these files, so that each is reported only once.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub without_header: BTreeMap<PathBuf, String>,
    /// Files that were deleted on request (`--delete`), without making a trace from their contents.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deleted: Vec<PathBuf>,
    /// Number of spools that are not stale, because their process is running or ended recently; they are kept.
    #[serde(skip_serializing_if = "is_zero")]
    pub not_stale: u64,
    /// Minimum time since the last write after which a spool counts as stale.
    #[serde(skip)]
    pub older_than: Duration,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Decoded spool (file with a process's recorded calls) that contains calls.
struct Found {
    /// User id of the spool's owner: only this user can have written the file.
    owner: u32,
    identity: Identity,
    about: FromSpool,
    recovered: Recovered,
    spill: Option<Bytes>,
}

/// Returns the contents of the spill file beside a spool; an empty source if there is no spill file.
fn spill_or_nothing(spill: Option<&Bytes>) -> &dyn Source {
    spill.map_or(&[0_u8; 0], |spill| spill)
}

/// Result of reading one spool: calls that no trace contains yet, and the reason if the spill file beside the spool is not included.
struct Looked {
    what: Held,
    without_spill: Option<String>,
}

enum Held {
    /// Spool with calls that no trace contains yet.
    Calls(Box<Found>),
    /// Spool without calls, or with calls that are all in a trace.
    Nothing,
    /// Truncated spool without a call in the part that is left; holds the reason.
    Cut(String),
    /// Spool whose header is incomplete; holds the reason.
    NoHeader(String),
}

#[derive(Clone, Copy, Debug, Default)]
struct How {
    /// True to remove the spools of ended processes once their trace is written.
    remove: bool,
    /// True to let traces replace files that this program did not write.
    force: bool,
    /// True if `--stale` was given, to clean up. Truncated spools are then kept without making traces from them, since each clean-up would
    /// make the same traces again.
    cleans: bool,
    /// True to give each trace to the user who owns the spools from which the trace was made (`chown`).
    gives: bool,
}

/// Lists the spools in `named`, sorted; a directory stands for all spools in it.
///
/// # Errors
/// Fails with [`UsageError`] if a name matches no spool.
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

/// Returns true if `output` is a directory: an existing directory, or a name without the extension `.dxt`.
fn is_directory(output: &Path) -> bool {
    output.is_dir() || output.extension().is_none_or(|extension| extension != "dxt")
}

/// Writes one trace per job of `spools`. If `output` is named `*.dxt`, it is the trace. Otherwise it is a directory, created if absent, in
/// which traces get the names that the tracer would give them.
///
/// `remove` deletes the spools of ended processes once their trace is written. `force` lets traces replace files of other origin.
///
/// # Errors
/// Fails if no spool can be read, if there are several jobs and `output` is a file, or if a trace cannot be written.
pub fn recover(spools: &[PathBuf], output: &Path, remove: bool, force: bool) -> Result<Recovery> {
    let spools: Vec<_> = spools.iter().map(|path| (path.clone(), None)).collect();
    put_together(&spools, output, How { remove, force, ..How::default() })
}

/// Implements [`recover`]. A spool given with an identity (device and inode) is read only if its path still refers to this file.
fn put_together(spools: &[(PathBuf, Option<Identity>)], output: &Path, how: How) -> Result<Recovery> {
    let mut result = Recovery::default();
    let mut found = Vec::new();
    // With many spools, only their summaries are kept: all contents at once might not fit in memory.
    let keeps = spools.len() <= job::AT_ONCE;
    let read: Vec<_> =
        spools.par_iter().map(|(path, is)| (path, read(path, *is).map(|one| Known::of(one, keeps)))).collect();
    for (path, one) in read {
        match one {
            Ok((one, without_spill)) => {
                result.failed.extend(without_spill);
                match one {
                    Known::Calls(one) if one.about.missing_bytes > 0 && how.cleans => result.cut.push(format!(
                        "{}: the file was truncated and lacks {} {} in use: `dxt-analyze recover {}` makes a trace of the rest",
                        path.display(),
                        one.about.missing_bytes,
                        agree(one.about.missing_bytes, "byte that was", "bytes that were"),
                        path.display()
                    )),
                    Known::Calls(one) => found.push(*one),
                    Known::Nothing => result.empty.push(path.clone()),
                    Known::NoHeader(why) if how.cleans => {
                        result.without_header.insert(path.clone(), why);
                    }
                    Known::Cut(why) | Known::NoHeader(why) => result.cut.push(format!("{}: {why}", path.display())),
                }
            }
            Err(error) => result.failed.push(format!("{}: {error:#}", path.display())),
        }
    }
    let nothing = found.is_empty() && result.empty.is_empty() && result.cut.is_empty();
    if nothing && result.without_header.is_empty() && !result.failed.is_empty() {
        bail!("failed to recover anything: {}", result.failed.join("; "));
    }
    let jobs = job::apart(found);
    if jobs.len() > 1 && !is_directory(output) {
        let keys: Vec<&str> = jobs.iter().filter_map(|job| job.first()).map(|one| one.about.job.as_str()).collect();
        let why = format!("the spools are of {} jobs ({}): give --output a directory", jobs.len(), keys.join(", "));
        return Err(UsageError(why).into());
    }
    for job in jobs {
        job::write(job, output, how, &mut result)?;
    }
    if how.remove {
        let whole = result.spools.iter().filter(|one| !one.running && one.missing_bytes == 0);
        for path in whole.map(|one| &one.spool).chain(&result.empty) {
            std::fs::remove_file(path).with_context(|| format!("failed to remove {}", path.display()))?;
            if let Some(spill) = spill::path(path).filter(|spill| spill.symlink_metadata().is_ok()) {
                std::fs::remove_file(&spill).with_context(|| format!("failed to remove {}", spill.display()))?;
            }
        }
    }
    Ok(result)
}

/// Reads one spool. With `is`, fails unless the file still has this identity: in a directory that others can write to, names may change at any time.
fn read(path: &Path, is: Option<Identity>) -> Result<Looked> {
    let Owned { file, owner } = Owned::open(path)?;
    let about = file.metadata().context("failed to read its metadata")?;
    let identity = files::identity(&about);
    anyhow::ensure!(is.is_none_or(|is| is == identity), "another file has replaced it");
    let source = Bytes(file);
    if let Some(what) = unfinished::without_header(path, about.len())? {
        return Ok(Looked { what, without_spill: None });
    }
    let head = Head::read(&source)?;
    let is_finished = head.is_some();
    // Checked before the rest is read: a process that ends later may have written its trace since.
    let running = head.is_some_and(|head| owner::is_of_this_boot(&head) && owner::is_running(&head));
    let spool = Spool::read(&source)?;
    let here = owner::is_of_this_boot(spool.head());
    let in_trace = spool.head().cut().is_some_and(|cut| written::is_there(&cut, owner));
    let (spill, without_spill) = match spill::read(path, spool.head(), owner)? {
        Spill::There(bytes) => (Some(bytes), None),
        // The trace that the process wrote also contains the spilled data.
        Spill::Gone(_) if in_trace => (None, None),
        Spill::None => (None, None),
        Spill::Gone(why) => {
            (None, Some(format!("the second file with calls of {} (its spill, *.spill): {why}", path.display())))
        }
    };
    let recovered =
        spool.recover(spill_or_nothing(spill.as_ref()), clock::now(spool.head()).filter(|_| here), in_trace)?;
    let missing_bytes = spool.missing_bytes();
    if recovered.is_empty() {
        // A running process may record more calls at any time.
        if running {
            bail!("its process {} runs and has recorded nothing", spool.head().pid());
        }
        let cut = format!(
            "the file was truncated: it lacks {missing_bytes} {} in use, and the rest has no calls",
            agree(missing_bytes, "byte that was", "bytes that were")
        );
        let what = match missing_bytes {
            0 if is_finished => Held::Nothing,
            0 => unfinished::look(path)?,
            _ => Held::Cut(cut),
        };
        return Ok(Looked { what, without_spill });
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
        missing_bytes,
    };
    Ok(Looked { what: Held::Calls(Box::new(Found { owner, identity, about, recovered, spill })), without_spill })
}
