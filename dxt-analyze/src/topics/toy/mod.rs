//! The smallest topic there can be, to copy: how many reads a job has on record, and a finding if there is one. It is built for tests only, with
//! a table of its own, so that what CONTRIBUTING.md says of topics stays true.

mod args;
mod codes;
mod in_report;
mod view;

pub use args::Args;
pub use codes::CODES;
pub(crate) use in_report::InReport;
pub use view::toy as run;
