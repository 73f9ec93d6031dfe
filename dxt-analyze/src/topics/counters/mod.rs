//! Characterization of I/O per file and per job, in terms of Darshan's counters. The same code reduces the tracer's counters and the
//! segments of a full trace, so both give equal numbers.
//!
//! * [`fold`]: the pass: counters per file and operation, access profiles per file and layer, times per process.
//! * [`result`]: the result.
//! * `between`: times of the fastest and the slowest process.
//! * [`files`]: files by use, size and mount point; [`open`]: files by the time that they were open.
//! * [`steps`], [`step_rows`]: relations between consecutive calls: strides, seeks, alignment.

pub mod args;
mod between;
pub(crate) mod bins;
pub mod files;
pub mod fold;
mod in_report;
pub mod open;
pub mod result;
pub mod step_rows;
pub mod steps;
mod tables_steps;
pub mod view;

/// Codes of findings that `counters` reports: none.
pub const CODES: &[crate::findings::Code] = &[];

pub use args::{Args, Options};
pub(crate) use in_report::InReport;
pub use view::counters as run;

pub use fold::Fold;
pub use result::{Characterization, characterize};
