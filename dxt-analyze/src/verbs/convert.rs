//! `convert`: a trace of a Darshan log.

use crate::cli::ConvertArgs;
use crate::darshan;
use crate::exit::Exit;
use anyhow::{Context, Result};
use std::fs::File;

/// Converts.
///
/// # Errors
/// If the log cannot be read or the trace cannot be written.
pub fn convert(args: &ConvertArgs) -> Result<Exit> {
    let failed = || format!("failed to write {}", args.output.display());
    // Whoever sees the name sees the whole trace.
    let mut partial = args.output.clone().into_os_string();
    partial.push(".partial");
    let mut file = File::create(&partial).with_context(failed)?;
    let converted = darshan::convert(&args.log, &mut file).inspect_err(|_| {
        // What is not whole is of no use; that it could not be removed says nothing new.
        let _ = std::fs::remove_file(&partial);
    })?;
    file.sync_all().and_then(|()| std::fs::rename(&partial, &args.output)).with_context(failed)?;
    for problem in &converted.problems {
        eprintln!("dxt-analyze: {} at byte {}: {}", problem.file, problem.offset, problem.what);
    }
    for remark in &converted.remarks {
        eprintln!("dxt-analyze: {remark}");
    }
    eprintln!("wrote {}", args.output.display());
    Ok(if converted.problems.is_empty() { Exit::Fine } else { Exit::Incomplete })
}
