//! Comparison of an analyzer's findings with the true faults.

use super::truth::{Injected, Named, Right, Truth, Unit};
use super::verdict::{Finding, KINDS, Verdict};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Minimum time lost to a fault for severity `high`, as a share of the run time.
const HIGH: f64 = 0.10;
/// Minimum time lost to a fault for severity `warn`, as a share of the run time.
const WARN: f64 = 0.02;
/// Factor around a severity threshold within which either severity is accepted.
const NEAR: f64 = 1.25;
/// Maximum factor between the saving that a finding promises and the true cost of its fault, with which the promise counts as good.
const WITHIN: f64 = 2.0;
/// Maximum factor between the savings promised for all findings together and the true cost of all faults, with which the promise counts as
/// good.
const SUM_WITHIN: f64 = 1.5;
/// Minimum ratio of the costs of two faults for the order of their findings to be scored.
const CLEARLY: f64 = 1.25;

/// Scores of the analyzer's findings on one case (simulated job).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Score {
    /// Case (simulated job), with its true faults and their costs.
    pub truth: Truth,
    /// Code of the finding that the first sentence of the analyzer's report states.
    pub states: Option<String>,
    /// First finding in the analyzer's report; `None` without findings.
    pub first: Option<Finding>,
    /// For each fault, strongest first: index of the first finding that names it; `None` without such a finding.
    pub found: Vec<Option<usize>>,
    /// Saving promised by the finding on the strongest fault, divided by the true cost of that fault; `None` if not found or not promised.
    pub ratio: Option<f64>,
    /// True if the severity of the finding on the strongest fault fits the time lost to that fault; `None` without such a finding.
    pub severity: Option<bool>,
    /// Findings of severity `high` that name no fault of the case.
    pub misleading: Vec<Finding>,
    /// Findings of the analyzer above severity `info`.
    pub loud: Vec<Finding>,
    /// For each fault, strongest first: saving promised by the finding on it, divided by its true cost; `None` if not found or not
    /// promised.
    #[serde(default)]
    pub ratios: Vec<Option<f64>>,
    /// Savings promised for all findings together, divided by the true cost of all faults together; `None` for a healthy case.
    #[serde(default)]
    pub together: Option<f64>,
    /// Superfluous findings above severity `info`: those that name no fault and, if the savings promised for a fault sum to more than 1.5
    /// times its cost, those that name only faults that earlier findings name too.
    #[serde(default)]
    pub twice: Vec<Finding>,
}

impl Score {
    /// True if the case (simulated job) has no fault.
    #[must_use]
    pub fn healthy(&self) -> bool {
        self.truth.faults.is_empty()
    }

    /// True if the first finding names the strongest fault or, for a healthy job, if no finding is above severity `info`.
    #[must_use]
    pub fn right(&self) -> bool {
        if self.healthy() { self.loud.is_empty() } else { self.found.first() == Some(&Some(0)) }
    }

    /// True if the strongest fault is named by one of the first three findings.
    #[must_use]
    pub fn in_the_first_three(&self) -> bool {
        self.found.first().copied().flatten().is_some_and(|place| place < 3)
    }

    /// True if promised savings are within a factor of 2 of the true cost; `None` if the finding promises no savings.
    #[must_use]
    pub fn saves_well(&self) -> Option<bool> {
        self.ratio.map(|ratio| is_within(ratio, WITHIN))
    }

    /// True if the case (simulated job) has several faults.
    #[must_use]
    pub fn combined(&self) -> bool {
        self.truth.faults.len() > 1
    }

    /// True if each fault of the case is named by some finding.
    #[must_use]
    pub fn names_all(&self) -> bool {
        self.found.iter().all(Option::is_some)
    }

    /// True if of two named faults with clearly different costs, the finding on the stronger one comes first.
    #[must_use]
    pub fn in_order(&self) -> bool {
        let named: Vec<(u64, usize)> = self
            .truth
            .faults
            .iter()
            .zip(&self.found)
            .filter_map(|(fault, found)| Some((fault.truth_ns, (*found)?)))
            .collect();
        let wrong = |stronger: &(u64, usize), weaker: &(u64, usize)| {
            stronger.0 as f64 > weaker.0 as f64 * CLEARLY && stronger.1 > weaker.1
        };
        !named.iter().any(|one| named.iter().any(|other| wrong(one, other)))
    }

    /// True if the promised savings of each named fault are within a factor of 2 of its true cost.
    #[must_use]
    pub fn each_saves_well(&self) -> bool {
        self.ratios.iter().flatten().all(|ratio| is_within(*ratio, WITHIN))
    }

    /// True if the savings promised for all findings together are within a factor of 1.5 of the true cost of all faults.
    #[must_use]
    pub fn sum_saves_well(&self) -> bool {
        self.together.is_some_and(|ratio| is_within(ratio, SUM_WITHIN))
    }
}

fn is_within(ratio: f64, factor: f64) -> bool {
    (1.0 / factor..=factor).contains(&ratio)
}

