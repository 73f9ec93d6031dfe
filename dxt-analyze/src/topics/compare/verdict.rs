//! Findings of a comparison. A difference is reported if it is large (thresholds) and significant (false discovery rate over all tests).

use super::job_verdict;
use super::result::{Comparison, Judged, OperationRow, Over, Totalled, UnitRow, chance};
use crate::findings::{About, Code, Evidence, Finding, Severity, said};
use crate::limits::NAMED_EXAMPLES;
use crate::shared::significance::false_discovery_rates;
use crate::text::units;
use crate::thresholds::Thresholds;
use crate::topics::outliers::distribution::Metric;

/// Computes q-values, verdicts and findings.
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
    findings.extend(apart(result, &result.ranks.rows, Code::RANK_GOT_SLOWER, "rank", least));
    findings.extend(apart(result, &result.files.rows, Code::FILE_GOT_SLOWER, "file", least));
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
    let show = |value: f64| match row.metric {
        Metric::Duration => units::duration(value as u64),
        Metric::Bandwidth => units::rate(value),
    };
    let by = row.calls.filter(|over| over.slower >= least.min_slowdown).or(row.ranks).or(row.calls)?;
    let mut evidence = Vec::new();
    if let Some(over) = row.calls {
        evidence.push(format!(
            "calls: median {} -> {}, {:.2} x slower; a call is slower than before with a probability of {:.0} %; rank-sum test: \
             q-value {}, {} and {}",
            show(over.before),
            show(over.after),
            over.slower,
            over.likelier * 100.0,
            chance(over.q),
            units::count(over.sample.0),
            units::counted(over.sample.1, "call")
        ));
    }
    if let Some(over) = row.ranks {
        evidence.push(format!(
            "means of ranks: {:.2} x slower in the median, slower on {:.0} % of {}; signed-rank test: q-value {}",
            over.slower,
            over.likelier * 100.0,
            units::counted(over.sample.0, "rank"),
            chance(over.q)
        ));
    }
    let cost = u64::try_from(row.extra_ns).ok();
    Some(Finding {
        code: Code::SLOWER_OPERATION,
        about: About { operation: Some(row.group.title()), ..About::default() },
        severity: Severity::of_cost(cost.unwrap_or(0), result.after.time_ns, least),
        title: format!("{} is {:.2} x slower than before", row.group.title(), by.slower).into(),
        evidence: said(evidence),
        cost_ns: cost,
        saving: None, hint: "compare layouts, hints and sizes below; on a shared file system, repeat both runs before you blame the change".into(),
    })
}

/// Returns findings on an operation with more calls or bytes than before; compared per rank if the number of ranks differs.
fn more(result: &Comparison, row: &OperationRow, least: &Thresholds) -> Vec<Finding> {
    let (one, two) = (result.before.ranks, result.after.ranks);
    let per_rank = one != two && one > 0 && two > 0;
    let grown = |before: u64, after: u64, growth: f64, min: u64| {
        let after = if per_rank { (u128::from(after) * u128::from(one) / u128::from(two)) as u64 } else { after };
        after.saturating_sub(before) >= min && after as f64 > before as f64 * (1.0 + growth)
    };
    let of = if per_rank { " per rank" } else { "" };
    let each = |all: u64, ranks: u64| if per_rank { all / ranks } else { all };
    let mut out = Vec::new();
    let mut say = |code, what: &str, before: String, after: String, hint: &str| {
        out.push(Finding {
            code,
            about: About { operation: Some(row.group.title()), ..About::default() },
            severity: Severity::Warn,
            title: format!("{} has more {what}{of}: {before} before, {after} now", row.group.title()).into(),
            evidence: Vec::new(),
            cost_ns: None,
            saving: None,
            hint: hint.into(),
        });
    };
    if grown(row.before.calls, row.after.calls, least.growth_share, least.growth_min_calls) {
        let (before, after) = (units::count(each(row.before.calls, one)), units::count(each(row.after.calls, two)));
        say(
            Code::MORE_CALLS,
            "calls",
            before,
            after,
            "see the files with these calls below; `checks` shows which calls can be saved",
        );
    }
    if row.is_data && grown(row.before.bytes, row.after.bytes, least.growth_share, least.traffic_min_bytes) {
        let (before, after) = (units::bytes(each(row.before.bytes, one)), units::bytes(each(row.after.bytes, two)));
        say(
            Code::MORE_BYTES,
            "bytes",
            before,
            after,
            "see the files with these bytes below; `checks` finds bytes that move more than once",
        );
    }
    out
}

