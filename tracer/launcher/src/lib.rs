//! Runs a command under the tracer and reports the traces it wrote. The program is a thin wrapper of this library; the analyzer generates
//! man page and completions from its options.

mod agent;
mod check;
mod conf;
mod elf;
mod files;
mod hints;
mod launch;
pub mod options;
mod place;
mod processes;
mod remarks;
mod report;
mod run;
mod settings;
mod signals;
mod texts;

pub use check::PROBE;
pub use run::{Ending, run};
pub use signals::{Signals, end_by};
