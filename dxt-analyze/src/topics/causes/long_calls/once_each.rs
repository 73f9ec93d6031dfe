//! Outliers that occur once for each file of a process: the first call fetches the file from where it lies.

use super::tails::Tail;
use crate::cube::Cube;
use crate::model::{FileId, ProcessId};
use std::collections::BTreeMap;

/// Fewest files with an outlier.
const FEWEST: usize = 5;
/// Least part of the files that have an outlier.
const MOST: f64 = 0.8;
/// Least mean number of calls per file.
const CALLS: u64 = 2;

/// Returns the number of files with one outlier each, if nearly all files have one and none has more.
#[must_use]
pub fn once_each(cube: &Cube<'_>, tail: &Tail) -> Option<u64> {
    let mut by: BTreeMap<(ProcessId, FileId), (u64, u64)> = BTreeMap::new();
    for cell in cube.cells.iter().filter(|cell| cell.leaf && cell.class == tail.class) {
        let of = by.entry((cell.process, cell.file)).or_default();
        *of = (of.0.saturating_add(cell.sums.far_calls), of.1.saturating_add(cell.sums.calls));
    }
    let long = by.values().filter(|(far, _)| *far > 0).count();
    let is = long >= FEWEST
        && by.values().all(|(far, _)| *far <= 1)
        && long as f64 >= by.len() as f64 * MOST
        && tail.calls >= (by.len() as u64).saturating_mul(CALLS);
    is.then_some(long as u64)
}
