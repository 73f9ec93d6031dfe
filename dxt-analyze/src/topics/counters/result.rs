//! Result of `counters`: the counters, in the terms by which jobs are usually compared.

use super::between::extremes;
use super::files::{FileKinds, FileUse, PlaceRow, SizeBin, file_uses, kinds, places, sizes};
use super::fold::{FileOp, KINDS, LAYERS, Partial, Sums, Times, kind_of, layer_place};
use super::open::{self, OpenRow};
use super::step_rows::{self, AlignmentRow, StrideRow};
use super::steps;
use crate::findings::Finding;
use crate::model::{Run, Users, Within};
use crate::scan::Lost;
use crate::shared::bandwidth::{self, LayerRow};
use crate::shared::completeness::Completeness;
use crate::shared::memory;
use crate::shared::ratio::share_of_sums;
use crate::shared::totals::StreamTotal;
use crate::sum::Sum;
use crate::topics::summary::details::{self, DatatypeRow, ExtentRow};
use serde::Serialize;
use std::collections::BTreeMap;
use trace_format::common_values::CommonValue;
use trace_format::counters::{Counters, SIZE_BINS};
use trace_format::meta::Order;
use trace_format::op::{Layer, OpClass};
use trace_format::profile::Profile;

/// Reads, or writes, of one layer over all files, including calls made inside other layers' calls.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AccessRow {
    /// Name of the I/O layer, as in `POSIX`.
    pub layer: String,
    /// Direction of the calls: `read` or `write`.
    pub direction: &'static str,
    /// Number of reads (or writes) of the layer, over all files.
    pub calls: u64,
    /// Number of the reads or writes that another layer made (such as POSIX calls inside MPI-IO).
    pub nested: u64,
    /// Bytes that the calls read or wrote.
    pub bytes: u64,
    /// Time in the reads or writes, summed over processes, ns.
    pub time_ns: u64,
    /// Duration of the longest of these calls, ns; `None` if not known.
    pub max_ns: Option<u64>,
    /// Number of calls whose offset relative to the same process's previous call of the operation on the file is known.
    pub ordered: u64,
    /// Number of calls that begin exactly where the same process's previous call of the operation on the file ended.
    pub consecutive: u64,
    /// Number of calls that begin at or after the end offset of the same process's previous call of the operation on the file.
    pub sequential: u64,
    /// Number of calls per request size bin, bins as in [`trace_format::counters::SIZE_BOUNDS`].
    pub sizes: [u64; SIZE_BINS],
}

/// Access patterns of one layer over all files.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PatternRow {
    /// Name of the I/O layer, as in `POSIX`.
    pub layer: String,
    /// Number of reads and writes whose size and offset were recorded.
    pub accesses: u64,
    /// Most common request sizes, with their counts.
    pub sizes: Vec<CommonValue>,
    /// Most common strides (distance from the end of an access to the beginning of the next), with their counts.
    pub strides: Vec<CommonValue>,
    /// Number of reads that directly follow a write of the file, and of writes that directly follow a read.
    pub switches: u64,
    /// Number of reads and writes of the layer on files whose alignment is known.
    pub file_known: u64,
    /// Number of reads and writes that do not begin at a multiple of the file's alignment.
    pub file_unaligned: u64,
    /// Number of reads and writes of the layer whose memory buffer address is known.
    pub memory_known: u64,
    /// Number of reads and writes whose buffer address is no multiple of `memory_alignment`; `None` if no address is known.
    pub memory_unaligned: Option<u64>,
    /// Memory alignment in bytes; `None` if no address is known.
    pub memory_alignment: Option<u64>,
}

/// Calls of one layer, direction and request size bin: aligned compared with unaligned memory buffers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MemoryRow {
    /// Name of the I/O layer, as in `POSIX`.
    pub layer: String,
    /// Direction of the calls: `read` or `write`.
    pub direction: &'static str,
    /// Index of the size bin in [`trace_format::counters::SIZE_BOUNDS`].
    pub size_bin: u8,
    /// Number of calls with aligned memory buffers.
    pub aligned: u64,
    /// Mean duration of calls with aligned buffers, ns; `None` if there are none.
    pub aligned_mean_ns: Option<f64>,
    /// Number of calls with unaligned memory buffers.
    pub unaligned: u64,
    /// Mean duration of calls with unaligned buffers, ns; `None` if there are none.
    pub unaligned_mean_ns: Option<f64>,
}

