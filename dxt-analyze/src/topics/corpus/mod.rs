//! Many jobs: a row for each, rows for their files, and what they are together. The rows of a job come from its summary and the sums
//! under it, so that no number has a second definition.

pub mod args;
mod files;
mod interface;
mod job;
#[cfg_attr(not(feature = "parquet"), path = "without_parquet.rs")]
mod parquet;
mod queue;
mod result;
mod share;
mod sums;
mod sums_tables;
mod tables;
mod users;
pub mod view;

/// It has no findings of its own.
pub const CODES: &[crate::findings::Code] = &[];

pub use args::Args;
pub use view::corpus as verb;

pub use files::{FILE_SIZES, JobFile, Sharing, SizeSum, Tally, files, tally};
pub use interface::{INTERFACES, Interface, InterfaceSum, sums as interface_sums};
pub use job::{JobRow, Read, job};
pub use result::{
    CodeRow, Corpus, DirectionRow, GroupRow, InterfaceRow, NumberRow, ShareRow, SharingRow, SizeRow, Whole,
};
pub use share::{ShareOfTime, slowest_ns};
pub use sums::Together;
