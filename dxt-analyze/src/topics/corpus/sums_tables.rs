//! Tables of the sums over jobs, for the report of `corpus`.

use crate::render::{Cell, Head, Table};
use crate::topics::corpus::{CodeRow, DirectionRow, GroupRow, InterfaceRow, NumberRow, ShareRow, SharingRow, SizeRow};

/// Formats a duration that is summed over many jobs; in whole seconds if the ns exceed 64 bits.
fn duration(ns: u128) -> Cell {
    u64::try_from(ns)
        .map_or_else(|_| Cell::Count(u64::try_from(ns / 1_000_000_000).unwrap_or(u64::MAX)), Cell::Duration)
}

pub(crate) fn users(rows: &[GroupRow], shown: usize) -> Table {
    groups("users", "Users with most I/O", Head { title: "User", name: "user" }, rows, shown)
}

pub(crate) fn programs(rows: &[GroupRow], shown: usize) -> Table {
    groups("programs", "Programs", Head { title: "Program", name: "program" }, rows, shown)
}

fn groups(name: &'static str, title: &str, who: Head, rows: &[GroupRow], shown: usize) -> Table {
    Table::of(name, title, rows)
        .column(who.title, who.name, |row| Cell::path(&row.name))
        .column("Jobs", "jobs", |row| Cell::Count(row.sums.jobs))
        .column("Read", "bytes_read", |row| Cell::Bytes(row.sums.bytes_read))
        .column("Written", "bytes_written", |row| Cell::Bytes(row.sums.bytes_written))
        .column("Of all bytes", "share_of_bytes", |row| Cell::Share(row.share_of_bytes))
        .column("I/O time", "io_s", |row| duration(row.sums.io_ns))
        .column("Of all I/O", "share_of_io", |row| Cell::Share(row.share_of_io))
        .column("Of runtime", "io_share", |row| Cell::maybe(row.sums.io_share, Cell::Share))
        .csv("files", |row| Cell::Count(row.sums.files))
        .most(shown)
        .done()
}

pub(crate) fn interfaces(rows: &[InterfaceRow]) -> Table {
    Table::of("interfaces", "Interfaces that programs call", rows)
        .column("Interface", "interface", |row| Cell::text(row.interface))
        .column("Jobs", "jobs", |row| Cell::Count(row.jobs))
        .column("Of all jobs", "share_of_jobs", |row| Cell::Share(row.share_of_jobs))
        .column("Calls", "calls", |row| Cell::Count(row.calls))
        .column("Bytes", "bytes", |row| Cell::Bytes(row.bytes))
        .column("Time", "time_s", |row| duration(row.time_ns))
        .done()
}

pub(crate) fn io_shares(rows: &[ShareRow]) -> Table {
    Table::of("io_shares", "Number of jobs by the share of the runtime in I/O: mean over ranks, and slowest rank", rows)
        .column("Of runtime", "io_share", |row| Cell::text(row.share))
        .column("Jobs, mean", "jobs", |row| Cell::Count(row.jobs))
        .column("Jobs, slowest rank", "jobs_by_slowest", |row| Cell::Count(row.jobs_by_slowest))
        .done()
}

pub(crate) fn directions(rows: &[DirectionRow]) -> Table {
    Table::of("directions", "Jobs by whether they read and write", rows)
        .column("Jobs that", "direction", |row| Cell::text(row.direction))
        .column("Jobs", "jobs", |row| Cell::Count(row.jobs))
        .column("Read", "bytes_read", |row| Cell::Bytes(row.bytes_read))
        .column("Written", "bytes_written", |row| Cell::Bytes(row.bytes_written))
        .done()
}

pub(crate) fn file_sizes(rows: &[SizeRow]) -> Table {
    Table::of("file_sizes", "Files by the extent that was read or written", rows)
        .column("Size", "size", |row| Cell::text(row.size))
        .column("Files", "files", |row| Cell::Count(row.sums.files))
        .column("Of all files", "share", |row| Cell::maybe(row.share, Cell::Share))
        .column("Read", "bytes_read", |row| Cell::Bytes(row.sums.bytes_read))
        .column("Written", "bytes_written", |row| Cell::Bytes(row.sums.bytes_written))
        .done()
}

pub(crate) fn files_per_job(rows: &[NumberRow]) -> Table {
    Table::of("files_per_job", "Files per job", rows)
        .column("Files", "files", |row| Cell::text(row.files))
        .column("Jobs", "jobs", |row| Cell::Count(row.jobs))
        .done()
}

pub(crate) fn sharing(rows: &[SharingRow]) -> Table {
    Table::of("sharing", "Files of jobs with several ranks, by the number of ranks that used the file", rows)
        .column("Used by", "ranks", |row| Cell::text(row.ranks))
        .column("Files", "files", |row| Cell::Count(row.sums.files))
        .column("Read", "bytes_read", |row| Cell::Bytes(row.sums.bytes_read))
        .column("Written", "bytes_written", |row| Cell::Bytes(row.sums.bytes_written))
        .done()
}

pub(crate) fn findings(rows: &[CodeRow], shown: usize) -> Table {
    Table::of("findings", "Findings: `dxt-analyze explain CODE` explains a finding", rows)
        .column("Finding", "code", |row| Cell::text(row.code.name()))
        .column("Jobs", "jobs", |row| Cell::Count(row.jobs))
        .column("Findings", "findings", |row| Cell::Count(row.findings))
        .column("Cost", "cost_s", |row| duration(row.cost_ns))
        .column("Worst", "severity", |row| Cell::text(row.severity.name()))
        .csv("meaning", |row| Cell::text(row.meaning))
        .most(shown)
        .done()
}