/// Scores the analyzer's findings in `verdict` against the true faults in `truth`.
#[must_use]
pub fn score(truth: &Truth, verdict: &Verdict) -> Score {
    let place = |fault: &Injected| verdict.findings.iter().position(|finding| names(fault, finding));
    let found: Vec<Option<usize>> = truth.faults.iter().map(place).collect();
    let right = found.first().copied().flatten().map(|place| (&verdict.findings[place], &truth.faults[0]));
    let high = verdict.findings.iter().filter(|finding| finding.severity == "high");
    let misleading = high.filter(|finding| !truth.faults.iter().any(|fault| names(fault, finding)));
    let loud: Vec<&Finding> = verdict.findings.iter().filter(|finding| finding.severity != "info").collect();
    let saves = |finding: &Finding| finding.saves_ns.unwrap_or(0.0);
    let twice = |(at, finding): (usize, &&Finding)| {
        let mut named = truth.faults.iter().filter(|fault| names(fault, finding)).peekable();
        named.peek().is_none()
            || named.all(|fault| {
                let earlier: Vec<f64> =
                    loud[..at].iter().filter(|one| names(fault, one)).map(|one| saves(one)).collect();
                let sum = earlier.iter().sum::<f64>() + saves(finding);
                !earlier.is_empty() && sum > fault.truth_ns as f64 * SUM_WITHIN
            })
    };
    let ratio = |(fault, found): (&Injected, &Option<usize>)| {
        Some(verdict.findings[(*found)?].saves_ns? / fault.truth_ns.max(1) as f64)
    };
    let sum_ns = || verdict.findings.iter().map(saves).sum();
    Score {
        ratios: truth.faults.iter().zip(&found).map(ratio).collect(),
        together: (truth.truth_ns > 0)
            .then(|| verdict.together.map_or_else(sum_ns, |together| together.saves_ns) / truth.truth_ns as f64),
        twice: loud.iter().enumerate().filter(|one| twice(*one)).map(|(_, finding)| (*finding).clone()).collect(),
        truth: truth.clone(),
        states: verdict.states.clone(),
        first: verdict.findings.first().cloned(),
        ratio: right.and_then(|(finding, fault)| Some(finding.saves_ns? / fault.truth_ns.max(1) as f64)),
        severity: right
            .map(|(finding, fault)| fits(&finding.severity, fault.truth_ns as f64 / truth.run_ns.max(1) as f64)),
        misleading: misleading.cloned().collect(),
        loud: loud.into_iter().cloned().collect(),
        found,
    }
}

/// True if the finding counts as naming the fault, because it meets one of the fault's criteria.
fn names(fault: &Injected, finding: &Finding) -> bool {
    fault.right.iter().any(|right| is_right(right, finding))
}

fn is_right(right: &Right, finding: &Finding) -> bool {
    let stated = finding.about.get("operation").and_then(Value::as_str);
    let is_of = |wanted: &str| stated.is_none_or(|stated| stated.contains(wanted));
    right.codes.contains(&finding.code)
        && right.operation.as_deref().is_none_or(is_of)
        && right.has.iter().all(|fact| finding.has(fact))
        && !right.lacks.iter().any(|fact| finding.has(fact))
        && accuses(&right.unit, finding)
}

/// True if the finding accuses the right ranks, nodes or OSTs and no others; with a rank, the finding may also name the rank's node.
fn accuses(unit: &Named, finding: &Finding) -> bool {
    let others = |kind: &str| {
        let with_its_rank = |other: &str| other == "node" && kind == "rank" && !finding.accused("rank").is_empty();
        KINDS
            .iter()
            .filter(|other| **other != kind && !with_its_rank(other))
            .all(|other| finding.accused(other).is_empty())
    };
    let among = |unit: &Unit| finding.accused(&unit.kind).iter().all(|name| is_one_of(name, &unit.of));
    match unit {
        Named::Nobody => KINDS.iter().all(|kind| finding.accused(kind).is_empty()),
        Named::May(unit) => among(unit) && others(&unit.kind),
        Named::Must(unit) => among(unit) && others(&unit.kind) && !finding.accused(&unit.kind).is_empty(),
    }
}

/// True if `name` is in the list `of`. `3`, `OST 3` and `OST0003` are equal; node names must match exactly.
fn is_one_of(name: &str, of: &[String]) -> bool {
    let number = |text: &str| {
        let digits = text.trim_start_matches(|c: char| !c.is_ascii_digit());
        digits.parse::<u64>().ok()
    };
    of.iter().any(|one| name == one || (one.bytes().all(|b| b.is_ascii_digit()) && number(name) == number(one)))
}

/// True if `severity` fits a loss of `part` (0 to 1) of the run time.
fn fits(severity: &str, part: f64) -> bool {
    let is = |part: f64| {
        if part >= HIGH {
            "high"
        } else if part >= WARN {
            "warn"
        } else {
            "info"
        }
    };
    [part / NEAR, part, part * NEAR].into_iter().any(|part| is(part) == severity)
}

#[cfg(test)]
mod tests {
    use super::super::verdict::read;
    use super::*;

