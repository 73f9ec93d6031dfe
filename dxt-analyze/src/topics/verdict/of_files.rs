//! Facts about the calls on each file of a run.

use crate::cube::{Cell, Cube, weighted_quantile};
use crate::hypotheses::counterfactual::DATA;
use crate::model::{Class, FileId, ProcessId};
use crate::shared::totals::add;
use rustc_hash::{FxHashMap, FxHashSet};
use trace_format::op::Layer;

/// Returns the files on which system calls inside MPI-IO come from collective calls.
pub(super) fn collective(cube: &Cube<'_>) -> FxHashSet<FileId> {
    let mut of: FxHashMap<FileId, (u64, u64)> = FxHashMap::default();
    let asked = |cell: &&Cell| DATA.contains(&cell.class) && cube.layer(cell) == Some(Layer::Mpiio) && !cell.leaf;
    for cell in cube.cells.iter().filter(asked) {
        let (together, all) = of.entry(cell.file).or_default();
        add(all, cell.sums.bytes);
        add(together, if cell.collective { cell.sums.bytes } else { 0 });
    }
    let is = |(together, all): &(u64, u64)| {
        *together > 0 && *together as f64 >= *all as f64 * cube.run.thresholds.nearly_all_share
    };
    of.into_iter().filter(|(_, of)| is(of)).map(|(file, _)| file).collect()
}

/// Returns the files that several processes read or write.
pub(super) fn shared(cube: &Cube<'_>) -> FxHashSet<FileId> {
    let mut first: FxHashMap<FileId, ProcessId> = FxHashMap::default();
    let data = cube.cells.iter().filter(|cell| cell.leaf && DATA.contains(&cell.class));
    data.filter(|cell| *first.entry(cell.file).or_insert(cell.process) != cell.process).map(|cell| cell.file).collect()
}

/// Returns the duration of the fastest calls by file, class of calls and size octave (bit length of the bytes), ns.
pub(super) fn fastest(cube: &Cube<'_>) -> FxHashMap<(FileId, Class, u8), f64> {
    let mut of: FxHashMap<(FileId, Class, u8), Vec<(f64, f64)>> = FxHashMap::default();
    for cell in cube.cells.iter().filter(|cell| cell.leaf && cell.sums.shortest_ns > 0) {
        let shortest = (cell.sums.shortest_ns as f64, cell.sums.calls as f64);
        of.entry((cell.file, cell.class, cell.size)).or_default().push(shortest);
    }
    of.into_iter()
        .filter_map(|(key, mut all)| Some((key, weighted_quantile(&mut all, cube.run.thresholds.fastest_quantile)?)))
        .collect()
}

pub(super) fn readers(cube: &Cube<'_>) -> FxHashMap<FileId, usize> {
    let mut of: FxHashMap<FileId, FxHashSet<ProcessId>> = FxHashMap::default();
    for cell in cube.cells.iter().filter(|cell| cell.leaf && cell.class == Class::Read) {
        of.entry(cell.file).or_default().insert(cell.process);
    }
    of.into_iter().map(|(file, processes)| (file, processes.len())).collect()
}

pub(super) fn read(cube: &Cube<'_>) -> FxHashMap<FileId, u64> {
    let mut of: FxHashMap<FileId, u64> = FxHashMap::default();
    for cell in cube.cells.iter().filter(|cell| cell.leaf && cell.class == Class::Read) {
        add(of.entry(cell.file).or_default(), cell.sums.bytes);
    }
    of
}

/// Returns the end of the last byte that calls reach in each file, where offsets are known.
pub(super) fn extents(cube: &Cube<'_>) -> FxHashMap<FileId, u64> {
    let mut of: FxHashMap<FileId, u64> = FxHashMap::default();
    for cell in cube.cells.iter().filter(|cell| cell.leaf && cell.sums.range.0 < cell.sums.range.1) {
        let until = of.entry(cell.file).or_default();
        *until = (*until).max(cell.sums.range.1);
    }
    of
}
