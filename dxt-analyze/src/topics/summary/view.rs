//! Command `summary`: one pass for the totals, a second pass for access profiles if requested, and tables of at most 80 columns.

use super::args::Args;
use crate::findings::Finding;
use crate::model::{Run, filters};
use crate::progress::Bar;
use crate::render::{Cell, Part, Report, Table, View, untimed};
use crate::scan::{Lost, scan, together};
use crate::shared::bandwidth::table;
use crate::shared::completeness::Completeness;
use crate::shared::profiles::{self, FileProfile, Profiles};
use crate::shared::totals::{StreamTotal, Totals, with_missing};
use crate::text::units;
use crate::topics::Outcome;
use crate::topics::counters::Fold;
use crate::topics::ledger::arrivals::Arrivals;
use crate::topics::ledger::busy::Busy;
use crate::topics::ledger::result::Ledger;
use crate::topics::ledger::view::lead;
use crate::topics::summary::result::{OperationRow, Summary, summarize};
use anyhow::Result;
use trace_format::common_values::{CommonValue, REPORTED};
use trace_format::op::Layer;
use trace_format::profile::Slowest;

together!(
    /// Analyses that share the pass of the command.
    Reading, Partials { totals, busy, arrivals }
);

/// Width of the summary's tables, in columns: that of the smallest common terminal.
const WIDTH: usize = 80;

/// Loads and summarizes a run, and adds bandwidth as a share of the peak if a peak is given.
///
/// # Errors
/// Returns an error if nothing can be loaded.
pub fn summary(args: &Args) -> Result<Summary> {
    let run = crate::session::open(&args.inputs)?;
    let mut summary = summary_of(&run, args.options.top, args.options.profiles);
    summary.bandwidths.iter_mut().for_each(|row| row.bandwidth.measure(args.options.peak));
    Ok(summary)
}

/// Summarizes a loaded run; lists `top` files. Access profiles come from the trace's counters; if `profiles`, a second pass over the
/// segments completes them.
#[must_use]
pub fn summary_of(run: &Run, top: usize, profiles: bool) -> Summary {
    let bar = Bar::new(run.segments(), "reading");
    let reading = Reading { totals: Totals, busy: Busy::new(run), arrivals: Arrivals::new(run) };
    let (partials, lost) = scan(run, &reading, &bar);
    drop(bar);
    let (busy, waits) = (partials.busy.times(), partials.arrivals.waits());
    let totals = with_missing(run, partials.totals);
    let ledger = Ledger::of(run, &totals, &busy, &waits, &lost);
    let all = profiles.then(|| {
        // The first pass has already reported the segments that cannot be read.
        let (partial, _) = scan(run, &Fold, &Bar::new(run.segments(), "profiles"));
        partial.sums(run).profiles
    });
    Summary { lead: lead(&ledger), ..summary_from(run, &totals, &lost, top, all) }
}

/// Creates the summary from the totals of a scan; `all`, if given, replaces the access profiles from counters.
pub(crate) fn summary_from(
    run: &Run,
    totals: &[StreamTotal],
    lost: &Lost,
    top: usize,
    all: Option<Profiles>,
) -> Summary {
    let mut summary = summarize(run, totals, lost, top);
    let all = all.unwrap_or_else(|| profiles::counted(run));
    let names: Vec<&str> = summary.top_files.iter().map(|row| row.file.as_str()).collect();
    summary.profiles = profiles::rows(run, all, &names);
    summary
}

impl Outcome for Summary {
    fn findings(&self) -> &[Finding] {
        &self.findings
    }

    fn missing(&self) -> Vec<&Completeness> {
        vec![&self.missing]
    }
}

impl Report for Summary {
    fn view(&self) -> View {
        let lead = (!self.lead.is_empty()).then(|| Part::Lines(vec![format!("{}.", self.lead)]));
        let mut parts: Vec<Part> = lead.into_iter().collect();
        parts.push(Part::Pairs(job(self)));
        parts.extend([operations(self), files(self), accesses(self), ranks(self)].map(Part::Table));
        parts.extend(super::tables_details::parts(self));
        parts.push(Part::Table(table::narrow("bandwidths", "", &self.bandwidths)));
        parts.extend(self.missing.parts());
        View { parts, max_width: Some(WIDTH) }
    }
}

