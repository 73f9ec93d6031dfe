//! Collects all records of this process for a trace, in the form that is encoded.

use super::arenas as flush_arenas;
use super::counted::{self, Counted, in_nanoseconds};
use super::left_out::LeftOut;
use super::reduce::Reduced;
use super::{budget, details, output_filter};
use crate::clock::{self, Calibration};
use crate::mpi::{self, World};
use crate::record::THREADS;
use crate::registry::{self, File};
use crate::{anonymize, buffer, cpu_times, describe, handles, notes, record, spool};
use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};
use trace_format::Segment;
use trace_format::columns::TickScale;
use trace_format::meta::{FileDef, Missing, Note, Process, ProcessInfo, StreamDef, ThreadDef};
use trace_format::spool::block::mark;
use trace_format::write::{Encoder, Piece, Region, ThreadSegments};

pub(super) struct Gathered {
    process: Process,
    threads: Vec<Vec<Ordered>>,
    scale: TickScale,
}

/// True if all ranks of `MPI_COMM_WORLD` are expected to be traced. If several programs are started together (MPMD), some may be untraced,
/// and waiting for an untraced rank would hang the others.
pub(super) fn can_be_collective() -> bool {
    mpi::world().is_some_and(World::one_program)
}

impl Gathered {
    /// Collects the process's records for the trace. `counted` holds them in counters mode. Omits paths whose hash is in `known`: the job
    /// block stores them once for all processes.
    pub(super) fn new(by: &str, known: Option<&[u64]>, counted: Option<&Counted>) -> Self {
        let calibration = calibrate();
        if record::is_muted() {
            let notes = vec![Note { what: notes::Note::LeftOut.text().to_owned(), count: 1 }];
            let process = Process { info: own_info(by, &calibration), notes, ..Process::default() };
            return Self { process, threads: Vec::new(), scale: calibration.scale };
        }
        if let Some(counted) = counted {
            return Self::counted(by, &calibration, known, counted, None);
        }
        let mut threads = segments();
        let memory = registry::memory::reported(threads.iter().flatten().filter_map(Ordered::slots));
        let mut left_out = LeftOut::default();
        output_filter::counted_only(&mut threads, &mut left_out, &calibration.scale);
        output_filter::apply(&mut threads, &mut left_out, &calibration.scale);
        let triggered = left_out.files();
        let over_budget = budget::fit(&mut threads, &mut left_out, &calibration.scale);
        let used = used_streams(&threads);
        let mut process = Process { info: own_info(by, &calibration), notes: notes(), ..Process::default() };
        for (note, count) in [(notes::Note::Triggered, triggered), (notes::Note::OverBudget, over_budget)] {
            if count == 0 {
                continue;
            }
            match process.notes.iter_mut().find(|known| known.what == note.text()) {
                Some(known) => known.count += count,
                None => process.notes.push(Note { what: note.text().to_owned(), count }),
            }
        }
        for (index, thread) in THREADS.numbered() {
            if threads.get(index).is_some_and(|pieces| !pieces.is_empty()) {
                process.threads.push(ThreadDef { index: index as u32, tid: thread.tid.load(Ordering::Relaxed) });
            }
        }
        describe(&mut process, &used, &left_out, &calibration.scale, known.unwrap_or_default());
        details::add(&mut process);
        details::add_views(&mut process);
        process.memory = details::memory(&process, &memory, &calibration.scale);
        process.processor = cpu_times::reported(&calibration.scale);
        Self { process, threads, scale: calibration.scale }
    }

    /// Collects the counters of all files (from `counted`) except the files in the common record of several ranks (`reduced`). If there is
    /// a common record, notes are omitted too, since that record has their sums. Omits paths whose hash is in `known`.
    pub(super) fn counted(
        by: &str,
        calibration: &Calibration,
        known: Option<&[u64]>,
        counted: &Counted,
        reduced: Option<&Reduced>,
    ) -> Self {
        let notes = if reduced.is_some() { Vec::new() } else { notes() };
        let mut process = Process { info: own_info(by, calibration), notes, ..Process::default() };
        let left_out = |file: &File| reduced.is_some_and(|reduced| reduced.has(file));
        counted.describe(&mut process, &calibration.scale, known.unwrap_or_default(), left_out);
        details::add(&mut process);
        process.processor = cpu_times::reported(&calibration.scale);
        if let Some(reduced) = reduced {
            let details_of = counted.files().filter(|file| reduced.leaves_details_of(file));
            details::add_alone(&mut process, details_of, known.unwrap_or_default());
        }
        Self { process, threads: Vec::new(), scale: calibration.scale }
    }

    /// Makes a record without segments from `process`, the common record of several ranks.
    pub(super) const fn common(process: Process, calibration: &Calibration) -> Self {
        Self { process, threads: Vec::new(), scale: calibration.scale }
    }

