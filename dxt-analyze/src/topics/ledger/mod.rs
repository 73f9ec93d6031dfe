//! Ledger: division of the run time by activity, which shows where the time went.
//!
//! The time of every process is divided completely and without overlap by the call that the program is in: none, read, write, metadata,
//! sync or lock. Time in calls of MPI-IO and HDF5 is divided further: waiting for the last rank, system calls, the rest.
//!
//! - [`parts`]: the parts into which a time is divided.
//! - [`busy`]: wall-clock time that a process with several threads spent in calls.
//! - [`arrivals`]: time that each process waits in collective calls.
//! - [`result`]: division of the time of each process and of the job; [`view`]: output of the result.

pub mod args;
pub mod arrivals;
pub mod busy;
mod in_report;
pub mod parts;
pub mod result;
pub mod view;

pub use args::{Args, Options};
pub(crate) use in_report::InReport;
pub use view::ledger as run;

/// Codes of findings that `ledger` reports: none.
pub const CODES: &[crate::findings::Code] = &[];
