//! Command `advise`: writes advice as files for `dxt-run --hints`. It reads the trace and the output directory, and writes only to that directory.
//!
//! * [`collect`]: collects the settings that are worth applying from all findings, each setting once.
//! * [`windows`]: tests if data sieving would read few large pieces, which decides on the advice about data sieving.
//! * [`files`]: contents of the files; [`names`]: names of the files and their purpose.
//! * [`view`]: report on the advice and the files written.

mod collect;
mod files;
mod names;
mod view;
mod windows;

use crate::exit::Exit;
use crate::render::Format;
use crate::session::Inputs;
use crate::topics::report::{Job, Options};
use crate::topics::verdict::verdict;
use crate::written::{Ours, Target};
use anyhow::{Context, Result, ensure};
use collect::Item;
use serde::Serialize;
use std::path::PathBuf;

/// Options of `advise`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Options that name the inputs and select a part of the job.
    #[command(flatten)]
    pub inputs: Inputs,
    /// Directory for the files of advice, created if absent
    #[arg(short, long, default_value = "hints", value_name = "DIR")]
    pub output: PathBuf,
    /// Replace existing files, even if dxt-analyze did not write them
    #[arg(long)]
    pub force: bool,
    /// Stripe layouts: `lfs getstripe -y` text, or lines `GLOB size=4M count=8`
    #[arg(long, value_name = "FILE")]
    pub layout: Option<PathBuf>,
    /// Format of the report on standard output
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// Advice given, and files written.
#[derive(Clone, Debug, Serialize)]
pub struct Advice {
    /// Verdict on the job, in one sentence.
    sentence: String,
    directory: String,
    written: Vec<String>,
    /// Paths of removed files, which contained outdated advice.
    removed: Vec<String>,
    /// Advice, in the order of the verdict's findings.
    advice: Vec<Item>,
    /// True if nothing is missing from the trace.
    complete: bool,
}

impl Advice {
    /// Returns the exit code: 3 if the trace is incomplete, else 0.
    #[must_use]
    pub fn exit(&self) -> Exit {
        if self.complete { Exit::Fine } else { Exit::Incomplete }
    }
}

/// Analyzes the job and writes the advice to files.
///
/// # Errors
/// Fails if nothing can be loaded, the layouts are invalid, a file cannot be written, or an existing file was not written by this program.
pub fn advise(args: &Args) -> Result<Advice> {
    let target = |name: &str| args.output.join(name);
    // Checks the targets before reading the trace, so that an error does not come after minutes of work.
    for name in names::NAMES {
        Target::new(&target(name), Ours::Advice, args.force).check()?;
    }
    let about = std::fs::metadata(&args.output);
    ensure!(
        about.map_or(true, |about| about.is_dir()),
        "failed to write {}: it is not a directory",
        args.output.display()
    );
    let run = crate::session::open(&args.inputs)?;
    let options = Options::findings_only(args.layout.as_deref());
    let job = Job::new(&run, &options)?;
    let found = crate::topics::whole(&job)?;
    let verdict = verdict(&found);
    let advice = collect::collect(&run, &verdict);
    let (mut written, mut removed) = (Vec::new(), Vec::new());
    let texts = files::texts(&verdict, &advice, &collect::kept(&run, &advice));
    if !texts.is_empty() {
        std::fs::create_dir_all(&args.output)
            .with_context(|| format!("failed to make the directory {}", args.output.display()))?;
    }
    for name in names::NAMES {
        let path = target(name);
        if let Some((_, text)) = texts.iter().find(|(known, _)| *known == name) {
            Target::new(&path, Ours::Advice, args.force).stream(|out| Ok(out.write_all(text.as_bytes())?))?;
            written.push(path.display().to_string());
        } else if Ours::Advice.stands_at(&path) {
            // Removes outdated advice: a program would apply it together with the new advice.
            std::fs::remove_file(&path).with_context(|| format!("failed to remove {}", path.display()))?;
            removed.push(path.display().to_string());
        }
    }
    Ok(Advice {
        sentence: verdict.sentence.clone(),
        directory: args.output.display().to_string(),
        written,
        removed,
        advice,
        complete: found.summary.missing.complete,
    })
}
