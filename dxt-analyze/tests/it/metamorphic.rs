//! Changes to simulated jobs with a known effect on the verdict: what a finding names and saves follows from the job, not from the numbering
//! of its ranks, its clock, its file names, or the files of its trace.

use crate::common::json;
use dxt_synth::faults::{Change, Choice, Injected, Truth, write_changed};
use rayon::prelude::*;
use serde_json::Value;
use std::path::Path;

/// Jobs of different kinds, with one fault each.
const JOBS: [&str; 13] = [
    "slow-rank-shared",
    "slow-node",
    "slow-ost",
    "ost-queue",
    "window",
    "tail",
    "stall",
    "more-data",
    "small-writes",
    "random-reads",
    "late-rank-collective",
    "sync-each",
    "few-cpus",
];

/// Seeds of drawn jobs.
const SEEDS: [u64; 2] = [11, 12];

/// Facts that say whom and what a finding accuses.
const FACTS: [&str; 4] = ["rank", "node", "ost", "operation"];
/// Largest relative difference between equal savings.
const SAME: f64 = 0.01;
/// Like `SAME`, if times are twice as long: latencies that the analyzer assumes are not.
const TWICE: f64 = 0.1;

/// Smallest saving of a finding above severity `info`, in ns, whatever the run time (threshold `least_saving_ns`): twice the time may lift
/// further findings above it.
const LEAST_NS: f64 = 50e6;

/// Finding above severity `info`.
#[derive(Clone, Debug)]
struct Found {
    code: String,
    facts: [Value; 4],
    saves_ns: f64,
    /// Number of ranks of the job.
    ranks: u64,
}

impl Found {
    fn is(&self, other: &Self, tolerance: f64) -> bool {
        let near = (self.saves_ns - other.saves_ns).abs() <= tolerance * self.saves_ns.max(other.saves_ns);
        self.code == other.code && self.facts == other.facts && near
    }
}

