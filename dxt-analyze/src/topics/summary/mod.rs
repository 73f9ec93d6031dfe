//! Summary: the job, its ranks, operations and files, and what the trace lacks.
//!
//! - [`result`]: result; [`details`]: data sets, hints, datatypes.
//! - [`view`], `tables_details`: output.

pub mod args;
pub mod details;
mod in_report;
pub mod result;
mod tables_details;
pub mod view;

/// Codes of findings: none.
pub const CODES: &[crate::findings::Code] = &[];

pub use args::{Args, Options};
pub(crate) use in_report::InReport;
pub use view::summary as verb;
