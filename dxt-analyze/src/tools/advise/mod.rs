//! `advise`: what to type as files, which `dxt-run --hints` uses. It reads the trace and the directory, and writes into that only.
//!
//! * [`collect`]: settings of all findings that are worth it, each once.
//! * [`windows`]: whether data sieving has few large pieces, which decides what is advised against it.
//! * [`files`]: the files that they become; [`names`]: what goes into which.
//! * [`view`]: how what was done looks.

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

/// `advise`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Inputs
    #[command(flatten)]
    pub inputs: Inputs,
    /// Directory for the files, made if absent
    #[arg(short, long, default_value = "hints", value_name = "DIR")]
    pub output: PathBuf,
    /// Replace files that exist, whatever they are
    #[arg(long)]
    pub force: bool,
    /// Stripe layouts: `lfs getstripe -y` text, or lines `GLOB size=4M count=8`
    #[arg(long, value_name = "FILE")]
    pub layout: Option<PathBuf>,
    /// Form of the report on standard output
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// What was advised and written.
#[derive(Clone, Debug, Serialize)]
pub struct Advice {
    /// What the trace says, in a sentence.
    sentence: String,
    /// Directory of the files.
    directory: String,
    /// Files that were written.
    written: Vec<String>,
    /// Files of earlier advice that does not hold any more.
    removed: Vec<String>,
    /// What is advised, those that save most first.
    advice: Vec<Item>,
    /// Whether nothing is missing from the trace.
    complete: bool,
}

impl Advice {
    /// 3 if the trace is incomplete.
    #[must_use]
    pub fn exit(&self) -> Exit {
        if self.complete { Exit::Fine } else { Exit::Incomplete }
    }
}

/// Reads, and writes what follows from it.
///
/// # Errors
/// If nothing can be loaded, the layouts make no sense, or a file cannot be written or is not ours to replace.
pub fn advise(args: &Args) -> Result<Advice> {
    let target = |name: &str| args.output.join(name);
    // Before anything is read: an answer that comes after minutes helps nobody.
    for name in names::NAMES {
        Target::new(&target(name), Ours::Advice, args.force).check()?;
    }
    let about = std::fs::metadata(&args.output);
    ensure!(
        about.map_or(true, |about| about.is_dir()),
        "failed to write {}: it is no directory",
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
            // What is left of earlier advice would be followed beside this.
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
