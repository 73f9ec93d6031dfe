//! Characterization: how each file and the whole job used I/O, as Darshan's counters tell it. The same numbers come from what
//! the tracer counted and from the segments of a full trace, folded by the same code.
//!
//! * [`fold`]: the pass: counters per file and operation, profiles per file and layer, times per process.
//! * [`result`]: the result.
//! * `between`: who of them has the least and the most time.
//! * [`files`]: files by how they were used, by size and by place; [`open`]: by how long they were open.
//! * [`steps`], [`stepped`]: from one call to the next: strides, seeks, alignment.

pub mod args;
mod between;
pub(crate) mod bins;
pub mod files;
pub mod fold;
mod in_report;
pub mod open;
pub mod result;
pub mod stepped;
pub mod steps;
mod tables_steps;
pub mod view;

/// It has no findings of its own.
pub const CODES: &[crate::findings::Code] = &[];

pub use args::{Args, Options};
pub(crate) use in_report::InReport;
pub use view::counters as verb;

pub use fold::Fold;
pub use result::{Characterization, characterize};
