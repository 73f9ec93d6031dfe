//! Findings on the job as a whole: a different I/O interface, and a run time that differs by more than repeated runs do.

use super::result::{Comparison, OperationRow, chance};
use super::ways::{Direction, Way};
use crate::findings::{About, Code, Finding, Severity, said};
use crate::text::units;
use crate::thresholds::Thresholds;
use crate::topics::scaling::measures;
use crate::topics::scaling::spread::Spread;

/// If the second run uses another I/O interface, replaces the findings on single operations by one finding: all calls differ then.
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
    let says = |one: &&Direction| {
        let name = |way: &Option<Way>| way.as_ref().map(|way| way.interface.clone()).unwrap_or_default();
        format!("{}s by {} before, by {} now", one.op, name(&one.before), name(&one.after))
    };
    let time =
        |way: &Option<Way>| way.as_ref().filter(|way| way.bandwidth > 0.0).map(|way| way.bytes / way.bandwidth * 1e9);
    let longer: f64 = other.iter().filter_map(|one| Some((time(&one.after)? - time(&one.before)?).max(0.0))).sum();
    let is_slower = other.iter().any(|one| one.change.is_some_and(|change| change < 1.0 / least.min_slowdown - 1.0));
    findings.push(Finding {
        code: Code::OTHER_INTERFACE,
        about: About::default(),
        severity: if is_slower { Severity::Warn } else { Severity::Info },
        title: format!("the I/O interface differs: {}", other.iter().map(says).collect::<Vec<String>>().join("; ")).into(),
        evidence: said(result.job.directions.iter().map(|one| one.line.clone()).collect::<Vec<String>>()),
        cost_ns: is_slower.then_some(longer as u64),
        saving: None,
        hint: "compare the job's time and the bandwidths above: single operations of different interfaces are not comparable".into(),
    });
}

/// Returns a finding if the run time grew by more than it varies between repeats. Needs repeats on both sides.
pub(super) fn slower_runs(result: &Comparison, least: &Thresholds) -> Option<Finding> {
    let row = result.job.number(&measures::RUN_TIME).filter(|row| row.beyond_scatter == Some(true))?;
    let (before, after) = row.before.zip(row.after)?;
    let longer = after.mean - before.mean;
    // With a different number of ranks, the amount of work may differ as well.
    if after.mean < before.mean * least.min_slowdown || result.before.ranks != result.after.ranks {
        return None;
    }
    let show = |ns: f64| units::duration(ns.round() as u64);
    let range = |way: &str, spread: &Spread| {
        format!(
            "{way}: mean {} over {} {}, range {} to {}",
            show(spread.mean),
            spread.runs,
            units::agree(spread.runs, "run", "runs"),
            show(spread.least),
            show(spread.most)
        )
    };
    Some(Finding {
        code: Code::SLOWER_RUNS,
        about: About { time_ns: Some(longer as u64), ..About::default() },
        severity: Severity::of_cost(longer as u64, after.mean as u64, least),
        title: format!(
            "the job takes {:.2} x as long as before, which exceeds the scatter of repeats",
            after.mean / before.mean
        )
        .into(),
        evidence: said(vec![
            range("before", &before),
            range("now", &after),
            format!("q-value {}", chance(row.q.unwrap_or(1.0))),
        ]),
        cost_ns: None,
        saving: None,
        hint: "see below which numbers differ by more than the scatter of repeats, then compare the two runs in detail"
            .into(),
    })
}
