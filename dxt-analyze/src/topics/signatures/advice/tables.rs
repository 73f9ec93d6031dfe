//! Tables of the advice derived from I/O signatures.

use super::{Advice, FilePart, StripeRow};
use crate::render::{Cell, Part, Table};

pub(super) fn of(advice: &Advice, top: usize) -> Vec<Part> {
    let all = [ahead, one_call, strided, same_bytes, stripes, file_parts];
    all.into_iter().map(|table| Part::Table(table(advice, top))).collect()
}

fn ahead(advice: &Advice, top: usize) -> Table {
    Table::of("read_ahead", "Small reads that could be prefetched, by simulation", &advice.read_ahead)
        .column("File", "file", |row| Cell::path(&row.file))
        .csv("processes", |row| Cell::Count(row.processes))
        .column("Reads", "reads", |row| Cell::Count(row.reads))
        .column("Size", "length", |row| Cell::Bytes(row.length))
        .column("Duration", "latency_ns", |row| Cell::Duration(row.latency_ns))
        .column("Interval", "interval_ns", |row| Cell::Duration(row.interval_ns))
        .column("Calls ahead", "calls_ahead", |row| Cell::Count(row.calls_ahead))
        .column("Waits avoided", "coverage", |row| Cell::Share(row.coverage))
        .column("Bytes used", "accuracy", |row| Cell::Share(row.accuracy))
        .column("Too early", "too_early", |row| Cell::Share(row.too_early))
        .column("Too late", "too_late", |row| Cell::Share(row.too_late))
        .column("128 KiB ahead: avoided", "plain_coverage", |row| Cell::Share(row.plain_coverage))
        .column("used", "plain_accuracy", |row| Cell::Share(row.plain_accuracy))
        .column("Saves", "saves_ns", |row| Cell::Duration(row.saves_ns))
        .most(top)
        .done()
}

fn one_call(advice: &Advice, top: usize) -> Table {
    Table::of("one_call", "Loops that could be one collective call", advice.one_call.iter())
        .column("File", "file", |row| Cell::path(&row.file))
        .column("Interface", "layer", |row| Cell::Layer(row.layer.into()))
        .column("Calls", "writes", |row| Cell::text(if row.writes { "writes" } else { "reads" }))
        .column("Ranks", "ranks", |row| Cell::Count(row.ranks))
        .column("Calls per rank", "calls", |row| Cell::Count(row.calls))
        .column("Size", "length", |row| Cell::Bytes(row.length))
        .column("Stride", "stride", |row| Cell::Bytes(row.stride))
        .column("Total", "bytes", |row| Cell::Bytes(row.bytes))
        .csv("first", |row| Cell::Count(row.first))
        .column("Datatype", "datatype", |row| Cell::text(row.vector()))
        .most(top)
        .done()
}

fn strided(advice: &Advice, top: usize) -> Table {
    Table::of("strided", "Small calls at a fixed stride, with gaps", advice.strided.iter())
        .column("File", "file", |row| Cell::path(&row.file))
        .column("Calls", "writes", |row| Cell::text(if row.writes { "writes" } else { "reads" }))
        .column("Processes", "processes", |row| Cell::Count(row.processes))
        .column("Calls in total", "calls", |row| Cell::Count(row.calls))
        .column("Size", "length", |row| Cell::Bytes(row.length))
        .column("Stride", "stride", |row| Cell::Bytes(row.stride))
        .most(top)
        .done()
}

fn same_bytes(advice: &Advice, top: usize) -> Table {
    Table::of("same_bytes", "Same bytes read by several ranks", advice.same_bytes.iter())
        .column("File", "file", |row| Cell::path(&row.file))
        .column("Interface", "layer", |row| Cell::Layer(row.layer.into()))
        .column("Ranks", "ranks", |row| Cell::Count(row.ranks))
        .column("Nodes", "nodes", |row| Cell::Count(row.nodes))
        .column("Bytes per rank", "bytes_each", |row| Cell::Bytes(row.bytes_each))
        .column("Bytes in total", "bytes", |row| Cell::Bytes(row.bytes))
        .column("Once on each node", "bytes_by_node", |row| Cell::Bytes(row.bytes_by_node))
        .most(top)
        .done()
}

fn file_parts(advice: &Advice, top: usize) -> Table {
    let end = |row: &&FilePart| Cell::maybe(row.end, Cell::Bytes);
    let title = "Layouts of several components, for files whose parts suit different stripes";
    Table::of("file_parts", title, &advice.file_parts)
        .column("File", "file", |row| Cell::path(&row.file))
        .column("From", "first_byte", |row| Cell::Bytes(row.first_byte))
        .column("To", "end", end)
        .column("Stripe size", "stripe_bytes", |row| Cell::Bytes(row.stripe_bytes))
        .column("Stripe count", "stripe_count", |row| Cell::Count(row.stripe_count))
        .column("Command", "command", |row| Cell::text(&row.command))
        .most(top)
        .done()
}

fn stripes(advice: &Advice, top: usize) -> Table {
    let any = advice.stripes.iter().any(|row| row.replayed.is_some());
    let title = if any {
        "Best stripe sizes for patterns, by a cost model, and by a simulated replay of all accesses made at the same time"
    } else {
        "Best stripe sizes for patterns, by a cost model"
    };
    let stripes = |row: &&StripeRow| Cell::text(row.by_replay());
    let share = |row: &&StripeRow| Cell::maybe(row.replayed.and_then(|replayed| replayed.costs_of_today), Cell::Times);
    let table = Table::of("stripe_sizes", title, &advice.stripes)
        .column("File", "file", |row| Cell::path(&row.file))
        .csv("processes", |row| Cell::Count(row.processes))
        .column("Begins", "start_ns", |row| Cell::Moment(row.start_ns))
        .column("Request size", "request_bytes", |row| Cell::Bytes(row.request_bytes))
        .column("Bytes", "bytes", |row| Cell::Bytes(row.bytes))
        .column("Targets", "targets", |row| Cell::Count(row.targets))
        .column("Present stripes", "stripe_bytes", |row| Cell::maybe(row.stripe_bytes, Cell::Bytes))
        .column("Best", "best_bytes", |row| Cell::Bytes(row.best_bytes))
        .column("Best on Lustre", "lustre_bytes", |row| Cell::Bytes(row.lustre_bytes))
        .column("Present cost", "costs_times", |row| Cell::maybe(row.costs_times, Cell::Times))
        .column("Layout", "layout", |row| Cell::text(&row.layout))
        .csv("targets_per_process", |row| Cell::Count(row.targets_per_process));
    let of_model =
        |row: &&StripeRow| Cell::maybe(row.replayed.and_then(|replayed| replayed.costs_of_model), Cell::Times);
    let why_apart = |row: &StripeRow| row.replayed.map_or("", |replayed| replayed.why_apart);
    let why = |row: &&StripeRow| Cell::text(why_apart(row));
    let table = if any {
        let table = table.column("By replay", "replayed_stripes", stripes).column("costs", "replayed_costs", share);
        table.column("the model's", "model_costs", of_model)
    } else {
        table.csv("replayed_stripes", stripes).csv("replayed_costs", share).csv("model_costs", of_model)
    };
    // The reason for differing stripe sizes has a visible column only if a row has a reason.
    let apart = advice.stripes.iter().any(|row| !why_apart(row).is_empty());
    let table = if apart { table.column("Why different", "why_apart", why) } else { table.csv("why_apart", why) };
    table.most(top).done()
}