fn job(summary: &Summary) -> Vec<(&'static str, String)> {
    let job = &summary.job;
    let mut out = vec![("program", job.exe.clone())];
    if job.args.len() > 1 {
        out.push(("arguments", job.args.iter().skip(1).cloned().collect::<Vec<String>>().join(" ")));
    }
    out.push((
        "job",
        if job.scheduler.is_empty() { job.key.clone() } else { format!("{} ({})", job.scheduler, job.key) },
    ));
    if let Some(line) = filters::line(&summary.missing.filters) {
        out.push(("filters", line));
    }
    if let Some(line) = summary.missing.selection_line() {
        out.push(("only", line));
    }
    out.push(("started", format!("{}, ran {}", job.start, units::duration(job.runtime_ns))));
    if !job.mpi.is_empty() {
        let ranks = units::agree(u64::from(job.mpi_ranks), "rank", "ranks");
        out.push(("MPI", format!("{}, {} {ranks}", job.mpi, job.mpi_ranks)));
    }
    let seen = format!(
        "{}, {}, {}, {}",
        units::counted(summary.ranks, "rank"),
        units::counted(summary.processes, "process"),
        units::nodes(summary.nodes),
        units::counted(summary.files, "file")
    );
    out.push(("traced", seen));
    let missing = match summary.missing_segments {
        0 => String::new(),
        missing => format!(", {} more in counters only", units::count(missing)),
    };
    let counted = units::counted(summary.counted_operations, "call");
    let (are, have) = units::agree(summary.counted_operations, ("is", "has"), ("are", "have"));
    match (summary.counted_operations, summary.segments) {
        (0, segments) => out.push(("segments", format!("{}{missing}", units::count(segments)))),
        (_, 0) => {
            let none = summary.missing.origin.without_segments();
            out.push(("segments", format!("{none}: {counted} {are} counted")));
        }
        (_, some) => {
            out.push((
                "segments",
                format!(
                    "{}{missing}; {counted} {have} counters only, {}",
                    units::count(some),
                    summary.missing.origin.some_without_segments()
                ),
            ));
        }
    }
    let (untimed, at_least) = (summary.missing.untimed, summary.missing.at_least());
    for (label, bytes, time) in
        [("read", summary.bytes_read, summary.read_ns), ("written", summary.bytes_written, summary.write_ns)]
    {
        let rate = if time > 0 && bytes > 0 {
            format!(", {} per process during calls", units::rate(bytes as f64 * 1e9 / time as f64))
        } else {
            String::new()
        };
        let time = if untimed { String::new() } else { format!(" in {} of calls{rate}", units::duration(time)) };
        out.push((label, format!("{at_least}{}{time}", units::bytes(bytes))));
    }
    let other =
        if untimed { untimed::WHY.to_owned() } else { format!("{at_least}{}", units::duration(summary.other_ns)) };
    out.push((if untimed { "times" } else { "other calls" }, other));
    for (node, shift) in &job.clock_shifts {
        let sign = if *shift < 0 { "-" } else { "+" };
        out.push((
            "clock",
            format!("times of {node}: {sign}{}, to correct its clock", units::duration(shift.unsigned_abs())),
        ));
    }
    out
}

