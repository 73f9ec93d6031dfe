//! Tables of `layers` about ranks working together: collective calls and calls in flight.

use crate::render::{Cell, Table};
use crate::sum::Sum;
use crate::topics::layers::buffering::{BufferingRow, Collectives};
use crate::topics::layers::concurrency::{Concurrency, Series};

fn ratio(part: u64, whole: u64) -> Cell {
    if whole > 0 { Cell::Times(part as f64 / whole as f64) } else { Cell::None }
}

pub(crate) fn collective_files(rows: &[BufferingRow], top: usize) -> Table {
    Table::of("buffering", "Collective buffering: collective calls, and the POSIX requests made inside them", rows)
        .column("File", "file", |row| Cell::path(&row.file))
        .column("Operation", "op", |row| Cell::text(row.op))
        .column("Calls", "calls", |row| Cell::Count(row.made.of.calls))
        .column("Mean size", "mean_call_bytes", |row| Cell::Bytes(row.mean_call_bytes))
        .column("POSIX", "posix_data_calls", |row| Cell::Count(row.made.inside.data().calls))
        .column("Mean size", "mean_request_bytes", |row| Cell::Bytes(row.mean_request_bytes))
        .column("POSIX/call", "posix_per_call", |row| ratio(row.made.inside.data().calls, row.made.of.calls))
        .column("Ranks", "processes", |row| Cell::Count(row.processes))
        .column("Aggregators", "aggregators", |row| Cell::Count(row.aggregators.len() as u64))
        .column("Buffered", "buffered", |row| Cell::text(if row.buffered { "yes" } else { "no" }))
        .most(top)
        .done()
}

pub(crate) fn means(rows: &[BufferingRow], top: usize) -> Table {
    let title = "Mean time per rank in collective calls: in system calls for data, and outside (communication, copying, waiting)";
    let rows = rows.iter().filter(|row| !row.aggregators.is_empty());
    let rows = rows.flat_map(|row| {
        let aggregators = (row, "aggregators", row.aggregators.len() as u64, row.aggregators_mean);
        [aggregators, (row, "all", row.processes, row.processes_mean)]
    });
    Table::of("means", title, rows)
        .column("File", "file", |(row, ..)| Cell::path(&row.file))
        .column("Operation", "op", |(row, ..)| Cell::text(row.op))
        .column("Ranks", "whose", |(_, whose, ..)| Cell::text(*whose))
        .column("Number", "processes", |(_, _, number, _)| Cell::Count(*number))
        .column("Time", "time_s", |(.., mean)| Cell::Duration(mean.time_ns))
        .column("I/O", "io_s", |(.., mean)| Cell::Duration(mean.io_ns))
        .column("Communication", "communication_s", |(.., mean)| Cell::Duration(mean.communication_ns))
        .column("Comm. %", "communication_share", |(.., mean)| Cell::share_of(mean.communication_ns, mean.time_ns))
        .most(top.saturating_mul(2))
        .done()
}

pub(crate) fn aggregators(rows: &[BufferingRow], top: usize) -> Table {
    let rows = rows.iter().flat_map(|row| {
        let all = row.aggregators.iter().map(|one| one.data.bytes).sum::<Sum>().get();
        row.aggregators.iter().map(move |one| (row, one, all))
    });
    Table::of("aggregators", "Aggregators: ranks that make system calls for data inside collective calls", rows)
        .column("File", "file", |(row, ..)| Cell::path(&row.file))
        .column("Operation", "op", |(row, ..)| Cell::text(row.op))
        .column("Aggregator", "process", |(_, one, _)| Cell::text(&one.process))
        .column("Node", "node", |(_, one, _)| Cell::text(&one.node))
        .column("Calls", "calls", |(_, one, _)| Cell::Count(one.data.calls))
        .column("Bytes", "bytes", |(_, one, _)| Cell::Bytes(one.data.bytes))
        .column("Share", "share", |(_, one, all)| Cell::share_of(one.data.bytes, *all))
        .column("Time", "time_s", |(_, one, _)| Cell::Duration(one.data.time_ns))
        .column("Bandwidth", "bandwidth_bytes_per_s", |(_, one, _)| Cell::rate_of(one.data.bytes, one.data.time_ns))
        .most(top)
        .done()
}

