//! Loading: reads the files of one job and merges their tables. Metadata is read and kept; segments are only located.

mod aliases;
pub mod clock;
pub mod corpus;
mod details;
mod file_type;
pub mod find;
pub mod layouts;
mod merge;
mod standard_input;
mod views;

pub(crate) use standard_input::or_path;

use crate::exit::UsageError;
use crate::import::{connector, darshan};
use crate::limits::{STARTED_TOGETHER_NS, of_log};
use crate::model::content::{Content, Pool};
use crate::model::converted::Converted;
use crate::model::run::Input;
use crate::model::{Problem, Run};
use crate::text::paths::shown;
use anyhow::{Context, Result};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use trace_format::limits::TABLE_BYTES;
use trace_format::read::{Room, Source as _, Trace};

/// Trace or log that is yet to be opened.
#[derive(Debug)]
pub enum Source {
    /// Path of a trace or log on disk.
    Path(PathBuf),
    /// Trace in memory: name and contents.
    Memory(PathBuf, Vec<u8>),
}

/// Loads the job in the files and directories in `named`; `job` is the key of the job to choose if there are several. Without it, the newest
/// job in directories is chosen.
///
/// # Errors
/// Fails as [`load`] does, or if a name matches no file.
pub fn load_paths(named: &[PathBuf], job: Option<&str>) -> Result<Run> {
    let mut found = find::find(named)?;
    let sources = found.paths.into_iter().map(Source::Path).collect();
    let (inputs, failures) = some(open_all_in(sources, &Arc::default(), &one_room()))?;
    let any = job.is_none() && named.iter().all(|path| path.is_dir());
    let newest = if any { newest_job(&inputs) } else { None };
    if let Some((key, jobs)) = &newest {
        found.notes.push(format!(
            "of {jobs} jobs in {}, this is the newest, {key}: --job KEY chooses another, and `corpus` lists all",
            if let [one] = named { shown(one) } else { "these directories".to_owned() }
        ));
    }
    // Files that cannot be read may be of other jobs.
    let mut failed = problems(failures);
    if newest.is_some() {
        found.notes.extend(failed.drain(..).map(|of| format!("{} was not read: {}", of.file, of.what)));
    }
    let inputs = choose_job(inputs, job.or(newest.as_ref().map(|(key, _)| key.as_str())))?;
    let mut run = merge::merge(inputs, failed);
    run.remarks.splice(0..0, found.notes);
    Ok(run)
}

/// Returns the key of the newest of several jobs, and their number. Of jobs that start together, such as those of a launcher's wrappers, it is
/// the one with MPI ranks, or the largest.
fn newest_job(inputs: &[Input]) -> Option<(String, usize)> {
    let mut by: BTreeMap<&str, (i64, bool, u64)> = BTreeMap::new();
    for input in inputs.iter().filter(|input| !input.trace.job.info.key.is_empty()) {
        let info = &input.trace.job.info;
        let of = by.entry(info.key.as_str()).or_insert((i64::MAX, false, 0));
        of.0 = of.0.min(info.start_unix_ns);
        of.1 |= info.mpi.is_some();
        of.2 = of.2.saturating_add(std::fs::metadata(&input.path).map_or(0, |of| of.len()));
    }
    let last = by.values().map(|(start, ..)| *start).max()?;
    let together = by.iter().filter(|(_, of)| of.0.saturating_add(STARTED_TOGETHER_NS) >= last);
    let (key, _) = together.max_by_key(|(key, of)| (of.1, of.2, **key))?;
    (by.len() > 1).then(|| ((*key).to_owned(), by.len()))
}

/// Opens `sources` and loads the job in them. An unreadable source is reported as a problem of the run, provided another source is readable.
///
/// # Errors
/// Fails with [`UsageError`] if the sources hold several jobs and `job` does not choose one; otherwise fails if nothing can be read.
pub fn load(sources: Vec<Source>, job: Option<&str>) -> Result<Run> {
    let (inputs, failures) = some(open_all_in(sources, &Arc::default(), &one_room()))?;
    let inputs = choose_job(inputs, job)?;
    Ok(merge::merge(inputs, problems(failures)))
}

