//! Table of the scores of all cases (simulated jobs), with totals.

use super::score::Score;
use super::truth::Named;

/// Totals of the scores of all cases (simulated jobs).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Number of cases (simulated jobs) with at least one fault.
    pub sick: usize,
    /// Number of faulty cases (simulated jobs) whose first finding names the strongest fault.
    pub first_right: usize,
    /// Number of faulty cases (simulated jobs) whose strongest fault is named by one of the first three findings.
    pub in_three: usize,
    /// Number of faulty cases (simulated jobs) in which no finding names the strongest fault.
    pub nowhere: usize,
    /// Number of faults other than the strongest fault of each case.
    pub further: usize,
    /// Number of faults, other than the strongest of each case, that a finding names.
    pub further_found: usize,
    /// Number of healthy cases (simulated jobs without faults).
    pub healthy: usize,
    /// Number of healthy cases (simulated jobs without faults) that get no finding above severity `info`.
    pub quiet: usize,
    /// Number of findings on the strongest fault of their case that promise a saving.
    pub promised: usize,
    /// Number of findings on the strongest fault whose promised saving is within a factor of 2 of the fault's true cost.
    pub promised_well: usize,
    /// Number of findings on the strongest fault whose severity fits the time lost to it.
    pub severity_fits: usize,
    /// Number of cases (simulated jobs) with a finding of severity `high` that names no fault of the case.
    pub misleading: usize,
}

impl Totals {
    /// Returns the totals of `scores`.
    #[must_use]
    pub fn of(scores: &[Score]) -> Self {
        let sick: Vec<&Score> = scores.iter().filter(|score| !score.healthy()).collect();
        let count = |which: &dyn Fn(&Score) -> bool| sick.iter().filter(|score| which(score)).count();
        let healthy = scores.iter().filter(|score| score.healthy());
        let further = || sick.iter().flat_map(|score| score.found.iter().skip(1));
        Self {
            sick: sick.len(),
            first_right: count(&Score::right),
            in_three: count(&Score::in_the_first_three),
            nowhere: count(&|score| score.found[0].is_none()),
            further: further().count(),
            further_found: further().flatten().count(),
            healthy: healthy.clone().count(),
            quiet: healthy.filter(|score| score.right()).count(),
            promised: count(&|score| score.ratio.is_some()),
            promised_well: count(&|score| score.saves_well() == Some(true)),
            severity_fits: count(&|score| score.severity == Some(true)),
            misleading: scores.iter().filter(|score| !score.misleading.is_empty()).count(),
        }
    }
}

/// Formats the scores as a table, followed by the totals.
#[must_use]
pub fn table(scores: &[Score]) -> String {
    let mut rows = vec![
        ["case", "cause", "expected", "first finding", "right", "place", "saves/truth", "severity"].map(str::to_owned),
    ];
    rows.extend(scores.iter().flat_map(lines));
    let widths: Vec<usize> =
        (0..8).map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0)).collect();
    let mut out = String::new();
    for row in rows {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        out.push_str(cells.join("  ").trim_end());
        out.push('\n');
    }
    out + "\n" + &totals(scores)
}

pub(super) fn totals(scores: &[Score]) -> String {
    let t = Totals::of(scores);
    let several: Vec<&Score> = scores.iter().filter(|score| score.combined()).collect();
    let measures = [
        ("combined, all named", Score::names_all as fn(&Score) -> bool),
        ("combined, in order", Score::in_order),
        ("combined, each within 2 x", Score::each_saves_well),
        ("combined, sum within 1.5 x", Score::sum_saves_well),
        ("combined, nothing twice", |score| score.twice.is_empty()),
        ("combined, all of these", |score| {
            score.names_all()
                && score.in_order()
                && score.each_saves_well()
                && score.sum_saves_well()
                && score.twice.is_empty()
        }),
    ];
    let line = |(name, good): &(&str, fn(&Score) -> bool)| {
        format!("{name:26} {:3} of {}\n", several.iter().filter(|score| good(score)).count(), several.len())
    };
    let combined: String = measures.iter().filter(|_| !several.is_empty()).map(line).collect();
    format!(
        "first finding right        {:3} of {}\nin the first three         {:3} of {}\nfound nowhere              {:3} of {}\n\
         further faults found       {:3} of {}\nhealthy, nothing over info {:3} of {}\nsavings within 2 x         {:3} of {} promised\n\
         severity right             {:3} of {} found\nmisleading high            {:3} of {} cases\n{combined}",
        t.first_right,
        t.sick,
        t.in_three,
        t.sick,
        t.nowhere,
        t.sick,
        t.further_found,
        t.further,
        t.quiet,
        t.healthy,
        t.promised_well,
        t.promised,
        t.severity_fits,
        t.sick - t.nowhere,
        t.misleading,
        scores.len(),
    )
}

/// Returns the table rows of a case: a main row, one row per further fault, and one row per misleading finding.
fn lines(score: &Score) -> Vec<[String; 8]> {
    let yes = |is: bool| String::from(if is { "yes" } else { "NO" });
    let first = score
        .first
        .as_ref()
        .map_or_else(|| "none".into(), |finding| said(&finding.code, &finding.severity, &finding.title));
    let loss = |ns: u64| format!("{:.1} %", ns as f64 / score.truth.run_ns.max(1) as f64 * 100.0);
    let cause = score
        .truth
        .faults
        .first()
        .map_or_else(|| "nothing".into(), |fault| format!("{} ({})", fault.cause, loss(fault.truth_ns)));
    let ratio = score.ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}"));
    let severity = score.severity.map_or_else(String::new, yes);
    let mut rows = vec![[
        score.truth.name.clone(),
        cause,
        expected(score),
        first,
        yes(score.right()),
        place(score.found.first()),
        ratio,
        severity,
    ]];
    let empty = String::new;
    for ((fault, found), ratio) in score.truth.faults.iter().zip(&score.found).zip(&score.ratios).skip(1) {
        let ratio = ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}"));
        let cause = format!("and {} ({})", fault.cause, loss(fault.truth_ns));
        rows.push([empty(), cause, empty(), empty(), yes(found.is_some()), place(Some(found)), ratio, empty()]);
    }
    for finding in &score.misleading {
        let text = format!("misleading: {}", said(&finding.code, &finding.severity, &finding.title));
        rows.push([empty(), empty(), empty(), text, empty(), empty(), empty(), empty()]);
    }
    rows
}

/// Formats the position in the report of the finding that names a fault, counted from 1; empty if the case has no such fault.
pub(super) fn place(found: Option<&Option<usize>>) -> String {
    match found {
        Some(Some(place)) => (place + 1).to_string(),
        Some(None) => "none".into(),
        None => String::new(),
    }
}

/// Formats a finding as a line of at most 90 characters.
fn said(code: &str, severity: &str, title: &str) -> String {
    let text = format!("{code} {severity} {title}");
    if text.chars().count() <= 90 { text } else { text.chars().take(87).chain("...".chars()).collect() }
}

/// Returns the right answer for the strongest fault in short form: the rank, node or OST, or else the first codes of the criterion.
fn expected(score: &Score) -> String {
    let Some(right) = score.truth.faults.first().and_then(|fault| fault.right.first()) else {
        return "nothing over info".into();
    };
    match &right.unit {
        Named::Must(unit) => format!("{} {}", unit.kind, unit.of.join(" or ")),
        _ => right.codes[..right.codes.len().min(2)].join("/"),
    }
}