/// Job whose findings are compared: its name and seed, or the drawn jobs of a seed.
#[derive(Clone, Copy, Debug)]
enum Jobs {
    Named(&'static str, u64),
    Drawn(u64),
}

/// Number of jobs that are drawn for a seed; a quarter of them have no fault.
const DRAWN: u64 = 12;

/// Simulates jobs with a change; returns their faults, and the findings above severity `info`.
fn all_found(jobs: Jobs, change: &Change) -> Vec<(Truth, Vec<Found>)> {
    let folder = tempfile::tempdir().unwrap();
    let choice = match jobs {
        Jobs::Named(name, seed) => {
            let short = !["two-", "three-", "healthy-"].iter().any(|kind| name.starts_with(kind));
            Choice { short, only: Some(name.into()), seed, ..Choice::default() }
        }
        Jobs::Drawn(seed) => Choice { random: Some(DRAWN), seed, ..Choice::default() },
    };
    let truths = write_changed(folder.path(), &choice, change).unwrap().into_iter();
    let wanted = truths.filter(|one| !matches!(jobs, Jobs::Named(name, _) if name != one.name));
    wanted.map(|truth| (loud(&folder.path().join(&truth.log)), truth)).map(|(found, truth)| (truth, found)).collect()
}

/// Simulates the job `name` with a change; returns its faults, and the findings above severity `info`.
fn found(name: &'static str, seed: u64, change: &Change) -> (Truth, Vec<Found>) {
    all_found(Jobs::Named(name, seed), change).pop().unwrap()
}

/// Returns the findings above severity `info` of the report on a trace.
fn loud(log: &Path) -> Vec<Found> {
    let report = json(&["report", "--format", "json", log.to_str().unwrap()], 0);
    let processes = report["verdict"]["job"]["processes"].as_str().unwrap();
    let all = report["verdict"]["findings"].as_array().unwrap();
    let loud = all.iter().filter(|finding| finding["severity"] != "info");
    let facts = |finding: &Value| Found {
        code: finding["code"].as_str().unwrap().into(),
        facts: FACTS.map(|fact| finding["about"][fact].clone()),
        saves_ns: finding["saves_ns"].as_f64().unwrap_or(0.0),
        ranks: processes.chars().filter(char::is_ascii_digit).collect::<String>().parse().unwrap(),
    };
    loud.map(facts).collect()
}

/// Fails unless each job's findings after a change are those that `expected` makes of its findings without it.
fn assert_follows(change: &Change, tolerance: f64, expected: impl Fn(&mut Found) + Sync) {
    let different = |jobs: &Jobs| {
        let (before, now) = (all_found(*jobs, &Change::default()), all_found(*jobs, change));
        let compare = |((truth, mut before), (_, now)): ((Truth, Vec<Found>), (Truth, Vec<Found>))| {
            before.iter_mut().for_each(&expected);
            let [before, now] = [before, now].map(|mut all| {
                all.retain(|one| change.times == 1 || one.saves_ns >= LEAST_NS * change.times as f64);
                all
            });
            let same =
                before.len() == now.len() && before.iter().zip(&now).all(|(one, other)| one.is(other, tolerance));
            let unseen = matches!(jobs, Jobs::Named(..)) && before.is_empty();
            (!same || unseen).then(|| format!("{jobs:?} {}: {now:#?} instead of {before:#?}", truth.name))
        };
        before.into_iter().zip(now).filter_map(compare).collect::<Vec<_>>()
    };
    let jobs: Vec<Jobs> = JOBS.map(|name| Jobs::Named(name, 0)).into_iter().chain(SEEDS.map(Jobs::Drawn)).collect();
    let wrong: Vec<String> = jobs.par_iter().flat_map_iter(different).collect();
    assert!(wrong.is_empty(), "{change:?}\n{}", wrong.join("\n"));
}

#[test]
fn renumbered_ranks_renumber_the_findings() {
    let reversed = Change { reversed: true, ..Change::default() };
    assert_follows(&reversed, SAME, |finding| {
        if let Some(rank) = finding.facts[0].as_u64() {
            finding.facts[0] = (finding.ranks - 1 - rank).into();
        }
    });
}

#[test]
fn twice_the_time_saves_twice_as_much() {
    let longer = Change { times: 2, ..Change::default() };
    assert_follows(&longer, TWICE, |finding| finding.saves_ns *= 2.0);
}

#[test]
fn clocks_names_and_files_of_the_trace_change_nothing() {
    // An hour.
    assert_follows(&Change { shift_ns: 3_600_000_000_000, ..Change::default() }, SAME, |_| {});
    assert_follows(&Change { folder: "a/another", ..Change::default() }, SAME, |_| {});
    assert_follows(&Change { parts: 2, ..Change::default() }, SAME, |_| {});
}

/// True if a finding names a fault.
fn names(fault: &Injected, findings: &[Found]) -> bool {
    findings.iter().any(|finding| fault.right.iter().any(|right| right.codes.contains(&finding.code)))
}

#[test]
fn a_healthy_job_is_quiet_under_any_seed() {
    let jobs = ["healthy-even-32-ranks", "healthy-spread-0.5", "healthy-own-files-reads", "healthy-independent"];
    let loud = |(name, seed): (&'static str, u64)| {
        let findings = found(name, seed, &Change::default()).1;
        (!findings.is_empty()).then(|| format!("{name}, seed {seed}: {findings:#?}"))
    };
    let all: Vec<(&'static str, u64)> =
        jobs.iter().flat_map(|name| (1..5).map(move |seed| (*name, seed * 1000))).collect();
    let wrong: Vec<String> = all.into_par_iter().filter_map(loud).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_second_fault_does_not_remove_the_first() {
    let jobs = [
        "two-rank-and-sync",
        "two-small-and-slow-rank",
        "two-data-and-tail",
        "two-serial-and-stall",
        "two-stall-and-slow-node",
    ];
    let lost = |name: &&'static str| {
        let (alone, first) = found(name, 0, &Change { faults: 1, ..Change::default() });
        let fault = &alone.faults[0];
        let both = found(name, 0, &Change::default()).1;
        (!names(fault, &first) || !names(fault, &both)).then(|| format!("{name}: {first:#?}\n{both:#?}"))
    };
    let wrong: Vec<String> = jobs.par_iter().filter_map(lost).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn twice_the_ranks_have_the_same_cause() {
    let changed = |name: &&'static str| {
        let [before, now] = [1, 2].map(|ranks| found(name, 0, &Change { ranks, ..Change::default() }).1);
        let cause = |all: &[Found]| all.first().map(|first| (first.code.clone(), first.facts[0].clone()));
        (before.is_empty() || cause(&before) != cause(&now)).then(|| format!("{name}: {now:#?} instead of {before:#?}"))
    };
    let wrong: Vec<String> = JOBS.par_iter().filter_map(changed).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
