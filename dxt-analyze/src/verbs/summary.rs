//! `summary`: one pass for the totals, and how they look within 80 columns.

use crate::analyses::summary::{Summary, summarize};
use crate::analyses::totals::Totals;
use crate::cli::SummaryArgs;
use crate::load::{self, Run, filters};
use crate::progress::Bar;
use crate::render::{Cell, Part, Report, Table, View, units};
use crate::scan::scan;
use anyhow::Result;

/// Width that the summary keeps to: that of the smallest usual terminal.
const WIDTH: usize = 80;

/// Loads and sums up.
///
/// # Errors
/// If nothing can be loaded.
pub fn summary(args: &SummaryArgs) -> Result<Summary> {
    let run = load::load_paths(&args.inputs.traces, args.inputs.job.as_deref())?;
    Ok(summary_of(&run, args.top))
}

/// Sums up a run that is loaded; `top` files are listed.
#[must_use]
pub fn summary_of(run: &Run, top: usize) -> Summary {
    let bar = Bar::new(run.segments(), "reading");
    let (totals, lost) = scan(run, &Totals, &bar);
    summarize(run, totals, &lost, top)
}

impl Report for Summary {
    fn view(&self) -> View {
        let mut parts = vec![Part::Pairs(job(self)), Part::Table(operations(self))];
        if !self.top_files.is_empty() {
            parts.push(Part::Table(files(self)));
        }
        parts.extend(super::summary_details::parts(self));
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
    out.push(("started", format!("{}, ran {}", job.start, units::duration(job.runtime_ns))));
    if !job.mpi.is_empty() {
        out.push(("MPI", format!("{}, {} ranks", job.mpi, job.mpi_ranks)));
    }
    let seen = format!(
        "{} ranks, {} processes, {} nodes, {} files",
        units::count(summary.ranks),
        units::count(summary.processes),
        units::count(summary.nodes),
        units::count(summary.files)
    );
    out.push(("traced", seen));
    let missing = match summary.missing_segments {
        0 => String::new(),
        missing => format!(", {} more in counters only", units::count(missing)),
    };
    out.push(("segments", format!("{}{missing}", units::count(summary.segments))));
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
    let rows = summary.operations.iter().map(|row| {
        let mut label = row.group.op.clone();
        for part in [row.group.mode.as_str(), if row.failed { "(failed)" } else { "" }] {
            if !part.is_empty() {
                label = format!("{label} {part}");
            }
        }
        let layer = match (row.group.nested, row.in_hdf5) {
            (true, _) => format!("{} in MPIIO", row.group.layer),
            (false, true) => format!("{} in HDF5", row.group.layer),
            (false, false) => row.group.layer.clone(),
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
            Cell::Count(row.count),
            Cell::Count(row.missing),
            if data { Cell::Bytes(row.bytes) } else { Cell::None },
            Cell::Duration(row.time_ns),
            Cell::Duration(row.max_ns),
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
