//! Tables of bandwidths, shared by several topics.

use super::LayerRow;
use crate::render::{Cell, Table, TableOf};

const TITLE: &str = "Bandwidth: bytes over time in calls (effective), over the time in calls of the slowest process, and over the span \
                     from the first start to the last end, pauses included";

pub(crate) fn whole(rows: &[LayerRow]) -> Table {
    let table = Table::of("layers", TITLE, rows)
        .column("Layer", "layer", |row| Cell::Layer(row.layer.into()))
        .column("Called by", "called_by", |row| Cell::text(row.called_by))
        .column("Operation", "op", |row| Cell::text(row.op))
        .column("Ranks", "processes", |row| Cell::Count(row.processes))
        .column("Calls", "calls", |row| Cell::Count(row.sum.calls))
        .column("Bytes", "bytes", |row| Cell::Bytes(row.sum.bytes))
        .column("Time", "time_s", |row| Cell::Duration(row.sum.time_ns))
        .column("Slowest", "slowest_s", |row| Cell::maybe(row.bandwidth.slowest_ns, Cell::Duration))
        .column("Span", "span_s", |row| Cell::Duration(row.bandwidth.span_ns))
        .column("Effective", "effective_bytes_per_s", |row| Cell::Rate(row.effective));
    rates(table, rows).done()
}

/// Returns a table of the bandwidths in `rows` that fits into 80 columns; `name` is the table's name for `--table`.
pub(crate) fn narrow(name: &'static str, title: &'static str, rows: &[LayerRow]) -> Table {
    let table = Table::of(name, title, rows)
        .column("Layer", "layer", |row| Cell::Layer(row.layer.into()))
        .column("Called by", "called_by", |row| Cell::text(row.called_by))
        .column("Calls", "op", |row| Cell::text(row.op))
        .column("Bytes", "bytes", |row| Cell::Bytes(row.sum.bytes))
        .csv("slowest_s", |row| Cell::maybe(row.bandwidth.slowest_ns, Cell::Duration))
        .csv("span_s", |row| Cell::Duration(row.bandwidth.span_ns));
    rates(table, rows).done()
}

fn rates<'a>(table: TableOf<'a, &'a LayerRow>, rows: &'a [LayerRow]) -> TableOf<'a, &'a LayerRow> {
    let measured = rows.iter().any(|row| row.bandwidth.of_peak.is_some());
    table
        .column("By slowest", "by_slowest_bytes_per_s", |row| Cell::maybe(row.bandwidth.by_slowest, Cell::Rate))
        .column("Over span", "over_span_bytes_per_s", |row| Cell::Rate(row.bandwidth.over_span))
        .column(if measured { "Of peak" } else { "" }, "of_peak", |row| Cell::maybe(row.bandwidth.of_peak, Cell::Times))
}
