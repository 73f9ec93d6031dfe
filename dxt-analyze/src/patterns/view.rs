//! Table of patterns.

use super::Pattern;
use crate::render::{Cell, Part, Table, View};
use crate::topics::report::Section;
use serde::Serialize;

/// Returns the table of patterns.
pub(crate) fn table(patterns: &[Pattern]) -> Table {
    Table::of("patterns", "", patterns)
        .column("Property", "property", |row| Cell::text(word(&row.aspect)))
        .column("Of", "operation", |row| Cell::text(row.operation.map_or(String::new(), |of| format!("{of}s"))))
        .column("Pattern", "pattern", |row| Cell::text(word(&row.pattern)))
        .column("In numbers", "sentence", |row| Cell::text(row.sentence.as_str()))
        .csv("share", |row| Cell::Share(row.share))
        .csv("notable", |row| Cell::flag(row.notable))
        .column("Finding", "code", |row| Cell::text(row.finding.map_or("", |code| code.name())))
        .column("Saves", "saves_s", |row| Cell::maybe(row.saves_ns, Cell::Duration))
        .done()
}

/// Returns the name of a property or pattern, in words.
fn word(of: &impl Serialize) -> String {
    serde_json::to_value(of).ok().and_then(|name| Some(name.as_str()?.replace('_', " "))).unwrap_or_default()
}

/// Returns the section of the page with the patterns.
pub(crate) fn section(patterns: &[Pattern]) -> Section {
    let about = "What the job's I/O is like, whether it costs time or not; the finding says what it costs.";
    let view = View { parts: vec![Part::Table(table(patterns))], max_width: None };
    Section { id: "patterns", title: "Patterns", about, view, findings: Vec::new() }
}
