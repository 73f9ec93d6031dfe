//! What several topics compute with: sums, groups of like operations, statistics, what a trace lacks.

pub mod completeness;
pub mod followed;
pub mod groups;
pub mod profiles;
pub mod ratio;
pub mod significance;
pub mod stats;
pub mod sums;
pub mod targets;
pub mod totals;
