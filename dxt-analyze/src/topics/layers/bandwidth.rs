//! Bandwidth of each layer as its caller sees it, reads and writes apart, from exact sums.

use super::parts::Sum;
use crate::model::{Run, Within};
use crate::shared::totals::StreamTotal;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use trace_format::op::{Layer, OpClass};

/// Reads or writes of a layer that were made inside the same other layer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LayerRow {
    /// Layer's name.
    pub layer: &'static str,
    /// Who made the calls: `program`, `HDF5`, `MPI-IO`.
    pub called_by: &'static str,
    /// `read` or `write`.
    pub op: &'static str,
    /// Calls, bytes, and time in the calls summed over processes and threads.
    #[serde(flatten)]
    pub sum: Sum,
    /// Processes that made such calls.
    pub processes: u64,
    /// From the first start to the last end over all processes, ns.
    pub wall_ns: u64,
    /// Effective bandwidth: bytes over time in calls, bytes per second.
    pub effective: f64,
    /// Perceived bandwidth: bytes over wall-clock time from the first start to the last end, bytes per second.
    pub perceived: f64,
}

#[derive(Default)]
struct Found {
    sum: Sum,
    processes: BTreeSet<u32>,
    start: Option<u64>,
    end: u64,
}

/// Bandwidths of all layers: those that the program calls first.
#[must_use]
pub fn layers(run: &Run, totals: &[StreamTotal]) -> Vec<LayerRow> {
    let mut all: BTreeMap<(Within, std::cmp::Reverse<Layer>, bool), Found> = BTreeMap::new();
    for total in totals {
        let Some(process) = run.processes.get(total.process as usize) else { continue };
        let Some(stream) = process.streams.get(total.stream as usize).filter(|stream| !stream.failed) else { continue };
        let op = run.op(stream);
        let (Some(layer), Some(class), true) = (op.layer, op.class, op.is_data()) else { continue };
        let key = (stream.within(), std::cmp::Reverse(layer), class == OpClass::Write);
        let (found, counters) = (all.entry(key).or_default(), &total.all);
        found.sum.add(&Sum { calls: counters.segments, bytes: counters.bytes, time_ns: counters.duration });
        found.processes.insert(total.process);
        let start = counters.first_start.saturating_add(process.shift_ns);
        found.start = Some(found.start.map_or(start, |first| first.min(start)));
        found.end = found.end.max(counters.last_end.saturating_add(process.shift_ns));
    }
    let row = |((within, layer, writes), found): ((Within, std::cmp::Reverse<Layer>, bool), Found)| {
        let wall_ns = found.end.saturating_sub(found.start.unwrap_or(found.end));
        LayerRow {
            layer: layer.0.name(),
            called_by: match within {
                Within::Nothing | Within::Overview => "program",
                Within::Hdf5 => "HDF5",
                Within::Mpiio => "MPI-IO",
            },
            op: if writes { "write" } else { "read" },
            sum: found.sum,
            processes: run.count_of(found.processes),
            wall_ns,
            effective: per_second(found.sum.bytes, found.sum.time_ns),
            perceived: per_second(found.sum.bytes, wall_ns),
        }
    };
    all.into_iter().map(row).collect()
}

/// Bytes per second. No time at all, possible with a coarse clock, counts as 1 ns.
#[must_use]
pub fn per_second(bytes: u64, ns: u64) -> f64 {
    bytes as f64 * 1e9 / ns.max(1) as f64
}
