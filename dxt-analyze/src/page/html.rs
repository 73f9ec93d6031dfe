//! Sections of the page as HTML that is readable without scripts. maud escapes all text, since names come from the trace.

use super::names::{Names, short_names};
use super::words::{saves, sentence};
use crate::findings::Finding;
use crate::render::{Cell, Figure, FlameGraph, Part, Table, svg, table};
use crate::text::printable::{is_hidden, printable};
use crate::text::units;
use crate::topics::report::Section;
use maud::{Markup, html};

/// Maximum rows of a table on the page; CSV files have all rows.
const MOST_ROWS: usize = 500;

pub(super) fn anchor(finding: &Finding) -> String {
    // FNV-1a over the identifying text, so that the anchor is the same on every page.
    let facts = serde_json::to_string(&finding.accused()).unwrap_or_default();
    let text = format!("{} {facts}", finding.code.name());
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("finding-{:08x}", hash >> 32)
}

/// Returns `markup` as text in which hidden characters of names are visible. White space stays unchanged, since it has no effect in HTML.
pub(super) fn visible(markup: &Markup) -> String {
    let is_hidden = |c: char| is_hidden(c) && !matches!(c, '\n' | '\t' | '\r');
    let text = markup.0.as_str();
    if !text.contains(is_hidden) {
        return text.to_owned();
    }
    text.chars().fold(String::with_capacity(text.len()), |mut out, c| {
        if is_hidden(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
        out
    })
}

/// Returns a collapsed section: its findings, tables, figures and texts; the summary line states the contents.
pub(super) fn section(section: &Section, names: &Names) -> Markup {
    let mut tables = Tables { section: section.id, names, number: 0, heading: String::new(), open: OPEN_TABLES };
    let parts = &section.view.parts;
    let body = html! {
        (all_findings(&section.findings, names))
        @for (number, part) in parts.iter().enumerate() { (tables.part(part, parts.get(number + 1))) }
    };
    let found = if section.findings.is_empty() {
        String::new()
    } else {
        units::counted(section.findings.len() as u64, "finding")
    };
    folded(section.id, section.title, section.about, &found, &body)
}

/// Returns an open section with all of its tables, figures and texts.
pub(super) fn open_section(section: &Section, names: &Names) -> Markup {
    let mut tables = Tables { section: section.id, names, number: 0, heading: String::new(), open: usize::MAX };
    let parts = &section.view.parts;
    let body = html! { @for (number, part) in parts.iter().enumerate() { (tables.part(part, parts.get(number + 1))) } };
    unfolded(section.id, section.title, &body)
}

pub(super) fn unfolded(id: &str, title: &str, body: &Markup) -> Markup {
    html! {
        section id=(id) aria-labelledby={ "h-" (id) } {
            h2 id={ "h-" (id) } { (title) }
            (body)
        }
    }
}

/// Returns a collapsed section that opens when its title or a link to it is clicked; `about` and `beside` are shown next to the title.
pub(super) fn folded(id: &str, title: &str, about: &str, beside: &str, body: &Markup) -> Markup {
    html! {
        section id=(id) aria-labelledby={ "h-" (id) } {
            details.folded {
                summary { h2 id={ "h-" (id) } { (title) } " " span.gist { (about) } @if !beside.is_empty() { " " span.beside { (beside) } } }
                (body)
            }
        }
    }
}

/// Returns findings as HTML; of adjacent findings with the same code and advice, all but the first are collapsed.
pub(super) fn all_findings(findings: &[Finding], names: &Names) -> Markup {
    let similar = |a: &Finding, b: &Finding| a.code == b.code && a.hint == b.hint;
    html! {
        @for group in findings.chunk_by(similar) {
            @if let Some((first, others)) = group.split_first() {
                (one_finding(first, names))
                @if !others.is_empty() {
                    details.similar {
                        summary { (units::counted(others.len() as u64, "similar finding")) }
                        @for finding in others { (one_finding(finding, names)) }
                    }
                }
            }
        }
    }
}

/// Returns a text of this program as HTML; text between backticks becomes `<code>`.
pub(super) fn prose(text: &str) -> Markup {
    // A name that contains a backtick only changes which words are formatted as code.
    html! {
        @for (number, piece) in text.split('`').enumerate() {
            @if number % 2 == 1 { code { (piece) } } @else { (piece) }
        }
    }
}

fn one_finding(finding: &Finding, names: &Names) -> Markup {
    html! {
        article.finding id=(anchor(finding)) data-severity=(finding.severity.name()) tabindex="-1" {
            h3 {
                span.badge { (finding.severity.name()) } " "
                (names.marked(&sentence(&finding.title.to_string())))
                @if saves(finding) > 0 { span.price { " saves " (units::duration(saves(finding))) " of the run time" } }
                @else if let Some(cost) = finding.cost_ns.filter(|cost| *cost > 0) { span.price { " " (units::duration(cost)) " summed over processes" } }
            }
            @if !finding.evidence.is_empty() { ul { @for line in &finding.evidence { li { (names.marked(line.words())) } } } }
            p.hint { strong { "Do: " } (prose(&finding.hint)) " " a.code href={ "#code-" (finding.code.name()) } { (finding.code.name()) } }
        }
    }
}

/// Number of tables of a section that start open; further tables are collapsed under their captions.
const OPEN_TABLES: usize = 2;

/// State while the parts of a section are rendered: number of tables so far, latest heading, tables that may still start open.
struct Tables<'a> {
    section: &'static str,
    names: &'a Names,
    number: usize,
    heading: String,
    open: usize,
}

