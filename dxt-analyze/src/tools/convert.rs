//! `convert`: a trace of a Darshan log.

use crate::exit::Exit;
use crate::import::darshan;
use crate::written::{Ours, Target};
use anyhow::Result;
use std::path::PathBuf;

/// `convert`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Darshan log
    #[arg(value_name = "LOG")]
    pub log: PathBuf,
    /// Trace to write (*.dxt)
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Replace a file that exists, whatever it is
    #[arg(long)]
    pub force: bool,
}

/// Converts.
///
/// # Errors
/// If the log cannot be read or the trace cannot be written.
pub fn convert(args: &Args) -> Result<Exit> {
    let target = Target::new(&args.output, Ours::Conversion, args.force);
    let converted = target.file(|file| darshan::convert(&args.log, file))?;
    for problem in &converted.problems {
        eprintln!("dxt-analyze: {} at byte {}: {}", problem.file, problem.offset, problem.what);
    }
    for remark in &converted.remarks {
        eprintln!("dxt-analyze: {remark}");
    }
    eprintln!("wrote {}", args.output.display());
    Ok(if converted.problems.is_empty() { Exit::Fine } else { Exit::Incomplete })
}
