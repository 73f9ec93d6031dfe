//! `dxt-synth`: writes synthetic traces, and scores an analyzer's findings on traces of jobs with injected faults.

use std::io::Write as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    match dxt_synth::run(std::env::args_os()) {
        Ok(report) if std::env::args_os().nth(1).is_some_and(|subcommand| subcommand == "verdicts") => {
            // The table is the program's result; a closed pipe is not an error.
            let _ = writeln!(std::io::stdout(), "{report}");
            ExitCode::SUCCESS
        }
        Ok(report) => {
            eprintln!("{report}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("dxt-synth: {error:#}");
            ExitCode::FAILURE
        }
    }
}
