//! `corpus`: a row for each of many jobs, and what they are together. Jobs are read side by side, each in threads of its own and in the
//! pool of all; of a job that has been read only its rows stay.

use super::args::{Args, SortJobs};
use super::parquet::Tables;
use super::users::Users;
use crate::exit::Exit;
use crate::findings::{Finding, Severity};
use crate::load;
use crate::load::corpus::{JobFiles, LeftOut, find};
use crate::model::Run;
use crate::model::content::Pool;
use crate::progress::Bar;
use crate::render::Format;
use crate::scan::{Progress, scan};
use crate::shared::totals::{self, Totals};
use crate::thresholds::Thresholds;
use crate::topics::corpus::{Corpus, JobFile, JobRow, Read, Tally, Together, files, job, tally};
use crate::topics::report::{Job, Options};
use crate::topics::{Outcome, verdict};
use anyhow::{Result, anyhow};
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::cmp::Reverse;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

/// Jobs that are read at a time at most: each has some files open.
const AT_A_TIME: usize = 64;
/// Jobs, users and programs that a table for people shows.
const SHOWN: usize = 20;

/// The result and how much of it to show.
#[derive(Debug, Serialize)]
pub struct CorpusReport {
    /// The result.
    #[serde(flatten)]
    pub result: Corpus,
    #[serde(skip)]
    pub(crate) shown: usize,
}

impl Outcome for CorpusReport {
    fn findings(&self) -> &[Finding] {
        &[]
    }

    fn complete(&self) -> bool {
        self.result.left_out.is_empty() && self.result.incomplete == 0
    }

    /// 1 if no job can be read, 3 if something is left out or incomplete.
    fn exit(&self, _fail_on: Option<Severity>) -> Exit {
        match (self.result.whole.jobs, self.result.left_out.is_empty(), self.result.incomplete) {
            (0, false, _) => Exit::Failure,
            (_, true, 0) => Exit::Fine,
            _ => Exit::Incomplete,
        }
    }
}

/// What is left of a job when it has been read.
struct Done {
    row: JobRow,
    files: Vec<JobFile>,
    tally: Tally,
    findings: Vec<Finding>,
}

/// Reads every job, and writes the tables.
///
/// # Errors
/// If nothing is found, or the tables cannot be written.
pub fn corpus(args: &Args) -> Result<CorpusReport> {
    let thresholds = crate::session::thresholds(args.thresholds.as_deref())?;
    let mut tables = args.output.as_deref().map(|place| Tables::new(place, args.force)).transpose()?;
    let found = find(&args.places)?;
    let (mut left_out, mut remarks) = (found.left_out, found.remarks);
    let (mut together, mut rows, mut keys, mut users) =
        (Together::default(), Vec::new(), Keys::default(), Users::default());
    let pool = Arc::new(Pool::default());
    let bar = Bar::jobs(found.jobs.len() as u64);
    let make = |number: usize| {
        let files = found.jobs.get(number);
        let done = files.map(|files| one(files, &pool, &thresholds, !args.no_findings, args.output.is_some()));
        bar.advance(1);
        let bytes = done.as_ref().map_or(0, |done| done.as_ref().map_or(0, held));
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
    // A table for people says how many more there are.
    if args.format != Format::Table {
        rows.truncate(args.limit.unwrap_or(usize::MAX));
    }
    Ok(CorpusReport { result: together.finish(rows, left_out, remarks), shown: args.limit.unwrap_or(SHOWN) })
}

/// Bytes that a job's rows hold, about.
fn held(done: &Done) -> usize {
    let findings = done.findings.iter().flat_map(|finding| {
        let words = finding.evidence.iter().map(|evidence| evidence.words());
        words.chain([finding.title.as_str(), finding.hint.as_str()])
    });
    4096 + findings.map(str::len).sum::<usize>() + done.files.iter().map(JobFile::held).sum::<usize>()
}

/// Reads a job; `with_files` if rows for its files are wanted.
fn one(
    files: &JobFiles,
    pool: &Arc<Pool>,
    thresholds: &Thresholds,
    with_findings: bool,
    with_files: bool,
) -> Result<Done, LeftOut> {
    let first = files.paths.first().map(std::path::PathBuf::as_path).unwrap_or(std::path::Path::new(""));
    let read = || -> Result<Done> {
        let mut run = load::load_one(&files.paths, pool)?;
        run.thresholds = thresholds.clone();
        let (sources, darshan) = (files.paths.len() as u64, files.darshan);
        rows(&run, Read { source: first.display().to_string(), sources, darshan }, with_findings, with_files)
    };
    guarded(read).map_err(|error| LeftOut::new(first, &error))
}

/// What `read` returns. A defect of this program that one job meets is an error of that job: the others are read all the same.
fn guarded<T>(read: impl FnOnce() -> Result<T>) -> Result<T> {
    // What it held is gone with it; jobs share only open files, whose lock passes over a thread that ended early.
    std::panic::catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|payload| {
        let said = payload.downcast_ref::<String>().map(String::as_str);
        let said = said.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("nothing is known of it");
        Err(anyhow!("failed to analyze it, by a defect of dxt-analyze that is worth a report: {said}"))
    })
}

