//! The trace file of the DXT tracer, as bytes.
//!
//! This crate knows bytes only: no file system, no MPI, no clock. `FORMAT.md` beside it is the normative
//! specification; where code and specification differ, the specification is right and the code has a defect.
//!
//! * [`segment`]: the 32-byte record of one I/O operation, as it lies in the tracer's memory.
//! * [`op`], [`meta`]: what the ids in a segment mean: operations, files, streams, processes, the job.
//! * [`counters`], [`profile`], [`spread`]: what stays known of segments that are not on record; [`common_values`] is part of it.
//! * [`frame`], [`columns`]: the fixed structures of the file and the column encoding of a block of segments.
//! * [`write`] (feature `write`) and [`read`] (feature `read`): the two halves, bytes in and bytes out.
//! * [`spool`]: what a process has recorded, as a file that outlives it.
//! * [`layout`]: where a file's bytes lie on storage targets: extended attributes, text, arithmetic.

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
