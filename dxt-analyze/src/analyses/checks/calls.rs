//! What counts of calls tell, with or without segments: sums over streams, by layer, rank and file.

use super::sums::{Calls, FileSums};
use crate::analyses::totals::StreamTotal;
use crate::load::{Run, Stream, Within};
use crate::thresholds::Thresholds;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use trace_format::counters::{Counters, SIZE_BOUNDS};
use trace_format::op::{Layer, OpClass, OpMode};

/// Calls of MPI-IO in one direction, by form.
#[derive(Clone, Debug, Default)]
pub struct Forms {
    /// All ranks of a communicator together.
    pub collective: Calls,
    /// Each rank for itself.
    pub independent: Calls,
    /// Those that return before the bytes have moved, of either kind; also counted above.
    pub nonblocking: Calls,
    /// Independent ones by file.
    pub independent_files: BTreeMap<u32, Calls>,
}

/// What one rank (or process without a rank) did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rank {
    /// Reads and writes that the program called.
    pub data: Calls,
    /// Opens, closes, seeks, stats and other metadata calls, likewise.
    pub metadata: Calls,
}

/// What was done to a file, whoever called.
#[derive(Clone, Debug, Default)]
pub struct FileCalls {
    /// Syncs of the system.
    pub syncs: Calls,
    /// Seeks of the system.
    pub seeks: Calls,
    /// Reads of the system.
    pub reads: Calls,
    /// Writes of the system.
    pub writes: Calls,
    /// Opens, over all processes.
    pub opens: Calls,
    /// Closes, over all processes.
    pub closes: Calls,
    /// Most opens by one process, and which: index of the process.
    pub most_opens: (u64, u32),
    /// That process's reads and writes.
    pub accesses_of_most: u64,
    /// Bytes read by process, at the layer that the program called.
    pub read_by: BTreeMap<u32, u64>,
    /// Bytes written, likewise.
    pub written_by: BTreeMap<u32, u64>,
    /// Calls of the program that move its data for one rank alone.
    pub alone: Calls,
    /// Processes that called collective reads or writes on it.
    pub collective_by: u32,
    /// Among them those that then moved bytes: the aggregators, by process.
    pub aggregators: Vec<u32>,
}

/// All of it.
#[derive(Clone, Debug, Default)]
pub struct CallSums {
    /// Reads that the program called.
    pub reads: Calls,
    /// Writes that the program called.
    pub writes: Calls,
    /// Reads and writes of C streams among them.
    pub stdio: Calls,
    /// All calls of the program.
    pub all: Calls,
    /// Metadata calls of the program.
    pub metadata: Calls,
    /// Opens that failed.
    pub failed_opens: Calls,
    /// Files whose opening failed, with how often.
    pub failed_files: BTreeMap<u32, u64>,
    /// Opens that succeeded.
    pub opens: Calls,
    /// MPI-IO reads that the program or HDF5 called.
    pub mpi_reads: Forms,
    /// MPI-IO writes, likewise.
    pub mpi_writes: Forms,
    /// By process.
    pub ranks: BTreeMap<u32, Rank>,
    /// By file.
    pub files: BTreeMap<u32, FileCalls>,
}

fn calls(counters: &Counters) -> Calls {
    Calls { count: counters.segments, bytes: counters.bytes, time_ns: counters.duration }
}

/// Adds up the streams' totals, which come process by process.
#[must_use]
pub fn sum(run: &Run, totals: &[StreamTotal]) -> CallSums {
    let mut out = CallSums::default();
    for of_process in totals.chunk_by(|a, b| a.process == b.process) {
        let Some(number) = of_process.first().map(|total| total.process) else { continue };
        let Some(process) = run.processes.get(number as usize) else { continue };
        // A record that stands for several ranks is none of them.
        let is_one = process.reduction.is_none();
        let mut files: BTreeMap<u32, ProcessFile> = BTreeMap::new();
        for total in of_process {
            let Some(stream) = process.streams.get(total.stream as usize) else { continue };
            let calls = calls(&total.all);
            out.add(run, stream, &calls);
            if is_one && stream.within() == Within::Nothing {
                out.ranks.entry(number).or_default().add(run, stream, &calls);
            }
            files.entry(stream.file).or_default().add(run, stream, &calls);
        }
        for (file, sums) in files {
            out.files.entry(file).or_default().add(number, is_one, &sums);
        }
    }
    out
}

