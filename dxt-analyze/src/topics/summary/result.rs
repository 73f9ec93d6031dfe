//! Result of `summary`: job description, and operations, bytes and times by layer. Calls made inside HDF5 or MPI-IO have rows of their own.
//! `bytes_read` and `bytes_written` count each byte once, at the layer that the program called.

use super::details::{self, DataSetRow, DatatypeRow, HintRow};
use crate::findings::Finding;
use crate::model::{FileLayout, Run, Within};
use crate::scan::Lost;
use crate::shared::bandwidth::{self, LayerRow};
use crate::shared::completeness::Completeness;
use crate::shared::groups::Group;
use crate::shared::profiles::FileProfile;
use crate::shared::sums::{self, Sums};
use crate::shared::totals::StreamTotal;
use crate::sum::Sum;
use crate::text::units;
use serde::Serialize;
use std::collections::BTreeMap;
use trace_format::counters::Counters;

/// Description of the job: program, user, start, MPI library, tracer.
#[derive(Clone, Debug, Serialize)]
pub struct JobPart {
    /// Job key: identifier that all trace files of the job share.
    pub key: String,
    /// Job id assigned by the batch scheduler.
    pub scheduler: String,
    /// Path of the program's executable.
    pub exe: String,
    /// Command line arguments, beginning with the program's name.
    pub args: Vec<String>,
    /// Working directory of the program.
    pub cwd: String,
    /// User id of the job's owner.
    pub uid: u32,
    /// Earliest start of a process of the job, ns since 1970-01-01 UTC.
    pub start_unix_ns: i64,
    /// Earliest start of a process of the job, as text (date and time).
    pub start: String,
    /// Time from the earliest start to the latest end of any process, ns.
    pub runtime_ns: u64,
    /// Name of the MPI implementation (MPICH, Open MPI, ...); empty without MPI.
    pub mpi: String,
    /// Version of the MPI library.
    pub mpi_version: String,
    /// Number of MPI ranks of the job.
    pub mpi_ranks: u32,
    /// Version of the tracer that recorded the job.
    pub tracer: String,
    /// Settings of the tracer that affected what was recorded: name and value.
    pub settings: BTreeMap<String, String>,
    /// Clock correction that was added to the times of each node, ns, by host name.
    pub clock_shifts: BTreeMap<String, i64>,
}

/// Totals over the calls of one operation from one caller.
#[derive(Clone, Debug, Serialize)]
pub struct OperationRow {
    /// Layer, operation and call variant of the calls.
    #[serde(flatten)]
    pub group: Group,
    /// True for calls made inside an HDF5 call, but not inside an MPI-IO call.
    pub in_hdf5: bool,
    /// True for calls of a library (HDF5, PnetCDF) from a Darshan log. The log counts the library's inner calls as the program's, so all
    /// sums leave out the library's calls.
    pub overview: bool,
    /// True for failed calls, false for successful ones.
    pub failed: bool,
    /// Number of calls of the operation.
    pub count: u64,
    /// Number of calls that have only counters and no segment; included in `count`.
    pub missing: u64,
    /// Bytes transferred by these calls of the operation.
    pub bytes: u64,
    /// Time in these calls of the operation, ns, summed over processes and threads.
    pub time_ns: u64,
    /// Duration of the longest of these calls, ns.
    pub max_ns: u64,
    /// Bytes / `time_ns`, in bytes per second; `None` if the operation moves no data.
    pub bandwidth: Option<f64>,
}

/// Totals over the calls that the program itself made on one file, without calls made inside libraries.
#[derive(Clone, Debug, Serialize)]
pub struct FileRow {
    /// Path of the file on which the calls were made.
    pub file: String,
    /// Number of processes that used the file.
    pub processes: u64,
    /// Number of calls on the file, of all operations.
    pub operations: u64,
    /// Bytes that the program read from the file.
    pub bytes_read: u64,
    /// Bytes that the program wrote to the file.
    pub bytes_written: u64,
    /// Time in the calls on the file, ns, summed over processes.
    pub time_ns: u64,
    /// Short description of the stripe layout, or the reason why the layout is unknown; `None` if there is neither.
    pub layout: Option<String>,
}

