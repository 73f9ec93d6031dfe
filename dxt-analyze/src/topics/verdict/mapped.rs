//! Memory-mapped files: their reads and writes are memory accesses, not calls, so the trace does not contain them.

use super::sentence::Mapped;
use crate::cube::Cube;
use crate::model::FileId;
use std::collections::BTreeMap;
use trace_format::op::OpClass;

/// Returns the number of mapped files and the sum of their mean mapping sizes, bytes; `None` below the threshold `large_bytes`.
pub(super) fn mapped(cube: &Cube<'_>) -> Option<Mapped> {
    let mut by: BTreeMap<FileId, u64> = BTreeMap::new();
    for cell in cube.cells.iter().filter(|cell| cell.leaf && !cell.inside) {
        let is = cube.stream(cell).is_some_and(|stream| cube.run.op(stream).class == Some(OpClass::Map));
        if is {
            let of = by.entry(cell.file).or_default();
            *of = (*of).max(cell.sums.bytes / cell.sums.calls.max(1));
        }
    }
    let bytes = by.values().fold(0_u64, |sum, bytes| sum.saturating_add(*bytes));
    (bytes >= cube.run.thresholds.large_bytes).then_some((by.len() as u64, bytes))
}
