//! `summary`: one pass for the totals, another for profiles if they are asked for, and how they look within 80 columns.

use super::args::Args;
use crate::findings::Finding;
use crate::model::{Run, filters};
use crate::progress::Bar;
use crate::render::{Cell, Part, Report, Table, View};
use crate::scan::{Lost, scan};
use crate::shared::profiles::{self, FileProfile, Profiles};
use crate::shared::totals::{self, Totals};
use crate::text::units;
use crate::topics::Outcome;
use crate::topics::counters::Fold;
use crate::topics::summary::result::{Summary, summarize};
use anyhow::Result;
use trace_format::common_values::{CommonValue, REPORTED};

/// Width that the summary keeps to: that of the smallest usual terminal.
const WIDTH: usize = 80;

/// Loads and sums up.
///
/// # Errors
/// If nothing can be loaded.
pub fn summary(args: &Args) -> Result<Summary> {
    let run = crate::session::open(&args.inputs)?;
    Ok(summary_of(&run, args.options.top, args.options.profiles))
}

/// Sums up a run that is loaded; `top` files are listed, with the profiles of what was counted and, if `profiles`, of
/// segments.
#[must_use]
pub fn summary_of(run: &Run, top: usize, profiles: bool) -> Summary {
    let bar = Bar::new(run.segments(), "reading");
    let (totals, lost) = scan(run, &Totals, &bar);
    drop(bar);
    let all = profiles.then(|| {
        // What cannot be read has been said already.
        let (partial, _) = scan(run, &Fold, &Bar::new(run.segments(), "profiles"));
        partial.sums(run).profiles
    });
    summary_from(run, totals, &lost, top, all)
}

/// The summary by a scan's totals; `all` profiles, if those of what was counted are not enough.
pub(crate) fn summary_from(
    run: &Run,
    totals: totals::Partial,
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

    fn complete(&self) -> bool {
        self.missing.complete
    }
}

impl Report for Summary {
    fn view(&self) -> View {
        let mut parts = vec![Part::Pairs(job(self)), Part::Table(operations(self))];
        if !self.top_files.is_empty() {
            parts.push(Part::Table(files(self)));
        }
        if self.profiles.iter().any(tells_accesses) {
            parts.push(Part::Table(accesses(self)));
        }
        if self.profiles.iter().any(|row| row.ranks.is_some()) {
            parts.push(Part::Table(ranks(self)));
        }
        parts.extend(super::tables_details::parts(self));
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
        out.push(("MPI", format!("{}, {} ranks", job.mpi, job.mpi_ranks)));
    }
    let seen = format!(
        "{}, {}, {}, {}",
        units::counted(summary.ranks, "rank"),
        units::processes(summary.processes),
        units::nodes(summary.nodes),
        units::counted(summary.files, "file")
    );
    out.push(("traced", seen));
    let missing = match summary.missing_segments {
        0 => String::new(),
        missing => format!(", {} more in counters only", units::count(missing)),
    };
    let counted = units::count(summary.counted_operations);
    match (summary.counted_operations, summary.segments) {
        (0, segments) => out.push(("segments", format!("{}{missing}", units::count(segments)))),
        (_, 0) => {
            let none = summary.missing.origin.without_segments();
            out.push(("segments", format!("{none}: {counted} calls are counted")));
        }
        (_, some) => {
            out.push((
                "segments",
                format!(
                    "{}{missing}; {counted} calls counted without, {}",
                    units::count(some),
                    summary.missing.origin.some_without_segments()
                ),
            ));
        }
    }
    for (label, bytes, time) in
        [("read", summary.bytes_read, summary.read_ns), ("written", summary.bytes_written, summary.write_ns)]
    {
        let rate = if time > 0 && bytes > 0 {
            format!(", {} per process in a call", units::rate(bytes as f64 * 1e9 / time as f64))
        } else {
            String::new()
        };
        out.push((label, format!("{} in {} of calls{rate}", units::bytes(bytes), units::duration(time))));
    }
    out.push(("other calls", units::duration(summary.other_ns)));
    for (node, shift) in &job.clock_shifts {
        let sign = if *shift < 0 { "-" } else { "+" };
        out.push(("clock", format!("{node} {sign}{}", units::duration(shift.unsigned_abs()))));
    }
    out
}

