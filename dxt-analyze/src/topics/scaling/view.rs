//! Command `scaling`: reads runs one after the other, each with all threads, and keeps only the measured values of each run.

use super::args::Args;
use super::measure::{RunRow, measure};
use super::result::Scaling;
use crate::exit::Exit;
use crate::findings::{Finding, Severity};
use crate::load::corpus::{JobFiles, LeftOut, find};
use crate::load::load_one;
use crate::model::content::Pool;
use crate::progress::Bar;
use crate::scan::Progress;
use crate::topics::Outcome;
use crate::topics::corpus::Read;
use anyhow::Result;
use std::path::Path;
use std::sync::Arc;

/// Reads the runs and groups them.
///
/// # Errors
/// Fails if no run is found.
pub fn scaling(args: &Args) -> Result<Scaling> {
    let found = find(&args.places)?;
    let (mut left_out, pool) = (found.left_out, Arc::new(Pool::default()));
    let bar = Bar::jobs(found.jobs.len() as u64);
    let mut runs = Vec::new();
    for files in &found.jobs {
        match one(files, &pool) {
            Ok(run) => runs.push(run),
            Err(failed) => left_out.push(failed),
        }
        bar.advance(1);
    }
    drop(bar);
    left_out.sort();
    Ok(Scaling::of(args.group_by.clone(), runs, left_out, found.remarks))
}

/// Reads and measures one run.
///
/// # Errors
/// Returns the reason if the run cannot be read.
pub(crate) fn one(files: &JobFiles, pool: &Arc<Pool>) -> Result<RunRow, LeftOut> {
    let first = files.paths.first().map_or(Path::new(""), |path| path.as_path());
    let (source, sources) = (first.display().to_string(), files.paths.len() as u64);
    let run = load_one(&files.paths, pool).map_err(|error| LeftOut::new(first, &error))?;
    Ok(measure(&run, Read { source, sources, darshan: files.darshan }))
}

impl Outcome for Scaling {
    fn findings(&self) -> &[Finding] {
        &[]
    }

    fn complete(&self) -> bool {
        self.left_out.is_empty() && self.runs.iter().all(|run| run.job.complete)
    }

    /// Returns the exit code: 1 if no run can be read, 3 if a run is incomplete or was skipped, else 0.
    fn exit(&self, _fail_on: Option<Severity>) -> Exit {
        match (self.runs.is_empty(), self.complete()) {
            (true, _) => Exit::Failure,
            (false, true) => Exit::Fine,
            (false, false) => Exit::Incomplete,
        }
    }
}
