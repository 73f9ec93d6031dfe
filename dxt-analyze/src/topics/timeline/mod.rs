//! Activity: who was in which call, when. One pass fills bounded grids of rows (the job, ranks, nodes, storage targets, files,
//! offsets of a file) by bins of time, split into slices (file, layer, operation); what `timeline`, `report` and `serve` show is
//! read off these grids.
//!
//! * `span`: a span of time and its bins; `grid`: the cells and how they are put together until they are few.
//! * `slices`: which calls are told apart; `axes`: what the rows stand for.
//! * `fill`: the pass; `grids`: what it fills; `drawn`: a grid as the page reads it; `series`: the job over time; `phases`: its I/O phases; `changes`: where what is done changes; `exact`: single calls, where they are few;
//!   `unseen`: when calls were made that have no segments.

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

/// It has no findings of its own.
pub const CODES: &[crate::findings::Code] = &[];

pub use args::{Args, Options};
pub(crate) use in_report::InReport;
pub use view::timeline as verb;
