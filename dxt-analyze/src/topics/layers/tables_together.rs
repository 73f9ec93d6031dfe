//! The tables of `layers` on what ranks do together: collective calls, and calls in flight.

use super::tables::{rate, share};
use crate::render::{Cell, Table};
use crate::topics::layers::buffering::{BufferingRow, Collectives};
use crate::topics::layers::concurrency::{Concurrency, Series};

fn ratio(part: u64, whole: u64) -> Cell {
    if whole > 0 { Cell::Times(part as f64 / whole as f64) } else { Cell::None }
}

/// Collective buffering.
pub(crate) fn collective_files(rows: &[BufferingRow], top: usize) -> Table {
    let row = |row: &BufferingRow| {
        let data = row.made.inside.data();
        vec![
            Cell::Path(row.file.clone()),
            Cell::Text(row.op.into()),
            Cell::Count(row.made.of.calls),
            Cell::Bytes(row.mean_call_bytes),
            Cell::Count(data.calls),
            Cell::Bytes(row.mean_request_bytes),
            ratio(data.calls, row.made.of.calls),
            Cell::Count(row.processes),
            Cell::Count(row.aggregators.len() as u64),
            Cell::Text(if row.buffered { "yes" } else { "no" }.into()),
        ]
    };
    Table {
        name: "buffering",
        title: "Collective calls: do pieces of many ranks become large requests of few?".into(),
        columns: vec![
            ("File", "file"),
            ("Operation", "op"),
            ("Calls", "calls"),
            ("Mean size", "mean_call_bytes"),
            ("POSIX", "posix_data_calls"),
            ("Mean size", "mean_request_bytes"),
            ("POSIX/call", "posix_per_call"),
            ("Ranks", "processes"),
            ("Aggregators", "aggregators"),
            ("Buffered", "buffered"),
        ],
        rows: rows.iter().map(row).collect(),
        most: top,
    }
}

/// Who reaches the system in collective calls.
pub(crate) fn aggregators(rows: &[BufferingRow], top: usize) -> Table {
    let of = |row: &BufferingRow| -> Vec<Vec<Cell>> {
        let all: u64 = row.aggregators.iter().fold(0, |sum, one| sum.saturating_add(one.data.bytes));
        let cells = row.aggregators.iter().map(|one| {
            vec![
                Cell::Path(row.file.clone()),
                Cell::Text(row.op.into()),
                Cell::Text(one.process.clone()),
                Cell::Text(one.node.clone()),
                Cell::Count(one.data.calls),
                Cell::Bytes(one.data.bytes),
                share(one.data.bytes, all),
                Cell::Duration(one.data.time_ns),
                rate(&one.data),
            ]
        });
        cells.collect()
    };
    Table {
        name: "aggregators",
        title: "Ranks that make system calls for data inside collective calls".into(),
        columns: vec![
            ("File", "file"),
            ("Operation", "op"),
            ("Aggregator", "process"),
            ("Node", "node"),
            ("Calls", "calls"),
            ("Bytes", "bytes"),
            ("Share", "share"),
            ("Time", "time_s"),
            ("Bandwidth", "bandwidth_bytes_per_s"),
        ],
        rows: rows.iter().flat_map(of).collect(),
        most: top,
    }
}

