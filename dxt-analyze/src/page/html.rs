//! Sections as HTML that reads without scripts. All text is escaped by maud; names come from the trace.

use super::words::{saves, sentence};
use crate::findings::Finding;
use crate::render::{Cell, Figure, Part, Table, svg, table};
use crate::text::units;
use crate::topics::report::Section;
use maud::{Markup, html};

/// Rows of a table that the page has; CSV has all.
const MOST_ROWS: usize = 500;

/// Where a finding stands on the page.
pub(super) fn anchor(finding: &Finding) -> String {
    // FNV-1a over what makes it different from others: stable from page to page.
    let text = format!("{} {}", finding.code.name(), finding.title);
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("finding-{:08x}", hash >> 32)
}

/// A section with its findings and the parts of its view, folded unless it is to be `open`.
pub(super) fn section(section: &Section, open: bool) -> Markup {
    let mut tables = 0;
    let body = html! {
        p.about { (section.about) }
        (all_findings(&section.findings))
        @for part in &section.view.parts { (one_part(section.id, part, &mut tables)) }
    };
    let found = if section.findings.is_empty() {
        String::new()
    } else {
        units::counted(section.findings.len() as u64, "finding")
    };
    if open { unfolded(section.id, section.title, &body) } else { folded(section.id, section.title, &found, &body) }
}

/// A section that is open.
pub(super) fn unfolded(id: &str, title: &str, body: &Markup) -> Markup {
    html! {
        section id=(id) aria-labelledby={ "h-" (id) } {
            h2 id={ "h-" (id) } { (title) }
            (body)
        }
    }
}

/// A section that is opened on demand: by its title, by a link to it, and in print.
pub(super) fn folded(id: &str, title: &str, beside: &str, body: &Markup) -> Markup {
    html! {
        section id=(id) aria-labelledby={ "h-" (id) } {
            details.folded {
                summary { h2 id={ "h-" (id) } { (title) } @if !beside.is_empty() { " " span { (beside) } } }
                (body)
            }
        }
    }
}

/// Findings; of several with one code and one remedy the later ones are folded away.
pub(super) fn all_findings(findings: &[Finding]) -> Markup {
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
pub(super) fn prose(text: &str) -> Markup {
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
                @if saves(finding) > 0 { span.price { " saves " (units::duration(saves(finding))) " of the run time" } }
                @else if let Some(cost) = finding.cost_ns.filter(|cost| *cost > 0) { span.price { " " (units::duration(cost)) " summed over processes" } }
            }
            @if !finding.evidence.is_empty() { ul { @for line in &finding.evidence { li { (line) } } } }
            p.hint { strong { "Do: " } (prose(&finding.hint)) " " a.code href={ "#code-" (finding.code.name()) } { (finding.code.name()) } }
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
        Part::Figure(figure) => {
            let numbers = one_table(&format!("{section}-{tables}"), &figure.numbers);
            *tables += 1;
            one_figure(section, figure, &numbers)
        }
    }
}

/// A figure with what it says in words, and its numbers for those who cannot see it.
fn one_figure(section: &str, figure: &Figure, numbers: &Markup) -> Markup {
    html! {
        figure id={ (section) "-" (figure.name) } {
            h3 { (figure.title) }
            (svg::inline(figure))
            figcaption { span.file { (figure.subject) } ". " (figure.caption) }
            details.alternative { summary { (figure.title) " as a table" } (numbers) }
        }
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
        Cell::Text(_) | Cell::Layer(_) => html! { td { (text) } },
        Cell::Prose { .. } => html! { td.words { (text) } },
        Cell::Path(path) => html! { td.path title=(path) { (text) } },
        _ => html! { td.number data-value=[value(cell)] { (text) } },
    }
}

/// What a column is sorted by.
fn value(cell: &Cell) -> Option<f64> {
    match cell {
        Cell::None | Cell::Text(_) | Cell::Layer(_) | Cell::Path(_) | Cell::Prose { .. } => None,
        Cell::Count(value) | Cell::Bytes(value) | Cell::Moment(value) | Cell::Duration(value) => Some(*value as f64),
        Cell::Number(value) => Some(*value as f64),
        Cell::Rate(value) | Cell::Times(value) | Cell::Share(value) => Some(*value),
    }
}
