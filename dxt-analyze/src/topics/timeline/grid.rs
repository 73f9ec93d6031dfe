//! Grid of sums by slice (file, layer, operation, caller), row and time bin.
//!
//! A row of a slice is allocated on first use, so memory depends on the activity. It is bounded by rows x bins x slices, regardless of the
//! length of the trace.

use super::span::Piece;
use serde::Serialize;

/// Sums over the calls of one slice (file, layer, operation, caller) in one row and time bin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cell {
    /// Number of calls of the slice that start in the cell's time bin.
    pub calls: u64,
    /// Bytes that calls of the slice (set of calls) moved within the cell's time bin.
    pub bytes: u64,
    /// Time in calls of the slice (set of calls) within the cell's time bin, summed over processes and threads, ns.
    pub busy_ns: u64,
}

impl Cell {
    /// True if all sums of the cell are 0.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds the sums of another cell (calls, bytes, time).
    #[inline]
    pub fn merge(&mut self, other: &Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.busy_ns = self.busy_ns.saturating_add(other.busy_ns);
    }
}

impl From<Piece> for Cell {
    #[inline]
    fn from(piece: Piece) -> Self {
        Self { calls: piece.calls, bytes: piece.bytes, busy_ns: piece.busy_ns }
    }
}

/// Grid of cells (sums over calls) by slice, row and time bin.
#[derive(Clone, Debug, Default)]
pub struct Grid {
    rows: usize,
    bins: usize,
    lines: Vec<Option<Box<[Cell]>>>,
}

impl Grid {
    /// Creates an empty grid with the given numbers of slices (sets of calls), rows and time bins.
    #[must_use]
    pub fn new(slices: usize, rows: usize, bins: u32) -> Self {
        Self { rows, bins: bins as usize, lines: vec![None; slices.saturating_mul(rows)] }
    }

    /// Returns the number of rows of the grid.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of time bins of the grid.
    #[must_use]
    pub fn bins(&self) -> usize {
        self.bins
    }

    /// Adds sums to the cell of a slice (set of calls), row and time bin; ignores cells outside the grid.
    #[inline]
    pub fn add(&mut self, slice: usize, row: usize, bin: u32, cell: &Cell) {
        if row >= self.rows {
            return;
        }
        let bins = self.bins;
        let Some(line) = self.lines.get_mut(slice * self.rows + row) else { return };
        let line = line.get_or_insert_with(|| vec![Cell::default(); bins].into_boxed_slice());
        if let Some(mine) = line.get_mut(bin as usize) {
            mine.merge(cell);
        }
    }

    /// Adds the cells of another grid of equal dimensions.
    pub fn merge(&mut self, other: Self) {
        for (mine, theirs) in self.lines.iter_mut().zip(other.lines) {
            match (mine, theirs) {
                (_, None) => {}
                (mine @ None, theirs) => *mine = theirs,
                (Some(mine), Some(theirs)) => {
                    mine.iter_mut().zip(theirs.iter()).for_each(|(mine, theirs)| mine.merge(theirs));
                }
            }
        }
    }

    /// Iterates over (slice, row, cells by time bin) of all slices (sets of calls) and rows with calls.
    pub fn lines(&self) -> impl Iterator<Item = (usize, usize, &[Cell])> {
        let rows = self.rows.max(1);
        let lines = self.lines.iter().enumerate();
        lines.filter_map(move |(place, line)| line.as_deref().map(|line| (place / rows, place % rows, line)))
    }

    /// Returns the number of cells of the grid (sums by slice, row and time bin) that are not empty.
    #[must_use]
    pub fn filled(&self) -> usize {
        self.lines().map(|(_, _, line)| line.iter().filter(|cell| !cell.is_empty()).count()).sum()
    }

    /// Merges pairs of neighbouring time bins, which halves their number.
    #[must_use]
    pub fn with_half_the_bins(self) -> Self {
        let bins = self.bins.div_ceil(2);
        let halve = |line: Box<[Cell]>| -> Box<[Cell]> {
            let together = line.chunks(2).map(|pair| {
                let mut sum = Cell::default();
                pair.iter().for_each(|cell| sum.merge(cell));
                sum
            });
            together.collect()
        };
        Self { rows: self.rows, bins, lines: self.lines.into_iter().map(|line| line.map(halve)).collect() }
    }

    /// Returns the rows of all slices (sets of calls), without empty cells, in the form that the page's scripts read.
    #[must_use]
    pub fn packed(&self) -> Vec<Packed> {
        let pack = |(slice, row, line): (usize, usize, &[Cell])| {
            let (mut cells, mut last) = (Vec::new(), 0);
            for (bin, cell) in line.iter().enumerate().filter(|(_, cell)| !cell.is_empty()) {
                cells.extend([(bin - last) as u64, cell.calls, cell.bytes, cell.busy_ns]);
                last = bin;
            }
            Packed { slice: slice as u32, row: row as u32, cells }
        };
        self.lines().map(pack).collect()
    }
}

/// Row of a slice (calls of one file, layer, operation and caller) without empty cells, in the form that the page's scripts read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Packed {
    /// Index of the slice (file, layer, operation and caller).
    pub slice: u32,
    /// Index of this row in its grid.
    pub row: u32,
    /// Four numbers per cell: distance from the previous cell in time bins, calls, bytes, time in calls (ns).
    pub cells: Vec<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Cell = Cell { calls: 1, bytes: 10, busy_ns: 5 };

    #[test]
    fn cells_add_up_whatever_the_order() {
        let (mut a, mut b) = (Grid::new(2, 3, 4), Grid::new(2, 3, 4));
        a.add(1, 2, 3, &ONE);
        b.add(1, 2, 3, &ONE);
        b.add(0, 0, 0, &ONE);
        b.add(7, 0, 0, &ONE);
        b.add(0, 3, 0, &ONE);
        b.add(0, 0, 4, &ONE);
        a.merge(b);
        assert_eq!(a.filled(), 2);
        let packed = a.packed();
        assert_eq!(packed[0], Packed { slice: 0, row: 0, cells: vec![0, 1, 10, 5] });
        assert_eq!(packed[1], Packed { slice: 1, row: 2, cells: vec![3, 2, 20, 10] });
        let half = a.with_half_the_bins();
        assert_eq!((half.bins(), half.packed()[1].cells.clone()), (2, vec![1, 2, 20, 10]));
    }
}
