//! A grid as the page reads it: rows with names, and cells without the empty ones, put together until they are few enough to be
//! embedded.

use super::axes::{Axis, Offsets, Row};
use super::grid::{Grid, Packed};
use super::span::Span;
use super::unseen::{self, Unseen, UnseenRow};
use crate::model::Run;
use serde::Serialize;

/// A grid with its axes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GridView {
    /// Rows, from the top.
    pub rows: Vec<Row>,
    /// First unit that is shown: of ranks, the number of the process.
    pub first: u32,
    /// Units to a row.
    pub per_row: u32,
    /// Units in all rows.
    pub units: u32,
    /// Start of the first bin, ns since the job's start.
    pub from_ns: u64,
    /// Width of a bin, ns.
    pub width_ns: u64,
    /// Bins.
    pub bins: usize,
    /// Cells.
    pub lines: Vec<Packed>,
    /// When rows made calls that have no segments.
    pub unseen: Vec<UnseenRow>,
}

impl GridView {
    /// Of `grid`, with at most `cells` cells.
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

/// Puts bins together until `cells` are enough.
fn small(span: &Span, mut grid: Grid, cells: usize) -> (Grid, u64) {
    let mut width_ns = span.width_ns;
    while grid.filled() > cells && grid.bins() > 1 {
        grid = grid.with_half_the_bins();
        width_ns = width_ns.saturating_mul(2);
    }
    (grid, width_ns)
}

/// A file's offsets by time; slice 0 is what was read, slice 1 what was written.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OffsetView {
    /// The file's path.
    pub file: String,
    /// Bytes to a row.
    pub row_bytes: u64,
    /// Rows.
    pub rows: u32,
    /// Start of the first bin, ns since the job's start.
    pub from_ns: u64,
    /// Width of a bin, ns.
    pub width_ns: u64,
    /// Bins.
    pub bins: usize,
    /// Cells.
    pub lines: Vec<Packed>,
    /// When calls on it have no segments, if some have none.
    pub unseen: Option<UnseenRow>,
}

impl OffsetView {
    /// Of `grid`, with at most `cells` cells.
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
