//! Finds operations, ranks, nodes, storage targets and files that are slower than their peers.
//!
//! * [`distribution`], [`worst`]: the two passes for comparing single operations; [`shared_traits`]: traits that slow operations share.
//! * [`units`]: comparison of ranks, nodes, storage targets and files, for the whole job or by time window.
//! * [`result`]: the result and its findings; [`view`]: output of the result.

pub mod args;
mod codes;
pub mod distribution;
mod in_report;
pub mod result;
pub mod row;
pub mod shared_traits;
mod tables;
pub mod units;
pub mod view;
pub mod worst;

pub use args::{Args, Options};
pub(crate) use in_report::InReport;
pub use view::outliers as run;

pub use codes::CODES;
