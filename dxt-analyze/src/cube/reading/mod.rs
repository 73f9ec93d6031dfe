//! Two passes over the segments of a trace that sum what causes are derived from.
//!
//! First pass:
//! * [`phases`]: synchronization points of ranks ([`role`] of calls, [`who`] takes part, [`met`]: arrivals) and times without I/O;
//!   [`slots`]: the time windows and phases that result.
//! * [`questions`]: processes that query a file before it exists; [`read_before`]: blocks that are overwritten right after reading;
//!   [`episodes`]: calls that are repeated after each open of a file; [`renamed`]: new names of files.
//! * [`usual`]: usual durations of calls by kind and size.
//!
//! Second pass:
//! * [`cells`]: sums over similar calls ([`sums`]) by process, time window, operation, file, size and storage target; [`callers`] of
//!   collective calls; [`parts`] of files.
//! * [`depths`]: calls in flight per storage target; [`served`]: throughput that results.
//! * [`threads`]: times of threads; [`at_work`]: work of threads; [`cpu_waits`]: waits for a processor, which count in no call's time.

pub mod at_work;
pub mod callers;
pub mod cells;
mod cpu_waits;
pub mod depths;
pub mod episodes;
pub mod met;
pub mod parts;
pub mod phases;
pub mod questions;
pub mod read_before;
pub mod renamed;
mod role;
pub mod served;
pub mod slots;
pub mod sums;
pub mod threads;
pub mod usual;
pub mod who;
