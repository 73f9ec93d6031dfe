//! The analyses. Each is one file; it sees decoded blocks and the run's tables, and returns plain results and findings.
//! It never prints and never opens a file.

pub mod activity;
pub mod completeness;
pub mod details;
pub mod distribution;
pub mod groups;
pub mod outliers;
pub mod profiles;
pub mod stripes;
pub mod summary;
pub mod targets;
pub mod totals;
pub mod units;
pub mod worst;
