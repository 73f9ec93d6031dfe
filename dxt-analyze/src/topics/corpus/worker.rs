//! Worker process that reads jobs of a corpus: requests arrive on standard input, one per line, and answers go to standard output. A defect
//! or lack of memory kills only the worker, and the parent starts a new one.

use super::pace::{Pace, Paces};
use super::{JobFile, JobRow, Read, Tally, files, job, tally};
use crate::findings::Finding;
use crate::load;
use crate::load::corpus::{JobFiles, LeftOut};
use crate::model::Run;
use crate::model::content::Pool;
use crate::progress::Bar;
use crate::scan::scan;
use crate::shared::totals::{self, Totals};
use crate::thresholds::Thresholds;
use crate::topics::report::{Job, Options};
use crate::topics::{verdict, whole};
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::io::{BufRead, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// First line that a worker prints, to show that it is ready.
pub(super) const READY: &str = "dxt-analyze reads jobs";

/// Results of reading one job: its row, its files, its findings, and its call durations.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Done {
    pub(super) row: JobRow,
    pub(super) files: Vec<JobFile>,
    pub(super) tally: Tally,
    pub(super) findings: Vec<Finding>,
    /// Call durations over the run, for comparison with repeated runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) paces: Option<Paces>,
}

impl Done {
    /// Returns the approximate memory use of the results, bytes.
    pub(super) fn held(&self) -> usize {
        let findings = self.findings.iter().map(|finding| {
            let words = finding.evidence.iter().map(|evidence| evidence.words());
            let words: usize = words.chain([finding.hint.as_str()]).map(str::len).sum();
            words + finding.title.held() + finding.about.held()
        });
        let paces = self.paces.as_ref().map_or(0, Paces::held);
        4096 + findings.sum::<usize>() + self.files.iter().map(JobFile::held).sum::<usize>() + paces
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Asked {
    pub(super) number: u64,
    paths: Vec<Vec<u8>>,
    darshan: bool,
}

impl Asked {
    pub(super) fn new(number: u64, job: &JobFiles) -> Self {
        let paths = job.paths.iter().map(|path| path.as_os_str().as_bytes().to_vec()).collect();
        Self { number, paths, darshan: job.darshan }
    }

    fn job(self) -> JobFiles {
        let paths = self.paths.into_iter().map(|path| PathBuf::from(OsString::from_vec(path))).collect();
        JobFiles { paths, darshan: self.darshan }
    }
}

pub(super) type Answer = Result<Done, LeftOut>;

/// Reader of jobs, with the options of the command line.
#[derive(Debug)]
pub(super) struct Reading {
    pool: Arc<Pool>,
    thresholds: Thresholds,
    with_findings: bool,
    /// True if the results of reading a job include a row per file.
    with_files: bool,
}

impl Reading {
    pub(super) fn new(thresholds: Thresholds, with_findings: bool, with_files: bool) -> Self {
        Self { pool: Arc::new(Pool::default()), thresholds, with_findings, with_files }
    }

    pub(super) const fn thresholds(&self) -> &Thresholds {
        &self.thresholds
    }

    pub(super) fn one(&self, files: &JobFiles) -> Answer {
        let first = files.paths.first().map(PathBuf::as_path).unwrap_or(Path::new(""));
        let read = || -> Result<Done> {
            let mut run = load::load_one(&files.paths, &self.pool)?;
            run.thresholds = self.thresholds.clone();
            let (sources, darshan) = (files.paths.len() as u64, files.darshan);
            self.rows(&run, Read { source: first.display().to_string(), sources, darshan })
        };
        read().map_err(|error| LeftOut::new(first, &error))
    }

    fn rows(&self, run: &Run, read: Read) -> Result<Done> {
        let pace = Pace::new(run);
        let (summary, totals, found, of_pace) = if self.with_findings {
            let options = Options::findings_only(None);
            let of_run = Job::new(run, &options)?;
            let found = whole(&of_run)?;
            let verdict = verdict::verdict(&found);
            let (findings, top) = (verdict::findings(&found, &verdict), verdict::top_codes(&verdict));
            let (of_pace, _) = scan(run, &pace, &Bar::new(run.segments(), "reading"));
            (found.summary, found.sums.all, Some((findings, top)), of_pace)
        } else {
            let ((partial, of_pace), lost) = scan(run, &(Totals, &pace), &Bar::new(run.segments(), "reading"));
            let totals = totals::with_missing(run, partial);
            (crate::topics::summary::view::summary_from(run, &totals, &lost, 0, None), totals, None, of_pace)
        };
        let mut row = job(run, &summary, &totals, read);
        row.findings = found.as_ref().map(|(found, _)| found.len() as u64);
        let (findings, top) = found.unwrap_or_default();
        row.top_findings = top;
        let mut files = files(run, &totals, row.ranks);
        let tally = tally(&files);
        let paces = pace.paces(run, of_pace, &files);
        if !self.with_files {
            files = Vec::new();
        }
        Ok(Done { row, files, tally, findings, paces })
    }
}

/// Answers requests on standard input until its end. All pending requests are processed in parallel; the parent limits their number. An
/// answer is a line with the job's number and the result as JSON.
///
/// # Errors
/// Fails if an input line is not a request.
pub(super) fn work(reading: &Reading) -> Result<()> {
    // A panic aborts the process, as in release builds: if only the thread unwound, its job would get no answer.
    let reported = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |what| {
        reported(what);
        std::process::abort();
    }));
    say(READY);
    std::thread::scope(|scope| {
        for line in std::io::stdin().lock().lines() {
            let asked: Asked = serde_json::from_str(&line?).context("failed to read the request")?;
            scope.spawn(move || {
                let number = asked.number;
                let answer = serde_json::to_string(&reading.one(&asked.job()));
                // Serialization of these types cannot fail.
                say(&format!("{number} {}", answer.unwrap_or_default()));
            });
        }
        Ok(())
    })
}

/// Prints a line and flushes it; exits if the reading process has ended.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    if writeln!(out, "{line}").and_then(|()| out.flush()).is_err() {
        std::process::exit(1);
    }
}