/// Returns a finding on the ranks or files that slowed down more than the others did.
fn apart(result: &Comparison, rows: &[UnitRow], code: Code, word: &str, least: &Thresholds) -> Option<Finding> {
    let found: Vec<&UnitRow> = rows.iter().filter(|row| row.outlier).collect();
    let first = found.first()?;
    let cost = found.iter().fold(0_u64, |sum, row| {
        let (Some(after), Some(slower)) = (row.after, row.slower) else { return sum };
        sum.saturating_add((after.time_ns as f64 * (1.0 - 1.0 / slower.max(1.0))) as u64)
    });
    Some(Finding {
        code,
        about: About {
            rank: first.unit.parse().ok().filter(|_| word == "rank"),
            file: (word == "file").then(|| first.unit.clone()),
            ..About::default()
        },
        severity: Severity::of_cost(cost, result.after.time_ns, least),
        title: format!(
            "{} slowed down more than the others, for example {word} {}",
            units::counted(found.len() as u64, word),
            first.unit
        )
        .into(),
        evidence: found
            .iter()
            .take(NAMED_EXAMPLES)
            .map(|row| {
                let (slower, z) = (row.slower.unwrap_or(1.0), row.z.unwrap_or(0.0));
                let [before, after] =
                    [row.before, row.after].map(|sum| units::duration(sum.unwrap_or_default().time_ns));
                format!(
                    "{word} {}: {slower:.2} x the time per byte, modified z-score {z:.1}; {before} -> {after}",
                    row.unit
                )
                .into()
            })
            .collect(),
        cost_ns: Some(cost),
        saving: None,
        hint: format!("run `outliers --by {word}` on the second run"),
    })
}

fn new_files(result: &Comparison) -> Option<Finding> {
    let moves = |sum: Option<Totalled>| sum.is_some_and(|sum| sum.bytes > 0);
    let rows = &result.files.rows;
    let new: Vec<&UnitRow> = rows.iter().filter(|row| row.before.is_none() && moves(row.after)).collect();
    let gone: Vec<&UnitRow> = rows.iter().filter(|row| row.after.is_none() && moves(row.before)).collect();
    let name = |word: &'static str| {
        move |row: &&UnitRow| {
            let bytes = row.before.or(row.after).unwrap_or_default().bytes;
            format!("{word}: {} ({})", row.unit, units::bytes(bytes))
        }
    };
    (!new.is_empty() || !gone.is_empty()).then(|| Finding {
        code: Code::FILES_DIFFER,
        about: About { file: new.first().or(gone.first()).map(|row| row.unit.clone()), ..About::default() },
        severity: Severity::Info,
        title: format!("files only in the second run: {}; only in the first run: {}", new.len(), gone.len()).into(),
        evidence: new
            .iter()
            .take(NAMED_EXAMPLES)
            .map(name("new"))
            .chain(gone.iter().take(NAMED_EXAMPLES).map(name("gone")))
            .map(Evidence::from)
            .collect(),
        cost_ns: None,
        saving: None,
        hint: "if these are the same files under other names, compare with a --files pattern that matches both names"
            .into(),
    })
}

fn changed(result: &Comparison) -> Vec<Finding> {
    let lines = |all: &[super::result::Changed]| {
        all.iter()
            .take(NAMED_EXAMPLES)
            .map(|one| Evidence::from(format!("{}: {} -> {}", one.what, one.before, one.after)))
            .collect()
    };
    let mut out = Vec::new();
    let mut say = |found: bool, code, severity, title: String, evidence, hint: &str| {
        if found {
            out.push(Finding {
                code,
                about: About::default(),
                severity,
                title: title.into(),
                evidence,
                cost_ns: None,
                saving: None,
                hint: hint.into(),
            });
        }
    };
    let (layouts, hints) = (&result.layouts, &result.hints);
    let (one, two) = (result.before.ranks, result.after.ranks);
    say(
        !layouts.is_empty(),
        Code::LAYOUT_CHANGED,
        Severity::Warn,
        format!("the runs differ in the stripe layout of {}", units::counted(layouts.len() as u64, "file")),
        lines(layouts),
        "give both runs' files the same layout (`lfs setstripe`) before you compare speeds",
    );
    say(
        !hints.is_empty(),
        Code::HINTS_CHANGED,
        Severity::Info,
        format!("the runs differ in {}", units::counted(hints.len() as u64, "MPI-IO hint")),
        lines(hints),
        "set the same hints (ROMIO_HINTS, MPI_Info) to compare the rest",
    );
    say(
        one != two,
        Code::RANKS_CHANGED,
        Severity::Warn,
        format!(
            "{one} {} before, {two} now: calls and bytes are compared per rank",
            units::agree(one, "rank", "ranks")
        ),
        Vec::new(),
        "run both with the same number of ranks to compare speeds",
    );
    out
}
