//! Summarizes collective calls by file: ranks that make the system calls (aggregators), merging of many ranks' small requests into few
//! large ones, and a breakdown of each collective operation's time.

use super::collectives::{Collective, Followed, Key};
use super::means::Means;
use super::pass::Partial;
use crate::model::{FileId, FileLayout, ProcessId, Run, Stream, StreamIx, Users};
use crate::shared::layer_calls::{CallSum, Form, Made};
pub use crate::words::layers::{CollectiveRow, LateRow};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use trace_format::op::{Layer, OpClass};

/// Process (aggregator) that moves data on behalf of other ranks in collective calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Aggregator {
    /// Name of the aggregator's process, such as `rank 3`.
    pub process: String,
    /// Host name of the aggregator's node.
    pub node: String,
    /// System calls of the process that move data inside collective calls.
    #[serde(flatten)]
    pub data: CallSum,
}

/// Collective reads or writes of one file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BufferingRow {
    /// Path of the file on which the collective calls were made.
    pub file: String,
    /// Direction of the collective calls: `read` or `write`.
    pub op: &'static str,
    /// Collective calls of all ranks, and the calls made inside them.
    #[serde(flatten)]
    pub made: Made,
    /// Number of processes that took part in the collective calls.
    pub processes: u64,
    /// Number of processes that requested at least one byte in the collective calls.
    pub with_bytes: u64,
    /// Number of nodes on which the processes that took part run.
    pub nodes: u64,
    /// Mean bytes that one process requests per collective call; 0 if no calls are known.
    pub mean_call_bytes: u64,
    /// Mean bytes per system call that moves data inside collective calls; 0 if there are no such calls.
    pub mean_request_bytes: u64,
    /// True if requests of several calls were merged: fewer processes make system calls than request bytes, or `mean_request_bytes` ≥ 2 ×
    /// `mean_call_bytes`.
    pub buffered: bool,
    /// Values in effect of the MPI-IO hints that control aggregation: `cb_nodes`, `romio_cb_write`, ...
    pub hints: BTreeMap<String, String>,
    /// Stripe count of the file's layout; `None` if unknown.
    pub stripe_count: Option<u64>,
    /// Mean times of an aggregator in the collective calls, split into I/O and communication, ns.
    pub aggregators_mean: Means,
    /// Mean times of a participating process in the collective calls, split into I/O and communication, ns.
    pub processes_mean: Means,
    /// Processes that move data by system calls inside the collective calls, sorted by bytes, largest first.
    pub aggregators: Vec<Aggregator>,
}

/// MPI-IO hints that select aggregators and the size of their buffers.
const HINTS: [&str; 6] =
    ["cb_nodes", "cb_buffer_size", "romio_cb_read", "romio_cb_write", "romio_no_indep_rw", "cb_config_list"];

#[derive(Default)]
struct Found {
    made: Made,
    processes: BTreeMap<ProcessId, Made>,
    with_bytes: BTreeSet<ProcessId>,
}

fn stream_of(run: &Run, key: (ProcessId, StreamIx)) -> Option<&Stream> {
    run.process(key.0)?.stream(key.1)
}

/// Returns the blocking collective reads and writes per file, sorted by time, largest first.
#[must_use]
pub fn files(run: &Run, layouts: &[Option<FileLayout>], partial: &Partial) -> Vec<BufferingRow> {
    let mut all: BTreeMap<(FileId, bool), Found> = BTreeMap::new();
    for (&key, made) in &partial.made {
        let Some(stream) = stream_of(run, key) else { continue };
        let op = run.op(stream);
        if op.layer != Some(Layer::Mpiio) || !op.is_data() || Form::of(op.mode) != Form::Collective {
            continue;
        }
        let found = all.entry((stream.file, op.class == Some(OpClass::Write))).or_default();
        found.made.add(made);
        found.processes.entry(key.0).or_default().add(made);
        if made.of.bytes > 0 {
            found.with_bytes.insert(key.0);
        }
    }
    let mut rows: Vec<((FileId, bool), BufferingRow)> =
        all.into_iter().map(|(key, found)| (key, row(run, layouts, key, found))).collect();
    rows.sort_by_key(|(key, row)| (std::cmp::Reverse(row.made.of.time_ns), *key));
    rows.into_iter().map(|(_, row)| row).collect()
}

