//! What a call of one layer is made of at the layers below: how much of the time in MPI-IO goes into reads, writes and
//! locks of the system, and how much into neither, which is communication, copying and waiting.
//!
//! * [`parts`]: sums of calls, and of the calls inside them.
//! * [`nesting`]: which call lies inside which other one of its thread.
//! * [`collectives`]: the calls of all ranks that belong to one collective operation.
//! * [`in_flight`], [`concurrency`]: how many calls are in flight at once.
//!   `figure`: the picture of that.
//! * [`pass`]: all of that in one pass over the segments.
//! * [`dissection`], [`amplification`]: results, by rank, file; [`buffering`]: collective calls by file, and their
//!   sums: who waited for whom.
//! * [`means`]: of aggregators, and of all ranks.
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
