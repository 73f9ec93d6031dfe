//! Comparison of two runs of a program: measures each, matches their parts, and tests which differences exceed chance.
//!
//! * `side`: one pass over one run; `files`: matching of the files of both runs.
//! * `repeats`, `interfaces`: the job as a whole, and the scatter of repeats; `overlay`: figure of both runs.
//! * `operations`, `units`: rows per operation, and per rank and file; `places`: per place in the program; `setup`: non-numeric differences.
//! * `result`: the result; `verdict`: findings.

pub mod args;
mod codes;
pub mod files;
pub mod interfaces;
mod job_verdict;
mod job_view;
pub mod operations;
mod overlay;
pub mod places;
pub mod repeats;
pub mod result;
pub mod setup;
pub mod side;
pub mod sums;
pub mod units;
pub mod verdict;
pub mod view;

pub use args::Args;
pub use view::compare as run;

pub use codes::CODES;