impl CallSums {
    fn add(&mut self, run: &Run, stream: &Stream, calls: &Calls) {
        let op = run.op(stream);
        let called = stream.within() == Within::Nothing;
        if called {
            self.all.merge(calls);
        }
        match (op.class, stream.failed) {
            (Some(OpClass::Open), true) if called => {
                self.failed_opens.merge(calls);
                let count = self.failed_files.entry(stream.file).or_default();
                *count = count.saturating_add(calls.count);
            }
            (Some(OpClass::Open), false) if called => self.opens.merge(calls),
            _ => {}
        }
        if called && is_metadata(op.class) {
            self.metadata.merge(calls);
        }
        let Some(class @ (OpClass::Read | OpClass::Write)) = op.class.filter(|_| !stream.failed) else { return };
        let reads = class == OpClass::Read;
        if called {
            if reads {
                self.reads.merge(calls);
            } else {
                self.writes.merge(calls);
            }
            if op.layer == Some(Layer::Stdio) {
                self.stdio.merge(calls);
            }
        }
        if op.layer == Some(Layer::Mpiio) && !stream.nested {
            let forms = if reads { &mut self.mpi_reads } else { &mut self.mpi_writes };
            if is_collective(op.mode, &op.name) {
                forms.collective.merge(calls);
            } else {
                forms.independent.merge(calls);
                forms.independent_files.entry(stream.file).or_default().merge(calls);
            }
            if matches!(op.mode, OpMode::Nonblocking | OpMode::Split) {
                forms.nonblocking.merge(calls);
            }
        }
    }
}

fn is_metadata(class: Option<OpClass>) -> bool {
    matches!(
        class,
        Some(
            OpClass::Open
                | OpClass::Close
                | OpClass::Seek
                | OpClass::Metadata
                | OpClass::Lock
                | OpClass::Unlock
                | OpClass::Map
        )
    )
}

fn is_collective(mode: OpMode, name: &str) -> bool {
    match mode {
        OpMode::Collective | OpMode::Ordered | OpMode::Split => true,
        OpMode::Nonblocking => name.ends_with("_all"),
        _ => false,
    }
}

impl Rank {
    fn add(&mut self, run: &Run, stream: &Stream, calls: &Calls) {
        let op = run.op(stream);
        if op.is_data() && !stream.failed {
            self.data.merge(calls);
        } else if is_metadata(op.class) {
            self.metadata.merge(calls);
        }
    }
}

/// What one process did to a file.
#[derive(Clone, Debug, Default)]
struct ProcessFile {
    syncs: Calls,
    seeks: Calls,
    reads: Calls,
    writes: Calls,
    opens: Calls,
    closes: Calls,
    read: u64,
    written: u64,
    touched: [bool; 2],
    alone: Calls,
    accesses: u64,
    collective: bool,
    moves_beneath: bool,
}

impl ProcessFile {
    fn add(&mut self, run: &Run, stream: &Stream, calls: &Calls) {
        let op = run.op(stream);
        if stream.failed {
            return;
        }
        let called = stream.within() == Within::Nothing;
        let posix = op.layer == Some(Layer::Posix);
        match op.class {
            Some(OpClass::Sync) if posix => self.syncs.merge(calls),
            Some(OpClass::Seek) if posix => self.seeks.merge(calls),
            Some(OpClass::Open) if called => self.opens.merge(calls),
            Some(OpClass::Close) if called => self.closes.merge(calls),
            Some(class @ (OpClass::Read | OpClass::Write)) => {
                let reads = class == OpClass::Read;
                if posix {
                    if reads { self.reads.merge(calls) } else { self.writes.merge(calls) }
                }
                let collective = is_collective(op.mode, &op.name);
                self.collective |= op.layer == Some(Layer::Mpiio) && collective;
                self.moves_beneath |= posix && stream.nested && calls.bytes > 0;
                if called {
                    self.accesses = self.accesses.saturating_add(calls.count);
                    let sum = if reads { &mut self.read } else { &mut self.written };
                    *sum = sum.saturating_add(calls.bytes);
                    if let Some(touched) = self.touched.get_mut(usize::from(!reads)) {
                        *touched = true;
                    }
                }
                // HDF5 decides for its own calls whether MPI-IO moves them together.
                if !collective && !stream.nested && matches!(op.layer, Some(Layer::Posix | Layer::Mpiio)) {
                    self.alone.merge(calls);
                }
            }
            _ => {}
        }
    }
}

