//! How data sets, hints and datatypes look in the summary; nothing is shown of what a trace does not have.

use crate::analyses::summary::Summary;
use crate::render::{Cell, Part, Table};

/// Most rows of hints and datatypes that people get to see; CSV has all.
const MOST: usize = 16;

/// The tables that have rows.
pub(super) fn parts(summary: &Summary) -> Vec<Part> {
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

fn hints(summary: &Summary) -> Table {
    let rows = summary.hints.iter().filter(|row| row.matters()).map(|row| {
        let values = |list: &[String]| if list.is_empty() { Cell::None } else { Cell::Text(list.join(" ")) };
        vec![Cell::Path(row.file.clone()), Cell::Text(row.key.clone()), values(&row.asked), values(&row.in_effect)]
    });
    Table {
        name: "hints",
        title: String::new(),
        columns: vec![("File", "file"), ("Hint", "hint"), ("Asked", "asked"), ("In effect", "in_effect")],
        rows: rows.collect(),
        most: MOST,
    }
}

fn datatypes(summary: &Summary) -> Table {
    // Where all is contiguous bytes there is nothing to say.
    let rows = summary.datatypes.iter().filter(|row| row.combiner != "named").map(|row| {
        vec![
            Cell::Path(row.file.clone()),
            Cell::Text(row.role.into()),
            Cell::Text(row.combiner.into()),
            Cell::Count(row.calls),
        ]
    });
    Table {
        name: "datatypes",
        title: String::new(),
        columns: vec![("File", "file"), ("Datatype of", "role"), ("Made as", "combiner"), ("Calls", "calls")],
        rows: rows.collect(),
        most: MOST,
    }
}
