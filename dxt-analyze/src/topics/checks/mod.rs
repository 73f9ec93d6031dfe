//! Checks: rules of thumb about a job's I/O, and facts that only single recorded calls prove. All checks share one pass over the trace in
//! call order. `docs/checks.md` lists them beside Drishti's.
//!
//! * `walk`, `roles`, `walked_file`, `ranges`, `deferred_inserts`, `runs`, `cells`, `writers`, `sums`: the pass in call order and its
//!   state.
//! * `gaps`: number of active processes over time.
//! * `calls`, `file_calls`, `counted`: totals of calls, from counters.
//! * `interface`, `requests`, `balance`, `traffic`, `metadata`, `phases`: the checks' verdicts.

pub mod args;
pub(crate) mod balance;
pub mod calls;
pub mod cells;
mod codes;
pub mod counted;
mod deferred_inserts;
pub mod file_calls;
pub mod gaps;
mod in_report;
mod interface;
mod metadata;
mod phases;
pub mod ranges;
mod requests;
pub mod result;
mod roles;
pub mod runs;
mod sorted;
mod strided_ranges;
pub mod sums;
mod traffic;
pub mod view;
pub mod walk;
mod walked_file;
pub mod writers;

pub use args::{Args, Options};
pub(crate) use in_report::InReport;
pub use view::checks as run;

pub use codes::CODES;

use crate::findings::{About, Code, Finding, Severity};
use crate::model::{FileId, Run};
use crate::shared::ratio::share;
use crate::thresholds::Thresholds;
use crate::words::{Words, checks as words};
use calls::CallSums;
use cells::Common;
use gaps::Phases;
use result::Verdicts;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use sums::{Example, FileSums};
use writers::Writers;

/// Measurements on which the checks' verdicts are based.
#[derive(Debug)]
pub struct Measured<'a> {
    /// Run that is checked.
    pub run: &'a Run,
    /// Thresholds of the checks, by which measurements become findings.
    pub least: &'a Thresholds,
    /// Totals of calls by layer, rank and file.
    pub calls: CallSums,
    /// Totals of the accesses to each file, from the pass over all calls in their order.
    pub files: BTreeMap<FileId, Box<FileSums>>,
    /// Bytes that several processes read, per file.
    pub common: FxHashMap<FileId, Common>,
    /// Byte ranges that each process wrote in shared files.
    pub writers: Writers,
    /// Phases of the job: gaps without I/O, activity, and the peak of metadata calls.
    pub phases: Phases,
    /// Number of accesses whose memory buffer address is known, and how many of the addresses are no multiple of the alignment (8 bytes by
    /// default).
    pub memory: (u64, u64),
}

/// Runs all checks, in the order of `docs/checks.md`.
#[must_use]
pub fn judge(measured: &Measured<'_>) -> Verdicts {
    let mut out = Verdicts::default();
    interface::judge(measured, &mut out);
    requests::judge(measured, &mut out);
    balance::judge(measured, &mut out);
    traffic::judge(measured, &mut out);
    metadata::judge(measured, &mut out);
    phases::judge(measured, &mut out);
    out
}

impl Measured<'_> {
    /// Returns the severity of a cost in ns, by its share of the time in all of the program's calls.
    fn severity(&self, ns: u64) -> Severity {
        Severity::of_cost(ns, self.calls.all.time_ns, self.least)
    }

    /// Returns a finding with the sentence `words` and the further facts `about`; its severity follows from its cost, `ns` ns in calls.
    fn costly(&self, code: Code, words: Words, about: About, ns: u64) -> Finding {
        let about = About { time_ns: Some(ns), ..about };
        Finding { severity: self.severity(ns), cost_ns: Some(ns), ..Finding::new(code, words).with(about) }
    }

    /// Returns the reason why checks that need segments are not applicable; `None` if the trace has segments.
    fn no_segments(&self) -> Option<&'static str> {
        (self.run.segments() == 0).then_some("the trace has no single operations")
    }

    /// True if the program is known to have a single rank, which cannot benefit from collective calls.
    fn single_rank(&self) -> bool {
        self.run.info.mpi.as_ref().is_some_and(|mpi| mpi.ranks == 1)
    }

    /// Returns the reason why checks that compare ranks are not applicable; `None` if ranks can be compared.
    fn no_ranks(&self) -> Option<&'static str> {
        if self.run.reduced_ranks() > 0 {
            return Some(
                "one record has the sums of several ranks: `dxt-analyze summary` shows the fastest and the slowest rank",
            );
        }
        (self.calls.ranks.len() < 2).then_some("fewer than two processes do I/O")
    }

    fn name(&self, file: FileId) -> &str {
        self.run.file(file).map_or("?", |file| &file.name)
    }

    fn example(&self, of: &Example) -> words::Example {
        words::Example { process: self.run.process_name(of.process), offset: of.offset, length: of.length }
    }

    /// Returns the few files with the largest amounts, with the amount that `of` returns for each; files with 0 are omitted.
    fn most<T>(&self, files: &BTreeMap<FileId, T>, of: impl Fn(&T) -> u64) -> Vec<(FileId, u64)> {
        let mut all: Vec<(FileId, u64)> = files.iter().map(|(file, sums)| (*file, of(sums))).collect();
        all.retain(|(_, amount)| *amount > 0);
        all.sort_by_key(|(file, amount)| (std::cmp::Reverse(*amount), *file));
        all.truncate(crate::limits::NAMED_EXAMPLES);
        all
    }

    /// Returns the names of the few files with the largest amounts, and these amounts ([`Self::most`]).
    fn named<T>(&self, files: &BTreeMap<FileId, T>, of: impl Fn(&T) -> u64) -> Vec<(&str, u64)> {
        self.most(files, of).into_iter().map(|(file, amount)| (self.name(file), amount)).collect()
    }
}