    /// True if there is nothing to write. Some notes alone justify a record: a shell's child that only executes an untraceable program, or
    /// a process without memory for a single call must report the number of lost calls.
    pub(super) fn is_empty(&self) -> bool {
        use notes::Note::{DuringTracer, Late, TablesFull, Untraceable};
        let reported = [Untraceable, TablesFull, Late, DuringTracer].map(notes::Note::text);
        let says = |note: &Note| note.count > 0 && reported.contains(&note.what.as_str());
        let process = &self.process;
        let tells = !process.streams.is_empty() || !process.layouts.is_empty() || !process.hints.is_empty();
        !tells && !process.notes.iter().any(says)
    }

    /// Returns node name and process id, which become part of the trace's file name.
    pub(super) fn place(&self) -> (&str, u32) {
        (&self.process.info.node, self.process.info.pid)
    }

    /// Returns the number of segments that were encoded in memory (packed) while the program ran.
    pub(super) fn packed_segments(&self) -> u64 {
        let of = |ordered: &Ordered| match &ordered.piece {
            Held::Packed(block) => u64::from(block.head.segments),
            Held::Slots(_) | Held::Again(_) => 0,
        };
        self.threads.iter().flatten().map(of).sum()
    }

    pub(super) fn region(&mut self, encoder: &mut Encoder, number: u32) -> trace_format::Result<Region> {
        let threads: Vec<ThreadSegments<'_>> = self
            .threads
            .iter()
            .enumerate()
            .map(|(thread, pieces)| ThreadSegments {
                thread: thread as u32,
                pieces: pieces
                    .iter()
                    .map(|ordered| match &ordered.piece {
                        Held::Slots(slots) => Piece::Slots(slots),
                        Held::Packed(block) => Piece::Frame(block.frame, block.mult),
                        Held::Again(frame) => Piece::Frame(frame, self.scale.mult),
                    })
                    .collect(),
            })
            .collect();
        anonymize::process(&mut self.process);
        if buffer::counting::is_on() {
            self.process.memory = details::counted_memory();
        }
        encoder.region(number, &mut self.process, &threads, &self.scale)
    }
}

/// End time of the records being written, in ns; 0 until first requested. A repeated write uses the same end time, so that readers
/// recognize the duplicate.
static PART_ENDS: AtomicU64 = AtomicU64::new(0);

/// Clock rate for the records being written (`TickScale::mult`), or 0 before the first request. With more than one rate, a call could seem
/// to end after the recorded end of the process.
static PART_RATE: AtomicU64 = AtomicU64::new(0);

pub(super) fn begin_part() {
    PART_ENDS.store(0, Ordering::Relaxed);
    PART_RATE.store(0, Ordering::Relaxed);
}

/// Returns the current clock calibration. A repeated write of the same records uses the rate of the first write.
pub(super) fn calibrate() -> Calibration {
    let mut calibration = clock::calibrate();
    let reported = PART_RATE.compare_exchange(0, calibration.scale.mult, Ordering::Relaxed, Ordering::Relaxed);
    calibration.scale.mult = reported.err().unwrap_or(calibration.scale.mult);
    calibration
}

/// Returns the process information for the trace. Also stores its end time in the spool (file of recorded data). `by`: function or signal
/// that ends the process.
fn own_info(by: &str, calibration: &Calibration) -> ProcessInfo {
    let info = describe::process(by, calibration);
    let earlier = PART_ENDS.compare_exchange(0, info.end_ns, Ordering::Relaxed, Ordering::Relaxed);
    let end_ns = earlier.err().unwrap_or(info.end_ns);
    spool::cut_ends_at(end_ns);
    ProcessInfo { end_ns, ..info }
}

/// Part of a thread's segments (a chunk, packed block or scratch), with its position in the thread's sequence.
pub(super) struct Ordered {
    sequence: u32,
    pub(super) piece: Held,
}

impl Ordered {
    /// Returns the segments (records of calls); `None` if they are encoded.
    pub(super) fn slots(&self) -> Option<&[Segment]> {
        match &self.piece {
            Held::Slots(slots) => Some(slots),
            Held::Packed(_) | Held::Again(_) => None,
        }
    }
}

