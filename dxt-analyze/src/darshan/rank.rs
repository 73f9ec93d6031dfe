//! One rank of a log: its segments in the order in which calls returned, with POSIX calls inside MPI-IO calls found by their times.

use super::counted::{self, AllUsed};
use super::cursor::Cursors;
use super::heat;
use super::layouts::Layouts;
use super::libraries::{self, LIBRARIES};
use super::named::{Named, ns};
use super::ops::code;
use super::shared::Shared;
use super::tables::Tables;
use crate::limits::{LOG_CALLS, LOG_FRAMES, LOG_SEGMENTS, LOG_THREADS};
use anyhow::Result;
use darshan_log::{Api, CounterRecord, DxtRecord, Info, Log, Module, Operation};
use rustc_hash::{FxHashMap, FxHashSet};
use std::io::{Read, Seek};
use std::sync::{Arc, Mutex};
use trace_format::columns::TickScale;
use trace_format::meta::{ClockSource, Note, Process, ProcessInfo, ThreadDef, stream_flags};
use trace_format::op::{Layer, OpMode};
use trace_format::segment::{Segment, StreamId};
use trace_format::write::{Encoder, Piece, Region, ThreadSegments};

/// Stands for the threads that are not told apart.
const OTHERS: u64 = u64::MAX;

/// Room for segments that is used again: the kernel clears every page that it gives out.
#[derive(Clone, Default)]
struct Spare(Arc<Mutex<Vec<Vec<Segment>>>>);

impl Spare {
    /// Vectors that are kept.
    const MOST: usize = 16;

    fn take(&self) -> Vec<Segment> {
        self.0.lock().ok().and_then(|mut spare| spare.pop()).unwrap_or_default()
    }

    fn give(&self, mut slots: Vec<Segment>) {
        slots.clear();
        if let Ok(mut spare) = self.0.lock()
            && spare.len() < Self::MOST
            && spare.iter().map(Vec::capacity).sum::<usize>() + slots.capacity() <= LOG_SEGMENTS
        {
            spare.push(slots);
        }
    }
}

/// The ranks of a log.
pub(super) struct Ranks {
    info: Arc<Info>,
    layouts: Layouts,
    spare: Spare,
    /// For ranks with too many segments to hold.
    encoder: Encoder,
}

/// A thread while its segments come.
#[derive(Default)]
struct Thread {
    slots: Vec<Segment>,
    /// How many of them are calls of MPI-IO, which come first.
    outer: usize,
    frames: Vec<Vec<u8>>,
}

impl Thread {
    /// Encodes what there is, to make room.
    fn pack(&mut self, number: u32, index: u32, encoder: &mut Encoder) -> Result<()> {
        self.sort();
        for slots in self.slots.chunks(trace_format::write::TARGET_BLOCK_SEGMENTS) {
            let mut frame = Vec::new();
            encoder.block(number, index, slots, &TickScale::IDENTITY, &mut frame)?;
            self.frames.push(frame);
        }
        self.slots.clear();
        Ok(())
    }

    /// Bytes of what is encoded.
    fn encoded(&self) -> u64 {
        self.frames.iter().map(|frame| frame.len() as u64).sum()
    }

    /// By return. A call inside another returns no later than it, and of two that look the same it is the POSIX one.
    fn sort(&mut self) {
        self.slots.rotate_left(self.outer);
        self.slots.sort_by_key(|slot| (slot.end, std::cmp::Reverse(slot.start)));
        self.outer = 0;
    }
}

/// Calls of MPI-IO on a file by one rank: when they began, and when the last of all up to then ended.
#[derive(Default)]
struct Calls(Vec<(u64, u64)>);

impl Calls {
    fn settle(&mut self) {
        self.0.sort_unstable();
        let mut latest = 0;
        for (_, end) in &mut self.0 {
            latest = latest.max(*end);
            *end = latest;
        }
    }

    /// Whether one of them was under way from `start` to `end`.
    fn hold(&self, start: u64, end: u64) -> bool {
        let before = self.0.partition_point(|(begin, _)| *begin <= start);
        before.checked_sub(1).and_then(|last| self.0.get(last)).is_some_and(|(_, latest)| *latest >= end)
    }
}

impl Ranks {
    pub(super) fn new<R: Read + Seek>(log: &Log<R>, layouts: Layouts) -> Result<Self> {
        Ok(Self { info: log.info(), layouts, spare: Spare::default(), encoder: Encoder::new()? })
    }

    pub(super) fn into_layouts(self) -> Layouts {
        self.layouts
    }

