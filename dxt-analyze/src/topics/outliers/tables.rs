//! Tables of `outliers`. Each table has fixed names and columns and exists even without rows.

use super::distribution::Metric;
use super::result::OperationGroup;
use super::row::OutlierRow;
use super::units::compare::UnitRow;
use super::units::stragglers::Straggler;
use crate::render::{Cell, Table};
use crate::shared::groups::Group;
use crate::shared::stats::BoxPlot;
use crate::text::units;

pub(super) fn operation_table<'a>(rows: impl Iterator<Item = (&'a Group, &'a OutlierRow)>, absolute: bool) -> Table {
    let time = |ns: u64| match absolute {
        true => Cell::Ranged {
            value: Box::new(Cell::Moment(ns)),
            shown: units::wall_clock(i64::try_from(ns).unwrap_or(i64::MAX)),
        },
        false => Cell::Moment(ns),
    };
    Table::of("operations", "", rows)
        .csv("layer", |(group, _)| Cell::text(&group.layer))
        .csv("op", |(group, _)| Cell::text(&group.op))
        .csv("mode", |(group, _)| Cell::text(&group.mode))
        .csv("nested", |(group, _)| Cell::flag(group.nested))
        .column("Rank", "rank", |(_, row)| Cell::number(row.rank))
        .column("Node", "node", |(_, row)| Cell::text(&row.node))
        .csv("pid", |(_, row)| Cell::number(row.pid))
        .column("File", "file", |(_, row)| Cell::path(&row.file))
        .column("Offset", "offset", |(_, row)| Cell::Number(row.offset))
        .column("Length", "length", |(_, row)| Cell::number(row.length))
        .column("Start, s", "start_s", |(_, row)| time(row.start_ns))
        .column("End, s", "end_s", |(_, row)| time(row.end_ns))
        .column("Bandwidth", "bandwidth_bytes_per_s", |(_, row)| Cell::maybe(row.bandwidth, Cell::Rate))
        .column("Stripe", "stripe", |(_, row)| Cell::maybe(row.stripe, Cell::number))
        .column("OST", "ost", |(_, row)| Cell::maybe(row.ost, Cell::number))
        .done()
}

/// Builds the table of each group's box plot values, for scripts.
pub(super) fn box_table(groups: &[OperationGroup], metric: Metric) -> Table {
    let names = match metric {
        Metric::Bandwidth => [
            "mean_bytes_per_s",
            "least_bytes_per_s",
            "q1_bytes_per_s",
            "median_bytes_per_s",
            "q3_bytes_per_s",
            "most_bytes_per_s",
            "low_fence_bytes_per_s",
            "high_fence_bytes_per_s",
        ],
        Metric::Duration => ["mean_s", "least_s", "q1_s", "median_s", "q3_s", "most_s", "low_fence_s", "high_fence_s"],
    };
    let values = |plot: &BoxPlot| {
        let BoxPlot { mean, min, q1, median, q3, max, low_fence, high_fence, .. } = *plot;
        [mean, min, q1, median, q3, max, low_fence, high_fence]
    };
    let cell = move |value: f64| match metric {
        Metric::Bandwidth => Cell::Rate(value),
        Metric::Duration => Cell::Duration(value.max(0.0) as u64),
    };
    let table = Table::of("boxes", "", groups)
        .csv("layer", |group| Cell::text(&group.group.layer))
        .csv("op", |group| Cell::text(&group.group.op))
        .csv("mode", |group| Cell::text(&group.group.mode))
        .csv("nested", |group| Cell::flag(group.group.nested))
        .csv("sample", |group| Cell::Count(group.sample))
        .csv("without_value", |group| Cell::Count(group.without_value));
    let table = names.into_iter().enumerate().fold(table, |table, (place, name)| {
        table.csv(name, move |group| Cell::maybe(values(&group.plot).get(place).copied(), cell))
    });
    table
        .csv("quartiles_exact", |group| Cell::flag(group.plot.exact))
        .csv("outliers", |group| Cell::Count(group.outliers))
        .csv("outliers_s", |group| Cell::Duration(group.time_ns))
        .csv("extra_s", |group| Cell::Duration(group.extra_ns))
        .beside()
        .done()
}

fn unit(by: &str, name: &str) -> Cell {
    if by == "file" { Cell::path(name) } else { Cell::text(name) }
}

pub(super) fn unit_table<'a>(rows: impl Iterator<Item = (&'a Group, &'a UnitRow)>, by: &str, metric: Metric) -> Table {
    let title = match by {
        "rank" => "Rank",
        "node" => "Node",
        "ost" => "OST",
        _ => "File",
    };
    let table = Table::of("units", "", rows)
        .csv("layer", |(group, _)| Cell::text(&group.layer))
        .csv("op", |(group, _)| Cell::text(&group.op))
        .csv("mode", |(group, _)| Cell::text(&group.mode))
        .csv("nested", |(group, _)| Cell::flag(group.nested))
        .column(title, "unit", |(_, row)| unit(by, &row.unit))
        .column("Calls", "calls", |(_, row)| Cell::Count(row.operations))
        .column("Bytes", "bytes", |(_, row)| Cell::Bytes(row.bytes))
        .column("Time", "time_s", |(_, row)| Cell::Duration(row.time_ns));
    let table = match metric {
        Metric::Bandwidth => table.column("Bandwidth", "bandwidth_bytes_per_s", |(_, row)| Cell::Rate(row.value)),
        Metric::Duration => {
            table.column("Mean", "mean_duration_s", |(_, row)| Cell::Duration(row.value.max(0.0) as u64))
        }
    };
    table
        .column("Slower", "times_slower_than_median", |(_, row)| Cell::Times(row.slower))
        .column("Excess", "extra_s", |(_, row)| Cell::Duration(u64::try_from(row.extra_ns).unwrap_or(0)))
        .column("z-score", "robust_z", |(_, row)| Cell::maybe(row.z, |z| Cell::text(format!("{z:.1}"))))
        .csv("p", |(_, row)| Cell::maybe(row.p, |p| Cell::text(format!("{p:.1e}"))))
        .column("Verdict", "verdict", |(_, row)| {
            Cell::text(match (row.outlier, row.slow_targets) {
                (true, _) => "outlier",
                (_, true) => "slow OST",
                _ => "",
            })
        })
        .done()
}

pub(super) fn straggler_table(stragglers: &[Straggler], by: &str) -> Table {
    Table::of("stragglers", "Slowest in each time window", stragglers)
        .column("Operation", "operation", |row| Cell::Text(row.group.title()))
        .column("From, s", "from_s", |row| Cell::Moment(row.from_ns))
        .column("Until, s", "until_s", |row| Cell::Moment(row.until_ns))
        .column("Compared", "sample", |row| Cell::Count(row.sample))
        .column("Slowest", "unit", |row| unit(by, &row.unit))
        .column("Slower", "times_slower_than_median", |row| Cell::Times(row.slower))
        .column("Excess", "extra_s", |row| Cell::Duration(u64::try_from(row.extra_ns).unwrap_or(0)))
        .column("Imbalance", "imbalance", |row| Cell::Share(row.imbalance))
        .csv("spread_to_total", |row| Cell::Share(row.share_of_total))
        .column("Verdict", "verdict", |row| Cell::text(if row.outlier { "outlier" } else { "" }))
        .done()
}
