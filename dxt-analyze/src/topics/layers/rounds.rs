//! Finds MPI-IO calls that a buffer of limited size cuts into rounds: collective calls by `cb_buffer_size`, independent calls with gaps by
//! data sieving's `ind_wr_buffer_size` and `ind_rd_buffer_size`. If nearly all requests are as large as the buffer, a larger buffer means
//! fewer requests.

use super::pass::Partial;
use crate::model::{FileId, ProcessId, Run};
use crate::shared::layer_calls::{Form, Made};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use trace_format::meta::HintOrigin;
use trace_format::op::{Layer, OpClass};

/// Minimum mean request size / buffer size at which the buffer is considered to limit requests; below 1, since the last round (filling of
/// the buffer) of a call is smaller.
const FULL: f64 = 0.6;
/// Minimum mean number of rounds (fillings of the buffer) per call for a finding.
const ROUNDS: f64 = 3.0;
/// Upper bound of the time to exchange data between ranks, ns per byte (1 GB/s), regardless of the number of rounds.
const EXCHANGE_NS_PER_BYTE: f64 = 1.0;
/// Largest recommended buffer, bytes; each rank that moves data allocates one.
pub const LARGEST: u64 = 64 << 20;

/// MPI-IO calls on one file that move their bytes in several rounds, because the library's buffer holds fewer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RoundsRow {
    /// Path of the file on which the calls were made.
    pub file: String,
    /// Direction of the calls: `read` or `write`.
    pub op: &'static str,
    /// Form of the calls: collective or independent.
    pub form: Form,
    /// Totals of the MPI-IO calls, and of the system calls made inside them.
    #[serde(flatten)]
    pub made: Made,
    /// Number of ranks that moved data by system calls inside the MPI-IO calls.
    pub movers: u64,
    /// Name of the MPI-IO hint that sets the buffer size.
    pub hint: &'static str,
    /// Size of the buffer (collective or data sieving) that is in effect, bytes.
    pub buffer_bytes: u64,
    /// Mean number of rounds (fillings of the buffer) per call: system calls / MPI-IO calls, over ranks that move data.
    pub rounds: f64,
    /// Recommended buffer size, bytes: see [`wanted`].
    pub wanted_bytes: u64,
    /// Number of processes that made the MPI-IO calls.
    pub processes: u64,
    /// Cost of the rounds, ns: (time outside of system calls - time to exchange data + time in locks, per rank that moves data) × (1 -
    /// 1/rounds) × processes.
    pub cost_ns: u64,
}

/// Returns the recommended buffer size for a rank that moves `part` bytes per call: the next power of two, at most [`LARGEST`].
#[must_use]
pub fn wanted(part: u64) -> u64 {
    part.checked_next_power_of_two().unwrap_or(LARGEST).min(LARGEST)
}

#[derive(Default)]
struct Found {
    made: Made,
    processes: BTreeSet<ProcessId>,
    /// Processes that move data by system calls inside the MPI-IO calls.
    movers: BTreeSet<ProcessId>,
    /// MPI-IO calls of the processes that move data, and the calls made inside them.
    moving: Made,
}

/// Returns all calls that move their bytes in several rounds, sorted by cost, largest first.
#[must_use]
pub fn rows(run: &Run, partial: &Partial) -> Vec<RoundsRow> {
    let mut all: BTreeMap<(FileId, bool, Form), Found> = BTreeMap::new();
    for (&(number, stream), made) in &partial.made {
        let process = run.process(number);
        let Some(stream) = process.and_then(|process| process.stream(stream)) else { continue };
        let op = run.op(stream);
        let form = Form::of(op.mode);
        if op.layer != Some(Layer::Mpiio) || !op.is_data() || form == Form::Unfinished {
            continue;
        }
        let found = all.entry((stream.file, op.class == Some(OpClass::Write), form)).or_default();
        found.made.add(made);
        found.processes.insert(number);
        if made.inside.data().calls > 0 {
            found.moving.add(made);
            found.movers.insert(number);
        }
    }
    let mut out: Vec<RoundsRow> =
        all.into_iter().filter_map(|((file, writes, form), found)| row(run, file, writes, form, &found)).collect();
    out.sort_by(|a, b| b.cost_ns.cmp(&a.cost_ns).then_with(|| (&a.file, a.op).cmp(&(&b.file, b.op))));
    out
}

fn row(run: &Run, file: FileId, writes: bool, form: Form, found: &Found) -> Option<RoundsRow> {
    let hint = match (form, writes) {
        (Form::Collective, _) => "cb_buffer_size",
        (_, true) => "ind_wr_buffer_size",
        (_, false) => "ind_rd_buffer_size",
    };
    let is = |one: &&crate::model::Hint| (one.file, one.origin, one.key.as_str()) == (file, HintOrigin::InEffect, hint);
    let buffer_bytes: u64 = run.hints.iter().find(is)?.value.trim().parse().ok().filter(|bytes| *bytes > 0)?;
    // Reads do not count in writes: data sieving first reads the blocks that it writes.
    let data = if writes { found.made.inside.writes } else { found.made.inside.reads };
    let movers = found.movers.len() as u64;
    let operations = match form {
        Form::Collective => found.made.of.calls / (found.processes.len() as u64).max(1),
        _ => found.made.of.calls / movers.max(1),
    };
    let calls = operations.saturating_mul(movers);
    let mean = data.bytes.checked_div(data.calls)?;
    let rounds = data.calls as f64 / calls.max(1) as f64;
    if (mean as f64) < buffer_bytes as f64 * FULL || mean > buffer_bytes || rounds < ROUNDS {
        return None;
    }
    let part = data.bytes / calls.max(1);
    let exchange = found.made.of.bytes as f64 * EXCHANGE_NS_PER_BYTE;
    // Only the time of ranks that move data counts: all other ranks wait for them, even while they are in system calls.
    let outside = (found.moving.rest_ns() as f64 - exchange).max(0.0) + found.moving.inside.locking().time_ns as f64;
    let each_ns = outside / movers.max(1) as f64 * (1.0 - 1.0 / rounds);
    Some(RoundsRow {
        file: run.file(file)?.name.clone(),
        op: if writes { "write" } else { "read" },
        form,
        made: found.made,
        movers,
        hint,
        buffer_bytes,
        rounds,
        wanted_bytes: wanted(part).max(buffer_bytes),
        processes: found.processes.len() as u64,
        cost_ns: (each_ns * found.processes.len() as f64) as u64,
    })
}
