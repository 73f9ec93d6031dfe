//! Trials: replay of the accesses of the files with most time on other layouts, all in one pass.
//!
//! * [`plan`]: layouts to try: the current one, requested ones (`--what-if`), and a grid (`--recommend`).
//! * [`stripes`]: position of a segment on a plain layout; [`finest`]: layouts from which others derive for segments within one stripe.
//! * [`replay`]: the pass.
//! * [`result`]: results per layout, their cost by a simple model, and the recommendation.

pub mod finest;
pub mod plan;
pub mod replay;
pub mod result;
pub mod stripes;
pub mod tables;
