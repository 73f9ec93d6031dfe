//! Characterization: use of I/O by each file and by the whole job, in terms of Darshan's counters. Counters written by the tracer and
//! segments of a full trace yield the same numbers, folded by the same code.
//!
//! * [`fold`]: the pass: counters per file and operation, profiles per file and layer, times per process.
//! * [`result`]: the result.
//! * `between`: processes with the minimum and the maximum time.
//! * [`files`]: files by kind of use, by size and by mount point; [`open`]: by how long they were open.
//! * [`steps`], [`stepped`]: relations between consecutive calls: strides, seeks, alignment.

pub mod args;
mod between;
pub(crate) mod bins;
pub mod files;
pub mod fold;
mod in_report;
pub mod open;
pub mod result;
pub mod stepped;
pub mod steps;
mod tables_steps;
pub mod view;

/// Codes of this topic: none.
pub const CODES: &[crate::findings::Code] = &[];

pub use args::{Args, Options};
pub(crate) use in_report::InReport;
pub use view::counters as verb;

pub use fold::Fold;
pub use result::{Characterization, characterize};
