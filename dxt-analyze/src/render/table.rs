//! Tables for people, drawn by comfy-table without lines. Numbers are right-aligned; paths are shortened at their beginning if a row would not fit.

use super::{Cell, Part, Style, Table, View};
use crate::findings::{Finding, Severity};
use crate::text::layers::layer;
use crate::text::printable::printable;
use crate::text::units;
use anstyle::{AnsiColor, Effects};
use anyhow::Result;
use comfy_table::{Attribute, Cell as Shown, CellAlignment, ColumnConstraint, ContentArrangement, Width, presets};
use std::io::Write;

/// Width of tables in columns if output does not go to a terminal.
const DEFAULT_WIDTH: usize = 132;
const GAP: usize = 2;
/// Minimum width of a column with sentences, in characters.
const MIN_PROSE: usize = 24;
/// Minimum width of a path in a table, in characters; longer paths may lose their beginning.
const MIN_PATH: usize = 12;

pub(super) fn write(view: &View, style: &Style, out: &mut dyn Write) -> Result<()> {
    let terminal = style.width.unwrap_or(DEFAULT_WIDTH);
    let width = view.max_width.map_or(terminal, |most| most.min(terminal));
    let for_people = |part: &&Part| match part {
        Part::Table(table) => table.most > 0 && table.is_for_people(),
        Part::Figure(_) | Part::Flames(_) => false,
        _ => true,
    };
    for (number, part) in view.parts.iter().filter(for_people).enumerate() {
        if number > 0 {
            writeln!(out)?;
        }
        match part {
            Part::Heading(text) => writeln!(out, "{}", strong(text, style.color))?,
            Part::Pairs(pairs) => {
                let label = pairs.iter().map(|(label, _)| label.len()).max().unwrap_or(0);
                for (name, text) in pairs {
                    wrapped(&format!("{name:label$}  "), text, width, out)?;
                }
            }
            Part::Lines(lines) => {
                for line in lines {
                    let text = line.trim_start_matches(' ');
                    wrapped(line.strip_suffix(text).unwrap_or_default(), text, width, out)?;
                }
            }
            Part::Table(table) => one(table, width, style.color, out)?,
            Part::Findings(findings) => all_findings(findings, width, style.color, out)?,
            Part::Verbatim(text) => writeln!(out, "{text}")?,
            Part::Figure(_) | Part::Flames(_) => {}
        }
    }
    Ok(())
}

fn strong(text: &str, color: bool) -> String {
    let text = printable(text);
    if !color {
        return text.into_owned();
    }
    let style = anstyle::Style::new().effects(Effects::BOLD);
    format!("{style}{text}{style:#}")
}

fn one(table: &Table, width: usize, color: bool, out: &mut dyn Write) -> Result<()> {
    if !table.title.is_empty() {
        writeln!(out, "{}", strong(&table.title, color))?;
    }
    let left_out = table.rows().len().saturating_sub(table.most);
    let table = &table.for_people(table.most);
    let texts: Vec<Vec<String>> = table.rows().iter().map(|row| row.iter().map(human).collect()).collect();
    let path_room = room_for_paths(table, &texts, width);
    let mut shown = comfy_table::Table::new();
    shown.load_style(presets::NOTHING);
    // Prevents wrapping except in columns with a width constraint.
    shown.set_content_arrangement(ContentArrangement::Dynamic);
    shown.set_width(u16::MAX);
    if color {
        shown.enforce_styling();
    } else {
        shown.force_no_tty();
    }
    shown.set_header(
        table
            .heads()
            .iter()
            .zip(alignments(table))
            .map(|(head, alignment)| Shown::new(head.title).set_alignment(alignment).add_attribute(Attribute::Bold)),
    );
    let alignments = alignments(table);
    for (row, texts) in table.rows().iter().zip(texts) {
        shown.add_row(row.iter().zip(texts).zip(&alignments).map(|((cell, text), alignment)| match cell {
            Cell::Path(_) => Shown::new(shorten(&text, path_room)),
            _ => Shown::new(text).set_alignment(*alignment),
        }));
    }
    for (column, head) in shown.column_iter_mut().zip(0..) {
        column.set_padding((0, GAP as u16));
        if let Some(room) = room_for_prose(table, head, width) {
            column.set_constraint(ColumnConstraint::UpperBoundary(Width::Fixed(room)));
        }
    }
    for line in shown.lines() {
        writeln!(out, "{}", line.trim_end())?;
    }
    if left_out > 0 {
        writeln!(out, "and {} more", units::count(left_out as u64))?;
    }
    Ok(())
}

