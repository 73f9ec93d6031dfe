//! Activity over time. One pass fills bounded grids: rows (the job, ranks, nodes, storage targets, files, offsets of a file) by time bins,
//! split into slices (file, layer, operation). `timeline`, `report` and `serve` read these grids.
//!
//! - `span`: time span and its time bins; `grid`: grid of cells.
//! - `slices`: sets of calls that are distinguished; `axes`: assignment of ranks, nodes, files and targets to rows.
//! - `fill`: pass over the segments; `grids`: the grids that it fills; `page_grids`: grids in the form for the page; `exact`: single calls,
//!   if there are few.
//! - `series`: the job over time; `phases`: its I/O phases; `changes`: changes of activity.
//! - `unseen`: time ranges with calls but without segments.

pub mod args;
pub mod axes;
pub mod bin_times;
mod changes;
pub(crate) mod charts;
pub mod exact;
pub mod fill;
pub mod grid;
pub mod grids;
mod in_report;
pub mod page_grids;
pub mod phases;
pub mod series;
pub mod slices;
pub mod span;
pub mod unseen;
pub mod view;

/// Codes of findings that `timeline` reports: none.
pub const CODES: &[crate::findings::Code] = &[];

pub use args::{Args, Options};
pub(crate) use in_report::InReport;
pub use view::timeline as run;
