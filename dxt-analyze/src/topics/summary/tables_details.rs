//! Tables of HDF5 data sets, MPI-IO hints and MPI datatypes in the summary.

use crate::render::{Cell, Part, Table};
use crate::text::units;
use crate::topics::summary::result::Summary;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of hints and of datatypes shown; CSV has all.
const MOST: usize = 16;

pub(crate) fn parts(summary: &Summary) -> Vec<Part> {
    [data_sets(summary), hints(summary), datatypes(summary)].map(Part::Table).into()
}

/// Formats the extent of a data set, in elements per dimension: `1024x1024`.
fn extent(of: &[u64]) -> String {
    of.iter().map(u64::to_string).collect::<Vec<String>>().join("x")
}

fn data_sets(summary: &Summary) -> Table {
    Table::of("data_sets", "", summary.top_data_sets.iter())
        .column("Data set", "data_set", |row| Cell::path(&row.data_set))
        .csv("file", |row| Cell::text(&row.file))
        .csv("extent", |row| Cell::Text(extent(&row.extent)))
        .csv("element_bytes", |row| Cell::Count(row.element_bytes.into()))
        .column("Procs", "processes", |row| Cell::Count(row.processes))
        .csv("reads", |row| Cell::Count(row.reads))
        .csv("writes", |row| Cell::Count(row.writes))
        .column("Read", "bytes_read", |row| Cell::Bytes(row.bytes_read))
        .column("Written", "bytes_written", |row| Cell::Bytes(row.bytes_written))
        .column("Time", "time_s", |row| Cell::Duration(row.time_ns))
        .column("Selected", "mostly_selected", |row| Cell::Text(row.mostly()))
        .csv("selected", |row| Cell::Text(row.selected()))
        .done()
}

/// Returns a cell for files that share a row because their values are equal: the path of a single file, else the number of files.
fn files(files: &BTreeSet<&str>) -> Cell {
    match files.first() {
        Some(file) if files.len() == 1 => Cell::Path((*file).into()),
        _ => Cell::Path(units::counted(files.len() as u64, "file")),
    }
}

fn hints(summary: &Summary) -> Table {
    let mut rows: BTreeMap<(&str, String, String), BTreeSet<&str>> = BTreeMap::new();
    for row in summary.hints.iter().filter(|row| row.matters()) {
        let key = (row.key.as_str(), row.asked.join(" "), row.in_effect.join(" "));
        rows.entry(key).or_default().insert(&row.file);
    }
    let values = |text: &String| if text.is_empty() { Cell::None } else { Cell::text(text) };
    Table::of("hints", "", rows)
        .column("File", "file", |(_, of)| files(of))
        .column("Hint", "hint", |((key, ..), _)| Cell::text(*key))
        .column("Requested", "asked", |((_, asked, _), _)| values(asked))
        .column("In effect", "in_effect", |((.., in_effect), _)| values(in_effect))
        .csv("files", |(_, of)| Cell::Count(of.len() as u64))
        .most(MOST)
        .done()
}

fn datatypes(summary: &Summary) -> Table {
    let mut rows: BTreeMap<(&str, &str), (u64, BTreeSet<&str>)> = BTreeMap::new();
    // Named datatypes are contiguous and so not listed.
    for row in summary.datatypes.iter().filter(|row| row.combiner != "named") {
        let (calls, of) = rows.entry((row.role, row.combiner)).or_default();
        *calls = calls.saturating_add(row.calls);
        of.insert(&row.file);
    }
    Table::of("datatypes", "", rows)
        .column("File", "file", |(_, (_, of))| files(of))
        .column("Datatype of", "role", |((role, _), _)| Cell::text(*role))
        .column("Created as", "combiner", |((_, combiner), _)| Cell::text(*combiner))
        .column("Calls", "calls", |(_, (calls, _))| Cell::Count(*calls))
        .csv("files", |(_, (_, of))| Cell::Count(of.len() as u64))
        .most(MOST)
        .done()
}
