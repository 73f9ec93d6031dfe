//! What several topics compute with: sums, groups of like operations, statistics, what a trace lacks.

pub mod completeness;
pub mod groups;
pub mod profiles;
pub mod significance;
pub mod stats;
pub mod sums;
pub mod targets;
pub mod totals;
