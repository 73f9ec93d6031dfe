//! Facts about the calls on each file of a run.

use super::counterfactual::DATA;
use super::weigh::is_longer;
use crate::findings::Code;
use crate::model::{Class, FileId, ProcessId};
use crate::shared::totals::add;
use crate::topics::causes::claim::Claim;
use crate::topics::causes::grid::{Entry, Grid, weighted_quantile};
use rustc_hash::{FxHashMap, FxHashSet};
use trace_format::op::Layer;

/// Quantile of the cells' shortest calls that is taken as the duration of the fastest.
const FASTEST: f64 = 0.03;

/// Least part of the bytes asked of MPI-IO on a file that is in collective calls, for its system calls to count as theirs.
const COLLECTIVE: f64 = 0.9;

/// Returns the files on which system calls inside MPI-IO come from collective calls.
pub(super) fn collective(grid: &Grid<'_>) -> FxHashSet<FileId> {
    let mut of: FxHashMap<FileId, (u64, u64)> = FxHashMap::default();
    let asked = |entry: &&Entry| DATA.contains(&entry.class) && grid.layer(entry) == Some(Layer::Mpiio) && !entry.leaf;
    for entry in grid.entries.iter().filter(asked) {
        let (together, all) = of.entry(entry.file).or_default();
        add(all, entry.cell.bytes);
        add(together, if entry.collective { entry.cell.bytes } else { 0 });
    }
    let is = |(together, all): &(u64, u64)| *together > 0 && *together as f64 >= *all as f64 * COLLECTIVE;
    of.into_iter().filter(|(_, of)| is(of)).map(|(file, _)| file).collect()
}

/// Returns the files that several processes read or write.
pub(super) fn shared(grid: &Grid<'_>) -> FxHashSet<FileId> {
    let mut first: FxHashMap<FileId, ProcessId> = FxHashMap::default();
    let data = grid.entries.iter().filter(|entry| entry.leaf && DATA.contains(&entry.class));
    data.filter(|entry| *first.entry(entry.file).or_insert(entry.process) != entry.process)
        .map(|entry| entry.file)
        .collect()
}

/// Returns the duration of the fastest calls by file, class and size octave, ns.
pub(super) fn fastest(grid: &Grid<'_>) -> FxHashMap<(FileId, Class, u8), f64> {
    let mut of: FxHashMap<(FileId, Class, u8), Vec<(f64, f64)>> = FxHashMap::default();
    for entry in grid.entries.iter().filter(|entry| entry.leaf && entry.cell.shortest_ns > 0) {
        let shortest = (entry.cell.shortest_ns as f64, entry.cell.calls as f64);
        of.entry((entry.file, entry.class, entry.size)).or_default().push(shortest);
    }
    of.into_iter().filter_map(|(key, mut all)| Some((key, weighted_quantile(&mut all, FASTEST)?))).collect()
}

pub(super) fn readers(grid: &Grid<'_>) -> FxHashMap<FileId, usize> {
    let mut of: FxHashMap<FileId, FxHashSet<ProcessId>> = FxHashMap::default();
    for entry in grid.entries.iter().filter(|entry| entry.leaf && entry.class == Class::Read) {
        of.entry(entry.file).or_default().insert(entry.process);
    }
    of.into_iter().map(|(file, processes)| (file, processes.len())).collect()
}

pub(super) fn read(grid: &Grid<'_>) -> FxHashMap<FileId, u64> {
    let mut of: FxHashMap<FileId, u64> = FxHashMap::default();
    for entry in grid.entries.iter().filter(|entry| entry.leaf && entry.class == Class::Read) {
        add(of.entry(entry.file).or_default(), entry.cell.bytes);
    }
    of
}

/// Returns the end of the last byte that calls reach in each file, where offsets are known.
pub(super) fn extents(grid: &Grid<'_>) -> FxHashMap<FileId, u64> {
    let mut of: FxHashMap<FileId, u64> = FxHashMap::default();
    for entry in grid.entries.iter().filter(|entry| entry.leaf && entry.cell.range.0 < entry.cell.range.1) {
        let until = of.entry(entry.file).or_default();
        *until = (*until).max(entry.cell.range.1);
    }
    of
}

/// Returns the time that slow units and long single calls explain, by cell, ns.
pub(super) fn beyond(grid: &Grid<'_>, causes: &[Claim]) -> Vec<f64> {
    let mut out = vec![0.0; grid.entries.len()];
    let longer = |claim: &&Claim| is_longer(claim.finding.code) || claim.finding.code == Code::LONG_TAIL;
    let theirs = causes.iter().filter(longer).flat_map(|claim| &claim.savings);
    for (index, ns) in theirs {
        if let Some(of) = out.get_mut(*index as usize) {
            *of += ns;
        }
    }
    out
}
