//! First screen of the page: job, run time by activity, verdict, findings by saving, and the most important findings as cards.

use super::html::{anchor, prose};
use super::names::Names;
use super::terminal::EVIDENCE;
use super::words;
use crate::findings::{Code, Finding};
use crate::text::printable::printable;
use crate::text::units;
use crate::topics::ledger::parts::Parts;
use crate::topics::ledger::result::{Ledger, ProcessRow};
use crate::topics::verdict::Verdict;
use crate::topics::verdict::result::Weighed;
use maud::{Markup, html};
use std::collections::BTreeSet;

/// Maximum processes that get a separate bar of their run time by activity.
const PROCESSES: usize = 20;
/// Minimum share of an activity in a bar of run time to be drawn, in percent; smaller shares are omitted.
const UNSEEN: f64 = 0.05;

pub(super) fn job(verdict: &Verdict) -> Markup {
    html! { dl.job { @for (label, text) in words::job(verdict) { div { dt { (label) } dd { (printable(&text)) } } } } }
}

pub(super) fn screen(verdict: &Verdict, ledger: &Ledger, context: &FindingContext<'_>) -> Markup {
    let listed = words::listed(verdict);
    html! {
        @if let Some(damage) = words::damage(verdict) {
            p.missing { (words::sentence(&damage.title.to_string())) ": see " a href="#missing" { "the limits of this trace" } "." }
        }
        p.lead { (verdict.lead) }
        @if !verdict.untimed { (time(ledger)) }
        p.sentence { (context.text(&verdict.sentence)) }
        @if !listed.is_empty() {
            (findings(&listed, context))
            @if let Some(together) = words::together(verdict) { p.rest { (together) } }
            ol.verdict { @for weighed in words::on_cards(verdict) { (card(weighed, context)) } }
        }
        @if let Some(rest) = words::rest(verdict) { p.rest { (rest) } }
        @if let Some(finding) = words::uncovered(verdict) {
            p.rest { (words::sentence(&finding.title.to_string())) ": " (prose(&finding.hint)) ". " (code(finding.code)) }
        }
        @if let Some(more) = words::observations(verdict) { p.rest { (more) } }
    }
}

/// Data needed to render findings as HTML: names and anchors.
pub(super) struct FindingContext<'a> {
    pub(super) names: &'a Names,
    /// HTML anchors of the findings that are listed in a section.
    pub(super) anchors: &'a BTreeSet<String>,
    pub(super) run_ns: u64,
}

impl FindingContext<'_> {
    /// Returns `text` as HTML, with paths abbreviated to their last part.
    fn text(&self, text: &str) -> Markup {
        self.names.marked(text)
    }

    /// Returns a finding's title, linked to the finding in its section.
    fn title(&self, finding: &Finding) -> Markup {
        let at = anchor(finding);
        let words = self.text(&words::sentence(&finding.title.to_string()));
        html! { @if self.anchors.contains(&at) { a href={ "#" (at) } { (words) } } @else { (words) } }
    }
}

/// Returns a finding's code, linked to the code's explanation.
fn code(code: Code) -> Markup {
    html! { a.code href={ "#code-" (code.name()) } title=(code.explanation().meaning) { (code.name()) } }
}

fn findings(listed: &[&Weighed], context: &FindingContext<'_>) -> Markup {
    let duration = |ns: Option<u64>| html! { @if let Some(ns) = ns { (units::duration(ns)) } };
    html! {
        div.table.findings {
            table id="t-findings" {
                caption { "What would save run time" }
                thead {
                    tr {
                        @for head in ["Severity", "Finding", "Saves", "Of the run", "Cause", "What to do"] { th scope="col" { (head) } }
                    }
                }
                tbody {
                    @for Weighed { finding, .. } in listed {
                        @let saves = words::saves(finding);
                        tr data-severity=(finding.severity.name()) {
                            td.weight data-label="Severity" { span.badge { (finding.severity.name()) } }
                            td data-label="Finding" { (code(finding.code)) }
                            td.number data-label="Saves" data-value=(saves) {
                                (duration(Some(saves)))
                                @if let Some(range) = words::range(finding) { br; small { (range) } }
                            }
                            td.number data-label="Of the run" data-value=(saves) { (words::percent(saves, context.run_ns)) }
                            td.words data-label="Cause" { (context.title(finding)) }
                            td.words data-label="What to do" { (prose(&words::sentence(&finding.hint))) }
                        }
                    }
                }
            }
        }
    }
}