/// Segments (records of calls) of one chunk, packed block or scratch, until they are written to the trace.
pub(super) enum Held {
    Slots(Cow<'static, [Segment]>),
    Packed(buffer::Block),
    /// Segments encoded for this trace with the current clock rate: what a filter leaves of a packed block, or segments encoded to learn
    /// their size for the byte budget.
    Again(Vec<u8>),
}

/// Returns, per thread, the segments for this trace, in order: chunks and packed (encoded) blocks by sequence number, then the scratch
/// (segments to be counted).
pub(super) fn segments() -> Vec<Vec<Ordered>> {
    let mut threads: Vec<Vec<Ordered>> = (0..THREADS.len()).map(|_| Vec::new()).collect();
    let mut add = |thread: u32, sequence: u32, piece: Held| {
        if let Some(pieces) = threads.get_mut(thread as usize) {
            pieces.push(Ordered { sequence, piece });
        }
    };
    for block in buffer::spilled() {
        add(block.thread, block.sequence, Held::Packed(block));
    }
    for chunk in flush_arenas().into_iter().flat_map(buffer::Arena::chunks) {
        for block in buffer::blocks(chunk).filter(|block| block.mark == mark::TAKEN) {
            add(block.thread, block.sequence, Held::Packed(block));
        }
        let (thread, sequence) = chunk.owner();
        if let Some(slots) = buffer::taken(chunk.filled_slots()) {
            add(thread, sequence, Held::Slots(slots));
        }
    }
    for (thread, slots) in buffer::SCRATCHES.iter().map(|scratch| (scratch.thread(), scratch.slots())) {
        if let Some(slots) = buffer::taken(slots) {
            add(thread, u32::MAX, Held::Slots(slots));
        }
    }
    threads.iter_mut().for_each(|pieces| pieces.sort_by_key(|ordered| ordered.sequence));
    threads
}

/// Returns, per stream id, true if the stream has a segment to write. May be true for a stream without segments: of packed blocks only a
/// bit mask of streams is known.
fn used_streams(threads: &[Vec<Ordered>]) -> Vec<bool> {
    let mut packed = 0_u64;
    for ordered in threads.iter().flatten() {
        packed |= match &ordered.piece {
            Held::Packed(block) => block.head.stream_mask,
            Held::Again(_) => u64::MAX,
            Held::Slots(_) => 0,
        };
    }
    let mut used = Vec::new();
    for (id, stream) in registry::streams() {
        used.resize(id as usize, false);
        used.push(stream.is_used() && packed >> (id % 64) & 1 != 0);
    }
    for piece in threads.iter().flatten() {
        let Held::Slots(slots) = &piece.piece else { continue };
        for segment in slots.iter().filter(|slot| buffer::is_filled(slot)) {
            if let Some(used) = used.get_mut(segment.stream().0 as usize) {
                *used = true;
            }
        }
    }
    used
}

/// Adds the files, streams (calls with the same file and operation), stripe layouts and counters in use to `process`. `used`: per stream
/// id, true if the stream has segments.
fn describe(process: &mut Process, used: &[bool], left_out: &LeftOut, scale: &TickScale, known: &[u64]) {
    let all: Vec<&'static File> = registry::files().collect();
    let mut number_of = std::collections::BTreeMap::new();
    let taken = registry::taken_counts().into_iter();
    let mut taken: std::collections::BTreeMap<_, _> = taken.map(|(id, _, counters)| (id, counters)).collect();
    for (id, stream) in registry::streams() {
        let mut folded = taken.remove(&id).map(|folded| in_nanoseconds(folded, scale));
        if let Some(left_out) = left_out.of(id) {
            folded.get_or_insert_default().merge(left_out);
        }
        if folded.is_none() && !used.get(id as usize).copied().unwrap_or(false) {
            continue;
        }
        let next = number_of.len() as u32;
        let file = *number_of.entry(std::ptr::from_ref(stream.file)).or_insert(next);
        process.streams.push(StreamDef { id, file, op: stream.op, flags: stream.flags, errno: stream.errno });
        if let Some(folded) = folded {
            process.missing.push(Missing { stream: id, counters: folded });
        }
    }
    process.files.resize(number_of.len(), FileDef::default());
    for file in all {
        let Some(&number) = number_of.get(&std::ptr::from_ref(file)) else { continue };
        let Some(place) = process.files.get_mut(number as usize) else { continue };
        *place = counted::definition(file, known);
        process.layouts.extend(counted::layouts(file, number));
    }
}

/// Returns the notes (counts of events that were not recorded) except those with count zero.
fn notes() -> Vec<Note> {
    let seen = all_notes().into_iter().filter(|(_, count)| *count > 0);
    seen.map(|(what, count)| Note { what, count }).collect()
}

/// Returns all notes (counts of events that were not recorded), including those with count zero, so that every process has the same list.
pub(super) fn all_notes() -> Vec<(String, u64)> {
    let until_now = [
        (notes::Note::Asynchronous.text(), handles::pending::waiting()),
        (notes::Note::RingOperation.text(), handles::rings::unseen()),
    ];
    let mut counts: Vec<(&str, u64)> = notes::taken().collect();
    for (what, more) in until_now {
        counts.iter_mut().filter(|(text, _)| *text == what).for_each(|(_, count)| *count += more);
    }
    let counts = counts.into_iter().map(|(what, count)| (what.to_owned(), count));
    counts.chain(Counted::notes()).collect()
}