impl Tables<'_> {
    /// Renders a part of a view (table, figure, text, ...); `next` is the part that follows.
    fn part(&mut self, part: &Part, next: Option<&Part>) -> Markup {
        match part {
            Part::Heading(text) => {
                self.heading.clone_from(text);
                // A heading directly before a table without a title becomes the caption of that table.
                let is_caption =
                    matches!(next, Some(Part::Table(table)) if table.title.is_empty() && table.is_for_people());
                html! { @if !is_caption { h3 { (text) } } }
            }
            Part::Pairs(pairs) => html! {
                dl { @for (label, text) in pairs { div { dt { (label) } dd { (printable(text)) } } } }
            },
            Part::Lines(lines) => html! {
                div.lines { @for line in lines { p.indent[line.starts_with(' ')] { (self.names.marked(line.trim())) } } }
            },
            Part::Table(table) if table.is_for_people() => self.table(table),
            Part::Table(_) => html! {},
            Part::Findings(findings) => all_findings(findings, self.names),
            Part::Figure(figure) => {
                let numbers = one_table(&self.id(), &figure.numbers, figure.title);
                one_figure(self.section, figure, &numbers)
            }
            Part::Flames(flames) => {
                let numbers = one_table(&self.id(), &flames.numbers(), FLAMES);
                flame_graph(self.section, flames, &numbers)
            }
            Part::Verbatim(text) => html! { pre { (text) } },
        }
    }

    fn id(&mut self) -> String {
        self.number += 1;
        format!("{}-{}", self.section, self.number - 1)
    }

    fn table(&mut self, table: &Table) -> Markup {
        let caption = match (table.title.as_str(), self.heading.as_str()) {
            ("", "") => spoken(table.name),
            ("", heading) => heading.to_owned(),
            (title, _) => title.to_owned(),
        };
        let behind = self.number >= self.open;
        let markup = one_table(&self.id(), table, &caption);
        let rows = units::counted(table.rows().len() as u64, "row");
        html! {
            @if behind { details.behind { summary { (caption) " (" (rows) ")" } (markup) } } @else { (markup) }
        }
    }
}

/// Derives a caption from a table's name: `data_sets` becomes "Data sets".
fn spoken(name: &str) -> String {
    match name {
        "profiles" => "How files were accessed".into(),
        name => sentence(&name.replace('_', " ")),
    }
}

/// Returns a figure with its caption, and its numbers as a table for readers who cannot see the figure.
fn one_figure(section: &str, figure: &Figure, numbers: &Markup) -> Markup {
    let subject = short_names(&[figure.subject.as_str()]).pop().unwrap_or_default();
    html! {
        figure id={ (section) "-" (figure.name) } {
            h3 { (figure.title) }
            (svg::inline(figure))
            figcaption { span.file title=(printable(&figure.subject)) { (printable(&subject)) } ". " (figure.caption) }
            details.alternative { summary { (figure.title) " as a table" } (numbers) }
        }
    }
}

/// Title of flame graphs.
const FLAMES: &str = "Flame graph";

/// Returns a flame graph, and its numbers as a table for readers who cannot see the figure.
fn flame_graph(section: &str, flames: &FlameGraph, numbers: &Markup) -> Markup {
    html! {
        figure id={ (section) "-flames" } {
            h3 { (FLAMES) }
            (flames.inline())
            figcaption { (FlameGraph::CAPTION) }
            details.alternative { summary { (FLAMES) " as a table" } (numbers) }
        }
    }
}

fn one_table(id: &str, table: &Table, caption: &str) -> Markup {
    let left = table.rows().len().saturating_sub(MOST_ROWS);
    let table = table.for_people(MOST_ROWS);
    let paths = table.rows().iter().flatten().filter(|cell| matches!(cell, Cell::Path(_)));
    let paths: Vec<String> = paths.map(table::human).collect();
    let mut short = short_names(&paths.iter().map(String::as_str).collect::<Vec<&str>>()).into_iter();
    html! {
        div.table {
            table id={ "t-" (id) } {
                caption { (caption) }
                thead { tr { @for head in table.heads() { th scope="col" { (head.title) } } } }
                tbody {
                    @for (number, row) in table.rows().iter().enumerate() {
                        tr id={ "r-" (id) "-" (number) } {
                            @for cell in row { (one_cell(cell, &mut short)) }
                        }
                    }
                }
            }
            @if left > 0 { p.more { (units::count(left as u64)) " more rows: write the table as CSV" } }
        }
    }
}

/// Returns a table cell as HTML; `short` yields the short names of the table's paths, in the order of the cells.
fn one_cell(cell: &Cell, short: &mut impl Iterator<Item = String>) -> Markup {
    let text = table::human(cell);
    match cell {
        Cell::Text(_) | Cell::Layer(_) => html! { td { (text) } },
        Cell::Prose { .. } => html! { td.words { (text) } },
        Cell::Path(path) => html! { td.path title=(printable(path)) { (short.next().unwrap_or(text)) } },
        _ => html! { td.number data-value=[value(cell)] { (text) } },
    }
}

/// Returns the number by which the page's scripts sort a cell; `None` for text.
fn value(cell: &Cell) -> Option<f64> {
    match cell {
        Cell::None | Cell::Text(_) | Cell::Layer(_) | Cell::Path(_) | Cell::Prose { .. } => None,
        Cell::Count(value) | Cell::Bytes(value) | Cell::Moment(value) | Cell::Duration(value) => Some(*value as f64),
        Cell::Number(value) => Some(*value as f64),
        Cell::Ranged { value: inner, .. } => value(inner),
        Cell::Rate(value) | Cell::Times(value) | Cell::Share(value) => Some(*value),
    }
}