fn rows(run: &Run, read: Read, with_findings: bool, with_files: bool) -> Result<Done> {
    let (summary, totals, found) = if with_findings {
        let options = Options::findings_only(None);
        let job = Job::new(run, &options)?;
        let found = super::super::whole(&job)?;
        let findings = found.findings();
        (found.summary, found.sums.all, Some(findings))
    } else {
        let (partial, lost) = scan(run, &Totals, &Bar::new(run.segments(), "reading"));
        let totals = totals::with_missing(run, partial.clone());
        (crate::topics::summary::view::summary_from(run, partial, &lost, 0, None), totals, None)
    };
    let mut row = job(run, &summary, &totals, read);
    row.findings = found.as_ref().map(|found| found.len() as u64);
    let findings = found.unwrap_or_default();
    row.top_findings = verdict::top_codes(&findings, &summary);
    let mut files = files(run, &totals, row.ranks);
    let tally = tally(&files);
    if !with_files {
        files = Vec::new();
    }
    Ok(Done { row, files, tally, findings })
}

/// Keys that rows have.
#[derive(Default)]
struct Keys {
    seen: FxHashMap<String, u64>,
    repeated: u64,
}

impl Keys {
    /// Darshan's job id and start can be those of several logs: of programs that one batch job began in the same second, or of copies.
    fn make_unique(&mut self, key: &mut String) {
        let count = self.seen.entry(key.clone()).or_default();
        *count += 1;
        if *count > 1 {
            key.push_str(&format!("~{count}"));
            self.repeated += 1;
        }
    }

    fn remark(&self) -> Option<String> {
        let text = "job(s) have the job id and start of another, and ~2 and so on behind their key: several programs of a batch job, \
                    or the same log again";
        (self.repeated > 0).then(|| format!("{} {text}", self.repeated))
    }
}

/// What matters most first; what is equal by source.
fn sort(rows: &mut [JobRow], by: SortJobs) {
    rows.sort_by(|a, b| a.source.cmp(&b.source));
    let share = |share: Option<f64>| Reverse(share.map(|share| (share * 1e9) as u64));
    match by {
        SortJobs::IoTime => rows.sort_by_key(|row| Reverse(row.io_ns)),
        SortJobs::Bytes => rows.sort_by_key(|row| Reverse(row.bytes())),
        SortJobs::Share => rows.sort_by_key(|row| share(row.io_share)),
        SortJobs::Slowest => rows.sort_by_key(|row| share(row.slowest_share)),
        SortJobs::Runtime => rows.sort_by_key(|row| Reverse(row.runtime_ns)),
        SortJobs::Ranks => rows.sort_by_key(|row| Reverse(row.ranks)),
        SortJobs::Files => rows.sort_by_key(|row| Reverse(row.files)),
        SortJobs::Start => rows.sort_by_key(|row| Reverse(row.start_unix_ns)),
        SortJobs::Source => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rayon::prelude::*;

    #[test]
    fn a_panic_is_an_error_of_the_job_that_met_it() {
        let here: Result<()> = guarded(|| panic!("at {}", 7));
        assert!(here.unwrap_err().to_string().contains("at 7"));
        // Also in a thread of the pool, which goes on.
        let pool =
            || (0..100_u32).into_par_iter().map(|number| if number == 50 { panic!("in the pool") } else { number });
        let there: Result<u32> = guarded(|| Ok(pool().sum()));
        assert!(there.unwrap_err().to_string().contains("in the pool"));
        assert_eq!(guarded(|| Ok((0..100_u32).into_par_iter().sum::<u32>())).unwrap(), 4950);
    }
}
