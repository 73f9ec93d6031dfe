//! Waits of ranks for each other in collective MPI-IO calls that move no bytes (open, close, sync). Time in such a call that is outside of
//! system calls counts as waiting, as in MPI's own collective calls.

use super::Cell;
use crate::cube::reading::slots::Slots;
use crate::model::{Class, FileId, ProcessId, Run, Within};
use crate::shared::layer_calls::is_made_together;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Collective call as one process makes it: time window, begin and end in ns since the job's start, and the part of its time outside of
/// system calls, ns.
#[derive(Clone, Copy, Debug)]
struct Call {
    slot: u16,
    begin: u64,
    end: u64,
    waits: f64,
}

/// Calls by (file, operation) and by process, in order of time; `None` if a cell (sums over similar calls) has several calls, whose times
/// are unknown.
type Calls = BTreeMap<(FileId, u16), BTreeMap<ProcessId, Option<Vec<Call>>>>;

/// Returns the waits of each process in collective MPI-IO calls that move no bytes, ns, for each phase. Only calls that all ranks make, and
/// that none leaves before the last rank has arrived, count.
#[must_use]
pub fn waits(run: &Run, cells: &[Cell], slots: &Slots) -> Vec<FxHashMap<ProcessId, f64>> {
    let mut waits = vec![FxHashMap::default(); slots.phases()];
    let ranks = run.ranks();
    let all = calls(run, cells).into_values().filter(|of| of.len() as u64 >= ranks);
    for by in all.filter_map(|of| of.into_iter().map(|(process, calls)| Some((process, calls?))).collect()) {
        let by: Vec<(ProcessId, Vec<Call>)> = by;
        let count = by.iter().map(|(_, calls)| calls.len()).max().unwrap_or(0);
        if by.iter().any(|(_, calls)| calls.len() != count) {
            continue;
        }
        for turn in 0..count {
            let each = || by.iter().filter_map(|(process, calls)| Some((*process, *calls.get(turn)?)));
            let last = each().map(|(_, call)| call.begin).max().unwrap_or(0);
            if each().any(|(_, call)| call.end < last) {
                continue;
            }
            for (process, call) in each().filter(|(_, call)| call.waits > 0.0) {
                if let Some(of) = waits.get_mut(slots.phase(usize::from(call.slot))) {
                    *of.entry(process).or_default() += call.waits;
                }
            }
        }
    }
    waits
}

fn calls(run: &Run, cells: &[Cell]) -> Calls {
    let mut inside: BTreeMap<(ProcessId, FileId, u16), f64> = BTreeMap::new();
    let in_calls =
        |cell: &&Cell| cell.leaf && cell.inside && matches!(cell.class, Class::Open | Class::Metadata | Class::Sync);
    for cell in cells.iter().filter(in_calls) {
        *inside.entry((cell.process, cell.file, cell.slot)).or_default() += cell.sums.time_ns as f64;
    }
    let mut out = Calls::new();
    for cell in cells.iter().filter(|cell| !cell.leaf) {
        let stream = run.process(cell.process).and_then(|of| of.stream(cell.stream));
        let Some(stream) = stream.filter(|of| is_made_together(run.op(of)) && of.within() != Within::Mpiio) else {
            continue;
        };
        let of = out.entry((cell.file, stream.op)).or_default().entry(cell.process).or_insert_with(|| Some(Vec::new()));
        match (cell.sums.longest_began(), of) {
            (Some(begin), Some(calls)) if cell.sums.calls == 1 => {
                let time = cell.sums.time_ns;
                let system = inside.get(&(cell.process, cell.file, cell.slot)).copied().unwrap_or_default();
                let end = begin.saturating_add(time);
                calls.push(Call { slot: cell.slot, begin, end, waits: time as f64 - system });
            }
            (_, of) => *of = None,
        }
    }
    out
}