/// Time that processes spent in calls of one layer: mean, extremes and deviation over processes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TimeRow {
    /// Name of the layer, or `program` for the program's own calls at all layers.
    pub layer: String,
    /// Class of calls: `read`, `write`, `metadata` or `all` (for `program`, and for layers with records that each stand for several ranks).
    pub kind: &'static str,
    /// Mean time in the calls, over processes, ns.
    pub mean_ns: f64,
    /// Mean time in the calls per process, as a share (0 to 1) of the job's run time.
    pub of_runtime: f64,
    /// Time of the fastest process, ns; `None` if not known. An upper bound if records of several files each stand for several ranks.
    pub min_ns: Option<u64>,
    /// Time of the slowest process, ns; `None` if not known. A lower bound if records of several files each stand for several ranks.
    pub max_ns: Option<u64>,
    /// Name of the process with the longest time in the calls; empty if not known.
    pub slowest: String,
    /// Standard deviation, over processes, of the time in the calls, ns; `None` if not known.
    pub deviation_ns: Option<f64>,
}

/// Calls on unshared files (used by one process), or on shared files (used by several).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SharingRow {
    /// True for shared files, false for files used by one process.
    pub shared: bool,
    /// Class of calls: `read`, `write` or `metadata`.
    pub kind: &'static str,
    /// Number of calls that the program itself made on the shared (or unshared) files.
    pub calls: u64,
    /// Bytes that these calls on the shared (or unshared) files read or wrote.
    pub bytes: u64,
    /// Time in calls on the shared (or unshared) files divided by the number of processes of the job, ns.
    pub per_process_ns: f64,
}

/// Result of `counters`: characterization of a job's I/O.
#[derive(Clone, Debug, Serialize)]
pub struct Characterization {
    /// Number of processes whose I/O is characterized.
    pub processes: u64,
    /// Run time: from the earliest process start to the last process end, ns.
    pub runtime_ns: u64,
    /// Reads and writes of each I/O layer.
    pub accesses: Vec<AccessRow>,
    /// Strides of individually recorded calls, and the number of calls that follow a seek.
    pub strides: Vec<StrideRow>,
    /// Alignment of individually recorded calls, by layer, caller and form of call.
    pub alignment: Vec<AlignmentRow>,
    /// Files by how long they were open, longest first.
    pub open_files: Vec<OpenRow>,
    /// Number of files that were opened, including unlisted ones.
    pub open_file_count: u64,
    /// Bandwidth of reads and writes, per I/O layer and caller.
    pub bandwidths: Vec<LayerRow>,
    /// Request sizes, strides and alignment per I/O layer.
    pub patterns: Vec<PatternRow>,
    /// Durations with aligned and unaligned memory buffers, by request size; empty if buffer addresses are not known.
    pub memory: Vec<MemoryRow>,
    /// Time per process, by layer and class of calls.
    pub times: Vec<TimeRow>,
    /// Calls on files used by one process, compared with calls on files used by several.
    pub sharing: Vec<SharingRow>,
    /// Files grouped by use: read only, write only, ...
    pub kinds: Vec<FileKinds>,
    /// Number of files per bin of file size (highest byte touched + 1).
    pub file_sizes: Vec<SizeBin>,
    /// Bytes and time in calls by the mount point of the files.
    pub places: Vec<PlaceRow>,
    /// Use of each file, sorted by time in calls, largest first.
    pub files: Vec<FileUse>,
    /// Number of files that the job used, including unlisted ones.
    pub file_count: u64,
    /// Datatypes used in MPI-IO calls.
    pub datatypes: Vec<DatatypeRow>,
    /// Histograms of the extents of datatypes used in MPI-IO calls.
    pub datatype_extents: Vec<ExtentRow>,
    /// Missing parts of the trace, and why.
    pub missing: Completeness,
    /// Findings on the quality of the trace itself.
    pub findings: Vec<Finding>,
}