fn row(run: &Run, layouts: &[Option<FileLayout>], (file, writes): (FileId, bool), found: Found) -> BufferingRow {
    let data = found.made.inside.data();
    let mean = |sum: &CallSum| sum.bytes.checked_div(sum.calls).unwrap_or(0);
    let (mean_call_bytes, mean_request_bytes) = (mean(&found.made.of), mean(&data));
    let node = |number: &ProcessId| run.process(*number).map_or(u32::MAX, |process| process.node);
    let def = run.file(file);
    let layout = layouts.get(file.index()).and_then(Option::as_ref).filter(|layout| !layout.is_guess());
    let is_aggregator = |made: &&Made| made.inside.data().calls > 0;
    let of_each = found.processes.iter().map(|(number, made)| (*number, made.inside.data()));
    let mut data: Vec<(ProcessId, CallSum)> = of_each.filter(|(_, data)| data.calls > 0).collect();
    data.sort_by_key(|(process, sum)| (std::cmp::Reverse(sum.bytes), *process));
    let aggregator = |(number, data): (ProcessId, CallSum)| Aggregator {
        process: run.name_on(number, file),
        node: run.process(number).map(|process| run.node(process).to_owned()).unwrap_or_default(),
        data,
    };
    let hint = |hint: &&crate::model::Hint| {
        hint.file == file
            && hint.origin == trace_format::meta::HintOrigin::InEffect
            && HINTS.contains(&hint.key.as_str())
    };
    BufferingRow {
        file: def.map(|file| file.name.clone()).unwrap_or_default(),
        op: if writes { "write" } else { "read" },
        made: found.made,
        processes: Users::of(run, found.processes.keys().copied(), file, Some(Layer::Mpiio)).count(),
        with_bytes: Users::of(run, found.with_bytes.iter().copied(), file, Some(Layer::Mpiio)).count(),
        nodes: found
            .processes
            .keys()
            .map(node)
            .filter(|node| (*node as usize) < run.nodes.len())
            .collect::<BTreeSet<u32>>()
            .len() as u64,
        mean_call_bytes,
        mean_request_bytes,
        buffered: !data.is_empty()
            && (data.len() < found.with_bytes.len() || mean_request_bytes >= mean_call_bytes.saturating_mul(2).max(1)),
        hints: run.hints.iter().filter(hint).map(|hint| (hint.key.clone(), hint.value.clone())).collect(),
        stripe_count: layout
            .and_then(|layout| layout.layout.components.iter().map(|c| u64::from(c.stripe_count)).max()),
        aggregators_mean: Means::of(found.processes.values().filter(is_aggregator)),
        processes_mean: Means::of(found.processes.values()),
        aggregators: data.into_iter().map(aggregator).collect(),
    }
}

/// Totals over the collective operations that were matched across ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Collectives {
    /// Reason why some or all collective operations could not be matched across ranks; `None` if all could.
    pub not_matched: Option<String>,
    /// Number of collective operations that were matched across ranks.
    pub followed: u64,
    /// Sampling factor: one in this many collective operations is matched; 1 if all are.
    pub followed_one_in: u64,
    /// Number of calls in the matched operations, one per rank and operation.
    pub calls: u64,
    /// Time in the calls of matched operations, summed over ranks and operations, ns.
    pub time_ns: u64,
    /// Wall time from the first rank's start to the last rank's end, summed over operations, ns.
    pub wall_ns: u64,
    /// Wall time from the first to the last rank's start, summed over operations, ns.
    pub skew_ns: u64,
    /// Wall time after the last rank's start in which the busiest rank was in system calls, summed over operations, ns.
    pub storage_ns: u64,
    /// Wall time after the last rank's start in which the busiest rank was not in system calls, summed over operations, ns.
    pub rest_ns: u64,
    /// Sum over operations of: wall time after the last start outside of system calls × number of participating ranks, ns.
    pub rest_of_all_ns: u64,
    /// Time that ranks waited for the last rank, summed over ranks and operations, ns. Operations in which a rank's call ended before the
    /// last rank began count as 0.
    pub wait_ns: u64,
    /// Slowest collective operations, slowest first.
    pub slowest: Vec<CollectiveRow>,
    /// Ranks that other ranks waited for, longest wait first.
    pub late: Vec<LateRow>,
}

