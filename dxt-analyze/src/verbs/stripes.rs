//! `stripes`: the passes of the audit, and how its result looks.

use crate::analyses::completeness::Completeness;
use crate::analyses::stripes::audit::Audit;
use crate::analyses::stripes::report::{FilePart, Found, LayoutPart, StripePart, Stripes, files};
use crate::analyses::stripes::{advice, overlap};
use crate::cli::StripesArgs;
use crate::findings;
use crate::load::{LayoutOrigin, Run};
use crate::progress::Bar;
use crate::render::{Cell, Part, Report, Table, View, units};
use crate::scan::scan;
use anyhow::Result;
use serde::Serialize;

/// Storage targets that a table for people shows.
const SHOWN_TARGETS: usize = 10;

/// The result and how many files to show.
#[derive(Debug, Serialize)]
pub struct StripesReport {
    /// The result.
    #[serde(flatten)]
    pub result: Stripes,
    /// Files that a table shows.
    #[serde(skip)]
    pub top: usize,
}

/// Loads and audits.
///
/// # Errors
/// If nothing can be loaded or the layouts make no sense.
pub fn stripes(args: &StripesArgs) -> Result<StripesReport> {
    let run = super::open(&args.inputs)?;
    stripes_of(&run, args)
}

/// Audits a run that is loaded; `args.inputs` is not looked at.
///
/// # Errors
/// If the layouts make no sense.
pub fn stripes_of(run: &Run, args: &StripesArgs) -> Result<StripesReport> {
    let layouts = super::layouts(run, args.layout.as_deref())?;
    let bar = Bar::new(run.segments(), "stripes");
    let (partial, lost) = scan(run, &Audit { layouts: &layouts }, &bar);
    drop(bar);
    let mut found = Found {
        files: partial.files,
        contested: partial.followed.contested(),
        followed_one_in: partial.followed.one_in(),
        ..Found::default()
    };
    let followed_one_in = found.followed_one_in;
    drop(partial.followed);
    let nodes: Vec<u32> = run.processes.iter().map(|process| process.node).collect();
    let plan = overlap::plan(&found.contested);
    for batch in &plan.batches {
        let bar = Bar::new(run.segments(), "shared stripes");
        let (writes, _) = scan(run, &overlap::Collect::new(&layouts, batch), &bar);
        found.conflicts.extend(overlap::conflicts(batch, writes, &nodes));
    }
    found.left_over = plan.left_over;
    let mut with_data: Vec<u32> = run
        .processes
        .iter()
        .flat_map(|process| &process.streams)
        .filter(|stream| stream.storage && layouts.get(stream.file as usize).is_none_or(Option::is_none))
        .map(|stream| stream.file)
        .collect();
    with_data.sort_unstable();
    with_data.dedup();
    let names = with_data.iter().filter_map(|file| run.files.get(*file as usize));
    let mut result = Stripes {
        files: files(run, &layouts, found, args.top),
        without_layout: names.map(|file| file.name.clone()).collect(),
        followed_one_in,
        missing: Completeness::of(run, &lost),
        findings: Vec::new(),
    };
    result.findings = advice::findings(&result, &run.thresholds);
    result.findings.extend(result.missing.findings());
    findings::sort(&mut result.findings);
    Ok(StripesReport { result, top: args.top })
}

impl Report for StripesReport {
    fn view(&self) -> View {
        let result = &self.result;
        let shown = || result.files.iter().take(self.top);
        let mut parts: Vec<Part> = result.missing.scope_part().into_iter().collect();
        parts.push(Part::Table(file_table(&result.files, self.top)));
        let stripes = stripe_table(shown());
        if !stripes.rows.is_empty() {
            parts.push(Part::Table(stripes));
        }
        let targets = target_table(shown());
        if !targets.rows.is_empty() {
            parts.push(Part::Table(targets));
        }
        let advice: Vec<String> = shown()
            .filter(|file| !file.advice.is_empty())
            .flat_map(|file| {
                std::iter::once(format!("What to change for {}:", file.file))
                    .chain(file.advice.iter().map(|line| format!("  {line}")))
            })
            .collect();
        if !advice.is_empty() {
            parts.push(Part::Lines(advice));
        }
        let remarks = remarks(result, self.top);
        if !remarks.is_empty() {
            parts.push(Part::Lines(remarks));
        }
        parts.push(Part::Findings(result.findings.clone()));
        parts.extend(result.missing.parts());
        View { parts, max_width: None }
    }
}

fn remarks(result: &Stripes, top: usize) -> Vec<String> {
    let mut out = Vec::new();
    if result.missing.counted_operations > 0 {
        out.push(format!(
            "{} operations were counted and have no offsets (DXT_ENABLE=counters): they are not in this audit. `summary` shows \
             how many accesses begin off a stripe boundary.",
            units::count(result.missing.counted_operations)
        ));
    }
    if result.files.iter().any(|file| file.layout.origin == LayoutOrigin::Guess) {
        out.push(
            "guess: the file system gave no layout; the file's preferred I/O size (st_blksize) stands in for the stripe \
             size. Give a layout with --layout FILE to audit another one."
                .into(),
        );
    }
    if let Some((file, why)) = result.files.iter().find_map(|file| Some((file, file.layout_problem.as_ref()?))) {
        out.push(format!("the layout of {} in the trace is of no use: {why}", file.file));
    }
    if let Some(file) = result.files.iter().find(|file| file.reads > 0 && file.layout.mirrors_in_use.len() > 1) {
        out.push(format!(
            "{} has {} mirrors with current data: reads may have gone to any of them; they are put on the one that reads \
             shall prefer, or the first",
            file.file,
            file.layout.mirrors_in_use.len()
        ));
    }
    if result.files.len() > top {
        out.push(format!("{} more files: --top N, or --format json", result.files.len() - top));
    }
    if let Some(first) = result.without_layout.first() {
        let count = result.without_layout.len();
        out.push(format!("{count} file(s) without any layout are not audited, as {first}"));
    }
    if result.followed_one_in > 1 {
        out.push(format!(
            "too many partly written stripes to follow all: shared stripes were looked for in 1 of {} (chosen by hash), and \
             their numbers and times are estimates: those of the sample times {0}",
            result.followed_one_in
        ));
    }
    let left: u64 = result.files.iter().map(|file| file.sharing.not_examined).sum();
    if left > 0 {
        out.push(format!("{left} stripes written by several processes were too many to examine for overlap in time"));
    }
    out
}

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

fn file_table(files: &[FilePart], top: usize) -> Table {
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

fn stripe_table<'a>(files: impl Iterator<Item = &'a FilePart>) -> Table {
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

fn target_table<'a>(files: impl Iterator<Item = &'a FilePart>) -> Table {
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
