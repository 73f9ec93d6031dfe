//! Memory-mapped files, whose reads and writes make no calls.

use super::sentence::Mapped;
use crate::model::FileId;
use crate::topics::causes::grid::Grid;
use std::collections::BTreeMap;
use trace_format::op::OpClass;

/// Fewest mapped bytes to report.
const MAPPED: u64 = 1 << 20;

/// Returns the number of mapped files and the sum of their mean mapping sizes, bytes; `None` below `MAPPED`.
pub(super) fn mapped(grid: &Grid<'_>) -> Option<Mapped> {
    let mut by: BTreeMap<FileId, u64> = BTreeMap::new();
    for entry in grid.entries.iter().filter(|entry| entry.leaf && !entry.inside) {
        let is = grid.stream(entry).is_some_and(|stream| grid.run.op(stream).class == Some(OpClass::Map));
        if is {
            let of = by.entry(entry.file).or_default();
            *of = (*of).max(entry.cell.bytes / entry.cell.calls.max(1));
        }
    }
    let bytes = by.values().fold(0_u64, |sum, bytes| sum.saturating_add(*bytes));
    (bytes >= MAPPED).then_some((by.len() as u64, bytes))
}