/// Names of the time classes read, write and metadata, indexed by the result of [`kind_of`].
const KIND_NAMES: [&str; KINDS] = ["read", "write", "metadata"];
/// Names of the I/O layers, indexed by the result of [`layer_place`].
const LAYER_NAMES: [&str; LAYERS] = ["POSIX", "STDIO", "MPIIO", "HDF5", "other"];

/// Builds the result of `counters` from the passes' sums; lists at most `top` files.
#[must_use]
pub fn characterize(
    run: &Run,
    (partial, steps): (Partial, steps::Partial),
    totals: &[StreamTotal],
    lost: &Lost,
    top: usize,
) -> Characterization {
    let sums = partial.sums(run);
    let runtime_ns = run.processes.iter().map(|process| process.end_ns).max().unwrap_or(0);
    let missing = Completeness::of(run, lost);
    let mut files = file_uses(run, &sums);
    let (kinds, file_sizes, places) = (kinds(&files), sizes(&files), places(&files));
    let open_files = open::rows(run, totals, &steps.handles);
    let file_count = files.len() as u64;
    files.truncate(top);
    Characterization {
        processes: run.process_count(),
        runtime_ns,
        accesses: accesses(run, &sums),
        strides: step_rows::strides(&steps),
        alignment: step_rows::alignment(&steps),
        open_file_count: open_files.len() as u64,
        open_files: open_files.into_iter().take(top).collect(),
        bandwidths: bandwidth::layers(run, totals),
        patterns: patterns(&sums, run.memory_alignment()),
        memory: memory_costs(run),
        times: times(run, &sums, runtime_ns),
        sharing: sharing(run, &sums),
        kinds,
        file_sizes,
        places,
        files,
        file_count,
        datatypes: details::datatypes(run),
        datatype_extents: details::extents(run),
        findings: missing.findings(),
        missing,
    }
}

fn accesses(run: &Run, sums: &Sums) -> Vec<AccessRow> {
    let mut rows: BTreeMap<(usize, usize), (Counters, u64)> = BTreeMap::new();
    for (key, counters) in &sums.operations {
        let Some(op) = run.ops.get(usize::from(key.op)) else { continue };
        let kind = kind_of(op.class, key.failed);
        if kind < 2 {
            let (all, nested) = rows.entry((layer_place(op.layer), kind)).or_default();
            all.merge(counters);
            *nested = nested.saturating_add(if matches!(key.within, Within::Nothing | Within::Overview) {
                0
            } else {
                counters.segments
            });
        }
    }
    let mut orders: BTreeMap<(usize, usize), Order> = BTreeMap::new();
    for ((_, layer, writes, _), order) in &sums.orders {
        orders.entry((layer_place(Some(*layer)), usize::from(*writes))).or_default().merge(order);
    }
    let order = |layer, kind| orders.get(&(layer, kind)).copied().unwrap_or_default();
    let row = |((layer, kind), (all, nested)): ((usize, usize), (Counters, u64))| AccessRow {
        layer: LAYER_NAMES[layer].into(),
        direction: KIND_NAMES[kind],
        calls: all.segments,
        nested,
        bytes: all.bytes,
        time_ns: all.duration,
        // A longest call of 0 ns means unknown, unless all calls took 0 ns.
        max_ns: Some(all.max_duration).filter(|longest| *longest > 0 || all.duration == 0 && !run.was_log()),
        ordered: order(layer, kind).known,
        consecutive: order(layer, kind).consecutive,
        sequential: order(layer, kind).sequential,
        sizes: all.sizes,
    };
    rows.into_iter().map(row).collect()
}

fn patterns(sums: &Sums, alignment: u64) -> Vec<PatternRow> {
    let mut layers: BTreeMap<Layer, (Profile, u64)> = BTreeMap::new();
    for ((_, layer), profile) in &sums.profiles {
        let (all, known) = layers.entry(*layer).or_default();
        all.merge(profile);
        *known = known.saturating_add(if profile.alignment > 0 { profile.accesses } else { 0 });
    }
    let row = |(layer, (profile, file_known)): (Layer, (Profile, u64))| PatternRow {
        layer: layer.name().into(),
        accesses: profile.accesses,
        sizes: profile.sizes.top(),
        strides: profile.strides.top(),
        switches: profile.switches,
        file_known,
        file_unaligned: profile.file_unaligned,
        memory_known: profile.memory_known,
        memory_unaligned: (profile.memory_known > 0).then_some(profile.memory_unaligned),
        memory_alignment: (profile.memory_known > 0).then_some(alignment),
    };
    layers.into_iter().map(row).collect()
}

