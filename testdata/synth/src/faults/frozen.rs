//! Frozen runs: the scores of all jobs of a run of the analyzer, kept for comparison with later runs. A file has one job per line, in JSON,
//! so that `cat` can join the files of several runs.

use super::Choice;
use super::score::Score;
use super::truth::Injected;
use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Maximum relative difference between the run times of a job on two machines: the last digits of a logarithm depend on the processor.
const SAME_RUN: f64 = 1e-3;

/// Score of a simulated job, with the parameters needed to simulate the job again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Frozen {
    /// Highest generation (numbered list of fault types; later ones add types) from which the job's faults were drawn: lists 1 to this number.
    pub(super) generation: u64,
    /// Number that was added to the seeds of all jobs (option `--seed`).
    pub(super) seed: u64,
    /// True if the job has no fault. Like `right`, stored only for readers of the file.
    healthy: bool,
    /// True if the first finding names the strongest fault, or if a healthy job (one without faults) has no finding above severity `info`.
    right: bool,
    /// True faults of the job and findings of the analyzer, without the criteria by which findings count as right.
    pub(super) score: Score,
}

impl Frozen {
    pub(super) fn of(choice: &Choice, score: &Score) -> Self {
        let mut score = score.clone();
        score.truth.faults.iter_mut().for_each(|fault| fault.right.clear());
        let (healthy, right) = (score.healthy(), score.right());
        Self { generation: choice.generation, seed: choice.seed, healthy, right, score }
    }

    /// Returns (generation, seed, name), which identifies the job in all runs.
    pub(super) fn key(&self) -> (u64, u64, &str) {
        (self.generation, self.seed, &self.score.truth.name)
    }

    /// True if a job with the same key in another run has the same faults and run time. If not, the simulator has changed.
    pub(super) fn is_same_job(&self, other: &Self) -> bool {
        let causes = |of: &Self| of.score.truth.faults.iter().map(Injected::rounded).collect::<BTreeSet<String>>();
        let run_ns = |of: &Self| of.score.truth.run_ns as f64;
        causes(self) == causes(other) && (run_ns(self) - run_ns(other)).abs() <= SAME_RUN * run_ns(self)
    }
}

/// Formats the scores of a run of the analyzer as lines of JSON, one job per line, sorted by generation, seed and name.
pub(super) fn lines(jobs: &[Frozen]) -> anyhow::Result<String> {
    let mut jobs: Vec<&Frozen> = jobs.iter().collect();
    jobs.sort_by_key(|job| job.key());
    let line = |job: &Frozen| Ok(serde_json::to_string(job).context("failed to write a job as JSON")? + "\n");
    jobs.into_iter().map(line).collect()
}

/// Parses lines of JSON, one job per line, of one or several runs; fails if a line is not a job, or if a job appears twice.
pub(super) fn parse(text: &str) -> anyhow::Result<Vec<Frozen>> {
    let parse = |(line, text)| serde_json::from_str(text).with_context(|| format!("line {line} is no job"));
    let jobs: Vec<Frozen> = (1..).zip(text.lines()).map(parse).collect::<anyhow::Result<_>>()?;
    let mut seen = BTreeSet::new();
    for job in &jobs {
        ensure!(seen.insert(job.key()), "job {} of seed {} appears twice", job.score.truth.name, job.seed);
    }
    Ok(jobs)
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::truth::{Right, Truth};
    use super::super::verdict::Finding;
    use super::*;
    use serde_json::json;

    /// Returns the score of a job of 1 s that loses 400 ms to a slow rank; `findings` are the analyzer's findings, as (code, rank, saving
    /// in ms).
    pub(in crate::faults) fn job(name: &str, findings: &[(&str, u32, u32)]) -> Frozen {
        let finding = |&(code, rank, ms): &(&str, u32, u32)| Finding {
            code: code.into(),
            severity: "high".into(),
            title: "a slow rank".into(),
            about: json!({"rank": rank, "share": 0.1 + 0.2}),
            saves_ns: Some(f64::from(ms) * 1e6),
            ..Finding::default()
        };
        let findings: Vec<Finding> = findings.iter().map(finding).collect();
        let verdict = super::super::Verdict {
            states: findings.first().map(|first| first.code.clone()),
            findings,
            together: None,
        };
        let right = Right::codes(&["SLOW"]).about("rank", &["5".to_owned()]);
        let slow = Injected { cause: "rank 5 is slow".into(), truth_ns: 400_000_000, right: vec![right] };
        let healthy = name.starts_with("healthy-");
        let truth = Truth {
            name: name.into(),
            log: format!("{name}.dxt"),
            short: false,
            barriers: false,
            options: Vec::new(),
            run_ns: 1_000_000_000,
            truth_ns: if healthy { 0 } else { slow.truth_ns },
            faults: if healthy { Vec::new() } else { vec![slow] },
        };
        Frozen::of(&Choice { seed: 7, ..Choice::default() }, &super::super::score(&truth, &verdict))
    }

    #[test]
    fn lines_read_back_in_the_order_of_the_names() {
        let jobs = [job("b", &[("SLOW", 5, 300)]), job("a", &[]), job("healthy-c", &[])];
        let text = lines(&jobs).unwrap();
        let read = parse(&text).unwrap();
        assert_eq!(lines(&read).unwrap(), text);
        assert!(!text.contains("a slow rank"), "{text}");
        let keys: Vec<_> = read.iter().map(Frozen::key).collect();
        assert_eq!(keys, [(1, 7, "a"), (1, 7, "b"), (1, 7, "healthy-c")]);
        let rights: Vec<_> = read.iter().map(|job| (job.healthy, job.right, job.score.saves_well())).collect();
        assert_eq!(rights, [(false, false, None), (false, true, Some(true)), (true, true, None)]);
        assert_eq!(read[1].score.truth.faults[0].truth_ns, 400_000_000);
        assert_eq!(read[1].score.first.as_ref().unwrap().about["rank"], 5);
    }

    #[test]
    fn a_job_that_appears_twice_is_an_error_and_so_is_another_file() {
        let text = lines(&[job("a", &[])]).unwrap();
        let error = |text: &str| parse(text).unwrap_err().to_string();
        assert_eq!(error(&text.repeat(2)), "job a of seed 7 appears twice");
        assert_eq!(error(&format!("{text}{{}}\n")), "line 2 is no job");
    }

    #[test]
    fn a_job_of_another_length_or_fault_is_another_job() {
        let first = job("a", &[]);
        let changed = |change: &dyn Fn(&mut Truth)| {
            let mut other = first.clone();
            change(&mut other.score.truth);
            other
        };
        assert!(first.is_same_job(&changed(&|truth| truth.run_ns += 10)));
        assert!(!first.is_same_job(&changed(&|truth| truth.run_ns += 10_000_000)));
        let caused = |cause: &str| changed(&|truth| truth.faults[0].cause = cause.into());
        assert!(caused("2.0000001 s").is_same_job(&caused("2 s")));
        assert!(!caused("2.1 s").is_same_job(&caused("2 s")) && !first.is_same_job(&caused("rank 6 is slow")));
    }
}