impl FileCalls {
    fn add(&mut self, process: u32, is_one: bool, other: &ProcessFile) {
        self.syncs.merge(&other.syncs);
        self.seeks.merge(&other.seeks);
        self.reads.merge(&other.reads);
        self.writes.merge(&other.writes);
        self.opens.merge(&other.opens);
        self.closes.merge(&other.closes);
        self.alone.merge(&other.alone);
        if !is_one {
            return;
        }
        if other.opens.count > self.most_opens.0 {
            self.most_opens = (other.opens.count, process);
            self.accesses_of_most = other.accesses;
        }
        let [read, wrote] = other.touched;
        self.read_by.extend(read.then_some((process, other.read)));
        self.written_by.extend(wrote.then_some((process, other.written)));
        if other.collective {
            self.collective_by = self.collective_by.saturating_add(1);
            self.aggregators.extend(other.moves_beneath.then_some(process));
        }
    }
}

/// Adds what has no segments to the sums of the ordered pass, as far as counters tell: sizes by bins, places by the
/// stream's own order.
pub fn add_counters(run: &Run, files: &mut FxHashMap<u32, FileSums>, least: &Thresholds) {
    for process in &run.processes {
        for missing in &process.missing {
            let Some(stream) = process.stream_index(missing.stream).and_then(|at| process.streams.get(at)) else {
                continue;
            };
            let op = run.op(stream);
            if !stream.storage || !matches!(op.layer, Some(Layer::Posix | Layer::Mpiio)) {
                continue;
            }
            let sums = files.entry(stream.file).or_default();
            let writes = op.class == Some(OpClass::Write);
            let direction = if writes { &mut sums.writes } else { &mut sums.reads };
            let counters = &missing.counters;
            direction.all.merge(&calls(counters));
            let small = small_by_bins(counters, least.small_request_bytes);
            let share = |sum: u64, part: u64| {
                (u128::from(sum) * u128::from(part) / u128::from(counters.segments.max(1))) as u64
            };
            direction.small.merge(&Calls { count: small, bytes: 0, time_ns: share(counters.duration, small) });
            let placed = counters.segments.saturating_sub(1);
            let random = placed.saturating_sub(counters.sequential);
            if counters.max_end_offset > 0 {
                direction.placed = direction.placed.saturating_add(placed);
                direction.random.merge(&Calls { count: random, bytes: 0, time_ns: share(counters.duration, random) });
            }
        }
    }
}

/// Calls in bins that end below or at `limit`. The bin that holds `limit` itself counts only if the mean is below it: requests
/// of exactly 1 MiB share a bin with smaller ones.
fn small_by_bins(counters: &Counters, limit: u64) -> u64 {
    let mean = counters.bytes / counters.segments.max(1);
    let bins = counters.sizes.iter().zip(SIZE_BOUNDS);
    let below = bins.take_while(|(_, bound)| bound - 1 < limit || (bound - 1 == limit && mean < limit));
    below.fold(0_u64, |sum, (count, _)| sum.saturating_add(*count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::counters::Previous;

    #[test]
    fn requests_of_exactly_the_limit_are_not_small() {
        let folded = |length: u64| {
            let mut counters = Counters::default();
            (0..10).for_each(|_| counters.fold(&mut Previous::default(), -1, length, 0, 1));
            counters
        };
        assert_eq!(small_by_bins(&folded(1 << 20), 1 << 20), 0);
        assert_eq!(small_by_bins(&folded((1 << 20) - 1), 1 << 20), 10);
        assert_eq!(small_by_bins(&folded(100), 1 << 20), 10);
        assert_eq!(small_by_bins(&folded(200 << 10), 100 << 10), 0);
    }
}
