//! The summary: who ran what, and how many operations, bytes and seconds at each layer. calls made inside HDF5 or MPI-IO are
//! shown apart: in `bytes_read` and `bytes_written` a byte counts once, at the layer that the program called.

use super::details::{self, DataSetRow, DatatypeRow, HintRow};
use crate::findings::Finding;
use crate::model::{FileLayout, Run, Within};
use crate::scan::Lost;
use crate::shared::bandwidth::{self, LayerRow};
use crate::shared::completeness::Completeness;
use crate::shared::groups::Group;
use crate::shared::profiles::FileProfile;
use crate::shared::sums::{self, Sums};
use crate::shared::totals::{self, StreamTotal};
use crate::sum::Sum;
use crate::text::units;
use serde::Serialize;
use std::collections::BTreeMap;
use trace_format::counters::Counters;

/// The job.
#[derive(Clone, Debug, Serialize)]
pub struct JobPart {
    /// Key that the files of a job share.
    pub key: String,
    /// The scheduler's job id.
    pub scheduler: String,
    /// Executable.
    pub exe: String,
    /// Arguments, the program's name first.
    pub args: Vec<String>,
    /// Working directory.
    pub cwd: String,
    /// User id.
    pub uid: u32,
    /// Earliest start of a process, ns since 1970-01-01 UTC.
    pub start_unix_ns: i64,
    /// The same for people.
    pub start: String,
    /// From the earliest start to the last end, ns.
    pub runtime_ns: u64,
    /// MPI family, empty without MPI.
    pub mpi: String,
    /// MPI library's version.
    pub mpi_version: String,
    /// Ranks that the job had.
    pub mpi_ranks: u32,
    /// Tracer's version.
    pub tracer: String,
    /// Settings that shaped the trace.
    pub settings: BTreeMap<String, String>,
    /// Clock corrections: ns added per node.
    pub clock_shifts: BTreeMap<String, i64>,
}

/// Sums of one operation.
#[derive(Clone, Debug, Serialize)]
pub struct OperationRow {
    /// What.
    #[serde(flatten)]
    pub group: Group,
    /// Whether HDF5 made these calls inside one of its own (and MPI-IO did not).
    pub in_hdf5: bool,
    /// Whether what a library did inside these calls is counted as the program's, in rows of its own: they are in no sum.
    pub overview: bool,
    /// Whether these calls failed.
    pub failed: bool,
    /// Calls.
    pub count: u64,
    /// Calls without a segment, contained in the count.
    pub missing: u64,
    /// Bytes.
    pub bytes: u64,
    /// Time in the calls, summed over processes and threads, ns.
    pub time_ns: u64,
    /// Longest call, ns.
    pub max_ns: u64,
    /// Bytes per second of time in the calls.
    pub bandwidth: Option<f64>,
}

/// Sums of one file, at the layer that the program called.
#[derive(Clone, Debug, Serialize)]
pub struct FileRow {
    /// Path.
    pub file: String,
    /// Processes that used it.
    pub processes: u64,
    /// Operations of every kind.
    pub operations: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Time in operations on it, summed over processes, ns.
    pub time_ns: u64,
    /// Its stripe layout in words, if known.
    pub layout: Option<String>,
}

/// The result.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Where the run time went, in a sentence; empty where the ledger itself stands beside.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub lead: String,
    /// The job.
    pub job: JobPart,
    /// Ranks seen.
    pub ranks: u64,
    /// Processes seen, with and without a rank.
    pub processes: u64,
    /// Nodes seen; `None` if none is known.
    pub nodes: Option<u64>,
    /// Files used.
    pub files: u64,
    /// Segments on record and readable.
    pub segments: u64,
    /// Operations that were folded into counters for want of room.
    pub missing_segments: u64,
    /// Operations of which counters were to be kept and no segments (`DXT_ENABLE=counters`).
    pub counted_operations: u64,
    /// Segments that cannot be read.
    pub lost_segments: u64,
    /// Bytes read, each once.
    pub bytes_read: u64,
    /// Bytes written, each once.
    pub bytes_written: u64,
    /// Time in reads at the layer that the program called, summed over processes, ns.
    pub read_ns: u64,
    /// Time in writes, likewise.
    pub write_ns: u64,
    /// Time in all other operations, likewise.
    pub other_ns: u64,
    /// Per layer and operation.
    pub operations: Vec<OperationRow>,
    /// Bandwidths per layer and caller.
    pub bandwidths: Vec<LayerRow>,
    /// Files with most time.
    pub top_files: Vec<FileRow>,
    /// Data sets with most time.
    pub top_data_sets: Vec<DataSetRow>,
    /// Hints of files that were opened through MPI-IO.
    pub hints: Vec<HintRow>,
    /// Datatypes of MPI-IO calls.
    pub datatypes: Vec<DatatypeRow>,
    /// How files were accessed, those with most time first; of a full trace only if asked for.
    pub profiles: Vec<FileProfile>,
    /// What is missing and why.
    pub missing: Completeness,
    /// Findings on the trace itself.
    pub findings: Vec<Finding>,
}

