//! `dxt-synth`: writes traces of programs that never ran.

use std::process::ExitCode;

fn main() -> ExitCode {
    match dxt_synth::run(std::env::args_os()) {
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
