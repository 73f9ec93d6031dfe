//! `convert`: a trace of a Darshan log.

use crate::cli::args::ConvertArgs;
use crate::exit::Exit;
use crate::import::darshan;
use crate::written::{Ours, Target};
use anyhow::Result;

/// Converts.
///
/// # Errors
/// If the log cannot be read or the trace cannot be written.
pub fn convert(args: &ConvertArgs) -> Result<Exit> {
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
