//! Computations shared by several topics: sums, groups of peers, statistics, completeness.

pub mod bandwidth;
mod buckets;
pub mod calls;
pub mod completeness;
pub mod followed;
pub mod followed_in_order;
pub mod groups;
pub mod in_turn;
pub(crate) mod memory;
pub mod mpiio_time;
pub mod profiles;
pub mod ratio;
pub mod significance;
pub mod stats;
pub mod sums;
pub mod targets;
pub mod totals;
