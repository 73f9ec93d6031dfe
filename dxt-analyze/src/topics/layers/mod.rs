//! Dissection of calls into the calls of lower layers inside them: time in MPI-IO spent on reads, writes and locks of the system, and the
//! rest, which is communication, copying and waiting.
//!
//! * [`parts`]: sums of calls, and of the calls inside them.
//! * [`nesting`]: nesting of the calls of one thread.
//! * [`collectives`]: calls of all ranks that belong to one collective operation.
//! * [`in_flight`], [`concurrency`]: number of calls in flight at once; `figure`: its figure.
//! * [`pass`]: all of the above in one pass over the segments.
//! * [`dissection`], [`amplification`]: results by rank and by file; [`buffering`]: collective calls by file, and late ranks.
//! * [`means`]: mean times of aggregators and of all ranks.
//! * [`rounds`]: calls that a buffer cuts into rounds.
//! * [`result`], `whole`: the whole result; [`advice`]: the findings.

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
pub mod parts;
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
pub use view::layers as verb;

pub use codes::CODES;
