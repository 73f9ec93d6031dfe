//! Files that each open reads or writes completely by one call: such a request is short only because the file is, so findings about many
//! small files report it.

use crate::cube::{Cell, Cube};
use crate::model::{Class, FileId};
use crate::shared::totals::add;
use crate::thresholds::Thresholds;
use rustc_hash::FxHashMap;

/// Sizes, bytes, of the files that each open moves by one call.
#[derive(Clone, Debug, Default)]
pub struct WholeFiles(FxHashMap<FileId, u64>);

impl WholeFiles {
    /// Finds files that each open moves by one call. Leaves out files without recorded opens or without a known size.
    #[must_use]
    pub fn of(cube: &Cube<'_>) -> Self {
        let mut of: FxHashMap<FileId, (u64, u64, u64)> = FxHashMap::default();
        for cell in cube.cells.iter().filter(|cell| cell.leaf) {
            let (opens, moves, until) = of.entry(cell.file).or_default();
            match cell.class {
                Class::Open => add(opens, cell.sums.calls),
                Class::Read | Class::Write => {
                    add(moves, cell.sums.calls);
                    if cell.sums.range.0 < cell.sums.range.1 {
                        *until = (*until).max(cell.sums.range.1);
                    }
                }
                _ => {}
            }
        }
        let is = |(opens, moves, until): &(u64, u64, u64)| {
            *opens > 0 && *until > 0 && *moves <= opens.saturating_mul(cube.run.thresholds.repeated_min)
        };
        Self(of.into_iter().filter(|(_, of)| is(of)).map(|(file, (.., until))| (file, until)).collect())
    }

    /// True if each call of the cell (group of similar calls) moves its whole file.
    #[must_use]
    pub fn has(&self, thresholds: &Thresholds, cell: &Cell) -> bool {
        let mean = cell.sums.bytes as f64 / cell.sums.calls.max(1) as f64;
        self.0.get(&cell.file).is_some_and(|until| mean >= *until as f64 * thresholds.nearly_all_share)
    }
}