/// Result of `summary`.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Sentence about where the run time went; empty where the full table of times is shown as well.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub lead: String,
    /// Description of the job.
    pub job: JobPart,
    /// Number of ranks found in the trace, including ranks of a Darshan log that did no I/O.
    pub ranks: u64,
    /// Number of processes found in the trace, with and without a rank.
    pub processes: u64,
    /// Number of nodes found in the trace; `None` if no node is known.
    pub nodes: Option<u64>,
    /// Number of files that the program used.
    pub files: u64,
    /// Number of recorded segments (records of single calls) that can be read.
    pub segments: u64,
    /// Number of operations that have only counters because memory for segments was full.
    pub missing_segments: u64,
    /// Number of operations that by design have only counters (`DXT_ENABLE=counters`).
    pub counted_operations: u64,
    /// Number of segments (records of single calls) that cannot be read.
    pub lost_segments: u64,
    /// Bytes that the program read, each byte counted once.
    pub bytes_read: u64,
    /// Bytes that the program wrote, each byte counted once.
    pub bytes_written: u64,
    /// Time in reads that the program itself made, ns, summed over processes.
    pub read_ns: u64,
    /// Time in writes that the program itself made, ns, summed over processes.
    pub write_ns: u64,
    /// Time in all other calls that the program itself made, ns, summed over processes.
    pub other_ns: u64,
    /// Totals of calls by layer, operation and caller.
    pub operations: Vec<OperationRow>,
    /// Bandwidths of reads and writes by layer and caller.
    pub bandwidths: Vec<LayerRow>,
    /// Files on which the program spent most time, longest time first.
    pub top_files: Vec<FileRow>,
    /// HDF5 data sets on which the program spent most time, longest time first.
    pub top_data_sets: Vec<DataSetRow>,
    /// Hints of files opened through MPI-IO.
    pub hints: Vec<HintRow>,
    /// MPI datatypes used in MPI-IO calls.
    pub datatypes: Vec<DatatypeRow>,
    /// Access profiles (common sizes, strides, alignment) of the listed files, longest time first; of a full trace only if the user
    /// requests them.
    pub profiles: Vec<FileProfile>,
    /// Completeness of the trace: missing parts, with reasons.
    pub missing: Completeness,
    /// Findings about the trace itself.
    pub findings: Vec<Finding>,
}

/// Summarizes a run from its totals; lists `top` files. `lost` counts the segments that could not be read.
#[must_use]
pub fn summarize(run: &Run, totals: &[StreamTotal], lost: &Lost, top: usize) -> Summary {
    let missing = Completeness::of(run, lost);
    let mut by_op: BTreeMap<OpKey, (Counters, u64)> = BTreeMap::new();
    for total in totals {
        let Some(process) = run.process(total.process) else { continue };
        let Some(stream) = process.stream(total.stream) else { continue };
        let sums = by_op.entry((usize::from(stream.op), stream.within(), stream.failed)).or_default();
        sums.0.merge(&total.all);
        sums.1 = sums.1.saturating_add(total.missing);
    }
    let by_file = sums::by_file(run, totals);
    let sum = |part: fn(&Sums) -> u64| by_file.iter().map(part).sum::<Sum>().get();
    let files = by_file.iter().filter(|sums| sums.all > 0).count() as u64;
    Summary {
        lead: String::new(),
        job: job(run, totals),
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
        bandwidths: bandwidth::layers(run, totals),
        top_files: top_files(run, &by_file, top),
        top_data_sets: details::data_sets(run, totals, top),
        hints: details::hints(run),
        datatypes: details::datatypes(run),
        profiles: Vec::new(),
        findings: missing.findings(),
        missing,
    }
}

/// Key of a row of operations: (operation index, caller, true for failed calls).
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
            // Layers that the program called (HDF5, MPI-IO, STDIO, POSIX) come first, then calls made inside them.
            Some(((within, std::cmp::Reverse(op.layer), op.class, failed), row))
        })
        .collect();
    rows.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| a.1.group.cmp(&b.1.group)));
    rows.into_iter().map(|(_, row)| row).collect()
}

fn top_files(run: &Run, sums: &[Sums], top: usize) -> Vec<FileRow> {
    // Files that only MPI-IO itself used (to test file locks) are counted but not listed.
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

/// Describes a file's stripe layout briefly: `4M x 8`, `3 components`.
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
