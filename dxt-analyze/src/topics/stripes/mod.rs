//! Stripe audit: position of each file's accesses on its stripes and storage targets.
//!
//! * [`audit`]: counts per file: alignment, crossing, bytes and time per target.
//! * [`sharing`]: stripes that several processes write in part.
//! * [`overlap`], [`conflicts`]: overlap in time of these writes, also between nodes.
//! * [`handover`]: extra time of writes for which a stripe is passed between nodes.
//! * [`pace`]: extra time of unaligned operations over aligned ones.
//! * [`load`]: load of each storage target over time.
//! * [`trials`]: the same accesses on other layouts, and the best of these.
//! * [`result`]: the result, per file.
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
pub use view::stripes as verb;

pub use codes::CODES;
