//! Causes: units (ranks, nodes, storage targets, time windows, files) and kinds of calls that are slower than their peers, and the run time
//! saved without them. All units are compared in one model of log durations, so that one slow unit is not taken for another.
//!
//! * [`crate::cube`]: all cells of a run, with their slowdown, which findings are made from.
//! * [`crate::effects`]: slow ranks, nodes, targets, time windows, folders, files and parts of files.
//! * [`sole_user`]: distinguishes a slow file from the one rank that uses it.
//! * [`shape`]: findings about how the program does its I/O, one per module.
//! * [`crate::replay`]: the job's run time with savings applied.
//! * [`claim`]: a finding and the calls that it explains; [`price`]: its saving; [`named`]: names of units; [`slow_as_finding`],
//!   [`long_calls_as_finding`]: findings of slow units and of outliers; [`result`], [`view`]: all findings, and their output; [`codes`];
//!   [`args`].

pub mod args;
pub mod claim;
pub mod codes;
mod in_report;
mod long_calls_as_finding;
pub mod named;
pub mod price;
pub mod result;
pub mod shape;
mod slow_as_finding;
mod sole_user;
pub mod view;

pub use args::{Args, Options};
pub use codes::CODES;
pub(crate) use in_report::InReport;
pub use view::causes as run;