    /// What the log has of `rank`, for the region with this number.
    pub(super) fn gather(
        &mut self,
        rank: i64,
        cursors: &mut Cursors<'_>,
        shared: &mut Shared,
        number: u32,
        notes: Vec<Note>,
    ) -> Result<Gathered> {
        let info = Arc::clone(&self.info);
        cursors.begin_rank();
        let counters = cursors.counters(rank);
        let mut gather = Gather {
            tables: Tables::new(Process { info: process_info(&info, rank), notes, ..Process::default() }, &info.names),
            threads: FxHashMap::default(),
            ends: heat::Ends::default(),
            held: 0,
            encoded: 0,
            used: AllUsed::default(),
            spare: &self.spare,
            encoder: &mut self.encoder,
            number,
            failed: None,
        };
        // What MPI-IO did comes first: it tells which POSIX calls are nested.
        let mut calls: FxHashMap<u64, Calls> = FxHashMap::default();
        let forms = Forms::of(&counters, shared);
        let mut room = LOG_CALLS;
        cursors.segments(rank, Api::MpiIo, |record, operation, segments| {
            let of_file = calls.entry(record.id).or_default();
            of_file.0.extend(segments.iter().map(span).take(room));
            room = room.saturating_sub(segments.len());
            let form = forms.get(record.id, operation);
            gather.add(record, Layer::Mpiio, operation, form, segments, &mut self.layouts, |_, _| false);
        });
        calls.values_mut().for_each(Calls::settle);
        cursors.segments(rank, Api::Posix, |record, operation, segments| {
            let of_file = calls.get(&record.id);
            let nested = |start, end| of_file.is_some_and(|calls| calls.hold(start, end));
            gather.add(record, Layer::Posix, operation, OpMode::Plain, segments, &mut self.layouts, nested);
        });
        if let Some(error) = gather.failed {
            return Err(error);
        }
        let Gather { mut tables, threads, used, ends, .. } = gather;
        shared.used.merge(&used, &shared.ids);
        let in_mpi: FxHashSet<u64> =
            counters.iter().filter(|(module, _)| *module == Module::MpiIo).map(|(_, record)| record.id).collect();
        for (module, record) in &counters {
            let named = Named { module: *module, record };
            if LIBRARIES.contains(module) {
                libraries::add(named, &mut tables, &mut self.layouts);
            } else {
                let nested = *module == Module::Posix && in_mpi.contains(&record.id);
                counted::add(named, nested, &used, &mut tables, &mut self.layouts);
            }
        }
        let heat = heat::read(&cursors.heat(rank), ends);
        tables.process.heat = heat.defs;
        if heat.ends_early {
            tables.process.notes.push(Note { what: heat::ENDS_EARLY.into(), count: 1 });
        }
        let mut threads: Vec<(u32, Thread)> = threads.into_values().collect();
        threads.sort_by_key(|(index, _)| *index);
        cursors.made(tables.process.held_bytes());
        Ok(Gathered { process: tables.process, threads, number, spare: self.spare.clone() })
    }
}

/// A rank whose segments are all there.
pub(super) struct Gathered {
    process: Process,
    /// In the order in which they come in the log.
    threads: Vec<(u32, Thread)>,
    number: u32,
    spare: Spare,
}

impl Gathered {
    /// Puts the segments in order and encodes the region.
    pub(super) fn region(mut self, encoder: &mut Encoder) -> Result<Region> {
        self.threads.iter_mut().for_each(|(_, thread)| thread.sort());
        self.process.threads = self.threads.iter().map(|(index, _)| ThreadDef { index: *index, tid: *index }).collect();
        let scale = TickScale::IDENTITY;
        let segments: Vec<ThreadSegments<'_>> = self
            .threads
            .iter()
            .map(|(index, thread)| {
                let frames = thread.frames.iter().map(|frame| Piece::Frame(frame, scale.mult));
                let slots = std::iter::once(Piece::Slots(&thread.slots));
                ThreadSegments { thread: *index, pieces: frames.chain(slots).collect() }
            })
            .collect();
        let region = encoder.region(self.number, &mut self.process, &segments, &scale)?;
        drop(segments);
        self.threads.into_iter().for_each(|(_, thread)| self.spare.give(thread.slots));
        Ok(region)
    }
}

/// A rank while its segments come.
struct Gather<'a> {
    tables: Tables<'a>,
    /// By Darshan's number of the thread.
    threads: FxHashMap<u64, (u32, Thread)>,
    ends: heat::Ends,
    /// Segments of all threads that wait to be put in order.
    held: usize,
    /// Bytes of all threads' encoded segments.
    encoded: u64,
    used: AllUsed,
    spare: &'a Spare,
    encoder: &'a mut Encoder,
    number: u32,
    failed: Option<anyhow::Error>,
}

