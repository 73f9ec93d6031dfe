//! Trace file format of the DXT tracer: encoding and decoding.
//!
//! This crate deals with bytes only: no file system, no MPI, no clock. `FORMAT.md` beside it is the normative specification; where code and
//! specification differ, the code is wrong.
//!
//! * [`segment`]: the 32-byte record of one I/O operation, as in the tracer's memory.
//! * [`op`], [`meta`]: definitions of the ids in segments: operations, files, streams, processes, the job.
//! * [`counters`], [`profile`], [`spread`], [`common_values`]: statistics of calls that are not stored as segments.
//! * [`frame`], [`columns`]: the fixed structures of the file, and the column encoding of a block of segments.
//! * [`write`] (feature `write`), [`read`] (feature `read`): writer and reader of whole files.
//! * [`spool`]: a process's recordings in a mapped file that remains if the process is killed.
//! * [`layout`]: the mapping of a file's bytes to storage targets.
//! * [`error`], [`limits`]: errors, and limits of lengths that come from a file.

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
