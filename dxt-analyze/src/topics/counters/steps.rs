//! From one call to the next, of calls on record: signed strides, reads and writes behind a seek, alignment by form of call, and how long
//! files were open. What [`super::fold`] keeps in bounded form of calls without segments too (the most common strides) is not here.

use crate::model::{FileId, Process, ProcessId, Run, Stream, StreamIx, Within};
use crate::scan::{Analysis, Block};
use crate::topics::layers::parts::Form;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use trace_format::counters::{SIZE_BINS, size_bin};
use trace_format::op::{Layer, OpClass};

/// How far calls begin from where the last one ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Strides {
    /// Before it, by distance: [`trace_format::counters::SIZE_BOUNDS`].
    pub back: [u64; SIZE_BINS],
    /// Exactly there.
    pub none: u64,
    /// Behind it, by distance.
    pub on: [u64; SIZE_BINS],
    /// Reads or writes, those without a stride too.
    pub accesses: u64,
    /// Those of them whose layer's last call on the file by their thread, opens and the like aside, was a seek.
    pub after_seek: u64,
}

impl Strides {
    /// So many calls of which each begins so far from where the last one ended; `None` if that is too far for a number.
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

/// Calls of one form of which it is known whether they are aligned in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Aligned {
    /// To files whose alignment is known.
    pub known: u64,
    /// Those of them that begin off a multiple of it.
    pub unaligned: u64,
}

impl Aligned {
    /// A call at `offset` of a file with an `alignment`; 0 if that is not known.
    #[inline]
    fn add(&mut self, offset: u64, alignment: u64) {
        // Nearly always a power of two, and a division takes long.
        let beside = if alignment.is_power_of_two() { offset & (alignment - 1) } else { offset % alignment.max(1) };
        self.known += u64::from(alignment > 0);
        self.unaligned += u64::from(alignment > 0 && beside != 0);
    }

    fn merge(&mut self, other: &Self) {
        self.known = self.known.saturating_add(other.known);
        self.unaligned = self.unaligned.saturating_add(other.unaligned);
    }
}

/// Opens, or closes, of one stream: times are ns since the job's start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Handles {
    /// Calls.
    pub calls: u64,
    /// When they began, added up.
    pub starts: u128,
    /// When they ended, added up.
    pub ends: u128,
}

/// The form of calls whose alignment is told apart: layer, who made them, and for MPI-IO how.
pub type FormKey = (Layer, Within, Option<Form>);

/// The analysis.
#[derive(Clone, Copy, Debug, Default)]
pub struct Steps;

/// What it keeps.
#[derive(Debug, Default)]
pub struct Partial {
    /// By layer and whether they are writes.
    pub strides: BTreeMap<(Layer, bool), Strides>,
    /// By form.
    pub aligned: BTreeMap<FormKey, Aligned>,
    /// Opens and closes, by process and stream.
    pub handles: FxHashMap<(ProcessId, StreamIx), Handles>,
    now: Now,
}

/// The process that is being read.
#[derive(Debug, Default)]
struct Now {
    process: ProcessId,
    thread: u32,
    streams: Vec<What>,
    /// By file and layer.
    places: Vec<FilePosition>,
}

/// What a stream's calls are.
#[derive(Clone, Copy, Debug)]
enum What {
    Data { place: usize, writes: bool, layer: Layer, form: FormKey, alignment: u64 },
    Seek { place: usize },
    Handle,
    Other,
}

/// How far a process has come in a file through a layer.
#[derive(Clone, Copy, Debug, Default)]
struct FilePosition {
    /// Where the last read and the last write ended.
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
                    // Neighbours mostly have one stride: they are added at once.
                    let mut alike = (Some(0), 0);
                    for (&offset, &length) in stretch.offset.iter().zip(stretch.length) {
                        if offset < 0 {
                            continue;
                        }
                        if let Some(end) = last {
                            let stride = offset.checked_sub(*end);
                            if stride != alike.0 {
                                strides.add(alike.0, alike.1);
                                alike = (stride, 0);
                            }
                            alike.1 += 1;
                        }
                        *last = Some(offset.saturating_add_unsigned(length));
                        aligned.add(offset.unsigned_abs(), alignment);
                    }
                    strides.add(alike.0, alike.1);
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
        // A process is read by one thread.
        into.handles.extend(other.handles);
    }
}