fn operations(summary: &Summary) -> Table {
    // A Darshan log has one time for several kinds of calls; the row of one of these kinds shows it.
    let of_log = summary.job.settings.contains_key(crate::model::converted::SOURCE);
    let time = |ns: u64| if ns == 0 && of_log { Cell::None } else { Cell::Duration(ns) };
    let is_data = |row: &OperationRow| row.bandwidth.is_some() || row.bytes > 0;
    // A Darshan log has the duration of the longest call only for reads and writes.
    let has_longest = |row: &OperationRow| row.max_ns > 0 || row.time_ns == 0;
    Table::of("operations", "", &summary.operations)
        .column("Layer", "layer_label", |row| Cell::Layer(layer_label(row)))
        .csv("layer", |row| Cell::text(&row.group.layer))
        .column("Operation", "operation", |row| Cell::Text(operation_label(row)))
        .csv("op", |row| Cell::text(&row.group.op))
        .csv("mode", |row| Cell::text(&row.group.mode))
        .csv("nested", |row| Cell::flag(row.group.nested))
        .csv("failed", |row| Cell::flag(row.failed))
        .csv("in_hdf5", |row| Cell::flag(row.in_hdf5))
        .csv("overview", |row| Cell::flag(row.overview))
        .column("Calls", "calls", |row| Cell::Count(row.count))
        .csv("calls_without_segment", |row| Cell::Count(row.missing))
        .column("Bytes", "bytes", |row| if is_data(row) { Cell::Bytes(row.bytes) } else { Cell::None })
        .column("Time", "time_s", |row| time(row.time_ns))
        .column("Longest", "longest_s", |row| if has_longest(row) { time(row.max_ns) } else { Cell::None })
        .column("Bandwidth", "bandwidth_bytes_per_s", |row| Cell::maybe(row.bandwidth, Cell::Rate))
        .done()
}

/// Returns a label of the layer and its caller, such as `POSIX in MPIIO`.
fn layer_label(row: &OperationRow) -> String {
    let layer = &row.group.layer;
    match (row.group.nested, row.in_hdf5, row.overview) {
        (true, ..) if layer == Layer::Daos.name() => format!("{layer} in DFS"),
        (true, ..) => format!("{layer} in MPIIO"),
        (false, true, _) => format!("{layer} in HDF5"),
        (false, false, true) => format!("{layer} (also below)"),
        (false, false, false) => layer.clone(),
    }
}

/// Returns a label of the operation, such as `open (failed)`.
fn operation_label(row: &OperationRow) -> String {
    let mut label = row.group.op.clone();
    for part in [row.group.mode.as_str(), if row.failed { "(failed)" } else { "" }] {
        if !part.is_empty() {
            label = format!("{label} {part}");
        }
    }
    label
}

fn files(summary: &Summary) -> Table {
    Table::of("files", "", summary.top_files.iter())
        .column("File", "file", |row| Cell::path(&row.file))
        .column("Procs", "processes", |row| Cell::Count(row.processes))
        .column("Calls", "calls", |row| Cell::Count(row.operations))
        .column("Read", "bytes_read", |row| Cell::Bytes(row.bytes_read))
        .column("Written", "bytes_written", |row| Cell::Bytes(row.bytes_written))
        .column("Time", "time_s", |row| Cell::Duration(row.time_ns))
        .column("Stripes", "layout", |row| Cell::maybe(row.layout.clone(), Cell::Text))
        .done()
}

/// Formats the most common value and its share of all `of` accesses: `4096 (91 %)`.
fn most_common(values: &[CommonValue], of: u64) -> Cell {
    let shown = |common: &CommonValue| {
        let share = common.count as f64 * 100.0 / of.max(1) as f64;
        Cell::Text(format!("{} ({share:.0} %)", common.value))
    };
    values.first().map_or(Cell::None, shown)
}

/// True if the profile contains reads or writes, not only memory alignment.
fn tells_accesses(row: &FileProfile) -> bool {
    row.accesses > 0
}

