//! Corpus of many jobs: one row per job, rows of its files, and sums over jobs. All numbers derive from the summaries of jobs, so each
//! number has one definition.

pub mod args;
mod days;
mod equal_progress;
mod files;
mod incremental;
mod interface;
mod job;
mod order;
mod pace;
#[cfg_attr(not(feature = "parquet"), path = "without_parquet.rs")]
mod parquet;
mod path_text;
mod pieces;
mod places;
mod queue;
mod repeated_runs;
mod result;
mod share;
mod slow_run;
mod sources;
mod sums;
mod sums_tables;
mod tables;
mod users;
pub mod view;
mod worker;
mod workers;

/// Codes of findings that `corpus` reports: none.
pub const CODES: &[crate::findings::Code] = &[];

pub use args::Args;
pub use view::corpus as run;

pub use files::{FILE_SIZES, JobFile, Sharing, SizeSum, Tally, files, tally};
pub use interface::{INTERFACES, Interface, InterfaceSum, sums as interface_sums};
pub use job::{JobRow, Read, job};
pub use pace::Does;
pub use result::{
    CodeRow, Corpus, DirectionRow, GroupRow, InterfaceRow, NumberRow, ShareRow, SharingRow, SizeRow, Whole,
};
pub use share::{ShareOfTime, slowest_ns};
pub use slow_run::{SlowCalls, SlowRun};
pub use sums::Together;

/// Runs this process as a worker that reads jobs for another process of this program; see [`worker`].
///
/// # Errors
/// Fails if thresholds or requests cannot be read.
pub(crate) fn work(args: &Args) -> anyhow::Result<crate::exit::Exit> {
    worker::work(&workers::reading(args)?)?;
    Ok(crate::exit::Exit::Fine)
}
