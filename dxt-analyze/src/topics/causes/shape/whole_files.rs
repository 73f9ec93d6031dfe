//! Files that each open reads or writes as a whole, in one call: however short such a request is, it cannot be longer. What it costs is a matter of the file.

use crate::model::{Class, FileId};
use crate::shared::totals::add;
use crate::topics::causes::grid::{Entry, Grid};
use rustc_hash::FxHashMap;

/// Reads or writes for an open at most: behind the one with the file's bytes, who reads asks whether there are more.
pub const IN_A_GO: u64 = 2;
/// Part of the file that a request is of at least, if it is of the whole: files of several kinds of records end a little later.
const WHOLE: f64 = 0.9;

/// How far files reach that are moved in a go, bytes.
#[derive(Clone, Debug, Default)]
pub struct WholeFiles(FxHashMap<FileId, u64>);

impl WholeFiles {
    /// Of a run. What is not known to be opened, or how far it reaches, is none of them.
    #[must_use]
    pub fn of(grid: &Grid<'_>) -> Self {
        let mut of: FxHashMap<FileId, (u64, u64, u64)> = FxHashMap::default();
        for entry in grid.entries.iter().filter(|entry| entry.leaf) {
            let (opens, moves, until) = of.entry(entry.file).or_default();
            match entry.class {
                Class::Open => add(opens, entry.cell.calls),
                Class::Read | Class::Write => {
                    add(moves, entry.cell.calls);
                    if entry.cell.range.0 < entry.cell.range.1 {
                        *until = (*until).max(entry.cell.range.1);
                    }
                }
                _ => {}
            }
        }
        let is = |(opens, moves, until): &(u64, u64, u64)| {
            *opens > 0 && *until > 0 && *moves <= opens.saturating_mul(IN_A_GO)
        };
        Self(of.into_iter().filter(|(_, of)| is(of)).map(|(file, (.., until))| (file, until)).collect())
    }

    /// Whether each of an entry's calls is of its whole file.
    #[must_use]
    pub fn has(&self, entry: &Entry) -> bool {
        let mean = entry.cell.bytes as f64 / entry.cell.calls.max(1) as f64;
        self.0.get(&entry.file).is_some_and(|until| mean >= *until as f64 * WHOLE)
    }
}
