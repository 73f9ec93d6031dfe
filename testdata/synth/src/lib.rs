//! Traces of programs that never ran. What every rank did follows from the options and the seed, so a test knows the
//! answer that an analysis must find, and a benchmark can have as many ranks as it wants.
//!
//! * `args`: the command line.
//! * `patterns`: which bytes each rank moves, one access pattern per file.
//! * `timing`: how long that takes; `lustre`: on which storage target it lands.
//! * `faults`: simulated jobs with faults of known cost, to score an analyzer.
//! * `process`: one rank's accesses as segments and tables; `output`: all ranks as one file.

mod args;
pub mod faults;
pub mod lustre;
mod ops;
mod output;
mod patterns;
mod process;
mod timing;

use clap::Parser;
use std::ffi::OsString;

/// Does what the command line says, the program's name first; returns a line about the trace it wrote. A wrong command
/// line, `--help` and `--version` end the process.
///
/// # Errors
/// If the file cannot be written.
pub fn run(arguments: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> anyhow::Result<String> {
    let mut arguments: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
    let verb = arguments.get(1).and_then(|verb| verb.to_str()).unwrap_or_default().to_owned();
    if verb == "faults" || verb == "verdicts" {
        arguments.remove(1);
        return if verb == "faults" { faults::faults(arguments) } else { faults::verdicts(arguments) };
    }
    output::write(&args::Args::parse_from(arguments))
}
