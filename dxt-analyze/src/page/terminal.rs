//! First screen of the report in the terminal, and its table of findings as CSV.

use super::names::Names;
use super::words;
use crate::findings::{Code, Evidence, Finding};
use crate::patterns::Pattern;
use crate::render::{Cell, Part, Table, View};
use crate::shared::ratio::share;
use crate::topics::verdict::Verdict;
use crate::topics::verdict::result::{SHOWN, Weighed};
use crate::topics::verdict::typed;

/// Maximum lines of evidence on a finding's card.
pub(super) const EVIDENCE: usize = 3;
/// Maximum lines on missing data of the trace, on the first screen in the terminal.
const MISSING: usize = 6;

pub(super) fn view(verdict: &Verdict, patterns: &[Pattern], names: &Names) -> View {
    let mut parts = Vec::new();
    let lines = |lines: Vec<String>| (!lines.is_empty()).then_some(Part::Lines(lines));
    parts.extend(lines(words::damage(verdict).map(damaged).into_iter().collect()));
    parts.push(Part::Pairs(words::job(verdict)));
    parts.push(Part::Lines(match verdict.untimed {
        true => vec![format!("{}.", verdict.lead)],
        false => vec![format!("{}:", verdict.lead), format!("  {}", words::ledger(verdict))],
    }));
    let in_short =
        crate::words::patterns::in_short(patterns).map(|words| format!("I/O that reaches the file system: {words}."));
    parts.push(Part::Lines(std::iter::once(names.short(&verdict.sentence)).chain(in_short).collect()));
    parts.push(Part::Table(findings(verdict, names)));
    let cards: Vec<Finding> = words::on_cards(verdict).into_iter().map(|weighed| card(weighed, names)).collect();
    parts.extend((!cards.is_empty()).then_some(Part::Findings(cards)));
    if verdict.io_matters {
        parts.extend(typed::parts(&verdict.findings));
    }
    let mut after: Vec<String> = words::together(verdict).into_iter().chain(words::rest(verdict)).collect();
    after.extend(
        words::uncovered(verdict)
            .map(|finding| format!("{}: {}.", words::sentence(&finding.title.to_string()), finding.hint)),
    );
    after.extend(words::observations(verdict));
    parts.extend(lines(after));
    parts.extend(lines(missing(verdict)));
    View { parts, max_width: None }
}

fn damaged(finding: &Finding) -> String {
    format!("{}: see the limits at the end.", words::sentence(&finding.title.to_string()))
}

fn missing(verdict: &Verdict) -> Vec<String> {
    let all = &verdict.missing;
    let more = all.len().saturating_sub(MISSING);
    let mut out: Vec<String> = all.iter().take(MISSING).map(|line| format!("  {line}")).collect();
    if more > 0 {
        out.push(format!("  and {more} more on the page"));
    }
    if !out.is_empty() {
        out.insert(0, "Limits of this trace:".into());
    }
    out
}

/// Returns a finding as a card: with limited evidence, abbreviated paths, other causes of the same calls, and the codes of other findings on
/// the same problem.
fn card(weighed: &Weighed, names: &Names) -> Finding {
    let mut finding = weighed.finding.clone();
    let short = |evidence: &Evidence| Evidence::of(names.short(evidence.words()), evidence.about.clone());
    finding.evidence = finding.evidence.iter().take(EVIDENCE).map(short).collect();
    finding.title = names.short(&finding.title.to_string()).into();
    let others = weighed.other_causes();
    let titles = others.iter().map(|other| words::other_cause(other, &names.short(&other.title.to_string())));
    finding.evidence.extend(titles.map(Evidence::from));
    let codes: Vec<&str> = words::also(weighed, &others).into_iter().map(Code::name).collect();
    if !codes.is_empty() {
        finding.evidence.push(Evidence::from(format!("also reported as {}", codes.join(", "))));
    }
    finding
}

/// Returns the table of findings with a saving. Advice that a card or an earlier row contains is omitted.
fn findings(verdict: &Verdict, names: &Names) -> Table {
    let rows = words::listed(verdict);
    let title = if rows.is_empty() { "" } else { "What would save run time" };
    let end = |weighed: &Weighed, high: bool| {
        let saving = weighed.finding.saving.filter(|_| words::range(&weighed.finding).is_some());
        let end = saving.and_then(|saving| if high { saving.saves_high_ns } else { saving.saves_low_ns });
        Cell::maybe(end, Cell::Duration)
    };
    let ranged = rows.iter().any(|weighed| words::range(&weighed.finding).is_some());
    let shown = |title| if ranged { title } else { "" };
    Table::of("findings", title, rows.clone().into_iter().enumerate())
        .column("Severity", "severity", |(_, weighed)| Cell::text(weighed.finding.severity.name()))
        .column("Finding", "code", |(_, weighed)| Cell::text(weighed.finding.code.name()))
        .column("Saves", "saves_s", |(_, weighed)| Cell::Duration(words::saves(&weighed.finding)))
        .column("Of the run", "run_share", |(_, weighed)| {
            Cell::Share(share(words::saves(&weighed.finding), verdict.run_ns))
        })
        .column(shown("At least"), "saves_low_s", move |(_, weighed)| end(weighed, false))
        .column(shown("At most"), "saves_high_s", move |(_, weighed)| end(weighed, true))
        .column("Cause", "cause", |(place, weighed)| {
            let finding = &weighed.finding;
            let cause = names.short(&finding.title.to_string());
            let carded = if verdict.io_matters { SHOWN } else { 0 };
            let said = rows.iter().take(*place).any(|before| before.finding.hint == finding.hint);
            let shown = if said || *place < carded { cause } else { format!("{cause} -> {}", finding.hint) };
            Cell::Prose { shown, plain: finding.title.to_string() }
        })
        .csv("explains_share", |(_, weighed)| {
            Cell::maybe(weighed.finding.saving, |saving| Cell::Share(saving.explains.millionths as f64 / 1e6))
        })
        .csv("what_to_do", |(_, weighed)| Cell::text(&weighed.finding.hint))
        .csv("also", |(_, weighed)| {
            Cell::text(words::also(weighed, &[]).into_iter().map(Code::name).collect::<Vec<&str>>().join(" "))
        })
        .most(if rows.is_empty() { 0 } else { usize::MAX })
        .done()
}
