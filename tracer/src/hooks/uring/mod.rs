//! io_uring(7), through liburing's functions and through system calls made by syscall(2).
//!
//! A program hands over entries and finds completions in memory that it shares with the kernel, much of it by code that the
//! headers compile into it. Entries are seen when a call hands them to the kernel. Completions are seen by reading the
//! completion queue, behind an index of the tracer's own, whenever one of the wrapped functions runs: an operation ends where
//! its completion was first seen, which may be some time after the program has seen it. What the kernel took without a
//! call that could be seen is counted.

mod entries;
mod layout;
mod liburing;
mod system;
mod watch;

pub(super) use liburing::resolve;
pub(crate) use system::prepare;
pub(crate) use system::unseen;
pub(super) use system::{closing, ending_range, entering, registering, setting_up};
