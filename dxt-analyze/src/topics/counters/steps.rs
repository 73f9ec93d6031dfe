//! Relates consecutive recorded calls: signed strides, seeks, alignment by form of call, and open time of files. ([`super::fold`] computes
//! the most common strides.)

use crate::model::{FileId, Process, ProcessId, Run, Stream, StreamIx, Within};
use crate::scan::{Analysis, Block};
use crate::shared::layer_calls::Form;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use trace_format::counters::{SIZE_BINS, size_bin};
use trace_format::op::{Layer, OpClass};

/// Strides of reads or of writes: distance from the end of the previous call in the same direction to the start of the next, bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Strides {
    /// Number of calls that begin before the previous call's end, by distance; bins as in [`trace_format::counters::SIZE_BOUNDS`].
    pub back: [u64; SIZE_BINS],
    /// Number of calls that begin exactly at the end of the previous call in the same direction.
    pub none: u64,
    /// Number of calls that begin after the previous call's end, by distance; bins as in [`trace_format::counters::SIZE_BOUNDS`].
    pub on: [u64; SIZE_BINS],
    /// Number of reads or writes, including those without a known stride.
    pub accesses: u64,
    /// Number of reads or writes directly after a seek by the same thread on this file in this layer (opens etc. are ignored).
    pub after_seek: u64,
}

impl Strides {
    /// Adds `count` calls with the same stride in bytes; `None` if the stride does not fit into an `i64`.
    fn add(&mut self, stride: Option<i64>, count: u64) {
        let (bins, distance) = match stride {
            Some(0) => {
                self.none += count;
                return;
            }
            Some(stride) if stride < 0 => (&mut self.back, stride.unsigned_abs()),
            stride => (&mut self.on, stride.map_or(u64::MAX, i64::unsigned_abs)),
        };
        bins.get_mut(size_bin(distance)).into_iter().for_each(|sum| *sum += count);
    }

    fn merge(&mut self, other: &Self) {
        let pairs = self.back.iter_mut().chain(&mut self.on).zip(other.back.iter().chain(&other.on));
        pairs.for_each(|(mine, theirs)| *mine = mine.saturating_add(*theirs));
        self.none = self.none.saturating_add(other.none);
        self.accesses = self.accesses.saturating_add(other.accesses);
        self.after_seek = self.after_seek.saturating_add(other.after_seek);
    }
}

/// Alignment of file offsets, for the calls of one form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Aligned {
    /// Number of calls of this form on files whose alignment is known.
    pub known: u64,
    /// Number of calls of this form whose offset is no multiple of the file's alignment.
    pub unaligned: u64,
}

impl Aligned {
    /// Adds a call at `offset` of a file with the given alignment in bytes; 0 if the alignment is unknown.
    #[inline]
    fn add(&mut self, offset: u64, alignment: u64) {
        // Alignments are nearly always powers of two, and a mask is faster than a division.
        let beside = if alignment.is_power_of_two() { offset & (alignment - 1) } else { offset % alignment.max(1) };
        self.known += u64::from(alignment > 0);
        self.unaligned += u64::from(alignment > 0 && beside != 0);
    }

    fn merge(&mut self, other: &Self) {
        self.known = self.known.saturating_add(other.known);
        self.unaligned = self.unaligned.saturating_add(other.unaligned);
    }
}

/// Opens, or closes, of one file by one operation and caller (stream). Open time = sum of the closes' times - sum of the opens' times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Handles {
    /// Number of opens (or closes) of the file by this operation and caller.
    pub calls: u64,
    /// Sum of the start times of the opens (or closes), ns since the job's start.
    pub starts: u128,
    /// Sum of the end times of the opens (or closes), ns since the job's start.
    pub ends: u128,
}

/// Key of alignment counts: layer, caller, and form of the call (MPI-IO only).
pub type FormKey = (Layer, Within, Option<Form>);

/// Pass over the segments that relates consecutive calls.
#[derive(Clone, Copy, Debug, Default)]
pub struct Steps;

/// State and result of the pass [`Steps`], which relates consecutive calls.
#[derive(Debug, Default)]
pub struct Partial {
    /// Strides of reads and writes by layer; the key's flag is true for writes.
    pub strides: BTreeMap<(Layer, bool), Strides>,
    /// Alignment of file offsets, by layer, caller and form of call.
    pub aligned: BTreeMap<FormKey, Aligned>,
    /// Opens and closes by process and stream (one operation, file and caller).
    pub handles: FxHashMap<(ProcessId, StreamIx), Handles>,
    now: Now,
}

/// State of the process whose segments are being read.
#[derive(Debug, Default)]
struct Now {
    process: ProcessId,
    thread: u32,
    streams: Vec<What>,
    /// Last positions (end offsets) of the process, per file and layer.
    places: Vec<FilePosition>,
}

