//! The ledger: where the run time went. The time of every process is divided, without overlap and without rest, by the outermost call
//! that the program was in: none, or reads, writes, metadata, syncs, locks; and for calls of MPI-IO and HDF5: waiting until the last rank
//! came, in system calls, outside POSIX.
//!
//! * [`parts`]: the parts, which sum up to the whole by construction.
//! * [`spans`], [`busy`]: how long a process with several threads was in any call.
//! * [`arrivals`]: how long each process waited in collective calls for the last one to come.
//! * [`result`]: processes, and the job as their sum; [`view`]: how it looks.

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

/// It has no findings of its own.
pub const CODES: &[crate::findings::Code] = &[];
