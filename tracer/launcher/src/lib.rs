//! Runs a command under the tracer and reports the traces that it wrote. The program dxt-run is a thin wrapper around this library; the
//! analyzer generates dxt-run's man page and shell completions from the options defined here.

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
