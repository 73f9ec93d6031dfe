//! The segment buffer: an arena (reserved memory) from which threads allocate chunks, and the handling of full chunks. Independent of MPI
//! and of files.

mod arena;
mod chunk;
pub(crate) mod counting;
mod encoders;
mod marks;
mod min_size;
mod packed;
mod policy;
mod scratch;
mod slot;
mod staging;

pub(crate) use arena::Arena;
pub(crate) use marks::{is_filled, settle, take, taken};
pub(crate) use min_size::least_length;
pub(crate) use packed::{Block, blocks, spilled};
pub(crate) use policy::{chunk_full, next_plain, scratch_full};
pub(crate) use scratch::SCRATCHES;
pub(crate) use slot::Slot;

/// Moves the buffers for segments (records of calls) into `parts` of the spool (file that survives a kill). No segment may exist yet.
#[expect(unsafe_code, reason = "says that nothing is recorded yet")]
pub(crate) fn lend(arena: &'static Arena, sync_points: &'static Arena, parts: &crate::spool::Parts) {
    // SAFETY: set-up runs in one thread, before any call is recorded. A spool stays mapped.
    unsafe { arena.lend(parts.arena) };
    // SAFETY: as above.
    unsafe { sync_points.lend(parts.sync_points) };
    // SAFETY: as above.
    unsafe { SCRATCHES.lend(parts.scratch) };
    staging::lend(parts.staging);
}

/// Commits memory for the whole arena and for segments waiting to be counted, because system calls are impossible later (seccomp).
pub(crate) fn back_ahead(arena: &Arena) {
    if counting::is_on() {
        return counting::back_ahead();
    }
    arena.back_ahead();
    SCRATCHES.back_ahead(256 << 10);
}

/// Discards all segments (records of calls), in a forked child, which has one thread.
#[expect(unsafe_code, reason = "says that nobody uses what is emptied")]
pub(crate) fn start_empty(arenas: [&Arena; 2]) {
    // SAFETY: a forked child has only this thread, which holds no reference into the arenas.
    arenas.into_iter().for_each(|arena| unsafe { arena.clear() });
    staging::forget();
    encoders::after_fork();
    // SAFETY: as above.
    unsafe { SCRATCHES.clear() };
    counting::start_empty();
}
