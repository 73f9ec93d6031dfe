//! Command `patterns`: what a job's I/O is like, whether it costs time or not.

use crate::exit::Exit;
use crate::patterns::{Pattern, of, table};
use crate::render::{Format, Part, Report, View};
use crate::session::Inputs;
use crate::topics::report::{Job, Options};
use crate::topics::verdict::verdict;
use anyhow::Result;
use serde::Serialize;
use std::path::PathBuf;

/// Options of `patterns`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Options that name the inputs and select a part of the job.
    #[command(flatten)]
    pub inputs: Inputs,
    /// Stripe layouts: `lfs getstripe -y` text, or lines `GLOB size=4M count=8`
    #[arg(long, value_name = "FILE")]
    pub layout: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// Patterns of a job's I/O.
#[derive(Clone, Debug, Serialize)]
pub struct Patterns {
    /// Verdict on the job, in one sentence.
    sentence: String,
    /// Patterns, by property.
    patterns: Vec<Pattern>,
    /// True if nothing is missing from the trace.
    complete: bool,
}

impl Patterns {
    /// Returns the exit code: 3 if the trace is incomplete, else 0.
    #[must_use]
    pub fn exit(&self) -> Exit {
        if self.complete { Exit::Fine } else { Exit::Incomplete }
    }
}

/// Analyzes the job and returns its patterns.
///
/// # Errors
/// Fails if nothing can be loaded, or the layouts are invalid.
pub fn patterns(args: &Args) -> Result<Patterns> {
    let run = crate::session::open(&args.inputs)?;
    let options = Options::findings_only(args.layout.as_deref());
    let job = Job::new(&run, &options)?;
    let found = crate::topics::whole(&job)?;
    let verdict = verdict(&found);
    let patterns = of(&job, &found, &verdict);
    Ok(Patterns { sentence: verdict.sentence, patterns, complete: found.summary.missing.complete })
}

impl Report for Patterns {
    fn view(&self) -> View {
        View {
            parts: vec![Part::Lines(vec![self.sentence.clone()]), Part::Table(table(&self.patterns))],
            max_width: None,
        }
    }
}
