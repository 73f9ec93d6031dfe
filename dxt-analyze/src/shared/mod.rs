//! Computations shared by several topics: sums, groups of peers, statistics, completeness.

pub mod bandwidth;
mod buckets;
pub mod calls;
pub mod completeness;
pub mod followed_in_order;
pub mod groups;
pub mod layer_calls;
pub(crate) mod memory;
pub mod mpiio_time;
pub mod outlier_test;
pub mod profiles;
pub mod ratio;
pub mod sampled_table;
pub mod significance;
pub mod spans;
pub mod stats;
pub mod sum_cache;
pub mod sums;
pub mod targets;
pub mod totals;
