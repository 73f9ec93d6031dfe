//! The tables of `stripes`.

use crate::model::LayoutOrigin;
use crate::render::{Cell, Part, Table};
use crate::text::units;
use crate::topics::stripes::load::LoadPart;
use crate::topics::stripes::result::{FilePart, LayoutPart, StripePart};

/// Storage targets, and moments, that a table for people shows.
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
    let rows = files.iter().take(top).map(|file| {
        let all = file.placed();
        let share = |part: u64| if all > 0 { Cell::Share(part as f64 / all as f64) } else { Cell::None };
        vec![
            Cell::Path(file.file.clone()),
            Cell::Text(layout_words(&file.layout)),
            Cell::Count(file.layout.main_stripe_size()),
            Cell::Count(file.reads),
            Cell::Count(file.writes),
            Cell::Bytes(file.bytes),
            Cell::Duration(file.time_ns),
            share(file.unaligned),
            Cell::Count(file.unaligned),
            Cell::Count(file.unaligned_bytes),
            share(file.crossing),
            Cell::Count(file.crossing),
            Cell::Count(file.sharing.stripes_between_nodes),
            Cell::Duration(file.sharing.time_between_nodes_ns),
            Cell::Count(file.sharing.stripes_on_one_node()),
            Cell::Duration(file.sharing.time_on_one_node_ns()),
            file.imbalance.map_or(Cell::None, Cell::Times),
        ]
    });
    Table {
        name: "files",
        title: "Files".into(),
        columns: vec![
            ("File", "file"),
            ("Stripes", "layout"),
            ("", "stripe_size"),
            ("Reads", "reads"),
            ("Writes", "writes"),
            ("Bytes", "bytes"),
            ("Time", "time_s"),
            ("Unaligned", "unaligned_share"),
            ("", "unaligned_operations"),
            ("", "unaligned_bytes"),
            ("Crossing", "crossing_share"),
            ("", "crossing_operations"),
            ("Shared", "stripes_shared_between_nodes"),
            ("Time", "time_shared_between_nodes_s"),
            ("On a node", "stripes_shared_on_one_node"),
            ("Time", "time_shared_on_one_node_s"),
            ("Max/mean", "busiest_ost_to_mean"),
        ],
        rows: rows.collect(),
        most: usize::MAX,
    }
}

pub(crate) fn stripe_table<'a>(files: impl Iterator<Item = &'a FilePart>) -> Table {
    let number = |value: u64| Cell::Number(i64::try_from(value).unwrap_or(i64::MAX));
    let rows = files.flat_map(|file| {
        file.stripes.iter().map(move |stripe| {
            let more = stripe.process_count.saturating_sub(stripe.ranks.len() as u64);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            vec![
                Cell::Path(file.file.clone()),
                number(stripe.stripe),
                number(stripe.start),
                stripe.ost.map_or(Cell::None, |ost| Cell::Number(i64::from(ost))),
                Cell::Count(stripe.writes),
                Cell::Duration(stripe.time_ns),
                Cell::Duration(stripe.wall_ns),
                Cell::Duration(stripe.time_between_nodes_ns),
                Cell::Text(format!("{}{more}", stripe.ranks.join(" "))),
                Cell::Text(nodes(stripe)),
            ]
        })
    });
    Table {
        name: "stripes",
        title: "False sharing: stripes written in part by several processes at overlapping times".into(),
        columns: vec![
            ("File", "file"),
            ("Stripe", "stripe"),
            ("Begins at", "start"),
            ("OST", "ost"),
            ("Writes", "writes"),
            ("Time", "time_s"),
            ("Together", "wall_s"),
            ("Of nodes", "time_between_nodes_s"),
            ("Ranks", "ranks"),
            ("Nodes", "nodes"),
        ],
        rows: rows.collect(),
        most: usize::MAX,
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
        known.into_iter().map(|target| {
            vec![
                Cell::Path(file.file.clone()),
                target.ost.map_or(Cell::None, |ost| Cell::Number(i64::from(ost))),
                Cell::Count(target.operations),
                Cell::Bytes(target.bytes),
                Cell::Duration(target.time_ns),
                if target.time_ns > 0 {
                    Cell::Rate(target.bytes as f64 * 1e9 / target.time_ns as f64)
                } else {
                    Cell::None
                },
            ]
        })
    });
    Table {
        name: "osts",
        title: "Storage targets, those with most time first".into(),
        columns: vec![
            ("File", "file"),
            ("OST", "ost"),
            ("Calls", "calls"),
            ("Bytes", "bytes"),
            ("Time", "time_s"),
            ("Bandwidth", "bandwidth_bytes_per_s"),
        ],
        rows: rows.collect(),
        most: SHOWN_TARGETS,
    }
}

