//! The segment buffer: an arena that threads cut chunks from, and what happens when a chunk is full. Knows nothing of
//! MPI, files on disk or how a segment came about.

mod arena;
mod policy;

pub(crate) use arena::Arena;
pub(crate) use policy::{LOST, SCRATCHES, Scratch, chunk_full, set_written_until, written_until};
