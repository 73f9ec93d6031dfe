//! Grids in the form that the page reads: rows with names, and non-empty cells, merged until they are few enough to embed.

use super::axes::{Axis, Offsets, Row};
use super::grid::{Grid, Packed};
use super::span::Span;
use super::unseen::{self, Unseen, UnseenRow};
use crate::model::Run;
use serde::Serialize;

/// Grid with its axes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GridView {
    /// Rows, top first.
    pub rows: Vec<Row>,
    /// First unit shown; for ranks the index of the process.
    pub first: u32,
    /// Units per row.
    pub per_row: u32,
    /// Units in all rows.
    pub units: u32,
    /// Start of the first bin, ns since the job's start.
    pub from_ns: u64,
    /// Width of a bin, ns.
    pub width_ns: u64,
    /// Number of bins.
    pub bins: usize,
    /// Cells.
    pub lines: Vec<Packed>,
    /// Time ranges with calls but without segments, by row.
    pub unseen: Vec<UnseenRow>,
}

impl GridView {
    /// Creates the view of a grid, with at most `cells` cells.
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

/// Merges neighbouring bins until there are at most `cells` cells.
fn small(span: &Span, mut grid: Grid, cells: usize) -> (Grid, u64) {
    let mut width_ns = span.width_ns;
    while grid.filled() > cells && grid.bins() > 1 {
        grid = grid.with_half_the_bins();
        width_ns = width_ns.saturating_mul(2);
    }
    (grid, width_ns)
}

/// Offsets of a file over time; slice 0 has the reads, slice 1 the writes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OffsetView {
    /// Path of the file.
    pub file: String,
    /// Bytes per row.
    pub row_bytes: u64,
    /// Number of rows.
    pub rows: u32,
    /// Start of the first bin, ns since the job's start.
    pub from_ns: u64,
    /// Width of a bin, ns.
    pub width_ns: u64,
    /// Number of bins.
    pub bins: usize,
    /// Cells.
    pub lines: Vec<Packed>,
    /// Time range with calls but without segments, if any.
    pub unseen: Option<UnseenRow>,
}

impl OffsetView {
    /// Creates the view of a grid, with at most `cells` cells.
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
