//! Command `corpus`: one row per job, and sums over all jobs. A worker process reads several jobs in parallel; if it dies, only the job
//! that killed it is lost. Only the rows of a job stay in memory.

use super::args::Args;
use super::order::sort;
use super::parquet::Tables;
use super::repeated_runs::{OneRun, Runs};
use super::users::Users;
use super::worker::Done;
use super::workers::Workers;
use crate::exit::Exit;
use crate::findings::{Finding, Severity};
use crate::load::corpus::find;
use crate::progress::Bar;
use crate::render::Format;
use crate::scan::Progress;
use crate::topics::Outcome;
use crate::topics::corpus::{Corpus, Together};
use anyhow::Result;
use rustc_hash::FxHashMap;
use serde::Serialize;

/// Maximum number of jobs read at a time, each with some open files.
const AT_A_TIME: usize = 64;
/// Maximum number of jobs, users and programs in tables of the terminal.
const SHOWN: usize = 20;

/// Result of `corpus`, with the number of rows to display.
#[derive(Debug, Serialize)]
pub struct CorpusReport {
    /// Sums and rows over all jobs read.
    #[serde(flatten)]
    pub result: Corpus,
    #[serde(skip)]
    pub(crate) shown: usize,
    /// Number of jobs that the corpus already had.
    #[serde(skip)]
    kept: u64,
}

impl Outcome for CorpusReport {
    fn findings(&self) -> &[Finding] {
        &[]
    }

    fn complete(&self) -> bool {
        self.result.left_out.is_empty() && self.result.incomplete == 0
    }

    /// Returns exit code 1 if no job can be read, 3 if data is left out or incomplete, else 0.
    fn exit(&self, _fail_on: Option<Severity>) -> Exit {
        match (self.result.whole.jobs + self.kept, self.result.left_out.is_empty(), self.result.incomplete) {
            (0, false, _) => Exit::Failure,
            (_, true, 0) => Exit::Fine,
            _ => Exit::Incomplete,
        }
    }
}

/// Reads all jobs, and writes the Parquet tables if requested.
///
/// # Errors
/// Fails if nothing is found, or the tables cannot be written.
pub fn corpus(args: &Args) -> Result<CorpusReport> {
    if let Some(place) = args.output.as_deref().filter(|_| args.incremental) {
        let (mut result, kept) = super::incremental::collect(args, place, AT_A_TIME)?;
        if args.format != Format::Table {
            result.jobs.truncate(args.limit.unwrap_or(usize::MAX));
        }
        return Ok(CorpusReport { result, shown: args.limit.unwrap_or(SHOWN), kept });
    }
    let workers = Workers::new(args)?;
    let mut tables = args.output.as_deref().map(|place| Tables::new(place, args.force)).transpose()?;
    let found = find(&args.places)?;
    let (mut left_out, mut remarks) = (found.left_out, found.remarks);
    let (mut together, mut rows, mut keys, mut users) =
        (Together::default(), Vec::new(), Keys::default(), Users::default());
    let mut runs = Runs::default();
    let bar = Bar::jobs(found.jobs.len() as u64);
    let make = |number: usize| {
        let files = found.jobs.get(number);
        let done = files.map(|files| workers.read(number as u64, files));
        bar.advance(1);
        let bytes = done.as_ref().map_or(0, |done| done.as_ref().map_or(0, Done::held));
        (done, bytes)
    };
    let threads = rayon::current_num_threads().min(AT_A_TIME);
    super::queue::in_order(found.jobs.len(), threads, make, |done| {
        match done {
            None => {}
            Some(Err(failed)) => left_out.push(failed),
            Some(Ok(mut done)) => {
                keys.make_unique(&mut done.row.job);
                done.row.user_name = done.row.uid.and_then(|uid| users.name(uid));
                together.add(&done.row, &done.tally, &done.findings);
                runs.add(OneRun::of(&done.row, done.paces.take()));
                if let Some(tables) = &mut tables {
                    tables.add(&done.row, &done.files, &done.findings)?;
                }
                rows.push(done.row);
            }
        }
        Ok(())
    })?;
    drop(bar);
    if let Some(tables) = tables {
        tables.finish(&rows)?;
    }
    left_out.sort();
    remarks.extend(keys.remark());
    sort(&mut rows, args.sort);
    // The terminal's table needs all rows here, since it states how many more jobs there are than it shows.
    if args.format != Format::Table {
        rows.truncate(args.limit.unwrap_or(usize::MAX));
    }
    let mut result = together.finish(rows, left_out, remarks);
    result.slow_runs = runs.slow(workers.thresholds());
    Ok(CorpusReport { result, shown: args.limit.unwrap_or(SHOWN), kept: 0 })
}

#[derive(Default)]
struct Keys {
    seen: FxHashMap<String, u64>,
    repeated: u64,
}

impl Keys {
    /// Makes a job key unique. Darshan logs can share job id and start: programs that a batch job started in one second, or copies of a
    /// log.
    fn make_unique(&mut self, key: &mut String) {
        let count = self.seen.entry(key.clone()).or_default();
        *count += 1;
        if *count > 1 {
            key.push_str(&format!("~{count}"));
            self.repeated += 1;
        }
    }

    fn remark(&self) -> Option<String> {
        let text = "with the same job ID and start time as another job: ~2, ~3, ... is appended to the job's name (column `job` of CSV, JSON and \
                    Parquet). Possible causes: several programs of one batch job, or copies of a log";
        (self.repeated > 0).then(|| format!("{} {text}", crate::text::units::counted(self.repeated, "job")))
    }
}
