//! Breaks MPI-IO and HDF5 calls down into the calls of lower layers made inside them: time in system reads, writes and locks, and the rest,
//! which is communication, copying and waiting.
//!
//! * [`nesting`]: nesting of the calls of one thread.
//! * [`collectives`]: matching of the calls of all ranks that form one collective operation.
//! * [`in_flight`], [`concurrency`]: number of calls in flight at once; `figure`: its figure.
//! * [`pass`]: all of the above in one pass over the segments.
//! * [`dissection`], [`amplification`]: results by rank and by file; [`buffering`]: collective calls by file, and stragglers.
//! * [`means`]: mean times of aggregators and of all ranks.
//! * [`rounds`]: MPI-IO calls that a buffer of limited size cuts into rounds.
//! * [`result`], `whole`: the complete result; [`advice`]: the findings.

pub mod advice;
pub mod amplification;
pub mod args;
pub mod buffering;
mod codes;
pub mod collectives;
pub mod concurrency;
pub mod dissection;
mod evidence;
mod figure;
mod file_advice;
pub mod in_flight;
mod in_report;
pub mod means;
pub mod nesting;
pub mod pass;
pub mod result;
pub mod rounds;
mod tables;
mod tables_locks;
mod tables_together;
pub mod view;
mod whole;

pub use args::{Args, Options};
pub(crate) use in_report::InReport;
pub use view::layers as run;

pub use codes::CODES;
