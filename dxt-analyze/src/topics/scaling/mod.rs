//! Compares many runs of one program in one table: growth of their I/O, and scaling efficiency. The measures are those of published tables:
//!
//! - RIOT: Wright et al., "RIOT - A Parallel Input/Output Tracer", UKPEW 2011, Tables 1 to 4 and 6.
//! - Darshan: Carns et al., "24/7 Characterization of Petascale I/O Workloads", 2009, Table VI, Figures 6 and 8.
//! - DXT: Xu et al., CUG 2017, Figure 1.
//!
//! `measure` measures one run; `measures` defines the measures, which `compare` also uses. `spread` computes median and range over
//! repeated runs; `groups` groups and orders the runs. `result` has one row per group; `tables`, `charts` and `view` are the output.

pub mod args;
mod charts;
pub mod groups;
pub mod measure;
pub mod measures;
mod result;
pub mod spread;
mod tables;
mod view;

/// Codes of findings that `scaling` reports: none.
pub const CODES: &[crate::findings::Code] = &[];

pub use args::Args;
pub use result::{Group, Scaling};
pub use view::scaling as run;