/// Loads a job whose files are known to belong together. `pool` holds open files and is shared with other jobs loaded at the same time.
///
/// # Errors
/// Fails if nothing can be read.
pub fn load_one(paths: &[PathBuf], pool: &Arc<Pool>) -> Result<Run> {
    let sources = paths.iter().cloned().map(Source::Path).collect();
    let (inputs, failures) = some(open_all_in(sources, pool, &one_room()))?;
    // Rows of the LDMS-Darshan connector may contain several jobs.
    let inputs = choose_job(inputs, None)?;
    Ok(merge::merge(inputs, problems(failures)))
}

/// Returns inputs and failures unchanged; fails with the first failure if no input was opened.
fn some((inputs, mut failures): (Vec<Input>, Vec<Failure>)) -> Result<(Vec<Input>, Vec<Failure>)> {
    match (inputs.len(), failures.len()) {
        (0, 0) => Err(UsageError("no trace is named".into()).into()),
        (0, 1) => Err(failures.remove(0).1),
        (0, count) => Err(failures.remove(0).1.context(format!("failed to read any of {count} files; the first"))),
        _ => Ok((inputs, failures)),
    }
}

fn problems(failures: Vec<Failure>) -> Vec<Problem> {
    let problems = failures.into_iter().map(|(path, error)| Problem {
        file: shown(&path),
        offset: 0,
        what: format!("{:#}", error.root_cause()),
    });
    problems.collect()
}

/// Path of an input that could not be opened, and the error.
pub type Failure = (PathBuf, anyhow::Error);

/// Opens all sources, in order. Each source gets its own memory budget for the tables of its trace (files, operations, ...).
#[must_use]
pub fn open_all(sources: Vec<Source>) -> (Vec<Input>, Vec<Failure>) {
    open_all_in(sources, &Arc::default(), &Arc::default)
}

/// Returns a function that hands the same memory budget for tables (files, operations, ...) to all trace files of a job.
fn one_room() -> impl Fn() -> Arc<Room> + Sync {
    let room = Arc::new(Room::default());
    move || Arc::clone(&room)
}

fn open_all_in(
    sources: Vec<Source>,
    pool: &Arc<Pool>,
    room: &(impl Fn() -> Arc<Room> + Sync),
) -> (Vec<Input>, Vec<Failure>) {
    let opened: Vec<std::result::Result<Vec<Input>, Failure>> = sources
        .into_par_iter()
        .map(|source| {
            let (path, content) = match source {
                Source::Path(path) => {
                    let content = Content::file(&path, pool);
                    (path, content)
                }
                Source::Memory(path, bytes) => (path, Ok(Content::Memory(bytes))),
            };
            open(&path, content, room()).map_err(|error| (path, error))
        })
        .collect();
    let (mut inputs, mut failures) = (Vec::new(), Vec::new());
    for result in opened {
        match result {
            Ok(of_file) => inputs.extend(of_file),
            Err(failure) => failures.push(failure),
        }
    }
    (inputs, failures)
}

/// Opens the trace in a file; for another tool's file, the traces converted from it.
fn open(path: &Path, content: std::io::Result<Content>, room: Arc<Room>) -> Result<Vec<Input>> {
    let content = content.with_context(|| format!("failed to open {}", shown(path)))?;
    // A log is a separate job, and a large log may need more memory.
    let large = of_log(TABLE_BYTES, content.size().unwrap_or(0));
    let large_room = || if large > TABLE_BYTES { Arc::new(Room::new(large)) } else { Arc::clone(&room) };
    let input = |content, room, converted| -> Result<Input> {
        let trace = Trace::open_within(content, room).map_err(|error| not_read(path, error))?;
        Ok(Input { path: path.to_owned(), trace, converted })
    };
    match content {
        Content::File { .. } if is_darshan(path, &content) => {
            let (content, converted) = from_darshan(path)?;
            Ok(vec![input(content, large_room(), Some(converted))?])
        }
        Content::File { .. } if is_rows(path, &content) => {
            let made = connector::convert(path)?.into_iter().map(|made| {
                let size = made.file.metadata()?.len();
                input(Content::Unnamed { file: made.file, size }, large_room(), Some(made.converted))
            });
            made.collect()
        }
        other => Ok(vec![input(other, room, None)?]),
    }
}

/// Explains why the file at `path` could not be read; names the file type if the file is neither a trace nor a log.
fn not_read(path: &Path, error: trace_format::Error) -> anyhow::Error {
    as_it_looks(path, anyhow::Error::new(error).context(format!("failed to read {}", shown(path))))
}

