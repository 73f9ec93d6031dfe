//! The analyses. Each is one file; it sees decoded blocks and the run's tables, and returns plain results and findings.
//! It never prints and never opens a file.

pub mod activity;
pub mod checks;
pub mod compare;
pub mod completeness;
pub mod corpus;
pub mod counters;
pub mod details;
pub mod distribution;
pub mod groups;
pub mod layers;
pub mod outliers;
pub mod profiles;
pub mod shared_traits;
pub mod stripes;
pub mod summary;
pub mod sums;
pub mod targets;
pub mod totals;
pub mod units;
pub mod worst;
