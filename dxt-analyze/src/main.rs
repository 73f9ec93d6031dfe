//! `dxt-analyze`: parses the command line, runs a command, and returns its exit code.

#![forbid(unsafe_code)]

use clap::FromArgMatches;
use dxt_analyze::cli::args::{Cli, command};
use dxt_analyze::exit::{Exit, UsageError, is_closed_pipe};
use dxt_analyze::progress::tell;
use mimalloc::MiMalloc;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    let cli = Cli::from_arg_matches(&command().get_matches()).unwrap_or_else(|error| error.exit());
    let exit = match dxt_analyze::cli::run::run(&cli) {
        Ok(exit) => exit,
        Err(error) if is_closed_pipe(&error) => Exit::Fine,
        Err(error) => {
            tell(format_args!("dxt-analyze: {error:#}"));
            if error.downcast_ref::<UsageError>().is_some() { Exit::Usage } else { Exit::Failure }
        }
    };
    exit.into()
}
