//! Bandwidth of each layer, for reads, for writes and for all calls, from exact sums.
//!
//! *By slowest* is the definition used in publications: bytes of all processes, divided by the time in calls of the process that spent most
//! time in calls (Carns et al., "Understanding and Improving Computational Science Storage Access through Continuous Characterization",
//! 2011; `agg_perf_by_slowest` of `darshan-parser --perf`). Pauses between calls are excluded. *Over span* divides by the time from the
//! first start to the last end on any process, including pauses.

pub(crate) mod table;

use super::calls::CallSum;
use super::ratio::per_second;
use super::totals::StreamTotal;
use crate::model::{FileId, Process, ProcessId, Run, Users, Within};
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use trace_format::meta::SpreadDef;
use trace_format::op::{Layer, OpClass};

/// Bandwidth of a set of calls, by two definitions.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Bandwidth {
    /// Longest time of any one process in the set of calls, ns; `None` if ranks share a reduced record that does not contain it.
    pub slowest_ns: Option<u64>,
    /// Time from the first start to the last end of the set of calls, over all processes, ns.
    pub span_ns: u64,
    /// Bytes / `slowest_ns`, in bytes per second: the definition of bandwidth used in publications; `None` if that time is unknown.
    pub by_slowest: Option<f64>,
    /// Bytes / `span_ns`, in bytes per second.
    pub over_span: f64,
    /// `by_slowest` / peak bandwidth of the machine, if the user gave the peak; can exceed 1 because of caches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of_peak: Option<f64>,
}

impl Bandwidth {
    /// Computes the bandwidth of calls that moved `bytes`; times are in ns.
    #[must_use]
    pub fn of(bytes: u64, slowest_ns: Option<u64>, span_ns: u64) -> Self {
        Self {
            slowest_ns,
            span_ns,
            by_slowest: slowest_ns.map(|ns| per_second(bytes, ns)),
            over_span: per_second(bytes, span_ns),
            of_peak: None,
        }
    }

    /// Sets `of_peak` from the machine's peak bandwidth `peak`, in bytes per second.
    pub fn measure(&mut self, peak: Option<f64>) {
        self.of_peak = self.by_slowest.zip(peak).map(|(rate, peak)| rate / peak);
    }
}

/// Calls of one operation of one layer, made by one caller, and their bandwidth.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LayerRow {
    /// Name of the I/O layer, such as `POSIX`.
    pub layer: &'static str,
    /// Caller of the calls: `program`, `HDF5`, `MPI-IO`, `any`.
    pub called_by: &'static str,
    /// `read`, `write`, or `all`: reads, writes and all other calls (open, close, sync, failed calls, ...), as in published numbers.
    pub op: &'static str,
    /// Number of the calls, bytes, and time in ns summed over processes and threads.
    #[serde(flatten)]
    pub sum: CallSum,
    /// Processes that made the calls; a lower bound if a reduced record has files that not all of its ranks used.
    pub processes: u64,
    /// Effective bandwidth: bytes / time in the calls summed over processes and threads, in bytes per second.
    pub effective: f64,
    /// Bandwidth of the calls over the whole job.
    #[serde(flatten)]
    pub bandwidth: Bandwidth,
}

/// Caller and layer of calls; the caller `None` stands for all callers together.
type CallerAndLayer = (Option<Within>, Reverse<Layer>);
/// Names of the three table rows of each caller and layer, in order.
const OPS: [&str; 3] = ["read", "write", "all"];
const ALL: usize = 2;

#[derive(Default)]
struct Found {
    sum: CallSum,
    processes: Users,
    /// Time in calls by process and file, ns; all files share key 0 if the run has no reduced records (one record for several ranks).
    times: FxHashMap<(ProcessId, FileId), u64>,
    first: Option<u64>,
    last: u64,
}

