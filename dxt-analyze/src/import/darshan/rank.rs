//! Conversion of one rank of a log: sorts the rank's segments by the calls' return, and identifies POSIX calls inside MPI-IO calls by time.

use super::counted::{self, AllUsed};
use super::cursor::Cursors;
use super::forms::Forms;
use super::heat;
use super::layouts::Layouts;
use super::libraries::{self, LIBRARIES};
use super::named::{Named, ns};
use super::nested::{Above, MpiFiles};
use super::ops::code;
use super::plausible::Bounds;
use super::provenance::process_info;
use super::shared::Shared;
use super::tables::Tables;
use crate::import::calls::Calls;
use crate::limits::{LOG_CALLS, LOG_FRAMES, LOG_SEGMENTS, LOG_THREADS};
use anyhow::Result;
use darshan_log::{Api, DxtRecord, Info, Log, Module, Operation};
use rustc_hash::FxHashMap;
use std::io::{Read, Seek};
use std::sync::{Arc, Mutex};
use trace_format::columns::TickScale;
use trace_format::meta::{Note, Process, ThreadDef, stream_flags};
use trace_format::op::{Layer, OpMode};
use trace_format::segment::{Segment, StreamId};
use trace_format::write::{Encoder, Piece, Region, ThreadSegments};

/// Thread number that stands for all threads beyond the limit [`LOG_THREADS`].
const OTHERS: u64 = u64::MAX;

/// Pool of segment buffers. Reuse avoids page faults, since the kernel clears each new page.
#[derive(Clone, Default)]
struct Spare(Arc<Mutex<Vec<Vec<Segment>>>>);

impl Spare {
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

/// Converter of a log's ranks, one rank at a time.
pub(crate) struct Ranks {
    info: Arc<Info>,
    layouts: Layouts,
    spare: Spare,
    /// True if DXT recorded every MPI-IO call, because its memory did not run full.
    all_mpi_calls: bool,
    /// Encoder for ranks with too many segments to keep in memory.
    encoder: Encoder,
}

#[derive(Default)]
struct Thread {
    slots: Vec<Segment>,
    /// Number of MPI-IO calls among the thread's pending segments, `slots`, where they come before all POSIX calls.
    outer: usize,
    frames: Vec<Vec<u8>>,
}

impl Thread {
    /// Encodes the pending segments of the thread, to free memory.
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

    fn encoded(&self) -> u64 {
        self.frames.iter().map(|frame| frame.len() as u64).sum()
    }

    /// Sorts the segments by return. An inner call returns no later than its enclosing call; at equal times, the POSIX call is the inner one.
    fn sort(&mut self) {
        self.slots.rotate_left(self.outer);
        self.slots.sort_by_key(|slot| (slot.end, std::cmp::Reverse(slot.start)));
        self.outer = 0;
    }
}

impl Ranks {
    pub(crate) fn new<R: Read + Seek>(log: &Log<R>, layouts: Layouts) -> Result<Self> {
        Ok(Self {
            info: log.info(),
            layouts,
            spare: Spare::default(),
            all_mpi_calls: log
                .header()
                .module(Module::DxtMpiIo)
                .is_some_and(|entry| entry.region.length > 0 && !entry.partial),
            encoder: Encoder::new()?,
        })
    }

    pub(crate) fn into_layouts(self) -> Layouts {
        self.layouts
    }

