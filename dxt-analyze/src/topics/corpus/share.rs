//! Share of a job's run time spent in I/O.
//!
//! - `io_share` = (`read_ns` + `write_ns` + `other_ns`) / (`ranks` x `runtime_ns`): time in calls that the program made, summed over
//!   processes as in the summary, over the available rank time; the mean over ranks.
//! - `slowest_share` = `slowest_ns` / `runtime_ns`: the share of the rank with most time in calls.
//!
//! Both are at most 1, even if calls of several threads, or nonblocking calls, overlap and add up to more than the run time.

use crate::model::{FileId, ProcessId, Run, Within};
use crate::shared::ratio::share_of_sums;
use crate::shared::totals::StreamTotal;
use rustc_hash::FxHashMap;
use serde::Serialize;
use trace_format::op::Layer;

/// Time in I/O calls, and available rank time, of one or several jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ShareOfTime {
    /// Time in I/O calls, summed over processes (and jobs), ns; 128 bits, since a sum over jobs can exceed 64 bits.
    pub io_ns: u128,
    /// Available rank time (ranks x run time), ns.
    pub ranks_ns: u128,
}

impl ShareOfTime {
    /// Returns `io_ns` / `ranks_ns`, at most 1; `None` if `ranks_ns` is 0.
    #[must_use]
    pub fn share(self) -> Option<f64> {
        share_of_sums(self.io_ns, self.ranks_ns)
    }
}

/// Rank, or process without a rank, over which call times are summed.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Who {
    Rank(i64),
    Process(ProcessId),
}

/// Returns the time in calls of the slowest rank (or process without a rank), ns. For files with reduced records (each stands for several
/// ranks), only the time of the file's slowest rank is known, so the result is a lower bound; it is never below `mean_ns`, the mean over
/// ranks.
#[must_use]
pub fn slowest_ns(run: &Run, totals: &[StreamTotal], mean_ns: u64) -> u64 {
    let mut by_file: FxHashMap<(Who, FileId), u64> = FxHashMap::default();
    for total in totals {
        let Some(process) = run.process(total.process) else { continue };
        let stream = process.stream(total.stream);
        let Some(stream) = stream.filter(|stream| stream.within() == Within::Nothing) else { continue };
        if process.reduction.is_none() {
            let who = if process.rank >= 0 { Who::Rank(process.rank.into()) } else { Who::Process(total.process) };
            let sum = by_file.entry((who, stream.file)).or_default();
            *sum = sum.saturating_add(total.all.duration);
        }
    }
    for (&file, &(_, rank, time_ns)) in &slowest_of_files(run) {
        // The record's time includes the time of the rank's segments.
        let sum = by_file.entry((Who::Rank(rank.into()), file)).or_default();
        *sum = (*sum).max(time_ns);
    }
    let mut by_rank: FxHashMap<Who, u64> = FxHashMap::default();
    for ((who, _), time_ns) in by_file {
        let sum = by_rank.entry(who).or_default();
        *sum = sum.saturating_add(time_ns);
    }
    by_rank.into_values().max().unwrap_or_default().max(mean_ns)
}

/// Returns (layer depth, rank, time in ns) of each file's slowest rank from reduced records (each stands for several ranks). Only the
/// topmost layer counts: lower layers contain the calls made inside it.
fn slowest_of_files(run: &Run) -> FxHashMap<FileId, (u8, u32, u64)> {
    let mut out: FxHashMap<FileId, (u8, u32, u64)> = FxHashMap::default();
    for spread in run.processes.iter().flat_map(|process| &process.reduction.spreads) {
        let above = match spread.layer {
            Layer::Hdf5 | Layer::Pnetcdf => 2,
            Layer::Mpiio => 1,
            _ => 0,
        };
        let slowest = &spread.spread.slowest;
        let found = (above, slowest.rank, slowest.time_ns);
        let known = out.entry(FileId(spread.file)).or_insert(found);
        // Of two layers of equal depth, the one with the slower rank counts.
        if (found.0, found.2) > (known.0, known.2) {
            *known = found;
        }
    }
    out
}
