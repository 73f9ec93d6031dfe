//! Stripe audit: computes how each file's accesses are distributed over its stripes and storage targets.
//!
//! * [`audit`]: first pass: alignment, stripes touched, bytes and time per storage target, for each file.
//! * [`sharing`]: stripes of which several processes write a part.
//! * [`overlap`], [`conflicts`]: writes to such stripes that overlap in time, also between nodes.
//! * [`handover`]: extra time of writes before which a stripe's lock is passed between nodes.
//! * [`pace`]: extra time of unaligned operations, compared with aligned ones.
//! * [`load`]: load of each storage target over time.
//! * [`trials`]: simulation of other layouts for the same accesses, and the best of them.
//! * [`result`]: the result for each file.
//! * [`advice`]: proposed changes, and the findings.

pub mod advice;
pub mod args;
pub mod audit;
mod codes;
pub mod conflicts;
pub mod handover;
mod in_report;
pub mod layout_part;
pub mod load;
pub mod over_time;
pub mod overlap;
pub mod pace;
pub mod parts;
pub mod result;
pub mod sharing;
pub mod stripes_touched;
mod tables;
pub mod trials;
pub mod view;

pub use args::{Args, Options};
pub(crate) use in_report::InReport;
pub use view::stripes as run;

pub use codes::CODES;
