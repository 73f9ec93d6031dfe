//! Command `convert`: converts a Darshan log, or rows of the LDMS-Darshan connector, to a trace.

use crate::exit::{Exit, UsageError};
use crate::import::{connector, darshan};
use crate::load::{as_it_looks, or_path};
use crate::progress::{say, tell};
use crate::text::paths::shown;
use crate::text::units;
use crate::written::{Ours, Target};
use anyhow::{Context, Result};
use std::io::Seek;
use std::path::PathBuf;

/// Options of `convert`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Darshan log, or rows of the LDMS-Darshan connector (CSV, JSON lines); - reads standard input
    #[arg(value_name = "LOG")]
    pub log: PathBuf,
    /// Key of the job to convert, if LOG holds several jobs (without the option, their keys are listed)
    #[arg(long, value_name = "KEY")]
    pub job: Option<String>,
    /// Trace to write (*.dxt)
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Replace an existing file, even if dxt-analyze did not write it
    #[arg(long)]
    pub force: bool,
}

/// Converts the log that the arguments name, and writes the trace.
///
/// # Errors
/// Fails if the log cannot be read or the trace cannot be written.
pub fn convert(args: &Args) -> Result<Exit> {
    let target = Target::new(&args.output, Ours::Conversion, args.force);
    // Checks the target first, so that a pipe is not read to its end in vain.
    target.check()?;
    let log = or_path(&args.log)?;
    let about = std::fs::metadata(&log).with_context(|| format!("failed to find {}", shown(&log)))?;
    if about.is_dir() {
        return Err(UsageError(format!("{} is a directory: give a log in this directory", shown(&log))).into());
    }
    let converted = if connector::is_file(&log) {
        let mut made = chosen(connector::convert(&log)?, args)?;
        target.file(|file| {
            made.file.rewind()?;
            std::io::copy(&mut made.file, file).context("failed to write the trace")?;
            Ok(made.converted)
        })?
    } else {
        target.file(|file| darshan::convert(&log, file).map_err(|error| as_it_looks(&log, error)))?
    };
    for problem in &converted.problems {
        tell(format_args!("dxt-analyze: {} at byte {}: {}", problem.file, problem.offset, problem.what));
    }
    for remark in &converted.remarks {
        say!("dxt-analyze: {remark}");
    }
    say!("wrote {}", args.output.display());
    Ok(if converted.problems.is_empty() { Exit::Fine } else { Exit::Incomplete })
}

/// Returns the job that the arguments choose, or the only job in the log.
fn chosen(mut made: Vec<connector::Made>, args: &Args) -> Result<connector::Made> {
    let keys: Vec<String> = made.iter().map(|made| made.key.clone()).collect();
    let found = match &args.job {
        Some(wanted) => keys.iter().position(|key| key == wanted),
        None => (keys.len() == 1).then_some(0),
    };
    let Some(at) = found else {
        let why = format!(
            "{} contains {}: choose one with --job KEY: {}",
            args.log.display(),
            units::counted(keys.len() as u64, "job"),
            keys.join(", ")
        );
        return Err(UsageError(why).into());
    };
    Ok(made.swap_remove(at))
}
