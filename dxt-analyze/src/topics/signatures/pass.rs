//! Pass over all reads and writes in call order. Each process, thread, file and interface has its own recogniser of loops.
//!
//! `places` assigns calls to signatures; `order` sorts calls that may overlap by their starts.

use super::places::{Places, Reading, Taken};
use crate::model::{FileId, ProcessId, StreamIx, Within};
use crate::scan::{Analysis, Block, Stretch};
use iosig::{Accesses, Limits, Recogniser, Signature};
use trace_format::op::Layer;

/// Maximum number of signatures (file, interface and caller) tracked per thread; further calls count in [`Apart::too_many_files`].
pub const FOLLOWED: usize = 4096;

/// Key of a signature: process, thread, file, interface and caller of its reads and writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Whose {
    /// Process that made the calls, as an index into [`Run::processes`].
    pub process: ProcessId,
    /// Thread that made the calls, as an index into the process's table of threads.
    pub thread: u32,
    /// File of the calls, as an index into [`Run::files`].
    pub file: FileId,
    /// I/O interface of the calls, e.g. MPI-IO.
    pub layer: Layer,
    /// Caller: the program, or a library that makes the calls inside its own calls.
    pub within: Within,
}

/// Signature of the reads and writes of one process, thread, file, interface and caller.
#[derive(Clone, Debug)]
pub struct Signed {
    /// Process, thread, file, interface and caller of the calls.
    pub whose: Whose,
    /// Signature recognised in the reads and writes.
    pub signature: Signature,
    /// Number of calls and their time, by operation.
    pub calls: Vec<Calls>,
}

/// Totals of the reads or writes of one operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// Operation of the calls, as an index into [`Run::ops`].
    pub op: u16,
    /// Number of calls of the operation in the signature.
    pub calls: u64,
    /// Time in the signature's calls of the operation, ns.
    pub time_ns: u64,
}

/// Number of reads and writes that signatures omit or represent inexactly, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Apart {
    /// Number of reads and writes missing in signatures because their offset is unknown.
    pub no_offset: u64,
    /// Number of reads and writes missing in signatures because the thread uses more files than are tracked.
    pub too_many_files: u64,
    /// Number of reads and writes represented in order of their starts instead of trace order, since they may overlap.
    pub by_start: u64,
    /// Number of reads and writes that stay out of order in spite of sorting, since they overlap more calls than the sorting buffer holds.
    pub late: u64,
    /// Number of reads and writes represented only by first byte and length, since the MPI file view in force is unknown, or does not
    /// consist of blocks at constant strides.
    pub view_unknown: u64,
}

impl Apart {
    fn add(&mut self, other: &Self) {
        self.no_offset += other.no_offset;
        self.too_many_files += other.too_many_files;
        self.by_start += other.by_start;
        self.late += other.late;
        self.view_unknown += other.view_unknown;
    }
}

/// Number of calls processed one at a time after an unexpected call, before calls are processed in bulk again.
const IN_VAIN: usize = 8;

/// Analysis that recognises the signatures of a run.
#[derive(Clone, Copy, Debug)]
pub struct Signing {
    /// Memory limits of each recogniser of loops.
    pub limits: Limits,
}

/// State for the thread of the traced program whose calls are being read.
#[derive(Debug)]
struct Current {
    process: ProcessId,
    thread: u32,
    places: Places,
    recognisers: Vec<Option<Box<Recogniser>>>,
    /// Totals of the thread's calls, by stream (one operation, file and caller).
    times: Vec<Calls>,
    followed: usize,
    reading: Reading,
}

impl Current {
    /// Fast path, since processes mostly repeat themselves: adds the first calls of `calls` that continue the current loop of their
    /// signature, and returns their number.
    fn take_expected(&mut self, block: &Block<'_>, calls: Stretch<'_>) -> usize {
        let place = self.places.plain(calls.stream);
        let recogniser = place.and_then(|place| self.recognisers.get_mut(place as usize)?.as_mut());
        let (Some(recogniser), Some(stream)) = (recogniser, block.process.stream(calls.stream)) else { return 0 };
        let Stretch { offset, length, start, end, .. } = calls;
        let shift = block.process.shift_ns;
        let taken = recogniser.push_expected(stream.op, &Accesses { offset, length, start, end, shift });
        if let Some(of) = self.times.get_mut(calls.stream.index()).filter(|_| taken > 0) {
            of.op = stream.op;
            of.calls += taken as u64;
            for row in calls.part(0, taken).rows() {
                of.time_ns = of.time_ns.saturating_add(row.duration_ns());
            }
        }
        taken
    }

