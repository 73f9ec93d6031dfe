//! Command lines of `dxt-synth faults`, which writes the traces, and `dxt-synth verdicts`, which also scores an analyzer's findings.

use super::score::{Score, score};
use super::table::table;
use super::truth::Truth;
use super::{Choice, manifest, real, verdict, write};
use anyhow::Context;
use clap::Parser;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Writes simulated jobs with and without faults, and manifest.json with the truth of each
#[derive(Debug, Parser)]
#[command(name = "dxt-synth faults")]
struct FaultsArgs {
    /// Directory to write to
    folder: PathBuf,
    /// Only the short list of cases
    #[arg(long)]
    short: bool,
    /// Only cases whose name contains this
    #[arg(long)]
    only: Option<String>,
    /// Number added to all seeds, to simulate other jobs of the same types
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Draw N random cases instead of the fixed ones
    #[arg(long, value_name = "N")]
    random: Option<u64>,
}

/// Scores an analyzer's findings on jobs with and without faults
#[derive(Debug, Parser)]
#[command(name = "dxt-synth verdicts")]
struct VerdictsArgs {
    /// Analyzer, run as `PROGRAM report --format json LOG`
    #[arg(long)]
    analyze: PathBuf,
    /// Only the short list of cases
    #[arg(long)]
    short: bool,
    /// Only cases whose name contains this
    #[arg(long)]
    only: Option<String>,
    /// Number added to all seeds, to simulate other jobs of the same types
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Draw N random cases instead of the fixed ones
    #[arg(long, value_name = "N")]
    random: Option<u64>,
    /// Write logs and verdicts to this directory
    #[arg(long)]
    keep: PathBuf,
    /// Take verdicts from DIR/NAME.json instead of running the analyzer
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
    /// Run real programs as well; directory of the programs that scripts/verdicts.sh compiles
    #[arg(long, value_name = "DIR")]
    real: Option<PathBuf>,
}

/// Runs `dxt-synth faults`; returns a line of text for each trace written.
///
/// # Errors
/// Returns an error if a file cannot be written.
pub fn faults(arguments: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> anyhow::Result<String> {
    let args = FaultsArgs::parse_from(arguments);
    let truths =
        write(&args.folder, &Choice { short: args.short, only: args.only, seed: args.seed, random: args.random })?;
    let lines: Vec<String> = truths
        .iter()
        .map(|truth| {
            let part = |ns: u64| ns as f64 / truth.run_ns.max(1) as f64 * 100.0;
            let each = truth.faults.iter().map(|fault| format!("{} ({:.1} %)", fault.cause, part(fault.truth_ns)));
            let cause = each.collect::<Vec<_>>().join("; ");
            format!(
                "{:40} {:9.3} s, {:5.1} % of it lost: {cause}",
                truth.name,
                truth.run_ns as f64 / 1e9,
                part(truth.truth_ns)
            )
        })
        .collect();
    Ok(lines.join("\n"))
}

/// Runs `dxt-synth verdicts`; returns the table of scores.
///
/// # Errors
/// Returns an error if a trace cannot be written, or if the analyzer gives no verdict.
pub fn verdicts(arguments: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> anyhow::Result<String> {
    let args = VerdictsArgs::parse_from(arguments);
    let choice = Choice { short: args.short, only: args.only, seed: args.seed, random: args.random };
    let mut truths = write(&args.keep, &choice)?;
    if let Some(built) = &args.real {
        truths.extend(real::run(built, &args.keep, &choice)?);
        manifest(&args.keep, &truths)?;
    }
    let scores = match &args.from {
        Some(from) => {
            let read = |truth: &Truth| {
                let path = from.join(format!("{}.json", truth.name));
                let of = || format!("failed to read {}", path.display());
                let json = std::fs::read(&path).with_context(of)?;
                Ok(score(truth, &verdict::read(&json).with_context(of)?))
            };
            truths.iter().map(read).collect::<anyhow::Result<Vec<Score>>>()?
        }
        None => scores(&args.analyze, &args.keep, &truths)?,
    };
    Ok(table(&scores))
}

/// Runs `analyzer` on the traces in `folder`; scores its findings against the true faults in `truths`.
///
/// # Errors
/// Returns an error if the analyzer gives no verdict.
pub fn scores(analyzer: &Path, folder: &Path, truths: &[Truth]) -> anyhow::Result<Vec<Score>> {
    let analyzer = analyzer.canonicalize().with_context(|| format!("failed to find {}", analyzer.display()))?;
    let of =
        |truth: &Truth| Ok(score(truth, &verdict::ask(&analyzer, &folder.join(&truth.log), &truth.options, folder)?));
    truths.iter().map(of).collect()
}