fn accesses(summary: &Summary) -> Table {
    let aligned = |row: &FileProfile| if row.alignment > 0 { row.accesses } else { 0 };
    let time = |slowest: Option<Slowest>| Cell::maybe(slowest, |slowest| Cell::Duration(slowest.duration));
    let bytes = |slowest: Option<Slowest>| Cell::maybe(slowest, |slowest| Cell::Count(slowest.bytes));
    let reported = summary.profiles.iter().any(tells_accesses);
    let mut table = Table::of("profiles", "", summary.profiles.iter().filter(|_| reported))
        .column("File", "file", |row| Cell::path(&row.file))
        .column("Layer", "layer", |row| Cell::Layer(row.layer.clone()))
        .column("Accesses", "accesses", |row| Cell::Count(row.accesses))
        .column("Switches", "switches", |row| Cell::Count(row.switches))
        .column("Unaligned", "file_unaligned_share", |row| Cell::share_of(row.file_unaligned, aligned(row)))
        .column("Size", "common_size", |row| most_common(&row.sizes, row.accesses))
        .column("Stride", "common_stride", |row| most_common(&row.strides, row.accesses))
        .csv("alignment_bytes", |row| Cell::Count(row.alignment))
        .csv("file_unaligned", |row| Cell::Count(row.file_unaligned))
        .csv("memory_known", |row| Cell::Count(row.memory_known))
        .csv("memory_unaligned", |row| Cell::maybe(row.memory_unaligned, Cell::Count))
        .csv("slowest_read_s", |row| time(row.slowest_read))
        .csv("slowest_read_bytes", |row| bytes(row.slowest_read))
        .csv("slowest_write_s", |row| time(row.slowest_write))
        .csv("slowest_write_bytes", |row| bytes(row.slowest_write));
    let number = |common: Option<&CommonValue>| Cell::maybe(common, |common| Cell::Number(common.value));
    let count = |common: Option<&CommonValue>| Cell::maybe(common, |common| Cell::Count(common.count));
    for (place, [name, of]) in SIZES.into_iter().enumerate() {
        table =
            table.csv(name, move |row| number(row.sizes.get(place))).csv(of, move |row| count(row.sizes.get(place)));
    }
    for (place, [name, of]) in STRIDES.into_iter().enumerate() {
        table = table
            .csv(name, move |row| number(row.strides.get(place)))
            .csv(of, move |row| count(row.strides.get(place)));
    }
    table.done()
}

/// CSV columns of the most common request sizes, most common first.
const SIZES: [[&str; 2]; REPORTED] = [
    ["size1_bytes", "size1_count"],
    ["size2_bytes", "size2_count"],
    ["size3_bytes", "size3_count"],
    ["size4_bytes", "size4_count"],
];

/// CSV columns of the most common strides, most common first.
const STRIDES: [[&str; 2]; REPORTED] = [
    ["stride1_bytes", "stride1_count"],
    ["stride2_bytes", "stride2_count"],
    ["stride3_bytes", "stride3_count"],
    ["stride4_bytes", "stride4_count"],
];

fn ranks(summary: &Summary) -> Table {
    let deviation = |variance: f64| variance.max(0.0).sqrt() as u64;
    let rows = summary.profiles.iter().filter_map(|profile| Some((profile, profile.ranks.as_ref()?)));
    Table::of("ranks", "", rows)
        .column("File", "file", |(profile, _)| Cell::path(&profile.file))
        .column("Layer", "layer", |(profile, _)| Cell::Layer(profile.layer.clone()))
        .column("Ranks", "ranks", |(_, ranks)| Cell::Count(ranks.ranks.into()))
        .column("Fastest", "fastest_rank", |(_, ranks)| Cell::number(ranks.fastest.rank))
        .column("Time", "fastest_time_s", |(_, ranks)| Cell::Duration(ranks.fastest.time_ns))
        .column("Slowest", "slowest_rank", |(_, ranks)| Cell::number(ranks.slowest.rank))
        .column("Time", "slowest_time_s", |(_, ranks)| Cell::Duration(ranks.slowest.time_ns))
        .column("Deviation", "time_deviation_s", |(_, ranks)| Cell::Duration(deviation(ranks.time_variance)))
        .csv("fastest_bytes", |(_, ranks)| Cell::Bytes(ranks.fastest.bytes))
        .csv("slowest_bytes", |(_, ranks)| Cell::Bytes(ranks.slowest.bytes))
        .csv("time_variance_ns2", |(_, ranks)| Cell::text(format!("{:.3}", ranks.time_variance)))
        .csv("bytes_variance", |(_, ranks)| Cell::text(format!("{:.3}", ranks.bytes_variance)))
        .done()
}
