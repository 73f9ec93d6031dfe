//! Memory alignment of reads and writes in full traces. Segments have no memory addresses, so the tracer counts aligned and unaligned calls
//! per stream.

use crate::model::{FileId, Process, Run};
use std::collections::BTreeMap;
use trace_format::op::Layer;

/// Returns one process's counts by file (index into [`Run::files`]) and layer: calls with known memory address, and unaligned calls among them.
pub(crate) fn of_process<'r>(
    run: &'r Run,
    process: &'r Process,
) -> impl Iterator<Item = ((FileId, Layer), [u64; 2])> + 'r {
    process.memory.streams.iter().filter_map(move |used| {
        let stream = process.stream_with_id(used.stream)?;
        Some(((stream.file, run.op(stream).layer?), [used.known, used.unaligned.min(used.known)]))
    })
}

/// Returns the counts over all processes, files and layers: calls with known memory address, and the unaligned calls among them.
pub(crate) fn of_run(run: &Run) -> [u64; 2] {
    let all = run.processes.iter().flat_map(|process| of_process(run, process));
    all.fold([0; 2], |sum, (_, more)| [sum[0].saturating_add(more[0]), sum[1].saturating_add(more[1])])
}

/// Number of calls and their time in ns, for aligned memory addresses and for unaligned ones.
pub(crate) type Cost = [(u64, u64); 2];

/// Returns number and time of calls with aligned and with unaligned memory addresses, by layer, direction (true for writes) and size bin.
pub(crate) fn costs(run: &Run) -> BTreeMap<(Layer, bool, u8), Cost> {
    let mut all: BTreeMap<(Layer, bool, u8), Cost> = BTreeMap::new();
    for cost in run.processes.iter().flat_map(|process| &process.memory.costs) {
        let [aligned, unaligned] = all.entry((cost.layer, cost.writes != 0, cost.size)).or_default();
        for (sum, calls, ns) in
            [(aligned, cost.aligned, cost.aligned_ns), (unaligned, cost.unaligned, cost.unaligned_ns)]
        {
            *sum = (sum.0.saturating_add(calls), sum.1.saturating_add(ns));
        }
    }
    all
}
