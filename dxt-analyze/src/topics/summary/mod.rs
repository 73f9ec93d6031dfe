//! Summary: the job, its ranks, operations and files, and what data the trace lacks.
//!
//! - [`result`]: result; [`details`]: HDF5 data sets, MPI-IO hints, MPI datatypes.
//! - [`view`], `tables_details`: output of the result as tables.

pub mod args;
pub mod details;
mod in_report;
pub mod result;
mod tables_details;
pub mod view;

/// Codes of findings that the summary reports: none.
pub const CODES: &[crate::findings::Code] = &[];

pub use args::{Args, Options};
pub(crate) use in_report::InReport;
pub use view::summary as run;
