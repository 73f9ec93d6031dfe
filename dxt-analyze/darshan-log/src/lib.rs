//! Reader and writer for Darshan logs, in which Darshan's runtime records a job's I/O.
//!
//! This crate knows the log format, not the use of logs. It reads formats 3.00 to 3.41 in either byte order, uncompressed or compressed with
//! zlib or bzip2, and writes format 3.41; logs of Darshan 2.x are refused. Reading never panics, whatever the bytes, and needs bounded
//! memory. Damage costs only the data after it in the same region.
//!
//! * [`Log`]: an open log with header, job, mounts and names, and readers for its modules.
//! * [`counters`]: counters per file of POSIX, MPI-IO, STDIO, HDF5, PnetCDF and DAOS; records of old versions are converted to the newest.
//! * [`dxt`]: segments, one per read or write.
//! * [`lustre`]: stripe layouts of files on Lustre.
//! * [`heatmap`]: bytes read and written per time bin.
//! * [`mod@write`]: writer of logs that Darshan's tools read.
//! * [`text`]: the output of `darshan-dxt-parser` and the rows of `darshan-parser`.
//!
//! # Example
//!
//! ```no_run
//! # fn main() -> Result<(), darshan_log::Error> {
//! use darshan_log::{Api, Log};
//! let mut log = Log::open("job.darshan")?;
//! println!("{} on {} processes", log.job().exe, log.job().nprocs);
//! if let Some(mut dxt) = log.dxt(Api::Posix) {
//!     while let Some(record) = dxt.next_record() {
//!         while let Some(piece) = dxt.next_piece() {
//!             let bytes: i64 = piece.segments.iter().map(|segment| segment.length).sum();
//!             println!("rank {}: {bytes} bytes in {} calls", record.rank, piece.segments.len());
//!         }
//!     }
//! }
//! for problem in log.problems() {
//!     eprintln!("{}", problem.error);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Sources of the format: Darshan's public headers, and logs that Darshan's own tools read.
#![forbid(unsafe_code)]

mod bytes;
pub mod counters;
mod decoder;
pub mod dxt;
mod error;
mod fit;
mod hash;
pub mod header;
pub mod heatmap;
mod job;
pub mod limits;
mod log;
pub mod lustre;
mod module;
mod mounts;
mod names;
pub mod packed;
mod stream;
pub mod text;
pub mod write;

pub use bytes::{Endian, Text};
pub use counters::CounterRecord;
pub use dxt::{Api, DxtRecord, Operation, Segment};
pub use error::{Error, Problem, Result};
pub use fit::Fit;
pub use hash::record_id;
pub use header::Header;
pub use heatmap::HeatmapRecord;
pub use job::Job;
pub use log::{Info, Log, SkipReason, Skipped};
pub use lustre::LustreRecord;
pub use module::Module;
pub use mounts::{Mount, Mounts};
pub use names::Names;
