//! Grids in the form that the page's scripts read: rows with names, and non-empty cells. Time bins are merged until the cells are few
//! enough to embed in the page.

use super::axes::{Axis, Offsets, Row};
use super::grid::{Grid, Packed};
use super::span::Span;
use super::unseen::{self, Unseen, UnseenRow};
use crate::model::Run;
use serde::Serialize;

/// Grid in the form for the page, with its row labels and time bins.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GridView {
    /// Labels of the rows, top first.
    pub rows: Vec<Row>,
    /// Index of the first unit shown (process, node, target or file).
    pub first: u32,
    /// Number of units (processes, nodes, targets or files) that share a row.
    pub per_row: u32,
    /// Number of units in all rows together.
    pub units: u32,
    /// Start of the first bin, ns since the job's start.
    pub from_ns: u64,
    /// Width of a bin, ns.
    pub width_ns: u64,
    /// Number of time bins.
    pub bins: usize,
    /// Non-empty cells, by slice and row.
    pub lines: Vec<Packed>,
    /// Time ranges with calls but without segments, for each row that has any.
    pub unseen: Vec<UnseenRow>,
}

impl GridView {
    /// Creates the page's form of a grid; merges time bins until there are at most `cells` non-empty cells.
    #[must_use]
    pub fn new(axis: &Axis, span: &Span, grid: Grid, cells: usize, unseen: Vec<UnseenRow>) -> Self {
        let (grid, width_ns) = small(span, grid, cells);
        Self {
            rows: axis.rows.clone(),
            first: axis.first,
            per_row: axis.per_row,
            units: axis.units,
            from_ns: span.from_ns,
            width_ns,
            bins: grid.bins(),
            lines: grid.packed(),
            unseen,
        }
    }
}

/// Merges pairs of neighbouring time bins until there are at most `cells` non-empty cells. Returns the grid and the width of its bins in
/// ns.
fn small(span: &Span, mut grid: Grid, cells: usize) -> (Grid, u64) {
    let mut width_ns = span.width_ns;
    while grid.filled() > cells && grid.bins() > 1 {
        grid = grid.with_half_the_bins();
        width_ns = width_ns.saturating_mul(2);
    }
    (grid, width_ns)
}

/// Grid of a file's offsets over time, in the form for the page; slice 0 has the reads, slice 1 the writes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OffsetView {
    /// Path of the file.
    pub file: String,
    /// Size of a row's offset range, in bytes.
    pub row_bytes: u64,
    /// Number of rows.
    pub rows: u32,
    /// Start of the first bin, ns since the job's start.
    pub from_ns: u64,
    /// Width of a bin, ns.
    pub width_ns: u64,
    /// Number of time bins.
    pub bins: usize,
    /// Non-empty cells, by slice and row.
    pub lines: Vec<Packed>,
    /// Time range in which the file was used but has no segments; `None` if there is none.
    pub unseen: Option<UnseenRow>,
}

impl OffsetView {
    /// Creates the page's form of a grid of offsets; merges time bins until there are at most `cells` non-empty cells.
    #[must_use]
    pub fn new(run: &Run, offsets: &Offsets, span: &Span, grid: Grid, cells: usize, unseen: &[Unseen]) -> Self {
        let (grid, width_ns) = small(span, grid, cells);
        let file = run.file_name(offsets.file).to_owned();
        let (row_bytes, rows, bins) = (offsets.row_bytes, offsets.rows, grid.bins());
        Self {
            file,
            row_bytes,
            rows,
            from_ns: span.from_ns,
            width_ns,
            bins,
            lines: grid.packed(),
            unseen: unseen::of_file(unseen, offsets.file),
        }
    }
}