impl Found {
    fn add(&mut self, run: &Run, (process, layer): (&Process, Layer), total: &StreamTotal, file: FileId, bytes: u64) {
        let counters = &total.all;
        self.sum.add(&CallSum { calls: counters.segments, bytes, time_ns: counters.duration });
        self.processes.add(run, total.process, file, Some(layer));
        let time = self.times.entry((total.process, file)).or_default();
        *time = time.saturating_add(counters.duration);
        let start = counters.first_start.saturating_add(process.shift_ns);
        self.first = Some(self.first.map_or(start, |first| first.min(start)));
        self.last = self.last.max(counters.last_end.saturating_add(process.shift_ns));
    }

    /// Returns the time in calls of the slowest process, ns; `None` if unknown. With reduced records (one record for several ranks) the
    /// result is an estimate, as in Darshan: the sum of
    ///
    /// - over all files that all ranks used, the time of each file's slowest rank, and
    /// - over all other files, the largest time of a single process, including files of some ranks whose slowest rank is known.
    ///
    /// The sum is an estimate because different ranks may be busy with different files at the same time. A reduced record contains the
    /// slowest rank only for all calls together, not for reads or writes alone.
    fn slowest_ns(&self, run: &Run, spreads: &Spreads, layer: Layer, is_all: bool) -> Option<u64> {
        let is_reduced = |number: ProcessId| run.process(number).is_some_and(|process| !process.reduction.is_none());
        let mut by_file: FxHashMap<FileId, (u64, Slowest)> = FxHashMap::default();
        let reduced = self.times.iter().filter(|((number, _), time_ns)| **time_ns > 0 && is_reduced(*number));
        for (&(number, file), _) in reduced {
            let slowest = spreads.get(&(number, file, layer)).filter(|_| is_all)?;
            by_file.insert(file, (0, *slowest));
        }
        let mut alone: FxHashMap<ProcessId, u64> = FxHashMap::default();
        let mut shared_ns = 0_u64;
        for (&(number, file), &time_ns) in &self.times {
            let sum = match by_file.get_mut(&file) {
                Some((all_ns, _)) => all_ns,
                None => alone.entry(number).or_default(),
            };
            *sum = sum.saturating_add(time_ns);
        }
        // A record may include calls of other callers, so the sum over all ranks limits the time of the slowest rank.
        for (all_ns, slowest) in by_file.into_values() {
            let sum = match slowest.of_some {
                Some(process) => alone.entry(process).or_default(),
                None => &mut shared_ns,
            };
            *sum = sum.saturating_add(slowest.time_ns.min(all_ns));
        }
        Some(shared_ns.saturating_add(alone.into_values().max().unwrap_or_default()))
    }
}

#[derive(Clone, Copy)]
struct Slowest {
    time_ns: u64,
    /// For a file that only some ranks used: process of the slowest rank, or an id that no process has if this rank has no record of its
    /// own. `None` for a file that all ranks used.
    of_some: Option<ProcessId>,
}

/// Slowest rank of each file and layer in reduced records (one record for several ranks).
type Spreads = FxHashMap<(ProcessId, FileId, Layer), Slowest>;

fn spreads(run: &Run) -> Spreads {
    let mut of_rank: FxHashMap<i64, ProcessId> = FxHashMap::default();
    for (number, process) in run.numbered_processes().filter(|(_, process)| process.reduction.is_none()) {
        of_rank.entry(i64::from(process.rank)).or_insert(number);
    }
    let of = |(number, process, def): (ProcessId, &Process, &SpreadDef)| {
        let slowest = &def.spread.slowest;
        let of_some = run.ranks_of(process, FileId(def.file), None) < u64::from(process.reduction.ranks);
        let process =
            of_rank.get(&i64::from(slowest.rank)).copied().unwrap_or(ProcessId(u32::MAX.saturating_sub(slowest.rank)));
        let slowest = Slowest { time_ns: slowest.time_ns, of_some: of_some.then_some(process) };
        ((number, FileId(def.file), def.layer), slowest)
    };
    let processes = run.numbered_processes();
    processes
        .flat_map(|(number, process)| process.reduction.spreads.iter().map(move |def| (number, process, def)))
        .map(of)
        .collect()
}

