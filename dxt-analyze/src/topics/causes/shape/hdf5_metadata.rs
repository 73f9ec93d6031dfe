//! HDF5 metadata (group, dataset and attribute headers, B-trees) that many ranks read or write separately. HDF5 makes a small independent
//! MPI-IO call on every rank, near the same offsets, unless the program asks for collective metadata (`H5Pset_all_coll_metadata_ops`,
//! `H5Pset_coll_metadata_write`).
//!
//! Small calls for data look similar, so they are subtracted: small reads and writes of datasets, and, where one HDF5 call accesses a
//! dataset in many pieces, the dataset bytes that no larger call moves.

use crate::cube::{Cell, Cube};
use crate::findings::{About, Code};
use crate::model::{Class, FileId, ProcessId};
use crate::replay::Savings;
use crate::shared::totals::add;
use crate::thresholds::Thresholds;
use crate::topics::causes::claim::Claim;
use crate::words::shape as words;
use std::collections::BTreeMap;
use trace_format::op::Layer;

/// Reads, or writes, of one file: small calls inside HDF5, and the program's dataset accesses.
#[derive(Debug, Default)]
struct Found {
    /// Number of small independent MPI-IO calls on the file inside HDF5.
    calls: u64,
    /// Bytes of the small independent MPI-IO calls on the file inside HDF5.
    bytes: u64,
    /// Number of small reads (or writes) of the file's datasets by the program.
    of_data: u64,
    /// Bytes of all reads (or writes) of the file's datasets by the program.
    data_bytes: u64,
    /// Bytes of the MPI-IO calls on the file inside HDF5 that are collective or not small.
    others_bytes: u64,
    /// Byte range of the small calls of each process: first byte and end (exclusive) by process.
    ranges: BTreeMap<ProcessId, (u64, u64)>,
}

impl Found {
    /// Returns the part of the small calls that is for metadata; `None` unless many ranks make such calls near the same offsets.
    fn share(&self, thresholds: &Thresholds) -> Option<f64> {
        let ranks = self.ranges.len();
        let metadata = self.calls.saturating_sub(self.of_data);
        let share = metadata as f64 / self.calls.max(1) as f64;
        if (ranks as u64) < thresholds.few_min
            || metadata < thresholds.few_min.saturating_mul(ranks as u64)
            || share < thresholds.half_share
        {
            return None;
        }
        let data = self.data_bytes.saturating_sub(self.others_bytes).min(self.bytes);
        if data as f64 > self.bytes as f64 * (1.0 - thresholds.half_share) {
            return None;
        }
        let first = self.ranges.values().map(|range| range.0).min()?;
        let last = self.ranges.values().map(|range| range.1).max()?;
        let mean = self.ranges.values().map(|range| (range.1 - range.0) as f64).sum::<f64>() / ranks as f64;
        (mean >= last.saturating_sub(first) as f64 * thresholds.quarter_share).then_some(share)
    }
}

fn is_small(thresholds: &Thresholds, cell: &Cell) -> bool {
    matches!(cell.class, Class::Read | Class::Write) && cell.size > 0 && cell.is_below(thresholds.metadata_bytes)
}

/// Returns claims (findings with their savings) about HDF5 metadata that many ranks read or write separately, per file, and separately for
/// reads and writes.
#[must_use]
pub fn claims(cube: &Cube<'_>) -> Vec<Claim> {
    let mut by: BTreeMap<(FileId, Class), Found> = BTreeMap::new();
    for cell in cube.cells.iter().filter(|cell| matches!(cell.class, Class::Read | Class::Write)) {
        let Some(stream) = cube.stream(cell) else { continue };
        let found = by.entry((cell.file, cell.class)).or_default();
        match cube.layer(cell) {
            Some(Layer::Hdf5) => {
                add(&mut found.data_bytes, cell.sums.bytes);
                add(&mut found.of_data, if is_small(&cube.run.thresholds, cell) { cell.sums.calls } else { 0 });
            }
            Some(Layer::Mpiio) if stream.in_hdf5 && (cell.collective || !is_small(&cube.run.thresholds, cell)) => {
                add(&mut found.others_bytes, cell.sums.bytes);
            }
            Some(Layer::Mpiio) if stream.in_hdf5 => {
                add(&mut found.calls, cell.sums.calls);
                add(&mut found.bytes, cell.sums.bytes);
                let (from, until) = cell.sums.range;
                if from < until {
                    let range = found.ranges.entry(cell.process).or_insert((from, until));
                    *range = (range.0.min(from), range.1.max(until));
                }
            }
            _ => {}
        }
    }
    by.into_iter().filter_map(|((file, class), found)| claim(cube, file, class, &found)).collect()
}

fn claim(cube: &Cube<'_>, file: FileId, class: Class, found: &Found) -> Option<Claim> {
    let thresholds = &cube.run.thresholds;
    let share = found.share(thresholds)?;
    let ranks = found.ranges.len();
    let is = |cell: &Cell| {
        let within = cube.stream(cell).is_some_and(|stream| stream.in_hdf5);
        cell.leaf && cell.file == file && cell.class == class && within && is_small(thresholds, cell)
    };
    // One rank does the work for all.
    let part = share * (1.0 - 1.0 / ranks as f64);
    let theirs = (0_u32..).zip(&cube.cells).filter(|(_, cell)| is(cell));
    let savings: Savings = theirs.map(|(index, cell)| (index, cell.time_ns() * part)).collect();
    let name = cube.run.file(file)?.name.clone();
    let metadata = found.calls.saturating_sub(found.of_data);
    let ranks = ranks as u64;
    let about = About { file: Some(name.clone()), calls: Some(metadata), processes: Some(ranks), ..About::default() };
    let (calls, bytes_each) = (metadata, found.bytes / found.calls.max(1));
    let of = words::Hdf5Metadata { file: &name, class, ranks, calls, bytes_each, of_data: found.of_data };
    Some(Claim::on_files(cube, Code::HDF5_METADATA, savings, |lost| words::hdf5_metadata(&of, about, lost)))
}
