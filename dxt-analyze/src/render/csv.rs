//! CSV (RFC 4180) of one table of a view: a header line, even for an empty table, then one line per row with unformatted numbers.

use super::{Cell, FINDINGS, Head, Part, Style, Table, View};
use crate::exit::UsageError;
use crate::findings::Evidence;
use crate::text::printable::printable;
use anyhow::Result;
use std::io::Write;

/// Writes the table that `style` names as CSV; by default the main table: the first that is not marked as secondary, even if empty.
pub(super) fn write(view: &View, style: &Style, out: &mut dyn Write) -> Result<()> {
    let made: Vec<Table> = view.parts.iter().filter_map(findings).collect();
    let tables = view.parts.iter().filter_map(|part| match part {
        Part::Table(table) => Some(table),
        _ => None,
    });
    let mut tables: Vec<&Table> = tables.collect();
    if tables.iter().all(|table| table.name != FINDINGS) {
        tables.extend(&made);
    }
    let main = tables.iter().find(|table| !table.beside).or(tables.first());
    let chosen: Vec<&Table> = match &style.table {
        Some(name) => tables.iter().copied().filter(|table| table.name == *name).collect(),
        None => tables.iter().copied().filter(|table| main.is_some_and(|main| main.name == table.name)).collect(),
    };
    let Some(first) = chosen.first() else {
        let mut names: Vec<&str> = tables.iter().map(|table| table.name).collect();
        names.dedup();
        let Some(wanted) = &style.table else { return Ok(()) };
        return Err(UsageError(format!("this report has no table '{wanted}'; it has: {}", names.join(", "))).into());
    };
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(first.heads().iter().map(|head| head.name))?;
    for row in chosen.iter().flat_map(|table| table.rows()) {
        writer.write_record(first.heads().iter().zip(row).map(|(head, cell)| plain(head, cell)))?;
    }
    writer.flush()?;
    Ok(())
}

/// Returns the list of findings in `part` as a table, which comes after all other tables; `None` if `part` has no findings. `report` has
/// its own table of findings.
fn findings(part: &Part) -> Option<Table> {
    let Part::Findings(findings) = part else { return None };
    let table = Table::of(FINDINGS, "", findings)
        .csv("code", |finding| Cell::text(finding.code.name()))
        .csv("severity", |finding| Cell::text(finding.severity.name()))
        .csv("saves_s", |finding| Cell::maybe(finding.saving, |saving| Cell::Duration(saving.saves_ns)))
        .csv("cost_s", |finding| Cell::maybe(finding.cost_ns, Cell::Duration))
        .csv("finding", |finding| Cell::Text(finding.title.to_string()))
        .csv("evidence", |finding| {
            Cell::Text(finding.evidence.iter().map(Evidence::words).collect::<Vec<&str>>().join("; "))
        })
        .csv("what_to_do", |finding| Cell::text(&finding.hint))
        .beside();
    Some(table.done())
}

/// Formats a cell as a number without unit: times are integer ns in columns named `..._ns`, and seconds in all others.
fn plain(head: &Head, cell: &Cell) -> String {
    match cell {
        Cell::Ranged { value, .. } => plain(head, value),
        Cell::None => String::new(),
        Cell::Text(text) | Cell::Layer(text) | Cell::Path(text) | Cell::Prose { plain: text, .. } => {
            printable(text).into_owned()
        }
        Cell::Count(value) | Cell::Bytes(value) => value.to_string(),
        Cell::Number(value) => value.to_string(),
        Cell::Moment(ns) | Cell::Duration(ns) if head.name.ends_with("_ns") => ns.to_string(),
        Cell::Moment(ns) | Cell::Duration(ns) => format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000),
        Cell::Rate(value) | Cell::Times(value) | Cell::Share(value) => format!("{value:.6}"),
    }
}
