//! What is read of a trace to tell causes, in two readings.
//!
//! * [`phases`]: first reading: where ranks meet ([`who`], in calls of which [`role`], [`met`] when), and when no process does I/O; [`slots`]: the run divided there.
//! * [`questions`]: first reading: when files were there that processes asked for.
//! * [`read_before`]: first reading: blocks that are read and overwritten at once.
//! * [`usual`]: first reading: how long calls of a kind and size usually take.
//! * [`cells`]: second reading: time of calls, in a [`cell`] for each process, slot, stream, size and storage target; [`callers`]: who makes collective ones; [`depths`]: how many others they find
//!   on their target, [`served`]: and how many of them that serves; [`threads`]: when those of a process are in calls, [`at_work`]: and what each does; [`parts`]: of files.

pub mod at_work;
pub mod callers;
pub mod cell;
pub mod cells;
pub mod depths;
pub mod met;
pub mod parts;
pub mod phases;
pub mod questions;
pub mod read_before;
mod role;
pub mod served;
pub mod slots;
pub mod threads;
pub mod usual;
pub mod who;
