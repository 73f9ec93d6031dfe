//! Command lines `dxt-synth faults`, which writes traces, and `dxt-synth verdicts`, which also scores an analyzer's findings.

use super::comparison::comparison;
use super::frozen::Frozen;
use super::score::{Score, score};
use super::sensitivity::sensitivity;
use super::table::{table, totals};
use super::truth::Truth;
use super::{Choice, frozen, manifest, real, verdict, write};
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
    #[command(flatten)]
    choice: Choice,
}

/// Scores an analyzer's findings on jobs with and without faults
#[derive(Debug, Parser)]
#[command(name = "dxt-synth verdicts")]
struct VerdictsArgs {
    /// Analyzer, run as `PROGRAM report --format json LOG`
    #[arg(long)]
    analyze: PathBuf,
    #[command(flatten)]
    choice: Choice,
    /// Repeat with N seeds, the first of which is that of --seed; logs and verdicts of each are in seed-SEED; print totals only
    #[arg(long, value_name = "N", default_value_t = 1)]
    seeds: u64,
    /// Write the scores to this file, one job per line: a frozen run
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Compare the scores with those of a frozen run
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// Write logs and verdicts to this directory
    #[arg(long)]
    keep: PathBuf,
    /// Take verdicts from DIR/NAME.json instead of running the analyzer
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
    /// Halve and double thresholds of the analyzer, and score all jobs each time: names separated by commas, or all
    #[arg(long, value_name = "NAMES", conflicts_with_all = ["seeds", "json", "against", "from", "real"])]
    sensitivity: Option<String>,
    /// Run real programs as well; directory of the programs that scripts/verdicts.sh compiles
    #[arg(long, value_name = "DIR", conflicts_with_all = ["seeds", "json", "against"])]
    real: Option<PathBuf>,
}

