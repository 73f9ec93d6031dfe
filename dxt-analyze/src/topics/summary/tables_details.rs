//! How data sets, hints and datatypes look in the summary; nothing is shown of what a trace does not have.

use crate::render::{Cell, Part, Table};
use crate::text::units;
use crate::topics::summary::result::Summary;
use std::collections::{BTreeMap, BTreeSet};

/// Most rows of hints and datatypes that people get to see; CSV has all.
const MOST: usize = 16;

/// The tables that have rows.
pub(crate) fn parts(summary: &Summary) -> Vec<Part> {
    let tables = [data_sets(summary), hints(summary), datatypes(summary)];
    tables.into_iter().filter(|table| !table.rows.is_empty()).map(Part::Table).collect()
}

fn data_sets(summary: &Summary) -> Table {
    let rows = summary.top_data_sets.iter().map(|row| {
        let extent: Vec<String> = row.extent.iter().map(u64::to_string).collect();
        vec![
            Cell::Path(row.data_set.clone()),
            Cell::Text(row.file.clone()),
            Cell::Text(extent.join("x")),
            Cell::Count(row.element_bytes.into()),
            Cell::Count(row.processes),
            Cell::Count(row.reads),
            Cell::Count(row.writes),
            Cell::Bytes(row.bytes_read),
            Cell::Bytes(row.bytes_written),
            Cell::Duration(row.time_ns),
            Cell::Text(row.mostly()),
            Cell::Text(row.selected()),
        ]
    });
    Table {
        name: "data_sets",
        title: String::new(),
        columns: vec![
            ("Data set", "data_set"),
            ("", "file"),
            ("", "extent"),
            ("", "element_bytes"),
            ("Procs", "processes"),
            ("", "reads"),
            ("", "writes"),
            ("Read", "bytes_read"),
            ("Written", "bytes_written"),
            ("Time", "time_s"),
            ("Selected", "mostly_selected"),
            ("", "selected"),
        ],
        rows: rows.collect(),
        most: usize::MAX,
    }
}

/// Files that have the same to say share a row.
fn files(files: &BTreeSet<&str>) -> Cell {
    match files.first() {
        Some(file) if files.len() == 1 => Cell::Path((*file).into()),
        _ => Cell::Path(format!("{} files", units::count(files.len() as u64))),
    }
}

fn hints(summary: &Summary) -> Table {
    let mut rows: BTreeMap<(&str, String, String), BTreeSet<&str>> = BTreeMap::new();
    for row in summary.hints.iter().filter(|row| row.matters()) {
        let key = (row.key.as_str(), row.asked.join(" "), row.in_effect.join(" "));
        rows.entry(key).or_default().insert(&row.file);
    }
    let values = |text: String| if text.is_empty() { Cell::None } else { Cell::Text(text) };
    let rows = rows.into_iter().map(|((key, asked, in_effect), of)| {
        vec![files(&of), Cell::Text(key.into()), values(asked), values(in_effect), Cell::Count(of.len() as u64)]
    });
    Table {
        name: "hints",
        title: String::new(),
        columns: vec![
            ("File", "file"),
            ("Hint", "hint"),
            ("Asked", "asked"),
            ("In effect", "in_effect"),
            ("", "files"),
        ],
        rows: rows.collect(),
        most: MOST,
    }
}

fn datatypes(summary: &Summary) -> Table {
    let mut rows: BTreeMap<(&str, &str), (u64, BTreeSet<&str>)> = BTreeMap::new();
    // Where all is contiguous bytes there is nothing to say.
    for row in summary.datatypes.iter().filter(|row| row.combiner != "named") {
        let (calls, of) = rows.entry((row.role, row.combiner)).or_default();
        *calls = calls.saturating_add(row.calls);
        of.insert(&row.file);
    }
    let rows = rows.into_iter().map(|((role, combiner), (calls, of))| {
        let files_cell = files(&of);
        vec![
            files_cell,
            Cell::Text(role.into()),
            Cell::Text(combiner.into()),
            Cell::Count(calls),
            Cell::Count(of.len() as u64),
        ]
    });
    Table {
        name: "datatypes",
        title: String::new(),
        columns: vec![
            ("File", "file"),
            ("Datatype of", "role"),
            ("Made as", "combiner"),
            ("Calls", "calls"),
            ("", "files"),
        ],
        rows: rows.collect(),
        most: MOST,
    }
}
