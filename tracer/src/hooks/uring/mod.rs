//! Traces io_uring(7), used through liburing's functions or through syscall(2).
//!
//! A program submits entries and reads completions in memory shared with the kernel, mostly by code inlined from liburing's headers. The
//! tracer sees entries when a call submits them to the kernel. Whenever a wrapped function runs, the tracer reads new completions from the
//! completion queue, by an index of its own. So an operation's end is the time when the tracer first saw its completion, possibly some time
//! after the program. Entries that the kernel took without a visible call are counted.

mod entries;
mod layout;
mod liburing;
mod system;
mod watch;

pub(super) use liburing::resolve;
pub(super) use system::{closing, ending_range, entering, prepare, registering, setting_up};
