//! Views as HTML that reads without scripts. All text is escaped by maud; names come from the trace.

use crate::findings::Finding;
use crate::render::{Cell, Part, Table, table};
use crate::text::units;
use crate::topics::report::Section;
use crate::topics::verdict::Verdict;
use crate::topics::verdict::result::{SHOWN, Weighed};
use maud::{Markup, html};

/// Rows of a table that the page has; CSV has all.
const MOST_ROWS: usize = 500;

/// The first screen.
pub(crate) fn verdict(verdict: &Verdict) -> Markup {
    let listed = || verdict.findings.iter().filter(|weighed| weighed.finding.saving.is_some());
    html! {
        p.lead { (verdict.lead) }
        p.lead { strong { (verdict.sentence) } }
        ol.verdict {
            @for weighed in listed().take(SHOWN) { (card(weighed, verdict.run_ns)) }
        }
    }
}

fn card(weighed: &Weighed, run_ns: u64) -> Markup {
    let finding = &weighed.finding;
    let saves = finding.saving.map_or(0, |saving| saving.saves_ns);
    html! {
        li.card data-severity=(finding.severity.name()) {
            p.cost {
                strong { (units::duration(saves)) } " "
                span { (format!("{:.1} % of the run time", crate::shared::ratio::share(saves, run_ns) * 100.0)) }
            }
            h3 { a href={ "#" (anchor(finding)) } { (sentence(&finding.title)) } }
            @if let Some(first) = finding.evidence.first() { p.evidence { (first) } }
            p.hint { strong { "Do: " } (prose(&finding.hint)) }
            p.code {
                (finding.code.name())
                @for (number, other) in weighed.also.iter().enumerate() {
                    (if number == 0 { "; also seen as " } else { ", " })
                    a href={ "#" (anchor(other)) } title=(other.title) { (other.code.name()) }
                }
            }
        }
    }
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Where a finding stands on the page.
fn anchor(finding: &Finding) -> String {
    // FNV-1a over what makes it different from others: stable from page to page.
    let text = format!("{} {}", finding.code.name(), finding.title);
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("finding-{:08x}", hash >> 32)
}

/// A section with its findings and the parts of its view.
pub(crate) fn section(section: &Section) -> Markup {
    let heading = format!("h-{}", section.id);
    let mut tables = 0;
    html! {
        section id=(section.id) aria-labelledby=(heading) {
            h2 id=(heading) { (section.title) }
            p.about { (section.about) }
            (all_findings(&section.findings))
            @for part in &section.view.parts { (one_part(section.id, part, &mut tables)) }
        }
    }
}

/// Findings; of several with one code and one remedy the later ones are folded away.
fn all_findings(findings: &[Finding]) -> Markup {
    let alike = |a: &Finding, b: &Finding| a.code == b.code && a.hint == b.hint;
    html! {
        @for group in findings.chunk_by(alike) {
            @if let Some((first, others)) = group.split_first() {
                (one_finding(first))
                @if !others.is_empty() {
                    details.alike {
                        summary { (others.len()) " more like it" }
                        @for finding in others { (one_finding(finding)) }
                    }
                }
            }
        }
    }
}

/// Text of ours, in which what a user types stands between backticks.
fn prose(text: &str) -> Markup {
    // A name with a backtick of its own only changes what looks like code.
    html! {
        @for (number, piece) in text.split('`').enumerate() {
            @if number % 2 == 1 { code { (piece) } } @else { (piece) }
        }
    }
}

fn one_finding(finding: &Finding) -> Markup {
    html! {
        article.finding id=(anchor(finding)) data-severity=(finding.severity.name()) tabindex="-1" {
            h3 {
                span.badge { (finding.severity.name()) } " "
                (sentence(&finding.title))
                @if let Some(cost) = finding.cost_ns { span.price { " costs " (units::duration(cost)) } }
            }
            @if !finding.evidence.is_empty() { ul { @for line in &finding.evidence { li { (line) } } } }
            p.hint { strong { "Do: " } (prose(&finding.hint)) " " span.code { (finding.code.name()) } }
        }
    }
}

fn one_part(section: &str, part: &Part, tables: &mut usize) -> Markup {
    match part {
        Part::Heading(text) => html! { h3 { (text) } },
        Part::Pairs(pairs) => html! {
            dl { @for (label, text) in pairs { div { dt { (label) } dd { (text) } } } }
        },
        Part::Lines(lines) => html! {
            div.lines { @for line in lines { p.indent[line.starts_with(' ')] { (line.trim()) } } }
        },
        Part::Table(table) => {
            let markup = one_table(&format!("{section}-{tables}"), table);
            *tables += usize::from(table.is_for_people());
            markup
        }
        Part::Findings(findings) => all_findings(findings),
    }
}

fn one_table(id: &str, table: &Table) -> Markup {
    if !table.is_for_people() {
        return html! {};
    }
    let left = table.rows().len().saturating_sub(MOST_ROWS);
    let table = table.for_people(MOST_ROWS);
    html! {
        div.table {
            table id={ "t-" (id) } {
                @if !table.title.is_empty() { caption { (table.title) } }
                thead { tr { @for head in table.heads() { th scope="col" { (head.title) } } } }
                tbody {
                    @for (number, row) in table.rows().iter().enumerate() {
                        tr id={ "r-" (id) "-" (number) } {
                            @for cell in row { (one_cell(cell)) }
                        }
                    }
                }
            }
            @if left > 0 { p.more { (units::count(left as u64)) " more rows: write the table as CSV" } }
        }
    }
}

fn one_cell(cell: &Cell) -> Markup {
    let text = table::human(cell);
    match cell {
        Cell::Text(_) => html! { td { (text) } },
        Cell::Path(path) => html! { td.path title=(path) { (text) } },
        _ => html! { td.number data-value=[value(cell)] { (text) } },
    }
}

/// What a column is sorted by.
fn value(cell: &Cell) -> Option<f64> {
    match cell {
        Cell::None | Cell::Text(_) | Cell::Path(_) => None,
        Cell::Count(value) | Cell::Bytes(value) | Cell::Moment(value) | Cell::Duration(value) => Some(*value as f64),
        Cell::Number(value) => Some(*value as f64),
        Cell::Rate(value) | Cell::Times(value) | Cell::Share(value) => Some(*value),
    }
}
