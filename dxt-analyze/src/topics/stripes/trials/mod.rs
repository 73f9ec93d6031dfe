//! Simulation of other stripe layouts: replays the accesses to the files with most I/O time on several layouts, all in one pass.
//!
//! * [`plan`]: layouts to simulate: the current one, those that the user requested (`--what-if`), and a grid of stripe sizes and counts
//!   (`--recommend`).
//! * [`stripes`]: stripes that a segment touches; [`finest`]: layouts from which the results of others are derived.
//! * [`replay`]: pass over the segments.
//! * [`result`]: results per layout, their cost by a simple model, and the recommendation.

pub mod finest;
pub mod plan;
pub mod replay;
pub mod result;
pub mod stripes;
pub mod tables;