/// The slowest collective operations.
pub(crate) fn collectives(found: &Collectives) -> Table {
    let rows = found.slowest.iter().map(|row| {
        vec![
            Cell::Path(row.file.clone()),
            Cell::Text(row.op.clone()),
            Cell::Count(row.number),
            Cell::Moment(row.start_ns),
            Cell::Count(row.calls),
            Cell::Bytes(row.bytes),
            Cell::Duration(row.wall_ns),
            Cell::Duration(row.skew_ns),
            Cell::Text(row.last.clone()),
            Cell::Duration(row.wait_ns),
            Cell::Duration(row.storage_ns),
            Cell::Text(row.busiest.clone()),
            Cell::Duration(row.rest_ns),
            Cell::Count(row.aggregators),
            Cell::Count(row.data_calls),
            Cell::Count(row.data_bytes),
        ]
    });
    Table {
        name: "collectives",
        title:
            "The slowest collective operations: wall time = until the last rank begins + busiest in system calls + rest"
                .into(),
        columns: vec![
            ("File", "file"),
            ("Operation", "op"),
            ("No", "number"),
            ("Start", "start_s"),
            ("Ranks", "calls"),
            ("Bytes", "bytes"),
            ("Wall", "wall_s"),
            ("Until last", "skew_s"),
            ("Last", "last"),
            ("", "wait_s"),
            ("Storage", "storage_s"),
            ("Busiest", "busiest"),
            ("Rest", "rest_s"),
            ("Aggr.", "aggregators"),
            ("", "posix_data_calls"),
            ("", "posix_bytes"),
        ],
        rows: rows.collect(),
        most: usize::MAX,
    }
}

/// Who is waited for.
pub(crate) fn late(found: &Collectives) -> Table {
    let rows = found.late.iter().map(|row| {
        vec![
            Cell::Text(row.process.clone()),
            Cell::Text(row.node.clone()),
            Cell::Count(row.times),
            Cell::Duration(row.wait_ns),
            share(row.wait_ns, found.time_ns),
        ]
    });
    Table {
        name: "late",
        title: "Ranks that others waited for in collective operations".into(),
        columns: vec![
            ("Last", "process"),
            ("Node", "node"),
            ("Times last", "times"),
            ("Others waited", "wait_s"),
            ("Of collective time", "share"),
        ],
        rows: rows.collect(),
        most: usize::MAX,
    }
}

/// How many calls are in flight.
pub(crate) fn concurrency(rows: &[Concurrency]) -> Table {
    let row = |row: &Concurrency| {
        let at = |class: usize| row.shares.get(class).copied().unwrap_or(0.0);
        let mut cells = vec![
            Cell::Text(row.what.name().into()),
            Cell::Count(row.calls),
            Cell::Duration(row.busy_ns),
            Cell::Times(row.mean),
            Cell::Count(row.max),
        ];
        cells.extend((0..5).map(|class| Cell::Share(at(class))));
        cells.push(Cell::Share(row.shares.iter().skip(5).fold(0.0, |sum, share| sum + share)));
        cells
    };
    Table {
        name: "concurrency",
        title: "Calls in flight over all ranks: share of the busy time with so many at once".into(),
        columns: vec![
            ("Calls", "what"),
            ("Number", "calls"),
            ("Busy", "busy_s"),
            ("Mean", "mean_in_flight"),
            ("Most", "most_in_flight"),
            ("1", "share_1"),
            ("2-3", "share_2_3"),
            ("4-7", "share_4_7"),
            ("8-15", "share_8_15"),
            ("16-31", "share_16_31"),
            ("32+", "share_32_or_more"),
        ],
        rows: rows.iter().map(row).collect(),
        most: usize::MAX,
    }
}

/// Mean numbers in flight over time; for CSV only.
pub(crate) fn series(series: &Series, rows: &[Concurrency]) -> Table {
    let bins = (0..series.bins).flat_map(|bin| {
        let start = series.start_ns.saturating_add(series.width_ns.saturating_mul(bin as u64));
        rows.iter().map(move |row| {
            vec![
                Cell::Moment(start),
                Cell::Duration(series.width_ns),
                Cell::Text(row.what.name().into()),
                Cell::Times(row.series.get(bin).copied().unwrap_or(0.0)),
            ]
        })
    });
    Table {
        name: "series",
        title: String::new(),
        columns: vec![("Start", "start_s"), ("Width", "width_s"), ("Calls", "what"), ("Mean", "mean_in_flight")],
        rows: bins.collect(),
        most: 0,
    }
}