/// Returns `error`, or, for a file that is neither a trace nor a log, an error that names the file type.
pub(crate) fn as_it_looks(path: &Path, error: anyhow::Error) -> anyhow::Error {
    let no_trace = |cause: &(dyn std::error::Error + 'static)| {
        matches!(cause.downcast_ref(), Some(trace_format::Error::NotATrace { .. }))
    };
    let no_log = |cause: &(dyn std::error::Error + 'static)| {
        matches!(cause.downcast_ref(), Some(darshan_log::Error::NotALog { .. }))
    };
    let what = if error.chain().any(no_trace) {
        file_type::looks_like(path)
    } else if error.chain().any(no_log) {
        // A file named like a log (`*.darshan`) gets the log reader's error.
        let named = path.extension().is_some_and(|end| end == "darshan");
        file_type::is_like(path).map(|what| if named { format!("not a Darshan log: {what}") } else { what })
    } else {
        None
    };
    what.map_or(error, |what| anyhow::anyhow!("{what}").context(format!("failed to read {}", shown(path))))
}

/// Returns true if the file contains rows of the LDMS-Darshan connector.
fn is_rows(path: &Path, content: &Content) -> bool {
    let mut head = [0; connector::HEAD_BYTES];
    let length = content.size().unwrap_or(0).min(connector::HEAD_BYTES as u64) as usize;
    let Some(head) = head.get_mut(..length) else { return false };
    content.read_exact_at(0, head).is_ok()
        && !head.starts_with(&trace_format::frame::MAGIC)
        && connector::is_rows(path, head)
}

/// Returns true if the file has a Darshan log's magic, or no known magic but a log's name or compression. Errors for such a file mention logs.
fn is_darshan(path: &Path, content: &Content) -> bool {
    let mut head = [0; 16];
    let length = content.size().unwrap_or(0).min(16) as usize;
    let Some(head) = head.get_mut(..length) else { return false };
    content.read_exact_at(0, head).is_ok()
        && !head.starts_with(&trace_format::frame::MAGIC)
        && darshan::is_log(path, head)
}

/// Converts a Darshan log to a trace in an unnamed temporary file.
fn from_darshan(path: &Path) -> Result<(Content, Converted)> {
    let failed = || {
        format!(
            "failed to create a temporary file in {} for the contents of {}",
            std::env::temp_dir().display(),
            shown(path)
        )
    };
    let mut file = tempfile::tempfile().with_context(failed)?;
    let converted = darshan::convert(path, &mut file).map_err(|error| as_it_looks(path, error))?;
    let size = file.metadata().with_context(failed)?.len();
    Ok((Content::Unnamed { file, size }, converted))
}

/// Returns the inputs of the job with key `job`, or of the only job. Files whose job block is lost are included only if `job` is `None` and
/// all other files belong to one job.
fn choose_job(inputs: Vec<Input>, job: Option<&str>) -> Result<Vec<Input>> {
    let key = |input: &Input| input.trace.job.info.key.clone();
    let mut keys: Vec<String> = inputs.iter().map(key).filter(|key| !key.is_empty()).collect();
    keys.sort();
    keys.dedup();
    let chosen = match (job, keys.as_slice()) {
        (None, [] | [_]) => return Ok(inputs),
        (Some(wanted), keys) if keys.iter().any(|key| key == wanted) => wanted,
        (Some(wanted), _) => {
            return Err(UsageError(format!(
                "no input belongs to the job with key {wanted}; {}",
                list_jobs(&keys, &inputs)
            ))
            .into());
        }
        (None, keys) => {
            let why = format!(
                "the inputs contain {} jobs: give the files of one job as arguments, or choose a job with --job KEY; {}",
                keys.len(),
                list_jobs(keys, &inputs)
            );
            return Err(UsageError(why).into());
        }
    };
    Ok(inputs.into_iter().filter(|input| key(input) == chosen).collect())
}

fn list_jobs(keys: &[String], inputs: &[Input]) -> String {
    const SHOWN: usize = 20;
    let mut out = String::from("jobs (key, program, file):");
    for key in keys.iter().take(SHOWN) {
        let mut of_job = inputs.iter().filter(|input| input.trace.job.info.key == *key);
        let Some(first) = of_job.next() else { continue };
        let exe = String::from_utf8_lossy(&first.trace.job.info.exe).into_owned();
        let more = match of_job.count() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        out.push_str(&format!("\n  {key}  {exe}  {}{more}", shown(&first.path)));
    }
    if keys.len() > SHOWN {
        out.push_str(&format!("\n  and {} more", keys.len() - SHOWN));
    }
    out
}
