//! Call sites: which functions and lines of the program make the calls, and how much time they cost.
//!
//! * [`sums`]: the pass: calls, bytes and time by call site.
//! * [`result`]: the place of each call stack that a reader looks for; shares of findings.
//! * [`numbered`]: places by number, for outputs with a row per call.

mod args;
mod in_report;
pub(crate) mod numbered;
pub mod result;
pub mod sums;
mod view;

/// Codes of findings that `sites` reports: none.
pub const CODES: &[crate::findings::Code] = &[];

pub use args::{Args, Options};
pub(crate) use in_report::InReport;
pub use view::{sites as run, sites_of};
