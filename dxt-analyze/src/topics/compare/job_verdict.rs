//! Findings on the whole job: a different I/O interface, and a run time that differs by more than repeated runs do.

use super::interfaces::{Direction, Way};
use super::result::{Comparison, OperationRow};
use crate::findings::{About, Code, Finding, Severity};
use crate::thresholds::Thresholds;
use crate::topics::scaling::measures;
use crate::topics::scaling::spread::Spread;
use crate::words::compare as words;

/// Replaces the findings on single operations by one finding if the second run uses another I/O interface: then all calls differ.
pub(super) fn one_for_the_interface(result: &Comparison, findings: &mut Vec<Finding>, least: &Thresholds) {
    let other: Vec<&Direction> = result.job.directions.iter().filter(|one| one.is_other_interface()).collect();
    if other.is_empty() {
        return;
    }
    let of_data = |finding: &Finding| {
        let is_of = |row: &OperationRow| row.is_data && finding.about.operation == Some(row.group.title());
        finding.code == Code::SLOWER_OPERATION && result.operations.iter().any(is_of)
    };
    let replaced = [Code::MORE_CALLS, Code::MORE_BYTES];
    findings.retain(|finding| !replaced.contains(&finding.code) && !of_data(finding));
    let time =
        |way: &Option<Way>| way.as_ref().filter(|way| way.bandwidth > 0.0).map(|way| way.bytes / way.bandwidth * 1e9);
    let longer: f64 = other.iter().filter_map(|one| Some((time(&one.after)? - time(&one.before)?).max(0.0))).sum();
    let is_slower = other.iter().any(|one| one.change.is_some_and(|change| change < 1.0 / least.min_slowdown - 1.0));
    let differ = other.iter().filter_map(|one| {
        let (before, after) = one.before.as_ref().zip(one.after.as_ref())?;
        Some([one.op, &before.interface, &after.interface])
    });
    let lines = result.job.directions.iter().map(|one| one.line.clone());
    let words = words::other_interface(&differ.collect::<Vec<_>>(), lines.collect());
    findings.push(Finding {
        severity: if is_slower { Severity::Warn } else { Severity::Info },
        cost_ns: is_slower.then_some(longer as u64),
        ..Finding::new(Code::OTHER_INTERFACE, words)
    });
}

/// Returns a finding if the run time grew by more than it varies between repeated runs; needs repeats on both sides. `None` if it did not,
/// or if the numbers of ranks differ.
pub(super) fn slower_runs(result: &Comparison, least: &Thresholds) -> Option<Finding> {
    let row = result.job.number(&measures::RUN_TIME).filter(|row| row.beyond_scatter == Some(true))?;
    let (before, after) = row.before.zip(row.after)?;
    let longer = after.mean - before.mean;
    // Runs with different numbers of ranks may do different amounts of work.
    if after.mean < before.mean * least.min_slowdown || result.before.ranks != result.after.ranks {
        return None;
    }
    let times = |of: &Spread| words::RunTimes { mean_ns: of.mean, least_ns: of.least, most_ns: of.most, runs: of.runs };
    let words = words::slower_runs(&times(&before), &times(&after), row.q.unwrap_or(1.0));
    let about = About { time_ns: Some(longer as u64), ..About::default() };
    let severity = Severity::of_cost(longer as u64, after.mean as u64, least);
    Some(Finding { severity, ..Finding::new(Code::SLOWER_RUNS, words).with(about) })
}
