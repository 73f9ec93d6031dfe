//! Checks: rules of thumb, and facts that only single operations prove; one ordered pass serves all. `docs/checks.md` lists them beside
//! Drishti's.
//!
//! * `walk`, `roles`, `walked_file`, `ranges`, `put_off`, `runs`, `cells`, `writers`, `sums`: the pass and its state.
//! * `gaps`: activity of processes over time.
//! * `calls`, `file_calls`, `counted`: sums of counts.
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

/// Inputs of the verdicts.
#[derive(Debug)]
pub struct Measured<'a> {
    /// Run that is checked.
    pub run: &'a Run,
    /// Thresholds of the verdicts.
    pub least: &'a Thresholds,
    /// Sums of calls.
    pub calls: CallSums,
    /// Sums of the ordered pass, by file.
    pub files: BTreeMap<FileId, FileSums>,
    /// Bytes that several processes read, by file.
    pub common: FxHashMap<FileId, Common>,
    /// Writers of the bytes of shared files.
    pub writers: Writers,
    /// Activity of processes over time.
    pub phases: Phases,
    /// Number of accesses whose memory address is known, and of those not at a multiple of the alignment (8 bytes by default).
    pub memory: (u64, u64),
}

/// Runs all checks, in the order of the documentation.
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

/// Formats a share, as in `12.3 %`.
fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

impl Measured<'_> {
    /// Returns the severity of `ns`, by their share of all time in the program's calls.
    fn severity(&self, ns: u64) -> Severity {
        Severity::of_cost(ns, self.calls.all.time_ns, self.least)
    }

    /// Returns the reason why checks of single operations are not applicable, if so.
    fn no_segments(&self) -> Option<&'static str> {
        (self.run.segments() == 0).then_some("the trace has no single operations")
    }

    /// True if the program is known to have one rank, which has no peers for collective calls.
    fn single_rank(&self) -> bool {
        self.run.info.mpi.as_ref().is_some_and(|mpi| mpi.ranks == 1)
    }

    /// Returns the reason why checks that compare ranks are not applicable, if so.
    fn no_ranks(&self) -> Option<&'static str> {
        if self.run.reduced_ranks() > 0 {
            return Some("ranks were reduced to one record: `summary` shows the fastest and the slowest");
        }
        (self.calls.ranks.len() < 2).then_some("there are not two processes that do I/O")
    }

    fn name(&self, file: FileId) -> &str {
        self.run.file(file).map_or("?", |file| &file.name)
    }

    fn place(&self, example: &Example) -> String {
        format!("{} at offset {}", self.run.process_name(example.process), example.offset)
    }

    /// Returns the few files with the largest amounts, and their amounts; files with 0 are left out.
    fn most<T>(&self, files: &BTreeMap<FileId, T>, of: impl Fn(&T) -> u64) -> Vec<(FileId, u64)> {
        let mut all: Vec<(FileId, u64)> = files.iter().map(|(file, sums)| (*file, of(sums))).collect();
        all.retain(|(_, amount)| *amount > 0);
        all.sort_by_key(|(file, amount)| (std::cmp::Reverse(*amount), *file));
        all.truncate(crate::limits::NAMED_EXAMPLES);
        all
    }
}