/// Sums up a run from its totals; `top` files are listed.
#[must_use]
pub fn summarize(run: &Run, partial: totals::Partial, lost: &Lost, top: usize) -> Summary {
    let totals = totals::with_missing(run, partial);
    let missing = Completeness::of(run, lost);
    let mut by_op: BTreeMap<OpKey, (Counters, u64)> = BTreeMap::new();
    for total in &totals {
        let Some(process) = run.process(total.process) else { continue };
        let Some(stream) = process.stream(total.stream) else { continue };
        let sums = by_op.entry((usize::from(stream.op), stream.within(), stream.failed)).or_default();
        sums.0.merge(&total.all);
        sums.1 = sums.1.saturating_add(total.missing);
    }
    let by_file = sums::by_file(run, &totals);
    let sum = |part: fn(&Sums) -> u64| by_file.iter().map(part).sum::<Sum>().get();
    let files = by_file.iter().filter(|sums| sums.all > 0).count() as u64;
    Summary {
        lead: String::new(),
        job: job(run, &totals),
        ranks: run.ranks() + run.silent_ranks(),
        processes: run.process_count(),
        nodes: run.node_count(),
        files,
        segments: totals.iter().map(|total| total.all.segments.saturating_sub(total.missing)).sum::<u64>()
            + missing.segments_without_stream,
        missing_segments: missing.missing_segments,
        counted_operations: missing.counted_operations,
        lost_segments: missing.lost_segments,
        bytes_read: sum(|sums| sums.called.bytes_read),
        bytes_written: sum(|sums| sums.called.bytes_written),
        read_ns: sum(|sums| sums.called.read_ns),
        write_ns: sum(|sums| sums.called.write_ns),
        other_ns: sum(|sums| sums.called.other_ns),
        operations: operations(run, by_op),
        bandwidths: bandwidth::layers(run, &totals),
        top_files: top_files(run, &by_file, top),
        top_data_sets: details::data_sets(run, &totals, top),
        hints: details::hints(run),
        datatypes: details::datatypes(run),
        profiles: Vec::new(),
        findings: missing.findings(),
        missing,
    }
}

/// Index of the operation, who made the calls, whether they failed.
type OpKey = (usize, Within, bool);

fn operations(run: &Run, sums: BTreeMap<OpKey, (Counters, u64)>) -> Vec<OperationRow> {
    let mut rows: Vec<_> = sums
        .into_iter()
        .filter_map(|((op, within, failed), (sums, missing))| {
            let op = run.ops.get(op)?;
            let bandwidth =
                (op.is_data() && !failed && sums.duration > 0).then(|| sums.bytes as f64 * 1e9 / sums.duration as f64);
            let row = OperationRow {
                group: Group::new(op, within == Within::Mpiio),
                in_hdf5: within == Within::Hdf5,
                overview: within == Within::Overview,
                failed,
                count: sums.segments,
                missing,
                bytes: sums.bytes,
                time_ns: sums.duration,
                max_ns: sums.max_duration,
                bandwidth,
            };
            // What the program called first: HDF5 before MPI-IO before STDIO before POSIX, then what was made inside.
            Some(((within, std::cmp::Reverse(op.layer), op.class, failed), row))
        })
        .collect();
    rows.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| a.1.group.cmp(&b.1.group)));
    rows.into_iter().map(|(_, row)| row).collect()
}

fn top_files(run: &Run, sums: &[Sums], top: usize) -> Vec<FileRow> {
    // A file that only MPI-IO itself used (its lock test) is counted and not listed.
    let mut sums: Vec<(usize, &Sums)> =
        sums.iter().enumerate().filter(|(_, sums)| sums.called.operations > 0).collect();
    sums.sort_by_key(|(file, sums)| (std::cmp::Reverse(sums.called.time_ns()), *file));
    sums.truncate(top);
    let row = |(file, sums): (usize, &Sums)| {
        let file = run.files.get(file)?;
        Some(FileRow {
            file: file.name.clone(),
            processes: sums.processes(),
            operations: sums.called.operations,
            bytes_read: sums.called.bytes_read,
            bytes_written: sums.called.bytes_written,
            time_ns: sums.called.time_ns(),
            layout: file.layout.as_ref().map(layout_words).or_else(|| file.layout_problem.clone()),
        })
    };
    sums.into_iter().filter_map(row).collect()
}

/// A layout in a few words: `4M x 8`, `3 components`.
#[must_use]
pub fn layout_words(layout: &FileLayout) -> String {
    match layout.layout.components.as_slice() {
        [one] => format!("{} x {}", units::size_option(one.stripe_size), one.stripe_count),
        all => format!("{} components", all.len()),
    }
}

fn job(run: &Run, totals: &[StreamTotal]) -> JobPart {
    let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let last_segment = totals.iter().filter_map(|total| {
        let process = run.process(total.process)?;
        Some(process.shift_ns.saturating_add(total.all.last_end))
    });
    let ends = run.processes.iter().map(|process| process.end_ns).chain(last_segment);
    let mpi = run.info.mpi.clone().unwrap_or_default();
    JobPart {
        key: run.info.key.clone(),
        scheduler: run.info.scheduler.clone(),
        exe: lossy(&run.info.exe),
        args: run.info.args.iter().map(|arg| lossy(arg)).collect(),
        cwd: lossy(&run.info.cwd),
        uid: run.info.uid,
        start_unix_ns: run.start_unix_ns,
        start: units::wall_clock(run.start_unix_ns),
        runtime_ns: ends.max().unwrap_or_default(),
        mpi: mpi.family,
        mpi_version: mpi.version,
        mpi_ranks: mpi.ranks,
        tracer: run.info.tracer.clone(),
        settings: run.settings.iter().cloned().collect(),
        clock_shifts: run.clock_shifts.iter().cloned().collect(),
    }
}