fn memory_costs(run: &Run) -> Vec<MemoryRow> {
    let mean = |(calls, ns): (u64, u64)| (calls > 0).then(|| ns as f64 / calls as f64);
    let row = |((layer, writes, size_bin), [aligned, unaligned]): ((Layer, bool, u8), memory::Cost)| MemoryRow {
        layer: layer.name().into(),
        direction: KIND_NAMES[usize::from(writes)],
        size_bin,
        aligned: aligned.0,
        aligned_mean_ns: mean(aligned),
        unaligned: unaligned.0,
        unaligned_mean_ns: mean(unaligned),
    };
    memory::costs(run).into_iter().map(row).collect()
}

fn times(run: &Run, sums: &Sums, runtime_ns: u64) -> Vec<TimeRow> {
    let mut all = sums.times.clone();
    all.sort_by_key(|(number, _)| *number);
    let count: u64 = run.process_count().max(1);
    let row = |layer: &str, kind: &'static str, whose: Option<&[Layer]>, of: &dyn Fn(&Times) -> u64| {
        let total = all.iter().map(|(_, times)| of(times)).sum::<Sum>().get();
        let mean_ns = total as f64 / count as f64;
        (total > 0).then(|| {
            let found = extremes(run, &all, whose, of).unwrap_or_default();
            TimeRow {
                layer: layer.into(),
                kind,
                mean_ns,
                of_runtime: share_of_sums(total.into(), u128::from(count) * u128::from(runtime_ns)).unwrap_or(0.0),
                min_ns: found.min_ns,
                max_ns: found.max_ns,
                slowest: found.slowest,
                deviation_ns: found.deviation_ns,
            }
        })
    };
    let mut out: Vec<TimeRow> = row("program", "all", Some(&[]), &|times| times.outermost).into_iter().collect();
    for (layer, name) in LAYER_NAMES.iter().enumerate() {
        let kinds = |times: &Times| times.layers[layer].iter().sum::<Sum>().get();
        let of_layer = |spread: &Layer| layer_place(Some(*spread)) == layer;
        let spreads = run.processes.iter().flat_map(|process| &process.reduction.spreads).map(|def| def.layer);
        let reduced: Vec<Layer> = spreads.filter(of_layer).take(1).collect();
        if !reduced.is_empty() {
            out.extend(row(name, "all", Some(&reduced), &kinds));
        }
        for (kind, kind_name) in KIND_NAMES.iter().enumerate() {
            out.extend(row(name, kind_name, None, &|times| times.layers[layer][kind]));
        }
    }
    out
}

fn sharing(run: &Run, sums: &Sums) -> Vec<SharingRow> {
    let mut rows: BTreeMap<(bool, usize), (u64, u64, u64)> = BTreeMap::new();
    let outermost = |key: &FileOp| key.within == Within::Nothing;
    for (key, counters) in sums.operations.iter().filter(|(key, _)| outermost(key)) {
        let users = sums.users.get(&key.file).into_iter().flatten().copied();
        let shared = Users::of(run, users, key.file, None).count() > 1;
        let class: Option<OpClass> = run.ops.get(usize::from(key.op)).and_then(|op| op.class);
        let row = rows.entry((shared, kind_of(class, key.failed))).or_default();
        row.0 = row.0.saturating_add(counters.segments);
        row.1 = row.1.saturating_add(counters.bytes);
        row.2 = row.2.saturating_add(counters.duration);
    }
    let processes = run.process_count().max(1) as f64;
    let row = |((shared, kind), (calls, bytes, time)): ((bool, usize), (u64, u64, u64))| SharingRow {
        shared,
        kind: KIND_NAMES[kind],
        calls,
        bytes,
        per_process_ns: time as f64 / processes,
    };
    rows.into_iter().map(row).collect()
}
