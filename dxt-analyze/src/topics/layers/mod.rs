//! What a call of one layer is made of at the layers below: how much of the time in MPI-IO goes into reads, writes and
//! locks of the system, and how much into neither, which is communication, copying and waiting.
//!
//! * [`parts`]: sums of calls, and of the calls inside them.
//! * [`nesting`]: which call lies inside which other one of its thread.
//! * [`collectives`]: the calls of all ranks that belong to one collective operation.
//! * [`in_flight`], [`concurrency`]: how many calls are in flight at once.
//! * [`pass`]: all of that in one pass over the segments.
//! * [`bandwidth`], [`dissection`], [`amplification`]: results, by layer, rank, file; [`buffering`]: collective calls by file, and their
//!   sums: who waited for whom.
//! * [`result`], `whole`: the whole result; [`advice`]: the findings.

pub mod advice;
pub mod amplification;
pub mod args;
pub mod bandwidth;
pub mod buffering;
mod codes;
pub mod collectives;
pub mod concurrency;
pub mod dissection;
mod evidence;
mod file_advice;
pub mod in_flight;
mod in_report;
pub mod nesting;
pub mod parts;
pub mod pass;
pub mod result;
mod tables;
mod tables_together;
pub mod view;
mod whole;

pub use args::{Args, Options};
pub(crate) use in_report::InReport;
pub use view::layers as verb;

pub use codes::CODES;