pub(crate) fn collectives(found: &Collectives) -> Table {
    let title = "Slowest collective operations: wall time = until the last rank arrives + system calls of the busiest rank + rest";
    Table::of("collectives", title, &found.slowest)
        .column("File", "file", |row| Cell::path(&row.file))
        .column("Operation", "op", |row| Cell::text(&row.op))
        .column("No", "number", |row| Cell::Count(row.number))
        .column("Start", "start_s", |row| Cell::Moment(row.start_ns))
        .column("Ranks", "calls", |row| Cell::Count(row.calls))
        .column("Bytes", "bytes", |row| Cell::Bytes(row.bytes))
        .column("Wall", "wall_s", |row| Cell::Duration(row.wall_ns))
        .column("Until last", "skew_s", |row| Cell::Duration(row.skew_ns))
        .column("Last rank", "last", |row| Cell::text(&row.last))
        .csv("wait_s", |row| Cell::Duration(row.wait_ns))
        .column("Storage", "storage_s", |row| Cell::Duration(row.storage_ns))
        .column("Busiest", "busiest", |row| Cell::text(&row.busiest))
        .column("Rest", "rest_s", |row| Cell::Duration(row.rest_ns))
        .column("Aggr.", "aggregators", |row| Cell::Count(row.aggregators))
        .csv("posix_data_calls", |row| Cell::Count(row.data_calls))
        .csv("posix_bytes", |row| Cell::Count(row.data_bytes))
        .done()
}

pub(crate) fn late(found: &Collectives) -> Table {
    Table::of("late", "Stragglers: ranks that arrive last in collective operations", found.late.iter())
        .column("Rank", "process", |row| Cell::text(&row.process))
        .column("Node", "node", |row| Cell::text(&row.node))
        .column("Times last", "times", |row| Cell::Count(row.times))
        .column("Others wait", "wait_s", |row| Cell::Duration(row.wait_ns))
        .column("Of collective time", "share", |row| Cell::share_of(row.wait_ns, found.time_ns))
        .done()
}

pub(crate) fn concurrency(rows: &[Concurrency]) -> Table {
    let share = |row: &Concurrency, class: usize| Cell::Share(row.shares.get(class).copied().unwrap_or(0.0));
    Table::of(
        "concurrency",
        "Calls in flight over all ranks: share of the busy time by number of calls in flight",
        rows,
    )
    .column("Calls", "what", |row| Cell::text(row.what.name()))
    .column("Number", "calls", |row| Cell::Count(row.calls))
    .column("Busy", "busy_s", |row| Cell::Duration(row.busy_ns))
    .column("Mean", "mean_in_flight", |row| Cell::Times(row.mean))
    .column("Maximum", "most_in_flight", |row| Cell::Count(row.max))
    .column("1", "share_1", |row| share(row, 0))
    .column("2-3", "share_2_3", |row| share(row, 1))
    .column("4-7", "share_4_7", |row| share(row, 2))
    .column("8-15", "share_8_15", |row| share(row, 3))
    .column("16-31", "share_16_31", |row| share(row, 4))
    .column("32+", "share_32_or_more", |row| Cell::Share(row.shares.iter().skip(5).fold(0.0, |sum, share| sum + share)))
    .done()
}

/// Builds the table of the mean number of calls in flight per time bin; for CSV only.
pub(crate) fn series(series: &Series, rows: &[Concurrency]) -> Table {
    let start = |bin: usize| series.start_ns.saturating_add(series.width_ns.saturating_mul(bin as u64));
    let rows = (0..series.bins).flat_map(|bin| rows.iter().map(move |row| (bin, row)));
    Table::of("series", "", rows)
        .column("Start", "start_s", |(bin, _)| Cell::Moment(start(*bin)))
        .column("Width", "width_s", |_| Cell::Duration(series.width_ns))
        .column("Calls", "what", |(_, row)| Cell::text(row.what.name()))
        .column("Mean", "mean_in_flight", |(bin, row)| Cell::Times(row.series.get(*bin).copied().unwrap_or(0.0)))
        .most(0)
        .done()
}
