//! Ledger: where the run time went.
//!
//! The time of every process is divided completely and without overlap by the outermost call of the program: none, reads, writes,
//! metadata, syncs, locks. Calls of MPI-IO and HDF5 are divided further: waiting for the last rank, system calls, outside POSIX.
//!
//! - [`parts`]: the parts, which add up to the whole by construction.
//! - [`spans`], [`busy`]: time that a process with several threads spent in calls.
//! - [`arrivals`]: waiting time of each process in collective calls.
//! - [`result`]: processes, and the job as their sum; [`view`]: output.

pub mod args;
pub mod arrivals;
pub mod busy;
mod in_report;
pub mod parts;
pub mod result;
pub mod spans;
pub mod view;

pub use args::{Args, Options};
pub(crate) use in_report::InReport;
pub use view::ledger as verb;

/// Codes of findings: none.
pub const CODES: &[crate::findings::Code] = &[];