/// Runs `dxt-synth faults`; returns one line of text per trace written. Fails if a file cannot be written.
pub fn faults(arguments: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> anyhow::Result<String> {
    let args = FaultsArgs::parse_from(arguments);
    let truths = write(&args.folder, &args.choice)?;
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

/// Runs `dxt-synth verdicts`; returns the table of scores and, with `--against`, the comparison with a frozen run (a file with the scores
/// of an earlier run). Fails if a file cannot be written, the analyzer gives no verdict, or the frozen run cannot be read.
pub fn verdicts(arguments: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> anyhow::Result<String> {
    let args = VerdictsArgs::parse_from(arguments);
    if let Some(names) = &args.sensitivity {
        let truths = write(&args.keep, &args.choice)?;
        return sensitivity(names, &args.keep, |options| scores(&args.analyze, &args.keep, &truths, options));
    }
    let before = args.against.as_deref().map(read_frozen).transpose()?;
    let (mut all, mut jobs) = (Vec::new(), Vec::new());
    for seed in (0..args.seeds).map(|more| args.choice.seed + more) {
        let choice = Choice { seed, ..args.choice.clone() };
        let scores = args.scores(&choice)?;
        jobs.extend(scores.iter().map(|score| Frozen::of(&choice, score)));
        all.extend(scores);
    }
    let lines = frozen::lines(&jobs)?;
    if let Some(path) = &args.json {
        std::fs::write(path, &lines).with_context(|| format!("failed to write {}", path.display()))?;
    }
    let mut out = if args.seeds == 1 { table(&all) } else { totals(&all) };
    if let Some(before) = before {
        // Both runs are parsed from lines, because JSON may change the last digit of a fraction.
        out = out + "\n" + &comparison(&before, &frozen::parse(&lines)?);
    }
    Ok(out)
}

fn read_frozen(path: &Path) -> anyhow::Result<Vec<Frozen>> {
    let of = || format!("failed to read {}", path.display());
    frozen::parse(&std::fs::read_to_string(path).with_context(of)?).with_context(of)
}

impl VerdictsArgs {
    /// Simulates or runs the selected jobs; returns the scores of the analyzer's verdicts on the jobs.
    fn scores(&self, choice: &Choice) -> anyhow::Result<Vec<Score>> {
        let within = |folder: &Path| {
            if self.seeds == 1 { folder.to_owned() } else { folder.join(format!("seed-{}", choice.seed)) }
        };
        let keep = within(&self.keep);
        let mut truths = write(&keep, choice)?;
        if let Some(built) = &self.real {
            truths.extend(real::run(built, &keep, choice)?);
            manifest(&keep, &truths)?;
        }
        let Some(from) = &self.from else { return scores(&self.analyze, &keep, &truths, &[]) };
        let read = |truth: &Truth| {
            let path = within(from).join(format!("{}.json", truth.name));
            let of = || format!("failed to read {}", path.display());
            let json = std::fs::read(&path).with_context(of)?;
            Ok(score(truth, &verdict::read(&json).with_context(of)?))
        };
        truths.iter().map(read).collect()
    }
}

/// Runs `analyzer` on the traces in `folder` and scores the analyzer's findings against the true faults in `truths`. Fails if the analyzer
/// gives no verdict on a trace. `options`: further options of the analyzer.
pub fn scores(analyzer: &Path, folder: &Path, truths: &[Truth], options: &[String]) -> anyhow::Result<Vec<Score>> {
    let analyzer = analyzer.canonicalize().with_context(|| format!("failed to find {}", analyzer.display()))?;
    let of = |truth: &Truth| {
        let options = [truth.options.as_slice(), options].concat();
        Ok(score(truth, &verdict::ask(&analyzer, &folder.join(&truth.log), &options, folder)?))
    };
    let all = |truths: &[Truth]| truths.iter().map(of).collect::<anyhow::Result<Vec<Score>>>();
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let parts = std::thread::scope(|scope| {
        let parts = truths.chunks(truths.len().div_ceil(threads).max(1)).map(|part| scope.spawn(move || all(part)));
        let parts: Vec<_> = parts.collect();
        parts.into_iter().map(|part| part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    });
    let parts: Vec<anyhow::Result<Vec<Score>>> = parts;
    Ok(parts.into_iter().collect::<anyhow::Result<Vec<_>>>()?.concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    /// Writes one file per random job of the given seeds to `folder`, for the option `--from`: an analyzer's answer with one finding, of
    /// code `code`.
    fn say(folder: &Path, seeds: std::ops::Range<u64>, code: &str) {
        for seed in seeds {
            let folder = folder.join(format!("seed-{seed}"));
            for truth in write(&folder, &Choice { random: Some(3), seed, ..Choice::default() }).unwrap() {
                let finding = format!(r#"{{"code": "{code}", "severity": "warn", "about": {{}}, "saves_ns": 1000}}"#);
                let report = format!(r#"{{"verdict": {{"states": "{code}", "findings": [{finding}]}}}}"#);
                std::fs::write(folder.join(format!("{}.json", truth.name)), report).unwrap();
            }
        }
    }

    #[test]
    fn a_frozen_run_is_compared_with_later_ones() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        let run = |seeds: &str, option: &str, file: &str| {
            let own = ["verdicts", "--analyze", "none", "--random", "3", "--seed", "7", "--seeds", seeds, option];
            let paths = [path(file), "--keep".into(), path("."), "--from".into(), path(".")];
            verdicts(own.into_iter().map(str::to_owned).chain(paths))
        };
        assert!(run("2", "--against", "nowhere").is_err());
        say(folder.path(), 7..9, "A");
        let totals = run("2", "--json", "frozen").unwrap();
        assert!(totals.starts_with("first finding right          0 of 4\n"), "{totals}");
        let same = run("2", "--against", "frozen").unwrap();
        assert!(same.contains("frozen run: 6 jobs; 0 are not in it, 0 of it were not run"), "{same}");
        assert!(same.ends_with("jobs that changed: 0\n"), "{same}");
        say(folder.path(), 8..9, "B");
        let other = run("2", "--against", "frozen").unwrap();
        assert!(
            other.contains("jobs that changed: 3\nseed 8 healthy-random-0000: first A -> B; states A -> B;"),
            "{other}"
        );
    }

    #[test]
    fn the_options_of_jobs_belong_to_both_commands() {
        let folder = tempfile::tempdir().unwrap();
        let of = |options: &[&str]| {
            faults(["faults", &folder.path().display().to_string(), "--random", "1"].iter().chain(options)).unwrap()
        };
        assert_eq!(of(&[]), of(&["--generation", "1"]));
        assert!(of(&["--only", "no such case"]).is_empty());
        let help = VerdictsArgs::command().render_help().to_string();
        assert!(help.starts_with("Scores an analyzer's findings") && help.contains("--generation <N>"), "{help}");
        let parse = |options: &[&str]| FaultsArgs::try_parse_from([&["faults", "."], options].concat());
        assert!(parse(&["--short"]).is_ok() && parse(&["--random", "1", "--generation", "2"]).is_ok());
        assert!(parse(&["--random", "1", "--generation", "0"]).is_err() && parse(&["--generation", "2"]).is_err());
    }
}
