//! Process under construction from the connector's rows: its files, streams and calls. Calls are encoded whenever many of them have accumulated.

use super::data_sets::{self, Selections};
use super::jobs::Job;
use super::names::Named;
use super::row::{Code, Row};
use crate::import::budget::Budget;
use crate::import::calls::Calls;
use anyhow::Result;
use rustc_hash::FxHashMap;
use trace_format::columns::TickScale;
use trace_format::meta::{
    ClockSource, DataSetDef, FileDef, Process, ProcessInfo, StreamDef, ThreadDef, path_hash, stream_flags,
};
use trace_format::op::Layer;
use trace_format::segment::{Segment, StreamId};
use trace_format::write::{Encoder, Piece, Region, TARGET_BLOCK_SEGMENTS, ThreadSegments};

/// Reason for the end of a process, as stored in a trace made from the connector's rows.
const ENDED_BY: &str = "LDMS-Darshan connector";
/// Estimated memory of a file or process without its names, in bytes.
const ENTRY_BYTES: u64 = 512;
/// Estimated memory of a call stream (one operation on one file), in bytes.
const STREAM_BYTES: u64 = 96;
/// Precision of the connector's times, in ns. Because times are truncated, a call may seem to begin up to this much before its enclosing call.
const CUT_NS: u64 = 1000;

pub(super) struct Gathered {
    process: Process,
    files: FxHashMap<Box<[u8]>, u32>,
    streams: FxHashMap<(u32, Code, u8, Option<u32>), u32>,
    /// Data set number by file number and path of the HDF5 data set.
    data_sets: FxHashMap<(u32, Box<[u8]>), u32>,
    /// Latest selection counts (points, hyperslabs) of each data set, by data set number.
    selections: Vec<Selections>,
    slots: Vec<Segment>,
    frames: Vec<Vec<u8>>,
}

impl Gathered {
    /// Creates the process that a row of `job` belongs to; `None` if the memory budget is spent.
    pub(super) fn new(job: &Job, row: &Row<'_>, room: &mut Budget) -> Option<Self> {
        let info = ProcessInfo {
            rank: row.rank,
            node: String::from_utf8_lossy(row.node).into_owned(),
            exe: job.exe.clone(),
            epoch_unix_ns: job.start_unix_ns,
            clock: ClockSource::Monotonic,
            clock_hz: 1_000_000_000,
            ended_by: ENDED_BY.into(),
            ..ProcessInfo::default()
        };
        let threads = vec![ThreadDef { index: 0, tid: 0 }];
        let bytes = ENTRY_BYTES + (info.node.len() + info.exe.len()) as u64;
        room.take(bytes).then(|| Self {
            process: Process { info, threads, ..Process::default() },
            files: FxHashMap::default(),
            streams: FxHashMap::default(),
            data_sets: FxHashMap::default(),
            selections: Vec::new(),
            slots: Vec::new(),
            frames: Vec::new(),
        })
    }

    /// Adds the call in `row` on `file`; returns false if the memory budget does not suffice.
    pub(super) fn add(&mut self, row: &Row<'_>, file: &Named<'_>, room: &mut Budget) -> bool {
        let Some(stream) = self.stream_of(row, file, room) else { return false };
        let since = |unix_ns: i64| unix_ns.saturating_sub(self.process.info.epoch_unix_ns).max(0).unsigned_abs();
        // An end of 0 would mark an empty slot, so the minimum is 1.
        let (start, end) = (since(row.start_unix_ns), since(row.end_unix_ns).max(1));
        self.process.info.end_ns = self.process.info.end_ns.max(end);
        self.slots.push(Segment::new(StreamId(stream), row.offset, row.length, start, end));
        true
    }

    fn stream_of(&mut self, row: &Row<'_>, file: &Named<'_>, room: &mut Budget) -> Option<u32> {
        let Some((path, set)) = data_sets::split(row, file) else {
            let file = self.file(file.bytes(), room)?;
            return self.stream(file, row.code, 0, None, room);
        };
        let file = self.file(path, room)?;
        let set = self.data_set(file, set, room)?;
        let stream = self.stream(file, row.code, 0, Some(set), room)?;
        let (def, selections) = (self.process.data_sets.get_mut(set as usize)?, self.selections.get_mut(set as usize)?);
        selections.add(row, stream, &mut def.accesses);
        Some(stream)
    }

