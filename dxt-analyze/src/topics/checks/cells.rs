//! Counts bytes that several processes read. Each process's byte ranges are cut into cells: here, file regions of fixed size. A cell stores
//! the sum of its readers' bytes and the region in which they read; sum - length of the region is a lower bound of the bytes read
//! redundantly. The number of cells is bounded as described in [`crate::shared::sampled_table`].

use crate::model::FileId;
use crate::shared::sampled_table::{Followed, Key, Value};
use rustc_hash::FxHashMap;

/// Size of a cell (file region of fixed size) in bytes: smaller than data that is worth a broadcast, but so large that a terabyte has few
/// cells.
pub const CELL_BYTES: u64 = 1 << 20;
/// Maximum number of cells (file regions of fixed size) per process and file: reads beyond 4 TiB of a file are omitted.
const CELLS_OF_A_PROCESS: u64 = 1 << 22;

/// Reads of one cell (file region of fixed size) by all processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cell {
    /// Number of processes that read from the cell (file region of fixed size).
    readers: u32,
    /// Bytes read from the cell (file region of fixed size), summed over processes; each process counts every byte once.
    bytes: u64,
    /// Lowest file offset that any process read in the cell (file region of fixed size).
    first: u64,
    /// Highest file offset that any process read in the cell (file region of fixed size), plus 1.
    behind: u64,
}

/// Cells (file regions of fixed size) by file and cell number (offset / [`CELL_BYTES`]).
#[derive(Clone, Debug)]
pub struct Cells(Followed<(FileId, u64), Cell>);

/// Bytes of one file that several processes read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Common {
    /// Redundantly read bytes (lower bound): bytes read, summed over processes, minus the length of the regions in which they were read.
    pub bytes: u64,
    /// Largest number of processes that read from one cell (file region of fixed size).
    pub readers: u32,
}

impl Key for (FileId, u64) {
    fn parts(self) -> (u64, u64) {
        (self.0.0.into(), self.1)
    }
}

impl Value for Cell {
    fn join(&mut self, other: Self) {
        self.readers = self.readers.saturating_add(other.readers);
        self.bytes = self.bytes.saturating_add(other.bytes);
        (self.first, self.behind) = (self.first.min(other.first), self.behind.max(other.behind));
    }
}

impl Cells {
    /// Creates an empty set that tracks at most `limit` cells (file regions of fixed size).
    #[must_use]
    pub fn with_limit(limit: usize) -> Self {
        Self(Followed::with_limit(limit))
    }

    /// Adds the ranges that one process read from `file`; `ranges` must be disjoint and ascending. Call once per process and file.
    pub fn add(&mut self, file: FileId, ranges: impl Iterator<Item = (u64, u64)>) {
        // Sorted ranges of one cell are adjacent, so the process counts once as the cell's reader.
        let (mut open, mut left) = (None::<(u64, Cell)>, CELLS_OF_A_PROCESS);
        for (start, end) in ranges {
            let first = start / CELL_BYTES;
            let last = (end.saturating_sub(1) / CELL_BYTES).min(first.saturating_add(left));
            left -= last.saturating_sub(first).min(left);
            for number in first..=last {
                let (from, until) =
                    (number.saturating_mul(CELL_BYTES), number.saturating_add(1).saturating_mul(CELL_BYTES));
                let (from, until) = (start.max(from), end.min(until));
                let bytes = until.saturating_sub(from);
                match &mut open {
                    Some((same, cell)) if *same == number => {
                        (cell.bytes, cell.behind) = (cell.bytes.saturating_add(bytes), until);
                    }
                    _ => {
                        let cell = Cell { readers: 1, bytes, first: from, behind: until };
                        if let Some((number, cell)) = open.replace((number, cell)) {
                            self.0.add((file, number), cell);
                        }
                    }
                }
            }
        }
        if let Some((number, cell)) = open {
            self.0.add((file, number), cell);
        }
    }

    /// Adds the cells (file regions with their readers) that another thread of the analyzer collected.
    pub fn merge(&mut self, other: Self) {
        self.0.merge(other.0);
    }

    /// Returns the sampling factor: one cell (file region of fixed size) in this many is tracked; 1 if all are.
    #[must_use]
    pub fn followed_one_in(&self) -> u64 {
        self.0.one_in()
    }

    /// Returns the redundantly read bytes per file; these are estimates if not all cells (file regions of fixed size) are tracked.
    #[must_use]
    pub fn common(&self) -> FxHashMap<FileId, Common> {
        let mut out: FxHashMap<FileId, Common> = FxHashMap::default();
        for ((file, _), cell) in self.0.iter().filter(|(_, cell)| cell.readers > 1) {
            let common = out.entry(*file).or_default();
            let bytes = cell.bytes.saturating_sub(cell.behind - cell.first).saturating_mul(self.followed_one_in());
            common.bytes = common.bytes.saturating_add(bytes);
            common.readers = common.readers.max(cell.readers);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_but_one_reading_of_each_byte_is_in_common() {
        let mut cells = Cells::with_limit(100);
        let span = 3 * CELL_BYTES + 17;
        (0..5).for_each(|_| cells.add(FileId(7), [(100, span)].into_iter()));
        // Two processes read different parts of one cell: no redundant bytes.
        cells.add(FileId(8), [(0, 500), (600, 700)].into_iter());
        cells.add(FileId(8), [(700, 900)].into_iter());
        let common = cells.common();
        assert_eq!(common.get(&FileId(7)), Some(&Common { bytes: 4 * (span - 100), readers: 5 }));
        assert_eq!(common.get(&FileId(8)), Some(&Common { bytes: 0, readers: 2 }));
    }

    #[test]
    fn a_sample_is_the_same_in_whatever_order_and_near_the_whole() {
        let part = |limit, files: std::ops::Range<u32>| {
            let mut cells = Cells::with_limit(limit);
            for file in files {
                (0..2).for_each(|_| cells.add(FileId(file), [(0, 64 * CELL_BYTES)].into_iter()));
            }
            cells
        };
        let sum = |cells: &Cells| cells.common().values().map(|common| common.bytes).sum::<u64>();
        let (mut one, mut two) = (part(500, 0..60), part(500, 60..100));
        let whole = part(500, 0..100);
        let (first, second) = (one.clone(), two.clone());
        one.merge(second);
        two.merge(first);
        assert_eq!((sum(&one), sum(&two)), (sum(&whole), sum(&whole)));
        assert!(whole.followed_one_in() > 1);
        let exact = sum(&part(usize::MAX, 0..100));
        assert_eq!(exact, 100 * 64 * CELL_BYTES);
        assert!((sum(&whole) as f64 / exact as f64 - 1.0).abs() < 0.25);
    }
}