/// Moments, those with most bytes on one target first.
pub(crate) fn moment_table(load: &LoadPart) -> Table {
    let mut moments: Vec<_> = load.moments.iter().collect();
    moments.sort_by_key(|moment| (std::cmp::Reverse(moment.busiest_bytes), moment.start_ns));
    let rows = moments.into_iter().map(|moment| {
        vec![
            Cell::Moment(moment.start_ns),
            Cell::Moment(moment.start_ns.saturating_add(load.bin_ns)),
            Cell::Bytes(moment.bytes),
            Cell::Count(moment.busy_targets),
            Cell::Number(i64::from(moment.busiest)),
            Cell::Bytes(moment.busiest_bytes),
            Cell::Times(moment.busiest_to_mean),
        ]
    });
    Table {
        name: "moments",
        title: "Storage targets over time, the hottest moments first".into(),
        columns: vec![
            ("From", "from_s"),
            ("Until", "until_s"),
            ("Bytes", "bytes"),
            ("OSTs busy", "busy_osts"),
            ("Busiest", "busiest_ost"),
            ("Its bytes", "busiest_bytes"),
            ("Max/mean", "busiest_ost_to_mean"),
        ],
        rows: rows.collect(),
        most: SHOWN_TARGETS,
    }
}

/// How many targets were at work together.
pub(crate) fn load_part(load: &LoadPart) -> Part {
    Part::Lines(vec![format!(
        "At a time (bins of {}), as many as {:.1} of {} OSTs were at work: bytes over those of the busiest OST of each bin.",
        units::duration(load.bin_ns),
        load.parallelism,
        load.known_targets
    )])
}

/// Aligned and unaligned operations of like size.
pub(crate) fn pace_table<'a>(files: impl Iterator<Item = &'a FilePart>) -> Table {
    let rows = files.flat_map(|file| {
        file.alignment_cost.iter().map(|part| {
            vec![
                Cell::Path(file.file.clone()),
                Cell::Text(part.op.into()),
                Cell::Bytes(part.from_bytes),
                Cell::Count(part.aligned),
                Cell::Duration(part.aligned_mean_ns),
                Cell::Count(part.unaligned),
                Cell::Duration(part.unaligned_mean_ns),
                Cell::Duration(part.standard_error_ns),
                if part.is_clear { Cell::Duration(part.cost_ns) } else { Cell::None },
            ]
        })
    });
    Table {
        name: "alignment",
        title: "Aligned and unaligned operations of like size; the cost is an estimate, none if the difference may be chance"
            .into(),
        columns: vec![
            ("File", "file"),
            ("Op", "op"),
            ("Size from", "from_bytes"),
            ("Aligned", "aligned_operations"),
            ("Mean", "aligned_mean_s"),
            ("Unaligned", "unaligned_operations"),
            ("Mean", "unaligned_mean_s"),
            ("Std error", "standard_error_s"),
            ("Cost", "cost_s"),
        ],
        rows: rows.collect(),
        most: SHOWN_TARGETS,
    }
}
