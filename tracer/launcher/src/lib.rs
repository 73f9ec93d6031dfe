//! Runs a command under the tracer and reports the traces it wrote. The library is what the program is made of; the analyzer makes man page
//! and completions of its options.

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
