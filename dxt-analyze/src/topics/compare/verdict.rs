//! Findings of `compare`: differences that are large (thresholds) and significant (false discovery rate over all tests).

use super::job_verdict;
use super::result::{Changed, Comparison, Judged, OperationRow, Over, Totalled, UnitRow};
use crate::findings::{About, Code, Finding, Severity};
use crate::shared::significance::false_discovery_rates;
use crate::thresholds::Thresholds;
use crate::topics::outliers::distribution::Metric;
use crate::words::compare as words;

/// Computes the q-values, verdicts and findings of a comparison.
pub fn judge(result: &mut Comparison, least: &Thresholds) {
    let rows = result.operations.iter_mut().flat_map(|row| [&mut row.calls, &mut row.ranks]);
    let mut tests: Vec<&mut Over> =
        rows.chain([&mut result.ranks.test, &mut result.files.test]).filter_map(Option::as_mut).collect();
    let p: Vec<f64> = tests.iter().map(|test| test.p).collect();
    result.tests = p.len() as u64;
    for (test, q) in tests.iter_mut().zip(false_discovery_rates(&p)) {
        test.q = q;
    }
    for row in &mut result.operations {
        row.verdict = verdict(row, least);
    }
    let mut findings: Vec<Finding> = result.operations.iter().filter_map(|row| slower(result, row, least)).collect();
    findings.extend(result.operations.iter().flat_map(|row| more(result, row, least)));
    findings.extend(apart(result, &result.ranks.rows, Code::RANK_GOT_SLOWER, least));
    findings.extend(apart(result, &result.files.rows, Code::FILE_GOT_SLOWER, least));
    findings.extend(new_files(result));
    findings.extend(changed(result));
    job_verdict::one_for_the_interface(result, &mut findings, least);
    findings.extend(job_verdict::slower_runs(result, least));
    result.findings = findings;
}

fn verdict(row: &OperationRow, least: &Thresholds) -> Judged {
    match (row.before.calls, row.after.calls) {
        (0, _) => return Judged::New,
        (_, 0) => return Judged::Gone,
        _ => {}
    }
    let mut all = [row.calls, row.ranks].into_iter().flatten().peekable();
    if all.peek().is_none() {
        return Judged::TooFew;
    }
    let significant: Vec<Over> = all.filter(|over| over.q <= least.compare_q).collect();
    if significant.iter().any(|over| over.slower >= least.min_slowdown) {
        Judged::Slower
    } else if significant.iter().any(|over| over.slower <= 1.0 / least.min_slowdown.max(1.0)) {
        Judged::Faster
    } else {
        Judged::Same
    }
}

fn slower(result: &Comparison, row: &OperationRow, least: &Thresholds) -> Option<Finding> {
    if row.verdict != Judged::Slower {
        return None;
    }
    let by = row.calls.filter(|over| over.slower >= least.min_slowdown).or(row.ranks).or(row.calls)?;
    let tested = |over: Over| {
        let Over { sample, before, after, slower, likelier, q, .. } = over;
        words::Tested { before, after, slower, likelier, q, sample }
    };
    let title = row.group.title();
    let facts = words::Slower {
        operation: &title,
        slower: by.slower,
        by_bandwidth: row.metric == Metric::Bandwidth,
        calls: row.calls.map(tested),
        ranks: row.ranks.map(tested),
    };
    let cost = u64::try_from(row.extra_ns).ok();
    let severity = Severity::of_cost(cost.unwrap_or(0), result.after.time_ns, least);
    let finding = Finding::new(Code::SLOWER_OPERATION, words::slower_operation(&facts));
    Some(Finding { severity, cost_ns: cost, ..finding.with(About { operation: Some(title), ..About::default() }) })
}