    fn data_set(&mut self, file: u32, path: &[u8], room: &mut Budget) -> Option<u32> {
        let key = (file, Box::from(path));
        if let Some(set) = self.data_sets.get(&key) {
            return Some(*set);
        }
        let number = self.process.data_sets.len() as u32;
        room.take(ENTRY_BYTES + 2 * path.len() as u64).then(|| {
            self.data_sets.insert(key, number);
            self.process.data_sets.push(DataSetDef { file, path: path.to_vec(), ..DataSetDef::default() });
            self.selections.push(Selections::default());
            number
        })
    }

    fn file(&mut self, path: &[u8], room: &mut Budget) -> Option<u32> {
        if let Some(file) = self.files.get(path) {
            return Some(*file);
        }
        let number = self.process.files.len() as u32;
        room.take(ENTRY_BYTES + 2 * path.len() as u64).then(|| {
            let path = path.to_vec();
            self.files.insert(path.as_slice().into(), number);
            self.process.files.push(FileDef { hash: path_hash(&path), path: Some(path), ..FileDef::default() });
            number
        })
    }

    fn stream(&mut self, file: u32, code: Code, flags: u8, set: Option<u32>, room: &mut Budget) -> Option<u32> {
        if let Some(stream) = self.streams.get(&(file, code, flags, set)) {
            return Some(*stream);
        }
        let id = self.process.streams.len() as u32;
        room.take(STREAM_BYTES).then(|| {
            self.streams.insert((file, code, flags, set), id);
            self.process.streams.push(StreamDef { id, file, op: code.0, flags, errno: 0 });
            id
        })
    }

    fn about(&self, slot: &Segment) -> Option<(u32, Code)> {
        self.process.streams.get(slot.stream().0 as usize).map(|stream| (stream.file, Code(stream.op)))
    }

    /// Marks the POSIX calls that were made inside an MPI-IO call on the same file.
    fn nest(&mut self, room: &mut Budget) {
        let mut calls: FxHashMap<u32, Calls> = FxHashMap::default();
        for slot in &self.slots {
            if let Some((file, _)) = self.about(slot).filter(|(_, code)| code.layer() == Layer::Mpiio) {
                calls.entry(file).or_default().0.push((slot.start, slot.end));
            }
        }
        calls.values_mut().for_each(Calls::settle);
        let mut slots = std::mem::take(&mut self.slots);
        for slot in slots.iter_mut().filter(|_| !calls.is_empty()) {
            let Some((file, code)) = self.about(slot).filter(|(_, code)| code.layer() == Layer::Posix) else {
                continue;
            };
            let inside = calls.get(&file).is_some_and(|calls| calls.hold(slot.start.saturating_add(CUT_NS), slot.end));
            if let Some(stream) = inside.then(|| self.stream(file, code, stream_flags::NESTED, None, room)).flatten() {
                *slot = Segment::new(StreamId(stream), slot.offset, slot.length(), slot.start, slot.end);
            }
        }
        self.slots = slots;
    }

    /// Encodes the pending calls in the order of their return. Returns the size of the encoded data, in bytes.
    pub(super) fn pack(&mut self, encoder: &mut Encoder, room: &mut Budget) -> Result<u64> {
        self.nest(room);
        let mut slots = std::mem::take(&mut self.slots);
        // Among calls with equal times, the inner call returned first.
        let depth = |slot: &Segment| match self.about(slot).map(|(_, code)| code.layer()) {
            Some(Layer::Mpiio) => 1_u8,
            Some(Layer::Hdf5) => 2,
            _ => 0,
        };
        slots.sort_by_key(|slot| (slot.end, std::cmp::Reverse(slot.start), depth(slot)));
        let mut bytes = 0;
        for slots in slots.chunks(TARGET_BLOCK_SEGMENTS) {
            let mut frame = Vec::new();
            encoder.block(0, 0, slots, &TickScale::IDENTITY, &mut frame)?;
            frame.shrink_to_fit();
            bytes += frame.len() as u64;
            self.frames.push(frame);
        }
        Ok(bytes)
    }

    /// Encodes the process as region `number` of the trace file; each region holds one process.
    pub(super) fn region(mut self, number: u32, encoder: &mut Encoder) -> Result<Region> {
        let scale = TickScale::IDENTITY;
        let pieces = self.frames.iter().map(|frame| Piece::Frame(frame, scale.mult)).collect();
        let segments = [ThreadSegments { thread: 0, pieces }];
        Ok(encoder.region(number, &mut self.process, &segments, &scale)?)
    }

    /// Returns the sort key of the process: rank, then node.
    pub(super) fn place(&self) -> (i32, &str) {
        (self.process.info.rank, &self.process.info.node)
    }
}
