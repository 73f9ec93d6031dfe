//! Tables of the command `stripes`.

use crate::model::LayoutOrigin;
use crate::render::{Cell, Part, Table};
use crate::text::units;
use crate::topics::stripes::load::LoadPart;
use crate::topics::stripes::result::{FilePart, LayoutPart, StripePart};

/// Maximum number of storage targets, or of time windows, shown in a table.
const SHOWN_TARGETS: usize = 10;

fn layout_words(layout: &LayoutPart) -> String {
    let origin = match layout.origin {
        LayoutOrigin::Lustre => "Lustre",
        LayoutOrigin::Ceph => "Ceph",
        LayoutOrigin::Given => "given",
        LayoutOrigin::Guess => "guess",
    };
    match layout.components.as_slice() {
        [one] => format!("{} x {} {origin}", units::size_option(one.stripe_size), one.stripe_count),
        all => format!("{} components {origin}", all.len()),
    }
}

pub(crate) fn file_table(files: &[FilePart], top: usize) -> Table {
    let share = |file: &FilePart, part: u64| Cell::share_of(part, file.placed());
    Table::of("files", "Files", files.iter().take(top))
        .column("File", "file", |file| Cell::path(&file.file))
        .column("Stripes", "layout", |file| Cell::Text(layout_words(&file.layout)))
        .csv("stripe_size", |file| Cell::Count(file.layout.main_stripe_size()))
        .column("Reads", "reads", |file| Cell::Count(file.reads))
        .column("Writes", "writes", |file| Cell::Count(file.writes))
        .column("Bytes", "bytes", |file| Cell::Bytes(file.bytes))
        .column("Time", "time_s", |file| Cell::Duration(file.time_ns))
        .column("Unaligned", "unaligned_share", |file| share(file, file.unaligned))
        .csv("unaligned_operations", |file| Cell::Count(file.unaligned))
        .csv("unaligned_bytes", |file| Cell::Count(file.unaligned_bytes))
        .column("Crossing", "crossing_share", |file| share(file, file.crossing))
        .csv("crossing_operations", |file| Cell::Count(file.crossing))
        .column("Shared", "stripes_shared_between_nodes", |file| Cell::Count(file.sharing.stripes_between_nodes))
        .column("Time", "time_shared_between_nodes_s", |file| Cell::Duration(file.sharing.time_between_nodes_ns))
        .column("On one node", "stripes_shared_on_one_node", |file| Cell::Count(file.sharing.stripes_on_one_node()))
        .column("Time", "time_shared_on_one_node_s", |file| Cell::Duration(file.sharing.time_on_one_node_ns()))
        .column("Max/mean", "busiest_ost_to_mean", |file| Cell::maybe(file.imbalance, Cell::Times))
        .done()
}

pub(crate) fn stripe_table<'a>(files: impl Iterator<Item = &'a FilePart>) -> Table {
    let rows = files.flat_map(|file| file.stripes.iter().map(move |stripe| (file, stripe)));
    Table::of("stripes", "False sharing: stripes partly written by several processes at overlapping times", rows)
        .column("File", "file", |(file, _)| Cell::path(&file.file))
        .column("Stripe", "stripe", |(_, stripe)| Cell::number(stripe.stripe))
        .column("Begins at", "offset", |(_, stripe)| Cell::number(stripe.start))
        .column("OST", "ost", |(_, stripe)| Cell::maybe(stripe.ost, Cell::number))
        .column("Writes", "writes", |(_, stripe)| Cell::Count(stripe.writes))
        .column("Time", "time_s", |(_, stripe)| Cell::Duration(stripe.time_ns))
        .column("Overlap", "wall_s", |(_, stripe)| Cell::Duration(stripe.wall_ns))
        .column("Between nodes", "time_between_nodes_s", |(_, stripe)| Cell::Duration(stripe.time_between_nodes_ns))
        .column("Ranks", "ranks", |(_, stripe)| Cell::Text(ranks(stripe)))
        .column("Nodes", "nodes", |(_, stripe)| Cell::Text(nodes(stripe)))
        .done()
}

fn ranks(stripe: &StripePart) -> String {
    match stripe.process_count.saturating_sub(stripe.ranks.len() as u64) {
        0 => stripe.ranks.join(" "),
        more => format!("{} and {more} more", stripe.ranks.join(" ")),
    }
}

fn nodes(stripe: &StripePart) -> String {
    match stripe.node_count.saturating_sub(stripe.nodes.len() as u64) {
        _ if stripe.node_count == 0 => "one".into(),
        0 => stripe.nodes.join(" "),
        more => format!("{} and {more} more", stripe.nodes.join(" ")),
    }
}

