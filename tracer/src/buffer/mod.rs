//! The segment buffer: an arena that threads cut chunks from, and what happens when a chunk is full. Knows nothing of
//! MPI, files on disk or how a segment came about.

mod arena;
mod chunk;
pub(crate) mod counting;
mod encoders;
mod landing;
mod marks;
mod packed;
mod policy;
mod thin;

pub(crate) use arena::Arena;
pub(crate) use marks::{is_filled, is_taken, settle, take};
pub(crate) use packed::{Block, blocks, spilled};
pub(crate) use policy::{SCRATCHES, Scratch, chunk_full, next_plain};
pub(crate) use thin::least_length;

/// From now on segments lie in the spool. There may be none yet.
pub(crate) fn lend(arena: &Arena, parts: &crate::spool::Parts) {
    arena.lend(parts.arena);
    SCRATCHES.lend(parts.scratch);
    landing::lend(parts.landing);
}

/// Forgets all segments: for a forked child, which has one thread.
pub(crate) fn start_empty(arena: &Arena) {
    arena.clear();
    packed::forget();
    landing::forget();
    encoders::after_fork();
    SCRATCHES.clear();
    counting::start_empty();
}
