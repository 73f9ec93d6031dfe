//! io_uring(7), through liburing's functions and through syscall(2).
//!
//! A program submits entries and finds completions in memory that it shares with the kernel, mostly by code inlined from liburing's
//! headers. Entries are seen when a call submits them to the kernel. Completions are read from the completion queue, by an index of the
//! tracer's own, whenever a wrapped function runs: an operation's end is the time when its completion was first seen there, possibly some
//! time after the program has seen it. Entries that the kernel took without a visible call are counted.

mod entries;
mod layout;
mod liburing;
mod system;
mod watch;

pub(super) use liburing::resolve;
pub(crate) use system::prepare;
pub(crate) use system::unseen;
pub(super) use system::{closing, ending_range, entering, registering, setting_up};
