//! Simulated jobs whose slowness has a known cause and a known cost, to score what an analyzer says of them.
//!
//! * `job`: a job as knobs; `injected`: the faults that turn them; `case`: a job with faults and its twins without.
//! * `work`: what a thread does, as steps of `calls`; `engine` runs them against `storage`; `chance`: random numbers by key.
//! * `log`: what was done as a trace. `truth`: what is true of it, and which findings would be right.
//! * `sick`: the cases with one fault; `several`: with more, or a weak one; `healthy`: with none.

mod calls;
mod case;
mod chance;
mod engine;
mod healthy;
mod injected;
mod job;
mod log;
mod several;
mod sick;
mod storage;
mod truth;
mod work;

use anyhow::Context;
use clap::Parser;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
pub use truth::{Injected, Named, Right, Truth, Unit};

/// Writes simulated jobs with and without faults, and manifest.json with what is true of each.
#[derive(Debug, Parser)]
#[command(name = "dxt-synth faults")]
struct Args {
    /// Directory to write to
    folder: PathBuf,
    /// Only the short form
    #[arg(long)]
    short: bool,
    /// Only cases whose name contains this
    #[arg(long)]
    only: Option<String>,
}

/// Which of the cases.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// Only the short form.
    pub short: bool,
    /// Only cases whose name contains this.
    pub only: Option<String>,
}

/// Writes the logs of the chosen cases to `folder` and a manifest; returns what is true of each.
///
/// # Errors
/// If a file cannot be written.
pub fn write(folder: &Path, choice: &Choice) -> anyhow::Result<Vec<Truth>> {
    std::fs::create_dir_all(folder).with_context(|| format!("failed to create {}", folder.display()))?;
    let mut truths = Vec::new();
    for mut case in [sick::cases(), several::cases(), healthy::cases()].into_iter().flatten() {
        let named = choice.only.as_ref().is_none_or(|part| case.name.contains(part.as_str()));
        if named && (case.short || !choice.short) {
            truths.push(case.write(folder)?);
        }
    }
    let manifest = folder.join("manifest.json");
    let text = serde_json::to_string_pretty(&truths).context("failed to make the manifest")?;
    std::fs::write(&manifest, text).with_context(|| format!("failed to write {}", manifest.display()))?;
    Ok(truths)
}

/// Does what the command line says, the program's name first.
///
/// # Errors
/// If a file cannot be written.
pub fn run(arguments: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> anyhow::Result<String> {
    let args = Args::parse_from(arguments);
    let truths = write(&args.folder, &Choice { short: args.short, only: args.only })?;
    let lines: Vec<String> = truths
        .iter()
        .map(|truth| {
            let cause = truth.faults.iter().map(|fault| fault.cause.as_str()).collect::<Vec<_>>().join("; ");
            let part = truth.truth_ns as f64 / truth.run_ns.max(1) as f64 * 100.0;
            format!("{:32} {:9.3} s, {part:5.1} % of it lost: {cause}", truth.name, truth.run_ns as f64 / 1e9)
        })
        .collect();
    Ok(lines.join("\n"))
}