/// Returns findings on an operation with more calls or bytes in the second run; compared per rank if the numbers of ranks differ.
fn more(result: &Comparison, row: &OperationRow, least: &Thresholds) -> Vec<Finding> {
    let (one, two) = (result.before.ranks, result.after.ranks);
    let per_rank = one != two && one > 0 && two > 0;
    let grown = |before: u64, after: u64, growth: f64, min: u64| {
        let after = if per_rank { (u128::from(after) * u128::from(one) / u128::from(two)) as u64 } else { after };
        after.saturating_sub(before) >= min && after as f64 > before as f64 * (1.0 + growth)
    };
    let title = row.group.title();
    let each = |before: u64, after: u64| match per_rank {
        true => words::Growth { operation: &title, before: before / one, after: after / two, per_rank },
        false => words::Growth { operation: &title, before, after, per_rank },
    };
    let finding = |code, words| {
        let about = About { operation: Some(title.clone()), ..About::default() };
        Finding { severity: Severity::Warn, ..Finding::new(code, words).with(about) }
    };
    let (before, after) = (row.before, row.after);
    let calls = grown(before.calls, after.calls, least.growth_share, least.growth_min_calls)
        .then(|| finding(Code::MORE_CALLS, words::more_calls(&each(before.calls, after.calls))));
    let bytes = (row.is_data && grown(before.bytes, after.bytes, least.growth_share, least.traffic_min_bytes))
        .then(|| finding(Code::MORE_BYTES, words::more_bytes(&each(before.bytes, after.bytes))));
    calls.into_iter().chain(bytes).collect()
}

/// Returns a finding on the ranks or files that slowed down more than the others did; `None` if there are none.
fn apart(result: &Comparison, rows: &[UnitRow], code: Code, least: &Thresholds) -> Option<Finding> {
    let found: Vec<&UnitRow> = rows.iter().filter(|row| row.outlier).collect();
    let first = found.first()?;
    let cost = found.iter().fold(0_u64, |sum, row| {
        let (Some(after), Some(slower)) = (row.after, row.slower) else { return sum };
        sum.saturating_add((after.time_ns as f64 * (1.0 - 1.0 / slower.max(1.0))) as u64)
    });
    let slowed = found.iter().map(|row| {
        let [before_ns, after_ns] = [row.before, row.after].map(|sum| sum.unwrap_or_default().time_ns);
        let (slower, z) = (row.slower.unwrap_or(1.0), row.z.unwrap_or(0.0));
        words::Slowed { unit: &row.unit, slower, z, before_ns, after_ns }
    });
    let slowed: Vec<_> = slowed.collect();
    let (words, about) = if code == Code::RANK_GOT_SLOWER {
        (words::ranks_slower(&slowed), About { rank: first.unit.parse().ok(), ..About::default() })
    } else {
        (words::files_slower(&slowed), About { file: Some(first.unit.clone()), ..About::default() })
    };
    let severity = Severity::of_cost(cost, result.after.time_ns, least);
    Some(Finding { severity, cost_ns: Some(cost), ..Finding::new(code, words).with(about) })
}

fn new_files(result: &Comparison) -> Option<Finding> {
    fn named(row: &UnitRow) -> (&str, u64) {
        (&row.unit, row.before.or(row.after).unwrap_or_default().bytes)
    }
    let moves = |sum: Option<Totalled>| sum.is_some_and(|sum| sum.bytes > 0);
    let rows = &result.files.rows;
    let new: Vec<_> = rows.iter().filter(|row| row.before.is_none() && moves(row.after)).map(named).collect();
    let gone: Vec<_> = rows.iter().filter(|row| row.after.is_none() && moves(row.before)).map(named).collect();
    let (file, _) = new.first().or(gone.first())?;
    let about = About { file: Some((*file).to_owned()), ..About::default() };
    Some(Finding::new(Code::FILES_DIFFER, words::files_differ(&new, &gone)).with(about))
}

fn changed(result: &Comparison) -> Vec<Finding> {
    let (layouts, hints) = (differs(&result.layouts), differs(&result.hints));
    let (one, two) = (result.before.ranks, result.after.ranks);
    let warn = |code, words| Finding { severity: Severity::Warn, ..Finding::new(code, words) };
    let layouts = (!layouts.is_empty()).then(|| warn(Code::LAYOUT_CHANGED, words::layouts_changed(&layouts)));
    let hints = (!hints.is_empty()).then(|| Finding::new(Code::HINTS_CHANGED, words::hints_changed(&hints)));
    let ranks = (one != two).then(|| warn(Code::RANKS_CHANGED, words::ranks_changed(one, two)));
    layouts.into_iter().chain(hints).chain(ranks).collect()
}

fn differs(all: &[Changed]) -> Vec<words::Differs<'_>> {
    all.iter().map(|one| [one.what.as_str(), &one.before, &one.after]).collect()
}
