//! Two passes over the segments of a trace that sum what causes are derived from.
//!
//! * [`phases`]: first pass: synchronization points ([`role`] of calls, [`who`] takes part, [`met`]: arrivals) and times without I/O; [`slots`]:
//!   the time windows that result.
//! * [`questions`]: first pass: times at which queried files came to exist.
//! * [`read_before`]: first pass: blocks that are overwritten right after reading.
//! * [`usual`]: first pass: usual durations of calls of a kind and size.
//! * [`cells`]: second pass: a [`cell`] per process, time window, stream, size and storage target; [`callers`] of collective calls; [`depths`]:
//!   calls in flight per target, [`served`]: throughput by that; [`threads`]: times of threads, [`at_work`]: their work; [`parts`] of files;
//!   [`cpu_waits`]: waits for a processor, which no time of a call includes.

pub mod at_work;
pub mod callers;
pub mod cells;
mod cpu_waits;
pub mod depths;
pub mod met;
pub mod parts;
pub mod phases;
pub mod questions;
pub mod read_before;
mod role;
pub mod served;
pub mod slots;
pub mod sums;
pub mod threads;
pub mod usual;
pub mod who;
