//! Output of `dump` in the formats of Darshan's own tools, for programs that parse these formats. Reads the Darshan log directly.

use super::args::{Args, DumpFormat};
use crate::exit::{Exit, UsageError};
use crate::input;
use crate::progress::tell;
use crate::text::paths::shown;
use anyhow::{Context, Result};
use darshan_log::Log;
use darshan_log::text::{DxtLayout, darshan_parser, dxt_parser};
use std::io::Write;

/// Prints the Darshan log that the arguments name; fails unless they name a single log.
pub(crate) fn print(args: &Args, out: &mut dyn Write) -> Result<Exit> {
    let chosen = crate::session::selection(&args.inputs)?;
    let [path] = args.inputs.traces.as_slice() else {
        return Err(UsageError(
            "--format dxt-parser, dxt-parser-threads and darshan-parser print one Darshan log: give one file".into(),
        )
        .into());
    };
    if !chosen.words.is_empty() || args.absolute {
        return Err(
            UsageError("--format dxt-parser, dxt-parser-threads and darshan-parser print a whole Darshan log: omit --absolute and the options that select a part".into()).into()
        );
    }
    let place = || format!("failed to read {}: this --format is only for Darshan logs", shown(path));
    let file = input::open_trace(path).with_context(place)?;
    let mut log = Log::new(file).with_context(place)?;
    match args.format {
        DumpFormat::DarshanParser => darshan_parser(&mut log, out),
        DumpFormat::DxtParserThreads => dxt_parser(&mut log, out, DxtLayout::Main),
        _ => dxt_parser(&mut log, out, DxtLayout::Release3_5),
    }
    .context("failed to write to standard output")?;
    for problem in log.problems() {
        tell(format_args!("dxt-analyze: {} at byte {}: {}", shown(path), problem.offset, problem.error));
    }
    let whole = log.problems().is_empty() && log.partial().next().is_none();
    Ok(if whole { Exit::Fine } else { Exit::Incomplete })
}