fn alignments(table: &Table) -> Vec<CellAlignment> {
    let is_text =
        |cell: Option<&Cell>| matches!(cell, Some(Cell::Text(_) | Cell::Layer(_) | Cell::Path(_) | Cell::Prose { .. }));
    let known =
        |column: usize| table.rows().iter().filter_map(move |row| row.get(column)).find(|cell| **cell != Cell::None);
    (0..table.heads().len())
        .map(|column| if is_text(known(column)) { CellAlignment::Left } else { CellAlignment::Right })
        .collect()
}

/// Returns the width in characters that remains for each path column after all other columns.
fn room_for_paths(table: &Table, texts: &[Vec<String>], width: usize) -> usize {
    let is_path = |column: usize| table.rows().iter().any(|row| matches!(row.get(column), Some(Cell::Path(_))));
    let (mut others, mut paths) = (0, 0);
    for (column, head) in table.heads().iter().enumerate() {
        let widest = texts.iter().filter_map(|row| row.get(column)).map(|text| text.chars().count()).max().unwrap_or(0);
        others += GAP;
        if is_path(column) {
            paths += 1;
        } else {
            others += widest.max(head.title.len());
        }
    }
    (width.saturating_sub(others) / paths.max(1)).max(MIN_PATH)
}

/// Returns the width in characters that remains for sentences in `column`, including the gap after it; `None` if the column contains no sentences.
fn room_for_prose(table: &Table, column: usize, width: usize) -> Option<u16> {
    let is_prose = |column: usize| matches!(table.rows().first()?.get(column), Some(Cell::Prose { .. })).then_some(());
    is_prose(column)?;
    let mut others = 0;
    for (other, head) in table.heads().iter().enumerate().filter(|(other, _)| is_prose(*other).is_none()) {
        let texts = table.rows().iter().filter_map(|row| row.get(other)).map(|cell| human(cell).chars().count());
        others += texts.max().unwrap_or(0).max(head.title.len()) + GAP;
    }
    let sharing = (0..table.heads().len()).filter(|column| is_prose(*column).is_some()).count().max(1);
    u16::try_from((width.saturating_sub(others) / sharing).max(MIN_PROSE)).ok()
}

/// Shortens a path to at most `room` characters: `…` in place of the beginning, then the path's end.
fn shorten(path: &str, room: usize) -> String {
    let length = path.chars().count();
    if length <= room {
        return path.to_owned();
    }
    let kept: String = path.chars().skip(length - room + 1).collect();
    format!("…{kept}")
}

/// Formats a cell as text for people, with units.
#[must_use]
pub fn human(cell: &Cell) -> String {
    match cell {
        Cell::None => "-".into(),
        Cell::Layer(text) => printable(&layer(text)).into_owned(),
        Cell::Text(text) | Cell::Path(text) | Cell::Prose { shown: text, .. } | Cell::Ranged { shown: text, .. } => {
            printable(text).into_owned()
        }
        Cell::Count(value) => units::count(*value),
        Cell::Number(value) => value.to_string(),
        Cell::Bytes(value) => units::bytes(*value),
        Cell::Moment(ns) => units::seconds(*ns),
        Cell::Duration(ns) => units::duration(*ns),
        Cell::Rate(value) => units::rate(*value),
        Cell::Times(value) => format!("{value:.2} x"),
        Cell::Share(value) if *value > 0.0 && *value < 0.0005 => "< 0.1 %".into(),
        Cell::Share(value) => format!("{:.1} %", value * 100.0),
    }
}

