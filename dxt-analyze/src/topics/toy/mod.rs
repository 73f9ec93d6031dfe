//! Smallest possible topic, to copy for a new one: counts the recorded reads of a job, and reports a finding if there are any. Built only
//! for tests, with a table of its own, so that the description of topics in CONTRIBUTING.md stays true.

mod args;
mod codes;
mod in_report;
mod view;

pub use args::Args;
pub use codes::CODES;
pub(crate) use in_report::InReport;
pub use view::toy as run;
