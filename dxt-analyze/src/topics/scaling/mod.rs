//! Many runs of one program in one table: growth, decline and scaling efficiency. The numbers are those of published tables:
//!
//! - RIOT: Wright et al., "RIOT - A Parallel Input/Output Tracer", UKPEW 2011, Tables 1 to 4 and 6.
//! - Darshan: Carns et al., "24/7 Characterization of Petascale I/O Workloads", 2009, Table VI, Figures 6 and 8.
//! - DXT: Xu et al., CUG 2017, Figure 1.
//!
//! `measure` measures one run; `measures` lists the numbers, which are shared with `compare`. `spread` has median and range of repeats,
//! `groups` groups and orders the runs. `result` has a row per group; `tables`, `charts` and `view` are the output.

pub mod args;
mod charts;
pub mod groups;
pub mod measure;
pub mod measures;
mod result;
pub mod spread;
mod tables;
mod view;

/// Codes of findings: none.
pub const CODES: &[crate::findings::Code] = &[];

pub use args::Args;
pub use result::{Group, Scaling};
pub use view::scaling as verb;
