//! Many runs of one program in one table: what grows, what shrinks, and how well it scales. The numbers are those of the published
//! tables: RIOT (Wright et al., "RIOT - A Parallel Input/Output Tracer", UKPEW 2011,
//! Tables 1 to 4 and 6), Darshan (Carns et al., "24/7 Characterization of Petascale I/O Workloads", 2009, Table VI, Figures 6 and 8) and DXT (Xu et al., CUG 2017, Figure 1).
//!
//! * `measure`: one run, measured; `measures`: the list of its numbers, which `compare` has as well.
//! * `spread`: repeats, as median and range; `groups`: which runs belong together, in which order.
//! * `result`: a row a group; `tables`, `charts`, `view`: how it looks.

pub mod args;
mod charts;
pub mod groups;
pub mod measure;
pub mod measures;
mod result;
pub mod spread;
mod tables;
mod view;

/// It has no findings of its own.
pub const CODES: &[crate::findings::Code] = &[];

pub use args::Args;
pub use result::{Group, Scaling};
pub use view::scaling as verb;
