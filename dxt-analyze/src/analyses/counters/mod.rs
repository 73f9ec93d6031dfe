//! Characterization: how each file and the whole job used I/O, as Darshan's counters tell it. The same numbers come from what
//! the tracer counted and from the segments of a full trace, folded by the same code.
//!
//! * [`fold`]: the pass: counters per file and operation, profiles per file and layer, times per process.
//! * [`report`]: the result.
//! * `between`: who of them has the least and the most time.
//! * [`files`]: files by how they were used, by size and by place.

mod between;
pub mod files;
pub mod fold;
pub mod report;

pub use fold::Fold;
pub use report::{Characterization, characterize};
