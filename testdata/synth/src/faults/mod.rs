//! Simulated jobs whose slowness has a known cause and a known cost, to score what an analyzer says of them.
//!
//! * `job`: a job as knobs; `injected`: the faults that turn them; `case`: a job with faults and its twins without.
//! * `work`: what a thread does, as steps of `calls`; `engine` runs them against `storage`; `chance`: random numbers by key.
//! * `log`: what was done as a trace. `truth`: what is true of it, and which findings would be right.
//! * `sick`: the cases with one fault; `several`: with more, or a weak one; `healthy`: with none; `random`: drawn. `real`: programs that run.
//! * `verdict`: what an analyzer says; `score`: held against the truth; `table`: all of them; `cli`: the command lines.

mod calls;
mod case;
mod chance;
mod cli;
mod engine;
mod healthy;
mod injected;
mod job;
mod log;
mod random;
mod real;
mod score;
mod several;
mod sick;
mod storage;
mod table;
mod truth;
mod verdict;
mod work;

use anyhow::Context;
use std::path::Path;

pub use cli::{faults, scores, verdicts};
pub use score::{Score, score};
pub use table::{Totals, table};
pub use truth::{Injected, Named, Right, Truth, Unit};
pub use verdict::{Finding, Verdict};

/// Which of the cases.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// Only the short form.
    pub short: bool,
    /// Only cases whose name contains this.
    pub only: Option<String>,
    /// Added to the seeds of all simulated jobs: others of the same kinds, which nobody has fitted anything to.
    pub seed: u64,
    /// Instead of the cases so many that are drawn by the seed.
    pub random: Option<u64>,
}

impl Choice {
    /// Whether a case of this name is one of them.
    fn has(&self, name: &str, short: bool) -> bool {
        (short || !self.short) && self.only.as_ref().is_none_or(|part| name.contains(part.as_str()))
    }
}

/// Writes the logs of the chosen cases to `folder` and a manifest; returns what is true of each.
///
/// # Errors
/// If a file cannot be written.
pub fn write(folder: &Path, choice: &Choice) -> anyhow::Result<Vec<Truth>> {
    std::fs::create_dir_all(folder).with_context(|| format!("failed to create {}", folder.display()))?;
    let mut truths = Vec::new();
    let cases = choice.random.map_or_else(cases, |count| random::cases(count, choice.seed));
    for mut case in cases.into_iter().filter(|case| choice.has(&case.name, case.short)) {
        if choice.random.is_none() {
            case.job.seed += choice.seed;
        }
        truths.push(case.write(folder)?);
    }
    manifest(folder, &truths)?;
    Ok(truths)
}

/// Writes what is true of the logs in `folder` beside them.
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
            // A finding that is first by a hair's breadth would be first by chance.
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
