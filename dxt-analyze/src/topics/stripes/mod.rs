//! The stripe audit: how the accesses of each file lie on its stripes and storage targets.
//!
//! * [`audit`]: counts per file: alignment, crossing, bytes and time per target.
//! * [`sharing`]: which stripes are written in part by several processes.
//! * [`overlap`], [`conflicts`]: whether they did so at the same time, and from several nodes.
//! * [`handover`]: what writes take longer that a stripe is passed to another node for.
//! * [`pace`]: how much longer unaligned operations take than aligned ones.
//! * [`load`]: what each storage target gets over time.
//! * [`trials`]: the same accesses on other layouts, and which would be the best.
//! * [`result`]: the result, per file.
//! * [`advice`]: what to change, and the findings.

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
