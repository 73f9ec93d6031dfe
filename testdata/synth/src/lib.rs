//! Synthetic traces of programs that never ran. Options and seed determine all operations, so that tests know the right result of an
//! analysis and benchmarks can have any number of ranks.
//!
//! * `args`: the command line.
//! * `patterns`: byte ranges that each rank accesses; one file per access pattern.
//! * `timing`: durations of operations; `lustre`: stripes and OSTs.
//! * `faults`: simulated jobs with faults of known cost, which serve to score an analyzer's findings.
//! * `process`: converts the accesses of one rank to segments and tables; `output`: writes all ranks as one file.

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

/// Runs the command line, whose first word is the program's name; returns a line of text about the written trace. Fails if the trace file
/// cannot be written. An invalid command line, `--help` and `--version` end the process.
pub fn run(arguments: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> anyhow::Result<String> {
    let mut arguments: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
    let subcommand = arguments.get(1).and_then(|subcommand| subcommand.to_str()).unwrap_or_default().to_owned();
    if subcommand == "faults" || subcommand == "verdicts" {
        arguments.remove(1);
        return if subcommand == "faults" { faults::faults(arguments) } else { faults::verdicts(arguments) };
    }
    output::write(&args::Args::parse_from(arguments))
}