    /// Converts all records of `rank` in the log to region `number` of the trace; each region holds one process.
    pub(crate) fn gather(
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
        // MPI-IO segments are read first, since they determine which POSIX calls were made inside MPI-IO.
        let mut calls: FxHashMap<u64, Calls> = FxHashMap::default();
        let mut forms = Forms::of(&counters, shared, Bounds::of(&info).nprocs);
        let mut room = LOG_CALLS;
        let layouts = &mut self.layouts;
        cursors.segments(rank, Api::MpiIo, |record, operation, segments| {
            let of_file = calls.entry(record.id).or_default();
            of_file.0.extend(segments.iter().map(span).take(room));
            room = room.saturating_sub(segments.len());
            if let Some(form) = forms.form(record, operation, segments) {
                gather.add(record, Layer::Mpiio, operation, form, segments, layouts, |_, _| false);
            }
        });
        forms.give_out(|record, operation, form, segments| {
            gather.add(record, Layer::Mpiio, operation, form, segments, layouts, |_, _| false);
        });
        calls.values_mut().for_each(Calls::settle);
        let mpi = MpiFiles::of(&counters);
        let all_mpi_calls = self.all_mpi_calls;
        cursors.segments(rank, Api::Posix, |record, operation, segments| {
            let of_file = calls.get(&record.id);
            let known = of_file.map_or(0, |calls| calls.0.len() as u64);
            // If some MPI-IO calls lack segments, times cannot identify the POSIX calls inside them.
            let above = if all_mpi_calls && known >= forms.calls(record.id) {
                Above::default()
            } else {
                mpi.above_with(&shared.mpi, record.id)
            };
            let writes = operation == Operation::Write;
            let nested = |start, end| above.data(writes) || of_file.is_some_and(|calls| calls.hold(start, end));
            gather.add(record, Layer::Posix, operation, OpMode::Plain, segments, layouts, nested);
        });
        if let Some(error) = gather.failed {
            return Err(error);
        }
        let Gather { mut tables, threads, used, ends, .. } = gather;
        shared.used.merge(&used, &shared.ids);
        let all = counters.iter().chain(&shared.records);
        let dfs = Above::of_dfs(all.clone());
        let past_posix = if dfs == Above::default() { dfs } else { Above::past_posix(all) };
        for (module, record) in &counters {
            let named = Named { module: *module, record };
            if LIBRARIES.contains(module) {
                libraries::add(named, &mut tables, &mut self.layouts);
            } else {
                let above = match module {
                    Module::Posix => mpi.above_with(&shared.mpi, record.id),
                    Module::Dfs => past_posix,
                    Module::Daos => dfs,
                    _ => Above::default(),
                };
                counted::add(named, above, &used, &mut tables, &mut self.layouts);
            }
        }
        let heat = heat::read(&cursors.heat(rank), ends);
        tables.process.heat = heat.defs;
        if heat.ends_early {
            tables.process.notes.push(Note { what: crate::model::Note::EndsEarly.words().into(), count: 1 });
        }
        let mut threads: Vec<(u32, Thread)> = threads.into_values().collect();
        threads.sort_by_key(|(index, _)| *index);
        cursors.made(tables.process.held_bytes());
        Ok(Gathered { process: tables.process, threads, number, spare: self.spare.clone() })
    }
}

/// One rank with all its segments, ready to be encoded.
pub(crate) struct Gathered {
    process: Process,
    /// Threads in the order of their first segments, each with its index in the trace.
    threads: Vec<(u32, Thread)>,
    number: u32,
    spare: Spare,
}

impl Gathered {
    pub(crate) fn region(mut self, encoder: &mut Encoder) -> Result<Region> {
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

/// Rank under construction while its segments are read.
struct Gather<'a> {
    tables: Tables<'a>,
    /// Index in the trace, and segments, of each thread, by Darshan's thread number.
    threads: FxHashMap<u64, (u32, Thread)>,
    ends: heat::Ends,
    /// Number of segments, over all threads, that are not encoded yet.
    held: usize,
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
            // The call is counted without a segment, like calls for which DXT itself had no room.
            return;
        }
        let used = self.used.of(layer, record.id, writes);
        let mut streams = [None; 2];
        for segment in segments {
            let (start, end) = span(segment);
            self.ends.see(layer, end);
            let length = u64::try_from(segment.length).unwrap_or(0);
            used.add(form, u64::try_from(segment.offset).ok(), length, end - start);
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

    /// Encodes the pending segments of all threads, to free memory.
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

/// Returns the start and end of a segment, in ns since the job's start.
fn span(segment: &darshan_log::Segment) -> (u64, u64) {
    let start = ns(segment.start);
    (start, ns(segment.end).max(start))
}
