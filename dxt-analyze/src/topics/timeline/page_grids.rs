//! Grids in the form that the page's scripts read: rows with names, and non-empty cells. Time bins are merged until the cells are few
//! enough to embed in the page.

use super::axes::{Axis, Offsets, Row};
use super::grid::{Grid, Packed};
use super::span::Span;
use super::unseen::{self, Unseen, UnseenRow};
use crate::model::Run;
use serde::Serialize;

/// Grid in the form that the page's scripts read, with row labels and time bins.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GridView {
    /// Labels of the grid's rows, from top to bottom.
    pub rows: Vec<Row>,
    /// Index of the first rank, node, target or file shown.
    pub first: u32,
    /// Number of ranks, nodes, targets or files that share a row.
    pub per_row: u32,
    /// Number of ranks, nodes, targets or files in all rows together.
    pub units: u32,
    /// Start of the first time bin, ns since the job's start.
    pub from_ns: u64,
    /// Width of a time bin, ns.
    pub width_ns: u64,
    /// Number of time bins of the grid.
    pub bins: usize,
    /// Non-empty cells, by slice (file, layer, operation and caller) and row.
    pub lines: Vec<Packed>,
    /// Time ranges with calls but without segments, for each row that has any.
    pub unseen: Vec<UnseenRow>,
}

impl GridView {
    /// Creates the page's form of a grid; merges time bins until at most `cells` cells are not empty.
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

/// Merges pairs of neighbouring time bins until at most `cells` cells are not empty. Returns the grid and its bin width, ns.
fn small(span: &Span, mut grid: Grid, cells: usize) -> (Grid, u64) {
    let mut width_ns = span.width_ns;
    while grid.filled() > cells && grid.bins() > 1 {
        grid = grid.with_half_the_bins();
        width_ns = width_ns.saturating_mul(2);
    }
    (grid, width_ns)
}

/// Grid of a file's offsets over time, in the form that the page's scripts read; slice 0 has the reads, slice 1 the writes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OffsetView {
    /// Path of the file whose offsets are shown.
    pub file: String,
    /// Size of the offset range that a row shows, bytes.
    pub row_bytes: u64,
    /// Number of rows of the grid (offset ranges).
    pub rows: u32,
    /// Start of the first time bin, ns since the job's start.
    pub from_ns: u64,
    /// Width of a time bin, ns.
    pub width_ns: u64,
    /// Number of time bins.
    pub bins: usize,
    /// Non-empty cells, by slice (reads, writes) and row.
    pub lines: Vec<Packed>,
    /// Time range in which calls used the file but have no segments; `None` if all have segments.
    pub unseen: Option<UnseenRow>,
}

impl OffsetView {
    /// Creates the page's form of a grid of offsets; merges time bins until at most `cells` cells are not empty.
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
