//! Activity over time. One pass fills bounded grids: rows (the job, ranks, nodes, storage targets, files, offsets of a file) by time
//! bins, split into slices (file, layer, operation). `timeline`, `report` and `serve` read these grids.
//!
//! - `span`: time span and bins; `grid`: cells, and their merging.
//! - `slices`: calls that are distinguished; `axes`: rows.
//! - `fill`: the pass; `grids`: the grids it fills; `drawn`: grids as the page reads them; `exact`: single calls, if few.
//! - `series`: the job over time; `phases`: its I/O phases; `changes`: changes of activity.
//! - `unseen`: time ranges with calls but without segments.

pub mod args;
pub mod axes;
mod changes;
pub(crate) mod charts;
pub mod drawn;
pub mod exact;
pub mod fill;
pub mod grid;
pub mod grids;
mod in_report;
pub mod moments;
pub mod phases;
pub mod series;
pub mod slices;
pub mod span;
pub mod unseen;
pub mod view;

/// Codes of findings: none.
pub const CODES: &[crate::findings::Code] = &[];

pub use args::{Args, Options};
pub(crate) use in_report::InReport;
pub use view::timeline as verb;
