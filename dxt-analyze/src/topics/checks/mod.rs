//! The checks: what a list of rules of thumb asks of a run, and what only the single operations can tell. One ordered pass
//! serves all of them. `docs/checks.md` lists them beside Drishti's.
//!
//! * `walk`, `roles`, `walked_file`, `ranges`, `put_off`, `runs`, `cells`, `writers`, `sums`: the pass, and what it keeps.
//! * `gaps`: when processes are in calls.
//! * `calls`, `file_calls`, `counted`: what counts alone tell.
//! * `interface`, `requests`, `balance`, `traffic`, `metadata`, `phases`: the verdicts.

pub mod args;
mod balance;
pub mod calls;
pub mod cells;
mod codes;
mod comb;
pub mod counted;
pub mod file_calls;
pub mod gaps;
mod in_report;
mod interface;
mod metadata;
mod phases;
mod put_off;
pub mod ranges;
mod requests;
pub mod result;
mod roles;
pub mod runs;
mod sorted;
pub mod sums;
mod traffic;
pub mod view;
pub mod walk;
mod walked_file;
pub mod writers;

pub use args::{Args, Options};
pub(crate) use in_report::InReport;
pub use view::checks as verb;

pub use codes::CODES;

use crate::findings::Severity;
use crate::model::{FileId, Run};
use crate::shared::ratio::share;
use crate::thresholds::Thresholds;
use calls::CallSums;
use cells::Common;
use gaps::Phases;
use result::Verdicts;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use sums::{Example, FileSums};
use writers::Writers;

/// What the verdicts look at.
#[derive(Debug)]
pub struct Measured<'a> {
    /// The run.
    pub run: &'a Run,
    /// What verdicts are measured by.
    pub least: &'a Thresholds,
    /// Sums of calls.
    pub calls: CallSums,
    /// Sums of the ordered pass.
    pub files: BTreeMap<FileId, FileSums>,
    /// What processes read in common.
    pub common: FxHashMap<FileId, Common>,
    /// Writers of the bytes of shared files.
    pub writers: Writers,
    /// When processes were in calls.
    pub phases: Phases,
    /// Accesses whose place in memory is known, and those of them off a multiple of 8 bytes.
    pub memory: (u64, u64),
}

/// All checks, in the order of the documentation.
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

/// `12.3 %`.
fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

impl Measured<'_> {
    /// How much `ns` matter, by their share of all time in the program's calls.
    fn severity(&self, ns: u64) -> Severity {
        Severity::of_cost(ns, self.calls.all.time_ns, self.least)
    }

    /// Why checks of single operations cannot look, if they cannot.
    fn no_segments(&self) -> Option<&'static str> {
        (self.run.segments() == 0).then_some("the trace has no single operations")
    }

    /// Whether the program is known to have one rank, which has nobody to move bytes together with.
    fn single_rank(&self) -> bool {
        self.run.info.mpi.as_ref().is_some_and(|mpi| mpi.ranks == 1)
    }

    /// Why checks that compare ranks cannot look, if they cannot.
    fn no_ranks(&self) -> Option<&'static str> {
        if self.run.reduced_ranks() > 0 {
            return Some("ranks were reduced to one record: `summary` shows the fastest and the slowest");
        }
        (self.calls.ranks.len() < 2).then_some("there are not two processes that do I/O")
    }

    /// A file's path.
    fn name(&self, file: FileId) -> &str {
        self.run.file(file).map_or("?", |file| &file.name)
    }

    /// A place in words.
    fn place(&self, example: &Example) -> String {
        format!("{} at offset {}", self.run.process_name(example.process), example.offset)
    }

    /// The files with most of something, with how much; nothing of those that have none.
    fn most<T>(&self, files: &BTreeMap<FileId, T>, of: impl Fn(&T) -> u64) -> Vec<(FileId, u64)> {
        let mut all: Vec<(FileId, u64)> = files.iter().map(|(file, sums)| (*file, of(sums))).collect();
        all.retain(|(_, amount)| *amount > 0);
        all.sort_by_key(|(file, amount)| (std::cmp::Reverse(*amount), *file));
        all.truncate(crate::limits::NAMED_EXAMPLES);
        all
    }
}
