//! Simulated jobs that are slow for a known reason, by a known time. They serve to score an analyzer's findings.
//!
//! * `job`: parameters of a job; `injected`: faults that change parameters; `case`: a job with faults, and its fault-free twins.
//! * `work`: steps of a thread, expressed in `calls`; `engine`: runs the steps against `storage`; `chance`: random numbers by key.
//! * `log`: writes the result as a trace; `change`: changes with a known effect on findings; `truth`: true costs of the faults, and criteria for right findings.
//! * Lists of cases: `sick` (one fault), `several` (several faults, or a weak one), `healthy` (no fault), `random` (drawn), `real` (real programs).
//! * `verdict`: an analyzer's findings; `score`: comparison of findings with the truth; `table`: all scores; `cli`: command lines.
//! * `sensitivity`: scores with each threshold of the analyzer halved and doubled.
//! * `frozen`: scores of a run as a file; `comparison`: differences between two runs.

mod calls;
mod case;
mod chance;
mod change;
mod cli;
mod comparison;
mod engine;
mod frozen;
mod healthy;
mod injected;
mod job;
mod log;
mod processor;
mod random;
mod real;
mod score;
mod sensitivity;
mod several;
mod sick;
mod storage;
mod table;
mod truth;
mod verdict;
mod work;

use anyhow::Context;
use std::path::Path;

pub use change::Change;
pub use cli::{faults, scores, verdicts};
pub use injected::CODES;
pub use score::{Score, score};
pub use table::{Totals, table};
pub use truth::{Injected, Named, Right, Truth, Unit};
pub use verdict::{Finding, Verdict};

/// Options that select the cases (simulated jobs or real programs) to write or to score.
#[derive(Clone, Debug, clap::Args)]
pub struct Choice {
    /// Only the short list of cases
    #[arg(long)]
    pub short: bool,
    /// Only cases whose name contains this
    #[arg(long)]
    pub only: Option<String>,
    /// Number added to all seeds: other jobs of the same types, unknown when the analyzer's rules were made
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Draw N random cases instead of the fixed ones
    #[arg(long, value_name = "N")]
    pub random: Option<u64>,
    /// Draw faults of generations 1 to N; generation 1 never changes
    #[arg(long, value_name = "N", default_value_t = 1, requires = "random")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=random::GENERATIONS))]
    pub generation: u64,
    /// Draw jobs with two or three faults of different kinds, none healthy
    #[arg(long, requires = "random")]
    pub combined: bool,
}

impl Default for Choice {
    /// Selects all fixed cases (jobs that are not drawn at random), with their own seeds.
    fn default() -> Self {
        Self { short: false, only: None, seed: 0, random: None, generation: 1, combined: false }
    }
}

impl Choice {
    /// True if the case (simulated job) called `name` is selected; `short` is true if it is on the short list of cases.
    fn has(&self, name: &str, short: bool) -> bool {
        (short || !self.short) && self.only.as_ref().is_none_or(|part| name.contains(part.as_str()))
    }
}

/// Writes the traces of the selected cases and a manifest to `folder`; returns the true faults of each case. Fails if a file cannot be written.
pub fn write(folder: &Path, choice: &Choice) -> anyhow::Result<Vec<Truth>> {
    write_changed(folder, choice, &Change::default())
}

/// Like [`write`], with the same change to each case.
pub fn write_changed(folder: &Path, choice: &Choice, change: &Change) -> anyhow::Result<Vec<Truth>> {
    std::fs::create_dir_all(folder).with_context(|| format!("failed to create {}", folder.display()))?;
    let mut truths = Vec::new();
    let drawn = |count| match choice.combined {
        true => random::combined(count, choice.seed, choice.generation),
        false => random::cases(count, choice.seed, choice.generation),
    };
    let cases = choice.random.map_or_else(cases, drawn);
    for mut case in cases.into_iter().filter(|case| choice.has(&case.name, case.short)) {
        if choice.random.is_none() {
            case.job.seed += choice.seed;
        }
        truths.push(case.write(folder, change)?);
    }
    manifest(folder, &truths)?;
    Ok(truths)
}

/// Writes the manifest, a file that lists the true faults of all traces in `folder`.
fn manifest(folder: &Path, truths: &[Truth]) -> anyhow::Result<()> {
    let manifest = folder.join("manifest.json");
    let text = serde_json::to_string_pretty(truths).context("failed to make the manifest")?;
    std::fs::write(&manifest, text).with_context(|| format!("failed to write {}", manifest.display()))
}

fn cases() -> Vec<case::Case> {
    [sick::cases(), several::cases(), healthy::cases()].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn there_are_enough_cases_and_each_has_a_name_of_its_own() {
        let cases = cases();
        let names: BTreeSet<&str> = cases.iter().map(|case| case.name.as_str()).collect();
        let sick = cases.iter().filter(|case| !case.name.starts_with("healthy-")).count();
        assert_eq!(names.len(), cases.len());
        assert!(sick >= 70 && cases.len() - sick >= 45, "{sick} of {}", cases.len());
        let short = cases.iter().filter(|case| case.short).count();
        assert!((25..=40).contains(&short), "{short}");
        let shown = cases.iter().filter(|case| case.job.shown).count();
        assert!(shown * 5 > cases.len() * 2 && shown * 5 < cases.len() * 3, "{shown} of {}", cases.len());
    }

    #[test]
    fn a_fault_costs_time_and_a_weak_one_little() {
        for case in &mut cases().into_iter().filter(|case| case.job.ranks < 100).collect::<Vec<_>>() {
            let (_, _, truth) = case.truth();
            let part = |ns: u64| ns as f64 / truth.run_ns as f64;
            for fault in &truth.faults {
                assert!(part(fault.truth_ns) > 0.01, "{}: {} costs {} ns", truth.name, fault.cause, fault.truth_ns);
            }
            if truth.name.starts_with("weak-") {
                assert!(part(truth.truth_ns) < 0.10, "{}: {}", truth.name, part(truth.truth_ns));
            }
            // If costs were nearly equal, the order of the findings would be random.
            if let [first, second, ..] = truth.faults.as_slice() {
                assert!(first.truth_ns as f64 > second.truth_ns as f64 * 1.3, "{}", truth.name);
            }
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_run() {
        let run = |seed| {
            let job = job::Job { seed, ranks: 8, ..job::Job::default() };
            case::Case::new("a", job, [injected::slow_rank(3, 2.0)]).truth().2
        };
        assert_eq!((run(1).run_ns, run(1).truth_ns), (run(1).run_ns, run(1).truth_ns));
        assert_ne!(run(1).run_ns, run(2).run_ns);
    }
}
