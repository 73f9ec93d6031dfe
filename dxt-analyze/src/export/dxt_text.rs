//! Output of `export --to dxt-parser`: the text that `darshan-dxt-parser` would print if the trace were a Darshan log; many scripts read
//! this text. The log is made in an unnamed temporary file.

use super::{Job, place};
use crate::exit::UsageError;
use crate::scan::Lost;
use anyhow::{Context, Result};
use darshan_log::Log;
use darshan_log::text::{DxtLayout, dxt_parser};
use darshan_log::write::DxtVersion;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Values of the option `--layout`: a file of stripe layouts, and the release whose text format is written.
pub(crate) struct Layouts<'a> {
    pub(crate) stripes: Option<&'a Path>,
    /// Text format that the user chose; `None` for the default.
    text: Option<DxtLayout>,
}

impl<'a> Layouts<'a> {
    /// Distinguishes releases and files among the values of `--layout`; fails for two releases or two files. A release is accepted only if
    /// `of_text` is true, that is, if the output is the text of darshan-dxt-parser.
    pub(crate) fn of(values: &'a [PathBuf], of_text: bool) -> Result<Self> {
        let mut out = Self { stripes: None, text: None };
        for value in values {
            let text = match value.to_str() {
                Some("3.5") => Some(DxtLayout::Release3_5),
                Some("3.6") => Some(DxtLayout::Main),
                _ => None,
            };
            let second = match text.filter(|_| of_text) {
                Some(text) => out.text.replace(text).is_some(),
                None => out.stripes.replace(value).is_some(),
            };
            if second {
                return Err(UsageError(format!(
                    "--layout {}: give --layout at most once with a file of stripe layouts, and once with a release (3.5, 3.6)",
                    value.display()
                ))
                .into());
            }
        }
        Ok(out)
    }
}

/// Writes the text to `out`; returns the segments and blocks that could not be read.
pub(crate) fn write(job: &Job<'_>, layouts: &Layouts<'_>, out: &mut dyn Write) -> Result<Lost> {
    let layout = layouts.text.unwrap_or(DxtLayout::Release3_5);
    let version = if layout == DxtLayout::Main { DxtVersion::WithThreads } else { DxtVersion::Plain };
    let failed = || format!("failed to make a temporary file in {}", std::env::temp_dir().display());
    let file = tempfile::tempfile().with_context(failed)?;
    let lost = super::darshan::write(job.run, &job.layouts, version, file.try_clone().with_context(failed)?)?;
    let mut log = Log::new(file).context("failed to read the log that was made")?;
    place::file(&job.args.output, job.args.force, out, |out| Ok(dxt_parser(&mut log, out, layout)?))?;
    Ok(lost)
}