/// Kind of the calls of a stream (one operation, file and caller): read or write, seek, open or close, other.
#[derive(Clone, Copy, Debug)]
enum What {
    Data { place: usize, writes: bool, layer: Layer, form: FormKey, alignment: u64 },
    Seek { place: usize },
    Handle,
    Other,
}

/// Last position of a process in a file, through one layer.
#[derive(Clone, Copy, Debug, Default)]
struct FilePosition {
    /// End offsets of the process's last read and last write of the file.
    ends: [Option<i64>; 2],
    sought: bool,
}

impl Now {
    fn begin(&mut self, run: &Run, number: ProcessId, process: &Process) {
        let mut places: BTreeMap<(FileId, Layer), usize> = BTreeMap::new();
        let mut what = |stream: &Stream| {
            let op = run.op(stream);
            let (Some(layer), Some(class), false) = (op.layer, op.class, stream.failed) else { return What::Other };
            let next = places.len();
            let mut place = || *places.entry((stream.file, layer)).or_insert(next);
            match class {
                OpClass::Read | OpClass::Write => What::Data {
                    place: place(),
                    writes: class == OpClass::Write,
                    layer,
                    form: (layer, stream.within(), (layer == Layer::Mpiio).then(|| Form::of(op.mode))),
                    alignment: run.file(stream.file).map_or(0, crate::model::File::alignment),
                },
                OpClass::Seek => What::Seek { place: place() },
                OpClass::Open | OpClass::Close if stream.data_set.is_none() => What::Handle,
                _ => What::Other,
            }
        };
        self.process = number;
        self.streams = process.streams.iter().map(&mut what).collect();
        self.places = vec![FilePosition::default(); places.len()];
    }
}

impl Analysis for Steps {
    type Partial = Partial;

    fn start(&self) -> Partial {
        Partial::default()
    }

    fn ordered(&self) -> bool {
        true
    }

    fn block(&self, partial: &mut Partial, block: &Block<'_>) {
        let now = &mut partial.now;
        let is_new = now.streams.is_empty() || now.process != block.number;
        if is_new {
            now.begin(block.run, block.number, block.process);
        }
        if is_new || now.thread != block.thread {
            now.thread = block.thread;
            now.places.iter_mut().for_each(|place| place.sought = false);
        }
        let shift = block.process.shift_ns;
        for stretch in block.stretches() {
            match now.streams.get(stretch.stream.index()).copied() {
                Some(What::Data { place, writes, layer, form, alignment }) => {
                    let Some(place) = now.places.get_mut(place) else { continue };
                    let strides = partial.strides.entry((layer, writes)).or_default();
                    let mut aligned = Aligned::default();
                    strides.accesses += stretch.offset.len() as u64;
                    strides.after_seek += u64::from(std::mem::take(&mut place.sought));
                    let last = &mut place.ends[usize::from(writes)];
                    // Consecutive calls usually have equal strides, so they are added in one step.
                    let mut similar = (Some(0), 0);
                    for (&offset, &length) in stretch.offset.iter().zip(stretch.length) {
                        if offset < 0 {
                            continue;
                        }
                        if let Some(end) = last {
                            let stride = offset.checked_sub(*end);
                            if stride != similar.0 {
                                strides.add(similar.0, similar.1);
                                similar = (stride, 0);
                            }
                            similar.1 += 1;
                        }
                        *last = Some(offset.saturating_add_unsigned(length));
                        aligned.add(offset.unsigned_abs(), alignment);
                    }
                    strides.add(similar.0, similar.1);
                    if aligned.known > 0 {
                        partial.aligned.entry(form).or_default().merge(&aligned);
                    }
                }
                Some(What::Seek { place }) => {
                    now.places.get_mut(place).into_iter().for_each(|place| place.sought = true);
                }
                Some(What::Handle) => {
                    let sum = partial.handles.entry((block.number, stretch.stream)).or_default();
                    for row in stretch.rows() {
                        sum.calls += 1;
                        sum.starts += u128::from(row.start.saturating_add(shift));
                        sum.ends += u128::from(row.end.saturating_add(shift));
                    }
                }
                Some(What::Other) | None => {}
            }
        }
    }

    fn merge(&self, into: &mut Partial, other: Partial) {
        for (key, strides) in other.strides {
            into.strides.entry(key).or_default().merge(&strides);
        }
        for (key, aligned) in other.aligned {
            into.aligned.entry(key).or_default().merge(&aligned);
        }
        // Each process is read by one thread, so no key is in both maps.
        into.handles.extend(other.handles);
    }
}