/// Returns the bandwidths of all layers that moved bytes, separately by caller; layers that the program itself calls come first.
#[must_use]
pub fn layers(run: &Run, totals: &[StreamTotal]) -> Vec<LayerRow> {
    by_caller(run, totals, Some)
}

/// Returns the bandwidths of each layer over all callers together.
#[must_use]
pub fn whole_layers(run: &Run, totals: &[StreamTotal]) -> Vec<LayerRow> {
    by_caller(run, totals, |_| None)
}

fn by_caller(run: &Run, totals: &[StreamTotal], caller: impl Fn(Within) -> Option<Within>) -> Vec<LayerRow> {
    let mut all: BTreeMap<CallerAndLayer, [Found; 3]> = BTreeMap::new();
    let by_file = run.processes.iter().any(|process| !process.reduction.is_none());
    for total in totals {
        let Some(process) = run.process(total.process) else { continue };
        let Some(stream) = process.stream(total.stream) else { continue };
        let op = run.op(stream);
        let Some(layer) = op.layer else { continue };
        let direction = match op.class.filter(|_| !stream.failed) {
            Some(OpClass::Read) => Some(0),
            Some(OpClass::Write) => Some(1),
            _ => None,
        };
        let rows = all.entry((caller(stream.within()), Reverse(layer))).or_default();
        let bytes = direction.map_or(0, |_| total.all.bytes);
        let file = if by_file { stream.file } else { FileId(0) };
        for place in direction.into_iter().chain([ALL]) {
            rows.get_mut(place).into_iter().for_each(|row| row.add(run, (process, layer), total, file, bytes));
        }
    }
    let spreads = spreads(run);
    // A caller without reads and writes has no bandwidth.
    all.retain(|_, rows| rows.iter().take(ALL).any(|found| found.sum.calls > 0));
    let rows = all.into_iter().flat_map(|(place, rows)| rows.into_iter().zip(OPS).map(move |row| (place, row)));
    let rows = rows.filter(|(_, (found, _))| found.sum.calls > 0);
    rows.map(|(place, (found, op))| row(run, &spreads, place, &found, op)).collect()
}

fn row(
    run: &Run,
    spreads: &Spreads,
    (within, Reverse(layer)): CallerAndLayer,
    found: &Found,
    op: &'static str,
) -> LayerRow {
    let span_ns = found.last.saturating_sub(found.first.unwrap_or(found.last));
    LayerRow {
        layer: layer.name(),
        called_by: match within {
            Some(Within::Nothing | Within::Overview) => "program",
            Some(Within::Hdf5) => "HDF5",
            Some(Within::Mpiio) => "MPI-IO",
            None => "any",
        },
        op,
        sum: found.sum,
        processes: found.processes.count(),
        effective: per_second(found.sum.bytes, found.sum.time_ns),
        bandwidth: Bandwidth::of(found.sum.bytes, found.slowest_ns(run, spreads, layer, op == "all"), span_ns),
    }
}

#[cfg(test)]
mod tests {
    use super::Bandwidth;

    #[test]
    fn a_pause_is_in_the_span_alone() {
        let mut of = Bandwidth::of(3000, Some(1_000), 1_000_000);
        assert_eq!((of.by_slowest, of.over_span, of.of_peak), (Some(3e9), 3e6, None));
        of.measure(Some(6e9));
        assert_eq!(of.of_peak, Some(0.5));
        let mut unknown = Bandwidth::of(3000, None, 0);
        unknown.measure(Some(1e9));
        assert_eq!((unknown.by_slowest, unknown.of_peak, unknown.over_span), (None, None, 3e12));
    }
}