pub(crate) fn target_table<'a>(files: impl Iterator<Item = &'a FilePart>) -> Table {
    let rows = files.flat_map(|file| {
        let mut known: Vec<_> = file.targets.iter().filter(|target| target.ost.is_some()).collect();
        known.sort_by_key(|target| (std::cmp::Reverse(target.time_ns), target.ost));
        known.into_iter().map(move |target| (file, target))
    });
    Table::of("osts", "Storage targets, longest time first", rows)
        .column("File", "file", |(file, _)| Cell::path(&file.file))
        .column("OST", "ost", |(_, target)| Cell::maybe(target.ost, Cell::number))
        .column("Calls", "calls", |(_, target)| Cell::Count(target.operations))
        .column("Bytes", "bytes", |(_, target)| Cell::Bytes(target.bytes))
        .column("Time", "time_s", |(_, target)| Cell::Duration(target.time_ns))
        .column("Bandwidth", "bandwidth_bytes_per_s", |(_, target)| Cell::rate_of(target.bytes, target.time_ns))
        .most(SHOWN_TARGETS)
        .done()
}

/// Builds the table of time windows, sorted by the bytes on their busiest storage target, most first.
pub(crate) fn moment_table<'a>(load: Option<&'a LoadPart>) -> Table {
    let of = |load: &'a LoadPart| load.moments.iter().map(|moment| (moment, load.bin_ns));
    let mut moments: Vec<_> = load.into_iter().flat_map(of).collect();
    moments.sort_by_key(|(moment, _)| (std::cmp::Reverse(moment.busiest_bytes), moment.start_ns));
    Table::of("moments", "Storage targets over time, windows with the busiest OST first", moments)
        .column("From", "from_s", |(moment, _)| Cell::Moment(moment.start_ns))
        .column("Until", "until_s", |(moment, bin_ns)| Cell::Moment(moment.start_ns.saturating_add(*bin_ns)))
        .column("Bytes", "bytes", |(moment, _)| Cell::Bytes(moment.bytes))
        .column("OSTs busy", "busy_osts", |(moment, _)| Cell::Count(moment.busy_targets))
        .column("Busiest OST", "busiest_ost", |(moment, _)| Cell::number(moment.busiest))
        .column("Bytes of busiest", "busiest_bytes", |(moment, _)| Cell::Bytes(moment.busiest_bytes))
        .column("Max/mean", "busiest_ost_to_mean", |(moment, _)| Cell::Times(moment.busiest_to_mean))
        .most(SHOWN_TARGETS)
        .done()
}

/// Builds the line that gives the mean number of storage targets that work in parallel.
pub(crate) fn load_part(load: &LoadPart) -> Part {
    Part::Lines(vec![format!(
        "On average {:.1} of {} {} in parallel (bytes of all OSTs / bytes of the busiest, in each time window of {}).",
        load.parallelism,
        load.known_targets,
        units::agree(load.known_targets, "OST works", "OSTs work"),
        units::duration(load.bin_ns)
    )])
}

pub(crate) fn pace_table<'a>(files: impl Iterator<Item = &'a FilePart>) -> Table {
    let title = "Aligned and unaligned operations of similar size; the cost is an estimate, empty if the difference may be chance";
    let rows = files.flat_map(|file| file.alignment_cost.iter().map(move |part| (file, part)));
    Table::of("alignment", title, rows)
        .column("File", "file", |(file, _)| Cell::path(&file.file))
        .column("Op", "op", |(_, part)| Cell::text(part.op))
        .column("Size from", "from_bytes", |(_, part)| Cell::Bytes(part.from_bytes))
        .column("Aligned", "aligned_operations", |(_, part)| Cell::Count(part.aligned))
        .column("Mean", "aligned_mean_s", |(_, part)| Cell::Duration(part.aligned_mean_ns))
        .column("Unaligned", "unaligned_operations", |(_, part)| Cell::Count(part.unaligned))
        .column("Mean", "unaligned_mean_s", |(_, part)| Cell::Duration(part.unaligned_mean_ns))
        .column("Std error", "standard_error_s", |(_, part)| Cell::Duration(part.standard_error_ns))
        .column("Cost", "cost_s", |(_, part)| Cell::maybe(part.is_clear.then_some(part.cost_ns), Cell::Duration))
        .most(SHOWN_TARGETS)
        .done()
}
