//! Two runs of a program compared: what each did, which of it belongs together, and what differs by more than chance.
//!
//! * `side`: one pass over one run; `files`: which files of the two are the same.
//! * `repeats`, `ways`: the job as a whole, and the scatter of repeats; `overlay`: both over each other.
//! * `operations`, `units`: rows per operation, and per rank and file; `setup`: what is not a number.
//! * `result`: the result; `verdict`: findings.

pub mod args;
mod codes;
pub mod files;
mod job_verdict;
mod job_view;
pub mod operations;
mod overlay;
pub mod repeats;
pub mod result;
pub mod setup;
pub mod side;
pub mod sums;
pub mod units;
pub mod verdict;
pub mod view;
pub mod ways;

pub use args::Args;
pub use view::compare as verb;

pub use codes::CODES;