fn operations(summary: &Summary) -> Table {
    // A log has one time for several kinds of calls, which stands with one of them.
    let of_log = summary.job.settings.contains_key(crate::model::converted::SOURCE);
    let time = |ns: u64| if ns == 0 && of_log { Cell::None } else { Cell::Duration(ns) };
    let rows = summary.operations.iter().map(|row| {
        let mut label = row.group.op.clone();
        for part in [row.group.mode.as_str(), if row.failed { "(failed)" } else { "" }] {
            if !part.is_empty() {
                label = format!("{label} {part}");
            }
        }
        let layer = match (row.group.nested, row.in_hdf5, row.overview) {
            (true, ..) => format!("{} in MPIIO", row.group.layer),
            (false, true, _) => format!("{} in HDF5", row.group.layer),
            (false, false, true) => format!("{} (also below)", row.group.layer),
            (false, false, false) => row.group.layer.clone(),
        };
        let data = row.bandwidth.is_some() || row.bytes > 0;
        vec![
            Cell::Text(layer),
            Cell::Text(row.group.layer.clone()),
            Cell::Text(label),
            Cell::Text(row.group.op.clone()),
            Cell::Text(row.group.mode.clone()),
            Cell::Count(u64::from(row.group.nested)),
            Cell::Count(u64::from(row.failed)),
            Cell::Count(u64::from(row.in_hdf5)),
            Cell::Count(u64::from(row.overview)),
            Cell::Count(row.count),
            Cell::Count(row.missing),
            if data { Cell::Bytes(row.bytes) } else { Cell::None },
            time(row.time_ns),
            // A Darshan log has the longest only of reads and writes.
            if row.max_ns == 0 && row.time_ns > 0 { Cell::None } else { time(row.max_ns) },
            row.bandwidth.map_or(Cell::None, Cell::Rate),
        ]
    });
    Table {
        name: "operations",
        title: String::new(),
        columns: vec![
            ("Layer", "layer_label"),
            ("", "layer"),
            ("Operation", "operation"),
            ("", "op"),
            ("", "mode"),
            ("", "nested"),
            ("", "failed"),
            ("", "in_hdf5"),
            ("", "overview"),
            ("Calls", "calls"),
            ("", "calls_without_segment"),
            ("Bytes", "bytes"),
            ("Time", "time_s"),
            ("Longest", "longest_s"),
            ("Bandwidth", "bandwidth_bytes_per_s"),
        ],
        rows: rows.collect(),
        most: usize::MAX,
    }
}

fn files(summary: &Summary) -> Table {
    let rows = summary.top_files.iter().map(|row| {
        vec![
            Cell::Path(row.file.clone()),
            Cell::Count(row.processes),
            Cell::Count(row.operations),
            Cell::Bytes(row.bytes_read),
            Cell::Bytes(row.bytes_written),
            Cell::Duration(row.time_ns),
            row.layout.clone().map_or(Cell::None, Cell::Text),
        ]
    });
    Table {
        name: "files",
        title: String::new(),
        columns: vec![
            ("File", "file"),
            ("Procs", "processes"),
            ("Calls", "calls"),
            ("Read", "bytes_read"),
            ("Written", "bytes_written"),
            ("Time", "time_s"),
            ("Stripes", "layout"),
        ],
        rows: rows.collect(),
        most: usize::MAX,
    }
}

/// The most common value and its share: `4096 (91 %)`.
fn most_common(values: &[CommonValue], of: u64) -> Cell {
    let shown = |common: &CommonValue| {
        let share = common.count as f64 * 100.0 / of.max(1) as f64;
        Cell::Text(format!("{} ({share:.0} %)", common.value))
    };
    values.first().map_or(Cell::None, shown)
}

/// Whether more is known of accesses than how they lie in memory.
fn tells_accesses(row: &FileProfile) -> bool {
    row.accesses > 0
}