impl Gather<'_> {
    #[expect(clippy::too_many_arguments, reason = "a piece of a record and where it belongs")]
    fn add(
        &mut self,
        record: &DxtRecord,
        layer: Layer,
        operation: Operation,
        form: OpMode,
        segments: &[darshan_log::Segment],
        layouts: &mut Layouts,
        nested: impl Fn(u64, u64) -> bool,
    ) {
        if self.tables.process.info.node.is_empty() {
            self.tables.process.info.node = record.hostname.to_string();
        }
        let writes = operation == Operation::Write;
        let op = code(layer, if writes { "write" } else { "read" }, form);
        let file = self.tables.file(record.id, layouts);
        if self.encoded > LOG_FRAMES {
            // Counted, and without segments, as calls are that DXT itself had no room for.
            return;
        }
        let used = self.used.of(layer, record.id, writes);
        let mut streams = [None; 2];
        for segment in segments {
            let (start, end) = span(segment);
            self.ends.see(layer, end);
            let length = u64::try_from(segment.length).unwrap_or(0);
            used.add(length, end - start);
            let inside = nested(start, end);
            let flags = if inside { stream_flags::NESTED } else { 0 };
            let stream = *streams[usize::from(inside)].get_or_insert_with(|| self.tables.stream(file, op, flags));
            let next = self.threads.len() as u32;
            let known = segment.thread.unwrap_or(0);
            let number =
                if self.threads.len() < LOG_THREADS || self.threads.contains_key(&known) { known } else { OTHERS };
            let (_, thread) = self
                .threads
                .entry(number)
                .or_insert_with(|| (next, Thread { slots: self.spare.take(), ..Thread::default() }));
            thread.slots.push(Segment::new(StreamId(stream), segment.offset.max(-1), length, start, end));
            if layer == Layer::Mpiio {
                thread.outer = thread.slots.len();
            }
            self.held += 1;
        }
        if self.held >= LOG_SEGMENTS {
            self.pack();
        }
    }

    /// Encodes what all threads hold, to make room.
    fn pack(&mut self) {
        for (index, thread) in self.threads.values_mut() {
            if let Err(error) = thread.pack(self.number, *index, self.encoder) {
                self.failed = Some(error);
            }
        }
        self.held = 0;
        self.encoded = self.threads.values().map(|(_, thread)| thread.encoded()).sum();
    }
}

/// Start and end, ns since the job's start.
fn span(segment: &darshan_log::Segment) -> (u64, u64) {
    let start = ns(segment.start);
    (start, ns(segment.end).max(start))
}

/// The form of MPI-IO's calls by file: DXT does not tell it, the counters do as far as all calls have one.
struct Forms(FxHashMap<(u64, bool), OpMode>);

impl Forms {
    fn of(counters: &[(Module, CounterRecord)], shared: &Shared) -> Self {
        let own = counters.iter().map(|(module, record)| (*module, record));
        let all = shared.records.iter().map(|(module, record)| (*module, record)).chain(own);
        let mut out = FxHashMap::default();
        for (module, record) in all.filter(|(module, _)| *module == Module::MpiIo) {
            for writes in [false, true] {
                out.insert((record.id, writes), Named { module, record }.form(writes));
            }
        }
        Self(out)
    }

    fn get(&self, id: u64, operation: Operation) -> OpMode {
        self.0.get(&(id, operation == Operation::Write)).copied().unwrap_or(OpMode::Plain)
    }
}

/// What a log says of a process.
pub(super) fn process_info(info: &Info, rank: i64) -> ProcessInfo {
    ProcessInfo {
        rank: i32::try_from(rank).unwrap_or(-1),
        exe: super::made_of::exe(info),
        epoch_unix_ns: super::made_of::start_unix_ns(info),
        clock: ClockSource::Monotonic,
        clock_hz: 1_000_000_000,
        end_ns: ns(info.job.run_time),
        ended_by: "Darshan".into(),
        ..ProcessInfo::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_nested_if_another_is_under_way_all_the_time() {
        let mut calls = Calls(vec![(50, 60), (10, 40), (20, 30)]);
        calls.settle();
        let held = [(10, 40), (35, 40), (25, 28), (50, 55)];
        let apart = [(9, 12), (35, 41), (45, 46), (55, 61), (70, 71)];
        assert!(held.iter().all(|(start, end)| calls.hold(*start, *end)));
        assert!(!apart.iter().any(|(start, end)| calls.hold(*start, *end)));
    }
}