    fn truth(right: Right, truth_ns: u64) -> Truth {
        let faults = vec![Injected { cause: "it".into(), truth_ns, right: vec![right] }];
        let (name, options) = (String::from("a"), Vec::new());
        Truth { log: name.clone(), name, options, short: true, barriers: false, run_ns: 1000, truth_ns, faults }
    }

    fn verdict(findings: &str) -> Verdict {
        read(format!("{{\"verdict\": {{\"findings\": [{findings}]}}}}").as_bytes()).unwrap()
    }

    fn numbers(of: &[&str]) -> Vec<String> {
        of.iter().map(|name| (*name).to_owned()).collect()
    }

    const OTHER: &str = r#"{"code": "DXT-O002", "severity": "high", "title": "slow", "about": {"rank": 7}}"#;

    fn finding(code: &str, about: &str) -> Finding {
        Finding { code: code.into(), about: serde_json::from_str(about).unwrap(), ..Finding::default() }
    }

    #[test]
    fn another_rank_is_wrong_and_the_right_one_is_found_behind_it() {
        let truth = truth(Right::codes(&["DXT-O002"]).about("rank", &numbers(&["5"])), 300);
        let right = r#"{"code": "DXT-O002", "severity": "warn", "about": {"rank": 5, "node": "n0"}, "saves_ns": 200}"#;
        let score = score(&truth, &verdict(&format!("{OTHER},{right}")));
        assert!(!score.right() && score.in_the_first_three());
        assert_eq!((score.found.as_slice(), score.severity), ([Some(1)].as_slice(), Some(false)));
        assert_eq!((score.saves_well(), score.misleading.len(), score.loud.len()), (Some(true), 1, 2));
    }

    #[test]
    fn a_cause_without_a_unit_accuses_nobody() {
        let right = Right::codes(&["X", "Y"]);
        let of = |about: &str| finding("Y", about);
        assert!(is_right(&right, &of(r#"{"file": "/a", "rank": null}"#)) && is_right(&right, &of("{}")));
        assert!(!is_right(&right, &of(r#"{"node": "n1"}"#)) && !is_right(&right, &of(r#"{"osts": [1]}"#)));
    }

    #[test]
    fn the_code_counts_and_the_title_does_not() {
        let titled = |code: &str| Finding { title: "rank 5 of X".into(), ..finding(code, "{}") };
        let of_rank = Right::codes(&["X"]).about("rank", &numbers(&["5"]));
        assert!(is_right(&Right::codes(&["X"]), &titled("X")) && !is_right(&Right::codes(&["X"]), &titled("X1")));
        assert!(!is_right(&of_rank, &titled("X")));
    }

    #[test]
    fn other_facts_are_wrong() {
        let right = |right: &Right, about: &str| is_right(right, &finding("X", about));
        let reads = Right::codes(&["X"]).of("read");
        assert!(right(&reads, r#"{"operation": "small reads"}"#) && right(&reads, "{}"));
        assert!(!right(&reads, r#"{"operation": "writes"}"#));
        assert!(!right(&reads.with("operation"), "{}"));
        let (with, without) = (Right::codes(&["X"]).with("span_ns"), Right::codes(&["X"]).without("span_ns"));
        for (about, has) in [(r#"{"span_ns": [1, 2]}"#, true), (r#"{"span_ns": null}"#, false), ("{}", false)] {
            assert_eq!((right(&with, about), right(&without, about)), (has, !has), "{about}");
        }
    }

    #[test]
    fn targets_are_numbers_however_they_are_written_and_lists_are_whole() {
        let right = Right::codes(&["X"]).about("ost", &numbers(&["3", "7"]));
        let is = |about: &&str| is_right(&right, &finding("X", about));
        assert!([r#"{"ost": 3}"#, r#"{"ost": "OST0007"}"#, r#"{"osts": [3, 7]}"#].iter().all(is));
        let wrong = [r#"{"ost": 4}"#, r#"{"ost": 30}"#, r#"{"osts": [3, 4]}"#, r#"{"ost": 3, "rank": 5}"#, "{}"];
        assert!(!wrong.iter().any(is));
    }

    #[test]
    fn severities_follow_the_loss() {
        assert!(fits("high", 0.2) && !fits("warn", 0.2) && fits("warn", 0.05) && !fits("info", 0.05));
        assert!(fits("info", 0.01) && !fits("high", 0.01) && fits("high", 0.09) && fits("warn", 0.11));
    }

    #[test]
    fn a_healthy_job_is_right_when_nothing_is_loud() {
        let healthy = Truth { faults: Vec::new(), ..truth(Right::codes(&[]), 0) };
        assert!(!score(&healthy, &verdict(OTHER)).right());
        let quiet = score(&healthy, &verdict(&OTHER.replace("high", "info")));
        assert!(quiet.right() && quiet.misleading.is_empty());
    }

    #[test]
    fn what_is_no_verdict_is_refused() {
        assert!(read(b"{}").is_err() && read(b"{\"verdict\": {\"findings\": 3}}").is_err());
    }
}
