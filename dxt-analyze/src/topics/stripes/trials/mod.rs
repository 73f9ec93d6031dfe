//! Trials: the accesses of the files with most time replayed over other layouts, all in one pass.
//!
//! * [`plan`]: which layouts are tried: today's, those asked for (`--what-if`), and a grid (`--recommend`).
//! * [`stripes`]: where a segment lies on a plain layout; [`finest`]: which layouts tell where one within a stripe lies on others.
//! * [`replay`]: the pass.
//! * [`result`]: numbers per layout, what they would cost by a simple model, and what to recommend.

pub mod finest;
pub mod plan;
pub mod replay;
pub mod result;
pub mod stripes;
pub mod tables;
