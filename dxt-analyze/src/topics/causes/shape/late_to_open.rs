//! Stragglers (ranks that arrive last) at collective opens: a rank that spends little time in the open arrived last. For Darshan logs,
//! which contain only one time for all metadata calls on a file and not when they were made.

use super::late::matters_ns;
use super::who_is_late::{SyncPoint, late};
use crate::cube::{Cell, Cube};
use crate::findings::{About, Code, Finding};
use crate::model::{Class, FileId, ProcessId};
use crate::shared::layer_calls::Form;
use crate::topics::causes::claim::Claim;
use crate::words::shape as words;
use std::collections::BTreeMap;
use trace_format::op::Layer;

/// Returns the claim (finding with its saving) about the stragglers whose lateness costs most.
#[must_use]
pub fn claim(cube: &Cube<'_>) -> Option<Claim> {
    let thresholds = &cube.run.thresholds;
    let ranks = usize::try_from(cube.run.ranks()).unwrap_or(usize::MAX);
    if !cube.run.was_log() || ranks < thresholds.several_min as usize {
        return None;
    }
    let together = |cell: &&Cell| {
        let mode = cube.stream(cell).map(|stream| cube.run.op(stream).mode);
        cell.class == Class::Open
            && cube.layer(cell) == Some(Layer::Mpiio)
            && mode.is_some_and(|mode| Form::of(mode) == Form::Collective)
    };
    let mut by: BTreeMap<FileId, BTreeMap<ProcessId, f64>> = BTreeMap::new();
    for cell in cube.cells.iter().filter(together) {
        *by.entry(cell.file).or_default().entry(cell.process).or_default() += cell.sums.time_ns as f64;
    }
    // A rank that waits for nobody has arrived last.
    let sync_point = |of: BTreeMap<ProcessId, f64>| -> SyncPoint {
        let most = of.values().copied().fold(0.0, f64::max);
        of.into_iter().map(|(process, ns)| (process, most - ns)).collect()
    };
    let sync_points: Vec<SyncPoint> = by.into_values().filter(|of| of.len() == ranks).map(sync_point).collect();
    let found = late(thresholds, &sync_points)?;
    let times = found.last.len();
    if times < thresholds.repeated_min as usize || found.saves_ns <= found.all_ns * thresholds.majority_share {
        return None;
    }
    if found.may_be_chance(thresholds, &sync_points) && found.saves_ns < matters_ns(cube) {
        return None;
    }
    let (of, about) = found.named(cube.run, sync_points.len(), found.saves_ns);
    let about = About { calls: Some(of.times), ..about };
    let claim = Claim::new(Finding::new(Code::LATE_RANKS, words::late_to_open(&of, about)), Vec::new());
    Some(Claim { waiting_ns: found.saves_ns, ..claim })
}
