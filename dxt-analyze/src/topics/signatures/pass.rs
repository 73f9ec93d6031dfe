//! Ordered pass: feeds the reads and writes of each process, thread, file and interface to a recogniser of their own.
//!
//! `places` maps calls to signatures; `order` sorts calls that may overlap by start.

use super::engine::{Accesses, Limits, Recogniser, Signature};
use super::places::{Places, Reading, Taken};
use crate::model::{FileId, ProcessId, StreamIx, Within};
use crate::scan::{Analysis, Block, Stretch};
use trace_format::op::Layer;

/// Maximum files and interfaces followed per thread; calls on further ones are counted in [`Apart::too_many_files`].
pub const FOLLOWED: usize = 4096;

/// Identity of a signature: the origin of its reads and writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Whose {
    /// Index into [`Run::processes`].
    pub process: ProcessId,
    /// Index of the thread in the process's table.
    pub thread: u32,
    /// Index into [`Run::files`].
    pub file: FileId,
    /// Interface.
    pub layer: Layer,
    /// Caller: the program, or a library inside its own calls.
    pub within: Within,
}

/// Signature of the reads and writes of one process, thread, file and interface.
#[derive(Clone, Debug)]
pub struct Signed {
    /// Origin of the reads and writes.
    pub whose: Whose,
    /// Signature.
    pub signature: Signature,
    /// Calls by operation.
    pub calls: Vec<Calls>,
}

/// Reads or writes of one operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// Operation.
    pub op: u16,
    /// Number of calls.
    pub calls: u64,
    /// Time in calls, ns.
    pub time_ns: u64,
}

/// Reads and writes that are in no signature, or not as the trace has them, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Apart {
    /// In no signature: unknown offset.
    pub no_offset: u64,
    /// In no signature: more files than are followed.
    pub too_many_files: u64,
    /// In signatures sorted by start, since they may overlap.
    pub by_start: u64,
    /// Among `by_start`, those that came too late: they overlap more calls than are held.
    pub late: u64,
    /// In signatures by first byte and length only, since the trace does not have their file view.
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

/// Calls to take one by one after one was not the expected one.
const IN_VAIN: usize = 8;

/// Analysis that recognises signatures.
#[derive(Clone, Copy, Debug)]
pub struct Signing {
    /// Bounds of each recogniser.
    pub limits: Limits,
}

/// State of the traced thread being read.
#[derive(Debug)]
struct Current {
    process: ProcessId,
    thread: u32,
    places: Places,
    recognisers: Vec<Option<Box<Recogniser>>>,
    /// Calls by stream.
    times: Vec<Calls>,
    followed: usize,
    reading: Reading,
}

impl Current {
    /// Takes the leading calls that continue the current loop of their stream, and returns their number. Fast path: processes mostly
    /// repeat themselves.
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

    /// Returns the calls by place and operation, and resets them.
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

/// State of an analyzer thread.
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

    /// Returns all signatures, sorted by [`Whose`], and the counts of calls that are not, or not exactly, in them.
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
                // Unexpected calls mostly come in groups.
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
    /// Takes calls one by one.
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
