//! The tables of what jobs are together.

use crate::render::{Cell, Column, Table};
use crate::topics::corpus::{CodeRow, DirectionRow, GroupRow, InterfaceRow, NumberRow, ShareRow, SharingRow, SizeRow};

fn share(share: Option<f64>) -> Cell {
    share.map_or(Cell::None, Cell::Share)
}

/// A time of many jobs; in whole seconds if it is more ns than 64 bits hold.
fn duration(ns: u128) -> Cell {
    u64::try_from(ns)
        .map_or_else(|_| Cell::Count(u64::try_from(ns / 1_000_000_000).unwrap_or(u64::MAX)), Cell::Duration)
}

fn table(name: &'static str, title: &str, columns: Vec<Column>, rows: Vec<Vec<Cell>>) -> Table {
    Table { name, title: title.into(), columns, rows, most: usize::MAX }
}

/// Users, or programs.
pub(crate) fn groups(name: &'static str, title: &str, who: Column, rows: &[GroupRow], shown: usize) -> Table {
    let row = |row: &GroupRow| {
        vec![
            Cell::Path(row.name.clone()),
            Cell::Count(row.sums.jobs),
            Cell::Bytes(row.sums.bytes_read),
            Cell::Bytes(row.sums.bytes_written),
            Cell::Share(row.share_of_bytes),
            duration(row.sums.io_ns),
            Cell::Share(row.share_of_io),
            share(row.sums.io_share),
            Cell::Count(row.sums.files),
        ]
    };
    let columns = vec![
        who,
        ("Jobs", "jobs"),
        ("Read", "bytes_read"),
        ("Written", "bytes_written"),
        ("Of all", "share_of_bytes"),
        ("I/O time", "io_s"),
        ("Of all", "share_of_io"),
        ("Of runtime", "io_share"),
        ("", "files"),
    ];
    Table { most: shown, ..table(name, title, columns, rows.iter().map(row).collect()) }
}

/// Interfaces.
pub(crate) fn interfaces(rows: &[InterfaceRow]) -> Table {
    let row = |row: &InterfaceRow| {
        vec![
            Cell::Text(row.interface.into()),
            Cell::Count(row.jobs),
            Cell::Share(row.share_of_jobs),
            Cell::Count(row.calls),
            Cell::Bytes(row.bytes),
            duration(row.time_ns),
        ]
    };
    let columns = vec![
        ("Interface", "interface"),
        ("Jobs", "jobs"),
        ("Of all", "share_of_jobs"),
        ("Calls", "calls"),
        ("Bytes", "bytes"),
        ("Time", "time_s"),
    ];
    table("interfaces", "Interfaces that programs call", columns, rows.iter().map(row).collect())
}

/// Shares of the runtime.
pub(crate) fn io_shares(rows: &[ShareRow]) -> Table {
    let row =
        |row: &ShareRow| vec![Cell::Text(row.share.into()), Cell::Count(row.jobs), Cell::Count(row.jobs_by_slowest)];
    let columns = vec![("Of runtime", "io_share"), ("Jobs, mean", "jobs"), ("Jobs, slowest rank", "jobs_by_slowest")];
    table("io_shares", "Share of the runtime in I/O", columns, rows.iter().map(row).collect())
}

/// Reading and writing.
pub(crate) fn directions(rows: &[DirectionRow]) -> Table {
    let row = |row: &DirectionRow| {
        vec![
            Cell::Text(row.direction.into()),
            Cell::Count(row.jobs),
            Cell::Bytes(row.bytes_read),
            Cell::Bytes(row.bytes_written),
        ]
    };
    let columns =
        vec![("Jobs that", "direction"), ("Jobs", "jobs"), ("Read", "bytes_read"), ("Written", "bytes_written")];
    table("directions", "Reading and writing", columns, rows.iter().map(row).collect())
}

/// Sizes of files.
pub(crate) fn file_sizes(rows: &[SizeRow]) -> Table {
    let row = |row: &SizeRow| {
        vec![
            Cell::Text(row.size.into()),
            Cell::Count(row.sums.files),
            share(row.share),
            Cell::Bytes(row.sums.bytes_read),
            Cell::Bytes(row.sums.bytes_written),
        ]
    };
    let columns = vec![
        ("Size", "size"),
        ("Files", "files"),
        ("Of all", "share"),
        ("Read", "bytes_read"),
        ("Written", "bytes_written"),
    ];
    table("file_sizes", "Files by size, as far as they were read or written", columns, rows.iter().map(row).collect())
}

/// Numbers of files.
pub(crate) fn files_per_job(rows: &[NumberRow]) -> Table {
    let row = |row: &NumberRow| vec![Cell::Text(row.files.into()), Cell::Count(row.jobs)];
    table("files_per_job", "Files per job", vec![("Files", "files"), ("Jobs", "jobs")], rows.iter().map(row).collect())
}

/// Shared files.
pub(crate) fn sharing(rows: &[SharingRow]) -> Table {
    let row = |row: &SharingRow| {
        vec![
            Cell::Text(row.ranks.into()),
            Cell::Count(row.sums.files),
            Cell::Bytes(row.sums.bytes_read),
            Cell::Bytes(row.sums.bytes_written),
        ]
    };
    let columns = vec![("Used by", "ranks"), ("Files", "files"), ("Read", "bytes_read"), ("Written", "bytes_written")];
    let title = "Files of jobs of several ranks, by how many of them used it";
    table("sharing", title, columns, rows.iter().map(row).collect())
}

/// Findings.
pub(crate) fn findings(rows: &[CodeRow], shown: usize) -> Table {
    let row = |row: &CodeRow| {
        vec![
            Cell::Text(row.code.name().into()),
            Cell::Count(row.jobs),
            Cell::Count(row.findings),
            duration(row.cost_ns),
            Cell::Text(row.severity.name().into()),
            Cell::Text(row.meaning.into()),
        ]
    };
    let columns = vec![
        ("Finding", "code"),
        ("Jobs", "jobs"),
        ("Findings", "findings"),
        ("Cost", "cost_s"),
        ("Worst", "severity"),
        ("", "meaning"),
    ];
    Table {
        most: shown,
        ..table(
            "findings",
            "Findings: `dxt-analyze explain CODE` says what one means",
            columns,
            rows.iter().map(row).collect(),
        )
    }
}
