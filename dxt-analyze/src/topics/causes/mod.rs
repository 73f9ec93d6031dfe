//! Causes: which rank, node, storage target, moment or kind of call is slower than its peers, and what the job's run time would be without.
//! Everything is judged together, on the logarithm of durations, so that one slow thing is not taken for another.
//!
//! * [`reading`]: what is read of the trace, as times of calls by process, moment, file, size and target.
//! * [`grid`]: all of it, ready to compare.
//! * [`slow`]: units that are slow: ranks, nodes, targets, moments, folders, files and parts of them.
//! * [`long_calls`]: single calls that take far longer than their peers.
//! * [`sole_user`]: whether a slow file is distinguished from the one rank that uses it.
//! * [`shape`]: what costs time by the shape of the I/O: each finding is a module there.
//! * [`replay`]: what the job's run time would be with some calls savings.
//! * [`claim`]: a finding and the calls that it explains; [`price`]: what it saves; [`named`]: what units are called; [`slow_as_finding`]: what is said of slow ones; [`result`], [`view`]: all of them, and how they look; [`codes`]: of findings; [`args`]: what can be asked for.

pub mod args;
pub mod claim;
pub mod codes;
pub mod grid;
mod in_report;
pub mod long_calls;
pub mod named;
pub mod price;
pub mod reading;
pub mod replay;
pub mod result;
pub mod shape;
pub mod slow;
mod slow_as_finding;
mod sole_user;
pub mod view;

pub use args::{Args, Options};
pub use codes::CODES;
pub(crate) use in_report::InReport;
pub use view::causes as run;