fn accesses(summary: &Summary) -> Table {
    let row = |row: &FileProfile| {
        let share = |part: u64, of: u64| if of > 0 { Cell::Share(part as f64 / of as f64) } else { Cell::None };
        let aligned_to = if row.alignment > 0 { row.accesses } else { 0 };
        let mut cells = vec![
            Cell::Path(row.file.clone()),
            Cell::Text(row.layer.clone()),
            Cell::Count(row.accesses),
            Cell::Count(row.switches),
            share(row.file_unaligned, aligned_to),
            most_common(&row.sizes, row.accesses),
            most_common(&row.strides, row.accesses),
            Cell::Count(row.alignment),
            Cell::Count(row.file_unaligned),
            Cell::Count(row.memory_known),
            Cell::Count(row.memory_unaligned),
        ];
        for slowest in [row.slowest_read, row.slowest_write] {
            cells.push(slowest.map_or(Cell::None, |slowest| Cell::Duration(slowest.duration)));
            cells.push(slowest.map_or(Cell::None, |slowest| Cell::Count(slowest.bytes)));
        }
        for common in [&row.sizes, &row.strides] {
            for place in 0..REPORTED {
                let common = common.get(place);
                cells.push(common.map_or(Cell::None, |common| Cell::Number(common.value)));
                cells.push(common.map_or(Cell::None, |common| Cell::Count(common.count)));
            }
        }
        cells
    };
    Table {
        name: "profiles",
        title: String::new(),
        columns: vec![
            ("File", "file"),
            ("Layer", "layer"),
            ("Accesses", "accesses"),
            ("Switches", "switches"),
            ("Unaligned", "file_unaligned_share"),
            ("Size", "common_size"),
            ("Stride", "common_stride"),
            ("", "alignment_bytes"),
            ("", "file_unaligned"),
            ("", "memory_known"),
            ("", "memory_unaligned"),
            ("", "slowest_read_s"),
            ("", "slowest_read_bytes"),
            ("", "slowest_write_s"),
            ("", "slowest_write_bytes"),
            ("", "size1_bytes"),
            ("", "size1_count"),
            ("", "size2_bytes"),
            ("", "size2_count"),
            ("", "size3_bytes"),
            ("", "size3_count"),
            ("", "size4_bytes"),
            ("", "size4_count"),
            ("", "stride1_bytes"),
            ("", "stride1_count"),
            ("", "stride2_bytes"),
            ("", "stride2_count"),
            ("", "stride3_bytes"),
            ("", "stride3_count"),
            ("", "stride4_bytes"),
            ("", "stride4_count"),
        ],
        rows: summary.profiles.iter().map(row).collect(),
        most: usize::MAX,
    }
}

fn ranks(summary: &Summary) -> Table {
    let row = |profile: &FileProfile| {
        let ranks = profile.ranks.as_ref()?;
        Some(vec![
            Cell::Path(profile.file.clone()),
            Cell::Text(profile.layer.clone()),
            Cell::Count(u64::from(ranks.ranks)),
            Cell::Number(i64::from(ranks.fastest.rank)),
            Cell::Duration(ranks.fastest.time_ns),
            Cell::Number(i64::from(ranks.slowest.rank)),
            Cell::Duration(ranks.slowest.time_ns),
            Cell::Duration(ranks.time_variance.max(0.0).sqrt() as u64),
            Cell::Bytes(ranks.fastest.bytes),
            Cell::Bytes(ranks.slowest.bytes),
            Cell::Text(format!("{:.3}", ranks.time_variance)),
            Cell::Text(format!("{:.3}", ranks.bytes_variance)),
        ])
    };
    Table {
        name: "ranks",
        title: String::new(),
        columns: vec![
            ("File", "file"),
            ("Layer", "layer"),
            ("Ranks", "ranks"),
            ("Fastest", "fastest_rank"),
            ("Time", "fastest_time_s"),
            ("Slowest", "slowest_rank"),
            ("Time", "slowest_time_s"),
            ("Deviation", "time_deviation_s"),
            ("", "fastest_bytes"),
            ("", "slowest_bytes"),
            ("", "time_variance_ns2"),
            ("", "bytes_variance"),
        ],
        rows: summary.profiles.iter().filter_map(row).collect(),
        most: usize::MAX,
    }
}