fn all_findings(findings: &[Finding], width: usize, color: bool, out: &mut dyn Write) -> Result<()> {
    if findings.is_empty() {
        writeln!(out, "No findings.")?;
        return Ok(());
    }
    writeln!(out, "{}", strong("Findings", color))?;
    for finding in findings {
        let paint = match finding.severity {
            Severity::High => AnsiColor::Red,
            Severity::Warn => AnsiColor::Yellow,
            Severity::Info => AnsiColor::Cyan,
        };
        let label = format!("{} {:4}", finding.code.name(), finding.severity.name());
        let paint = anstyle::Style::new().fg_color(Some(paint.into()));
        let first = if color { format!("{paint}{label}{paint:#}  ") } else { format!("{label}  ") };
        let saves = finding.saving.filter(|saving| saving.saves_ns > 0);
        let cost = match (saves, finding.cost_ns) {
            (Some(saving), _) => format!(" (would save {} of the run time)", units::duration(saving.saves_ns)),
            (None, Some(ns)) => format!(" (cost {} summed over processes)", units::duration(ns)),
            (None, None) => String::new(),
        };
        indented(&first, label.len() + 2, &format!("{}{cost}", finding.title), width, out)?;
        for evidence in &finding.evidence {
            wrapped("    ", evidence.words(), width, out)?;
        }
        wrapped("    -> ", &finding.hint, width, out)?;
    }
    Ok(())
}

/// Writes `first` and `text`, wrapped at spaces to `width` columns; later lines are indented to the beginning of `text`.
fn wrapped(first: &str, text: &str, width: usize, out: &mut dyn Write) -> Result<()> {
    indented(first, first.chars().count(), text, width, out)
}

fn indented(first: &str, indent: usize, text: &str, width: usize, out: &mut dyn Write) -> Result<()> {
    let text = printable(text);
    let (mut line, mut used) = (first.to_owned(), indent);
    let mut empty = true;
    for word in text.split(' ') {
        let length = word.chars().count();
        if !empty && used + 1 + length > width {
            writeln!(out, "{}", line.trim_end())?;
            (line, used, empty) = (" ".repeat(indent), indent, true);
        }
        if !empty {
            line.push(' ');
            used += 1;
        }
        line.push_str(word);
        used += length;
        empty = false;
    }
    writeln!(out, "{}", line.trim_end())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_fits_its_width_by_shortening_paths() {
        let rows = [("/a/very/long/path/to/some/file.h5", 1 << 20), ("/b", 5)];
        let table = Table::of("t", "Files", rows)
            .column("file", "file", |(file, _)| Cell::path(*file))
            .column("bytes", "bytes", |(_, bytes)| Cell::Bytes(*bytes))
            .done();
        let mut out = Vec::new();
        one(&table, 30, false, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.lines().all(|line| line.chars().count() <= 30), "{text}");
        assert!(text.contains("…") && text.contains("file.h5") && text.contains("1.00 MiB"), "{text}");
        assert!(!text.contains('\x1b'));
    }

    #[test]
    fn sentences_in_a_table_break_where_it_would_be_too_wide_and_csv_has_all_of_them() {
        let long = "one word after another until no line holds them";
        let made = |shown: &str| {
            let shown = shown.to_owned();
            Table::of("t", "", [7_u64])
                .column("Calls", "calls", |calls| Cell::Count(*calls))
                .column("Cause", "cause", move |_| Cell::Prose { shown: shown.clone(), plain: "/a/b".into() })
                .done()
        };
        for (width, lines) in [(40, 3), (200, 2), (10, 4)] {
            let mut out = Vec::new();
            one(&made(long), width, false, &mut out).unwrap();
            let text = String::from_utf8(out).unwrap();
            assert_eq!(text.lines().count(), lines, "{text}");
            assert!(text.lines().all(|line| line.chars().count() <= width.max(GAP + 5 + MIN_PROSE)), "{text}");
            let words: Vec<&str> = text.split_whitespace().skip(3).collect();
            assert_eq!(words.join(" "), long);
        }
    }

    #[test]
    fn long_lines_break_under_their_label() {
        let mut out = Vec::new();
        wrapped("job  ", "one two three four", 12, &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "job  one two\n     three\n     four\n");
    }

    #[test]
    fn control_characters_of_a_name_do_not_reach_the_terminal() {
        assert_eq!(printable("a\x1b[31mb"), "a\\u{1b}[31mb");
    }
}
