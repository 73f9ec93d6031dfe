//! Trace file format of the DXT tracer: encoding and decoding.
//!
//! This crate deals with bytes only: no file system, no MPI, no clock. `FORMAT.md` beside the sources is the normative specification; where
//! code and specification differ, the code is wrong.
//!
//! * [`segment`]: the 32-byte record of one I/O operation, as in the tracer's memory.
//! * [`op`], [`meta`]: definitions of the ids in segments: operations, files, streams, processes, the job.
//! * [`counters`], [`profile`], [`spread`], [`common_values`]: statistics of calls that are not stored as segments.
//! * [`frame`], [`columns`]: the fixed structures of the file, and the column encoding of a block of segments.
//! * [`write`](mod@write) (feature `write`), [`read`] (feature `read`): writer and reader of whole files.
//! * [`spool`]: files that hold a running process's memory of recorded calls and remain if the process is killed.
//! * [`layout`]: the mapping of a file's bytes to storage targets.
//! * [`error`], [`limits`]: errors, and limits of lengths that come from a file.
//!
//! # Example
//!
//! Prints the number of bytes moved by each process of a trace:
//!
//! ```no_run
//! # #[cfg(feature = "read")]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use trace_format::read::{Decoder, Trace};
//! let trace = Trace::open(std::fs::read("job.dxt")?)?;
//! let mut decoder = Decoder::default();
//! for region in &trace.regions {
//!     let region = trace.region(region);
//!     let mut bytes = 0;
//!     for block in &region.blocks {
//!         bytes += decoder.block(trace.source(), block)?.length.iter().sum::<u64>();
//!     }
//!     for process in &region.process {
//!         println!("rank {}: {bytes} bytes", process.info.rank);
//!     }
//! }
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "read"))]
//! # fn main() {}
//! ```

mod coded;
pub mod columns;
pub mod common_values;
pub mod counters;
pub mod error;
pub mod frame;
pub mod layout;
pub mod limits;
pub mod meta;
pub mod op;
pub mod profile;
pub mod segment;
pub mod spool;
pub mod spread;

#[cfg(feature = "read")]
pub mod read;
#[cfg(feature = "write")]
pub mod write;

pub use error::{Error, Result};
pub use segment::{Segment, StreamId};