/// Sums up the matched operations, and lists the `top` slowest. Matching needs the order of calls: if some calls of an operation on a file
/// have only counters, all its calls on that file are omitted.
#[must_use]
pub fn collectives(run: &Run, followed: Followed, top: usize) -> Collectives {
    let folded = folded(run);
    let mut out = Collectives { followed_one_in: followed.one_in(), ..Collectives::default() };
    let mut all = followed.sorted();
    let before = all.len();
    all.retain(|(key, _)| !folded.contains(&(key.file, key.op)));
    if run.window.is_some() {
        out.not_matched = Some("the order of calls is not known within a time range (--time)".into());
    } else if before > all.len() || (all.is_empty() && !folded.is_empty()) {
        out.not_matched =
            Some("on some files calls are not recorded individually, so the order of calls is not known".into());
    }
    let mut late: BTreeMap<ProcessId, (u64, u64)> = BTreeMap::new();
    for (_, one) in &all {
        let plus = |sum: &mut u64, by: u64| *sum = sum.saturating_add(by);
        plus(&mut out.followed, 1);
        plus(&mut out.calls, one.calls);
        plus(&mut out.time_ns, one.time_ns);
        plus(&mut out.wall_ns, one.wall_ns());
        plus(&mut out.skew_ns, one.skew_ns());
        plus(&mut out.storage_ns, one.storage_ns());
        plus(&mut out.rest_ns, one.rest_ns());
        plus(&mut out.rest_of_all_ns, one.rest_ns().saturating_mul(one.calls));
        plus(&mut out.wait_ns, one.wait_ns());
        if one.wait_ns() > 0 {
            let found = late.entry(one.last_start.process).or_default();
            plus(&mut found.0, 1);
            plus(&mut found.1, one.wait_ns());
        }
    }
    let mut late: Vec<(ProcessId, (u64, u64))> = late.into_iter().collect();
    late.sort_by_key(|(process, (_, wait_ns))| (std::cmp::Reverse(*wait_ns), *process));
    let late_row = |(process, (times, wait_ns)): (ProcessId, (u64, u64))| LateRow {
        process: run.process_name(process),
        node: run.process(process).map(|p| run.node(p).to_owned()).unwrap_or_default(),
        times,
        wait_ns,
    };
    out.late = late.into_iter().take(top).map(late_row).collect();
    all.sort_by_key(|(key, one)| (std::cmp::Reverse(one.wall_ns()), *key));
    out.slowest = all.iter().take(top).map(|(key, one)| collective_row(run, key, one)).collect();
    out
}

fn collective_row(run: &Run, key: &Key, one: &Collective) -> CollectiveRow {
    CollectiveRow {
        file: run.file_name(key.file).to_owned(),
        op: run.ops.get(usize::from(key.op)).map(crate::model::Op::label).unwrap_or_default(),
        number: key.number,
        calls: one.calls,
        bytes: one.bytes,
        start_ns: one.first_start,
        wall_ns: one.wall_ns(),
        skew_ns: one.skew_ns(),
        wait_ns: one.wait_ns(),
        last: run.process_name(one.last_start.process),
        storage_ns: one.storage_ns(),
        busiest: run.process_name(one.longest.process),
        rest_ns: one.rest_ns(),
        time_ns: one.time_ns,
        aggregators: one.aggregators,
        data_calls: one.data_calls,
        data_bytes: one.data_bytes,
    }
}

/// Returns the (file, operation) pairs with blocking collective calls that have only counters.
fn folded(run: &Run) -> BTreeSet<(FileId, u16)> {
    let of = |process: &crate::model::Process| {
        let streams = process.missing.iter().filter_map(|missing| process.stream_index(missing.stream));
        let found = streams.filter_map(|at| process.stream(at)).filter(|stream| {
            let op = run.op(stream);
            op.layer == Some(Layer::Mpiio) && op.is_data() && Form::of(op.mode) == Form::Collective
        });
        found.map(|stream| (stream.file, stream.op)).collect::<Vec<_>>()
    };
    run.processes.iter().flat_map(of).collect()
}