fn card(weighed: &Weighed, context: &FindingContext<'_>) -> Markup {
    let finding = &weighed.finding;
    let saves = words::saves(finding);
    let others = weighed.other_causes();
    html! {
        li.card data-severity=(finding.severity.name()) {
            p.cost {
                span.badge { (finding.severity.name()) } " "
                strong { (units::duration(saves)) } " "
                span {
                    (words::percent(saves, context.run_ns)) " of the run time"
                    @if let Some(range) = words::range(finding) { ", " (range) }
                }
            }
            h3 { (context.title(finding)) }
            @for line in finding.evidence.iter().take(EVIDENCE) {
                p.evidence { (context.text(line.words())) }
            }
            @for other in &others {
                p.evidence { (context.text(&words::other_cause(other, &other.title.to_string()))) }
            }
            p.hint { strong { "Do: " } (prose(&words::sentence(&finding.hint))) }
            @for remedy in &weighed.commands {
                p.typed {
                    (words::sentence(remedy.what.name()))
                    @if let Some(when) = remedy.only_if { ", if " (when) }
                    ": " (remedy.why)
                }
                pre.typed { (remedy.typed.join("\n")) }
            }
            p.codes {
                (code(finding.code))
                @if let Some(ns) = finding.cost_ns.filter(|ns| *ns > 0) { " · " (units::duration(ns)) " summed over processes" }
                @for (number, other) in words::also(weighed, &others).into_iter().enumerate() {
                    (if number == 0 { " · also reported as " } else { ", " }) (code(other))
                }
            }
        }
    }
}

/// Returns the run time by activity: one bar for the job, and, in a collapsed list, one bar per process.
fn time(ledger: &Ledger) -> Markup {
    let job = &ledger.job;
    let total = job.total_ns();
    let each = |ns: u64| units::duration(ns / ledger.processes.max(1));
    let several = ledger.rows.len() > 1;
    html! {
        div.ledger {
            (bar(job, 100.0))
            ul.parts {
                @for (number, (name, ns)) in job.named().into_iter().enumerate().filter(|(_, (_, ns))| *ns > 0) {
                    li { i.{ "part-" (number) } {} span { (name) } b { (words::percent(ns, total)) } small { (each(ns)) } }
                }
            }
            @if several {
                details {
                    summary {
                        @if ledger.rows.len() > PROCESSES { "Per process: the " (PROCESSES) " with most time in I/O" } @else { "Per process" }
                    }
                    div.processes { @for row in ledger.rows.iter().take(PROCESSES) { (process(row, ledger.run_ns)) } }
                }
            }
        }
    }
}

fn process(row: &ProcessRow, run_ns: u64) -> Markup {
    let name = match (row.processes, row.rank) {
        (2.., _) => format!("{} ranks together", row.processes),
        (_, 0..) => format!("rank {}", row.rank),
        _ => format!("pid {}", row.pid),
    };
    let ran = row.run_ns / row.processes.max(1);
    let length = crate::shared::ratio::share(ran, run_ns).min(1.0) * 100.0;
    html! {
        span title=(printable(&row.node)) { (name) }
        (bar(&row.parts, length))
        span.number { (words::percent(row.parts.io_ns(), row.parts.total_ns())) " in I/O" }
    }
}

/// Returns a bar divided by activity (reads, writes, ...) in proportion to the time; `length` is the bar's length in percent of the
/// available width.
fn bar(parts: &Parts, length: f64) -> Markup {
    let total = parts.total_ns();
    let shares = parts.named().map(|(name, ns)| (name, crate::shared::ratio::share(ns, total) * 100.0));
    let said: Vec<String> =
        shares.iter().filter(|(_, part)| *part >= UNSEEN).map(|(name, part)| format!("{name} {part:.1} %")).collect();
    html! {
        div.bar role="img" aria-label=(said.join(", ")) {
            div style={ "width:" (format!("{length:.2}")) "%" } {
                @for (number, (name, part)) in shares.iter().enumerate().filter(|(_, (_, part))| *part >= UNSEEN) {
                    i.{ "part-" (number) } style={ "flex-grow:" (format!("{part:.3}")) } title={ (name) " " (format!("{part:.1}")) " %" } {}
                }
            }
        }
    }
}

pub(super) fn codes(codes: &BTreeSet<Code>) -> Markup {
    html! {
        @for code in codes {
            @let means = code.explanation();
            article.means id={ "code-" (means.code) } tabindex="-1" {
                h3 { span.code { (means.code) } " " (means.meaning) }
                dl {
                    div { dt { "How" } dd { (prose(means.computed)) } }
                    div { dt { "What to do" } dd { (prose(means.remedy)) } }
                    div { dt { "Source" } dd { (means.source) } }
                }
            }
        }
    }
}

/// Returns the list of missing and damaged parts of the trace, as HTML.
pub(super) fn missing(verdict: &Verdict) -> Markup {
    let damage = words::damage(verdict);
    html! {
        @if let Some(damage) = damage { p { strong { (words::sentence(&damage.title.to_string())) "." } " " (prose(&damage.hint)) "." } }
        @if verdict.missing.is_empty() { p { "Nothing is known to be missing from the trace." } }
        ul { @for line in &verdict.missing { li { (line) } } }
    }
}