    /// Returns the totals of calls by signature and operation, and resets the totals.
    fn calls(&mut self) -> Vec<Vec<Calls>> {
        let mut out: Vec<Vec<Calls>> = vec![Vec::new(); self.places.of.len()];
        for (at, of) in (0..).map(StreamIx).zip(&mut self.times) {
            let of = std::mem::take(of);
            let Some(place) = self.places.get(at) else { continue };
            let Some(all) = out.get_mut(place as usize).filter(|_| of.calls > 0) else { continue };
            match all.iter_mut().find(|known| known.op == of.op) {
                Some(known) => {
                    known.calls = known.calls.saturating_add(of.calls);
                    known.time_ns = known.time_ns.saturating_add(of.time_ns);
                }
                None => all.push(of),
            }
        }
        out
    }
}

/// Signatures recognised so far by one thread of the analyzer, and the state of the traced thread being read.
#[derive(Debug, Default)]
pub struct Partial {
    done: Vec<Signed>,
    apart: Apart,
    current: Option<Current>,
}

impl Partial {
    fn end_thread(&mut self) {
        let Some(current) = &mut self.current else { return };
        let recognisers = &mut current.recognisers;
        current.reading.order.end(|place, access| {
            if let Some(Some(recogniser)) = recognisers.get_mut(place as usize) {
                recogniser.push(access);
            }
        });
        self.apart.late += std::mem::take(&mut current.reading).order.late;
        let calls = current.calls();
        let all = current.places.of.iter().zip(&mut current.recognisers).zip(calls);
        for ((&(file, layer, within), recogniser), calls) in all {
            let whose = Whose { process: current.process, thread: current.thread, file, layer, within };
            if let Some(recogniser) = recogniser.take() {
                self.done.push(Signed { whose, signature: recogniser.finish(), calls });
            }
        }
        current.followed = 0;
    }

    /// Returns all signatures, sorted by [`Whose`], and the numbers of calls that signatures omit or represent inexactly.
    #[must_use]
    pub fn signatures(mut self) -> (Vec<Signed>, Apart) {
        self.end_thread();
        self.done.sort_by_key(|signed| signed.whose);
        (self.done, self.apart)
    }
}

impl Analysis for Signing {
    type Partial = Partial;

    fn start(&self) -> Partial {
        Partial::default()
    }

    fn ordered(&self) -> bool {
        true
    }

    fn block(&self, partial: &mut Partial, block: &Block<'_>) {
        let same = |current: &Current| (current.process, current.thread) == (block.number, block.thread);
        if !partial.current.as_ref().is_some_and(same) {
            partial.end_thread();
            let places = match partial.current.take() {
                Some(current) if current.process == block.number => current.places,
                _ => Places::new(block.run, block.process),
            };
            let recognisers = places.of.iter().map(|_| None).collect();
            let (process, thread) = (block.number, block.thread);
            let times = vec![Calls::default(); block.process.streams.len()];
            let reading = places.begin();
            partial.current = Some(Current { process, thread, places, recognisers, times, followed: 0, reading });
        }
        let Some(current) = &mut partial.current else { return };
        for mut calls in block.stretches() {
            while !calls.start.is_empty() {
                let (taken, count) = (current.take_expected(block, calls), calls.start.len());
                // Unexpected calls mostly occur in groups, so several are processed one at a time.
                let until = count.min(if taken == 0 { IN_VAIN } else { taken + 1 });
                self.take_each(current, &mut partial.apart, block, calls.part(taken, until));
                calls = calls.part(until, count);
            }
        }
    }

    fn merge(&self, into: &mut Partial, mut other: Partial) {
        into.end_thread();
        other.end_thread();
        into.done.append(&mut other.done);
        into.apart.add(&other.apart);
    }
}

impl Signing {
    /// Processes calls one at a time, without the fast path.
    fn take_each(&self, current: &mut Current, apart: &mut Apart, block: &Block<'_>, calls: Stretch<'_>) {
        for row in calls.rows() {
            let (place, access) = match current.reading.take(&current.places, block, &row) {
                Taken::Nothing => continue,
                Taken::Nowhere => {
                    apart.no_offset += 1;
                    continue;
                }
                Taken::Access(place, access, view_known) => {
                    apart.view_unknown += u64::from(!view_known);
                    (place, access)
                }
            };
            let Some(recogniser) = current.recognisers.get_mut(place as usize) else { continue };
            if recogniser.is_none() {
                if current.followed >= FOLLOWED {
                    apart.too_many_files += 1;
                    continue;
                }
                current.followed += 1;
            }
            if let Some(of) = current.times.get_mut(row.stream.index()) {
                of.op = block.process.stream(row.stream).map_or(u16::MAX, |stream| stream.op);
                of.calls += 1;
                of.time_ns = of.time_ns.saturating_add(row.duration_ns());
            }
            let recogniser = recogniser.get_or_insert_with(|| Box::new(Recogniser::new(self.limits)));
            if !current.places.by_start(place) {
                recogniser.push(&access);
                continue;
            }
            apart.by_start += 1;
            let recognisers = &mut current.recognisers;
            current.reading.order.push(place, access, |place, access| {
                if let Some(Some(recogniser)) = recognisers.get_mut(place as usize) {
                    recogniser.push(access);
                }
            });
        }
    }
}
