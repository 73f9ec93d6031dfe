//! CSV (RFC 4180) of one table of a view: plain numbers, units in the header, a row a line.

use super::{Cell, Part, Style, Table, View};
use crate::exit::UsageError;
use crate::text::printable::printable;
use anyhow::Result;
use std::io::Write;

/// Writes the table that `style` names, or the first.
pub(super) fn write(view: &View, style: &Style, out: &mut dyn Write) -> Result<()> {
    let tables: Vec<&Table> = view
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::Table(table) => Some(table),
            _ => None,
        })
        .collect();
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
        writer.write_record(row.iter().map(plain))?;
    }
    writer.flush()?;
    Ok(())
}

fn plain(cell: &Cell) -> String {
    match cell {
        Cell::Ranged { value, .. } => plain(value),
        Cell::None => String::new(),
        Cell::Text(text) | Cell::Layer(text) | Cell::Path(text) | Cell::Prose { plain: text, .. } => {
            printable(text).into_owned()
        }
        Cell::Count(value) | Cell::Bytes(value) => value.to_string(),
        Cell::Number(value) => value.to_string(),
        Cell::Moment(ns) | Cell::Duration(ns) => format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000),
        Cell::Rate(value) | Cell::Times(value) | Cell::Share(value) => format!("{value:.6}"),
    }
}
