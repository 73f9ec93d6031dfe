//! Definitions of a spool's ids (files, streams, threads, ...), read from the spool's journal.

use super::MOST_NOTES;
use super::journal::{DataSet, DataSetStream, Shape, ThreadSample, kind, read as journal};
use crate::error::Result;
use crate::limits;
use crate::meta::{
    CommunicatorDef, FileDef, FrameDef, FunctionDef, Job, LayoutDef, ModuleDef, Process, SitesDef, StreamDef,
    StreamSite, ThreadDef,
};
use crate::op::OpDef;
use std::collections::{BTreeMap, BTreeSet};

/// Path of the record that all files share once the tracer's limit on the number of files is reached.
const OTHER_FILES: &[u8] = b"<other files>";

/// Definitions of a spool's ids: files, streams, threads, communicators, data sets.
#[derive(Debug, Default)]
pub struct Names {
    /// Job block as in a trace file.
    pub job: Job,
    /// Process block that contains only the description of the process.
    pub process: Process,
    /// Definitions of threads, by thread index.
    pub threads: BTreeMap<u32, ThreadDef>,
    /// Indices of the threads whose segments must be folded into counters.
    pub counted_threads: BTreeSet<u32>,
    /// Definitions of files, by the journal's file number.
    pub files: BTreeMap<u32, FileDef>,
    /// Streams (operations on files) by id; the field `file` of a stream is a key of [`Self::files`].
    pub streams: BTreeMap<u32, StreamDef>,
    /// Stripe layouts, in the order of the journal's records.
    pub layouts: Vec<LayoutDef>,
    /// Definitions of MPI communicators, by communicator id.
    pub communicators: BTreeMap<u32, CommunicatorDef>,
    /// Definitions of HDF5 data sets, by data set number.
    pub data_sets: BTreeMap<u32, DataSet>,
    /// Assignments of streams (operations on files) to HDF5 data sets, by stream id.
    pub data_set_streams: BTreeMap<u32, DataSetStream>,
    /// Shapes (extents) that data sets had each time they were opened or created, by data set number, in order of time.
    pub shapes: BTreeMap<u32, Vec<Shape>>,
    /// Modules that call sites refer to, by number.
    pub modules: BTreeMap<u32, ModuleDef>,
    /// Functions of scripts that frames refer to, by number.
    pub functions: BTreeMap<u32, FunctionDef>,
    /// Frames of call stacks, by number.
    pub frames: BTreeMap<u32, FrameDef>,
    /// Call sites of streams (operations on files), by stream id: number of the frame.
    pub stream_sites: BTreeMap<u32, u32>,
    /// Samples of the use of the processors by threads, in the order of the journal's records.
    pub cpu_samples: Vec<ThreadSample>,
    /// Descriptions of the kinds of events that the tracer only counts, in the order of the counters in the spool's header.
    pub notes: Vec<String>,
    /// Number of files whose paths are in memory.
    pub(super) paths: usize,
    /// Approximate memory used by the definitions, in bytes.
    bytes: usize,
}

/// Memory per definition in addition to its payload, in bytes; for streams see [`STREAM_BYTES`].
const THING_BYTES: usize = 100;
/// Memory per definition of a stream (operation on a file) in addition to its payload, in bytes. Streams are the most numerous definitions.
const STREAM_BYTES: usize = 24;

/// Takes definitions by number and returns them with numbers, which are below `most`, as indices; missing ones are empty. Nearly all are there.
fn in_order<T: Clone + Default>(all: &mut BTreeMap<u32, T>, most: usize) -> Vec<T> {
    let length = all.keys().last().map_or(0, |&number| (number as usize + 1).min(most));
    let mut out = vec![T::default(); length];
    for (number, def) in std::mem::take(all) {
        if let Some(place) = out.get_mut(number as usize) {
            *place = def;
        }
    }
    out
}

impl Names {
    /// Reads all definitions that a trace needs: all definitions except those of data sets.
    pub(super) fn read(bytes: &[u8]) -> Result<Self> {
        let mut all = Self::default();
        let of_data_sets = [kind::DATA_SET, kind::DATA_SET_STREAM, kind::SHAPE];
        for (record, payload) in journal::records(bytes).filter(|(record, _)| !of_data_sets.contains(record)) {
            all.add(record, payload)?;
        }
        Ok(all)
    }

    /// Returns the approximate memory used by the definitions, in bytes.
    pub(super) const fn weight(&self) -> usize {
        self.bytes
    }

    /// Drops the paths of all files except the file numbers in `but` to free memory; returns the number of dropped paths.
    pub(super) fn forget_paths(&mut self, but: &BTreeSet<u32>) -> u64 {
        let mut forgotten = 0;
        for (_, file) in self.files.iter_mut().filter(|(number, _)| !but.contains(number)) {
            if let Some(path) = file.path.take() {
                self.bytes = self.bytes.saturating_sub(path.len());
                forgotten += 1;
            }
        }
        self.paths -= forgotten;
        forgotten as u64
    }

    /// Returns the call sites of streams (operations on files), with numbers as indices; missing definitions are empty.
    pub(super) fn sites(&mut self) -> SitesDef {
        let mut sites = SitesDef {
            modules: in_order(&mut self.modules, limits::SPOOL_MODULES),
            frames: in_order(&mut self.frames, limits::SPOOL_FRAMES),
            functions: in_order(&mut self.functions, limits::SPOOL_FUNCTIONS),
            streams: Vec::new(),
        };
        let site = |(&stream, &frame): (&u32, &u32)| StreamSite { stream, frame };
        sites.streams = self.stream_sites.iter().map(site).collect();
        sites
    }

    /// Returns the definition of the operation with operation code `code`.
    #[must_use]
    pub fn op(&self, code: u16) -> Option<&OpDef> {
        self.job.ops.iter().find(|op| op.code == code)
    }

    /// True if all calls of a stream (operation on a file) are on one file, so that their order is meaningful; false if the stream belongs
    /// to the record that many files share.
    pub(super) fn has_order(&self, stream: u32) -> bool {
        let file = self.streams.get(&stream).and_then(|stream| self.files.get(&stream.file));
        file.is_none_or(|file| file.path.as_deref() != Some(OTHER_FILES))
    }

    /// Returns the minimum size of reads and writes stored as segments (`DXT_MIN_SIZE`), in bytes; 0 if there is no minimum.
    #[must_use]
    pub fn least(&self) -> u64 {
        let set = self.job.settings.iter().find(|(name, _)| name == "DXT_MIN_SIZE");
        set.map_or(0, |(_, value)| bytes_of(value))
    }

    /// Adds the definition in a journal record, replacing an earlier definition. Shapes are not sorted yet.
    fn add(&mut self, record: u32, payload: &[u8]) -> Result<()> {
        self.bytes += payload.len() + if record == kind::STREAM { STREAM_BYTES } else { THING_BYTES };
        match record {
            kind::JOB => self.job = Job::decode(payload, 0)?,
            kind::PROCESS => self.process = Process::decode(payload, 0)?,
            kind::THREAD => {
                let (def, counted) = journal::thread(payload);
                insert(&mut self.threads, limits::SPOOL_THREADS, def.index, def);
                if counted && self.threads.contains_key(&def.index) {
                    self.counted_threads.insert(def.index);
                } else {
                    self.counted_threads.remove(&def.index);
                }
            }
            kind::FILE => {
                let (number, def) = journal::file(payload);
                let paths =
                    |files: &BTreeMap<u32, FileDef>| files.get(&number).and_then(|file| file.path.as_ref()).is_some();
                let before = paths(&self.files);
                insert(&mut self.files, limits::SPOOL_FILES, number, def);
                self.paths = self.paths + usize::from(paths(&self.files)) - usize::from(before);
            }
            kind::STREAM => {
                let def = journal::stream(payload);
                insert(&mut self.streams, limits::SPOOL_STREAMS, def.id, def);
            }
            kind::LAYOUT if self.layouts.len() < limits::SPOOL_LAYOUTS => self.layouts.push(journal::layout(payload)),
            kind::COMMUNICATOR => {
                let def = journal::communicator(payload);
                insert(&mut self.communicators, limits::SPOOL_COMMUNICATORS, def.number, def);
            }
            kind::DATA_SET => {
                let (number, def) = journal::data_set(payload);
                insert(&mut self.data_sets, limits::SPOOL_DATA_SETS, number, def);
            }
            kind::DATA_SET_STREAM => {
                let def = journal::data_set_stream(payload);
                insert(&mut self.data_set_streams, 4 * limits::SPOOL_DATA_SETS, def.stream, def);
            }
            kind::SHAPE => {
                let shape = journal::shape(payload);
                // A data set is defined in the journal before the shapes of that data set.
                if self.data_sets.contains_key(&shape.data_set) {
                    let shapes = self.shapes.entry(shape.data_set).or_default();
                    if shapes.len() >= 2 * limits::DATA_SET_SHAPES {
                        put_in_order(shapes);
                    }
                    shapes.push(shape);
                }
            }
            kind::MODULE => {
                let (number, def) = journal::module(payload);
                insert(&mut self.modules, limits::SPOOL_MODULES, number, def);
            }
            kind::FUNCTION => {
                let (number, def) = journal::function(payload);
                insert(&mut self.functions, limits::SPOOL_FUNCTIONS, number, def);
            }
            kind::FRAME => {
                let (number, def) = journal::frame(payload);
                insert(&mut self.frames, limits::SPOOL_FRAMES, number, def);
            }
            kind::STREAM_SITE => {
                let StreamSite { stream, frame } = journal::stream_site(payload);
                insert(&mut self.stream_sites, limits::SPOOL_STREAMS, stream, frame);
            }
            kind::CPU_SAMPLE if self.cpu_samples.len() < limits::SPOOL_CPU_SAMPLES => {
                self.cpu_samples.push(journal::cpu_sample(payload));
            }
            kind::NOTES => {
                self.notes = String::from_utf8_lossy(payload).lines().take(MOST_NOTES).map(str::to_owned).collect();
            }
            _ => {}
        }
        Ok(())
    }

    /// Adds the journal records in `bytes`, which must begin at a record, except samples of the use of the processors; fails if the job or
    /// process block is invalid. Returns the number of leading bytes that need not be read again; these bytes end before the first record
    /// that is still being written.
    pub(super) fn add_all(&mut self, bytes: &[u8]) -> Result<usize> {
        let (mut records, mut whole, mut at) = (journal::records(bytes), true, 0);
        let mut new_shapes = BTreeSet::new();
        while let Some((record, payload)) = records.next() {
            let end = bytes.len() - records.left();
            whole &= at + journal::length(payload) == end;
            at = if whole { end } else { at };
            // A list of empty elements takes more memory than encoded bytes, so the size of the encoding is limited.
            let too_long = matches!(record, kind::JOB | kind::PROCESS) && payload.len() > limits::SPOOL_JOB_BYTES;
            if record == kind::CPU_SAMPLE || too_long {
                continue;
            }
            self.add(record, payload)?;
            if record == kind::SHAPE {
                new_shapes.insert(journal::shape(payload).data_set);
            }
        }
        for data_set in new_shapes {
            self.shapes.entry(data_set).and_modify(put_in_order);
        }
        Ok(at)
    }
}

/// Inserts or replaces a definition. If there are `most` definitions already, nothing is inserted: the tracer's own tables hold no more, so
/// a journal with more is damaged.
fn insert<T>(things: &mut BTreeMap<u32, T>, most: usize, number: u32, thing: T) {
    if things.len() < most || things.contains_key(&number) {
        things.insert(number, thing);
    }
}

/// Sorts the shapes of a data set by time and keeps the latest ones, because threads write concurrently and a record may be read twice. Of
/// several shapes with equal times, the last is kept.
fn put_in_order(shapes: &mut Vec<Shape>) {
    shapes.sort_by_key(|shape| shape.since);
    shapes.reverse();
    shapes.dedup_by_key(|shape| shape.since);
    shapes.truncate(limits::DATA_SET_SHAPES);
    shapes.reverse();
}

/// Parses a size in the notation of the tracer's settings: a number of bytes, or a number with suffix `K`, `M`, `G` or `T`.
fn bytes_of(text: &str) -> u64 {
    let (digits, unit) = text.trim().split_at(text.trim().trim_end_matches(|c: char| !c.is_ascii_digit()).len());
    let shift = match unit.trim().as_bytes().first().map(u8::to_ascii_uppercase) {
        Some(b'K') => 10,
        Some(b'M') => 20,
        Some(b'G') => 30,
        Some(b'T') => 40,
        _ => 0,
    };
    digits.parse::<u64>().map_or(0, |number| number.saturating_mul(1 << shift))
}

#[cfg(test)]
mod tests {
    use super::super::journal::{data_set, record_header, shape};
    use super::*;

    fn journal_of(shapes: impl Iterator<Item = (u64, u64)>) -> Vec<u8> {
        let mut journal = Vec::new();
        put(&mut journal, kind::DATA_SET, &data_set(3, 0));
        for (since, elements) in shapes {
            put(&mut journal, kind::SHAPE, &shape(Shape { data_set: 3, dimensions: 1, elements, since }));
        }
        journal
    }

    fn put(journal: &mut Vec<u8>, kind: u32, payload: &[u8]) {
        journal.extend_from_slice(&record_header(kind, payload));
        journal.extend_from_slice(payload);
        journal.resize(journal.len().next_multiple_of(8), 0);
    }

    /// Fills a journal with more definitions than any tracer writes.
    #[test]
    fn no_more_is_kept_than_the_tracer_has_room_for() {
        let mut journal = Vec::new();
        for number in 0..limits::SPOOL_DATA_SETS as u32 + 1000 {
            put(&mut journal, kind::DATA_SET, &data_set(number, 0));
        }
        for number in 0..1000 {
            put(&mut journal, kind::SHAPE, &shape(Shape { data_set: 1 << 30 | number, ..Shape::default() }));
        }
        put(&mut journal, kind::DATA_SET, &data_set(7, 9));
        let mut names = Names::default();
        names.add_all(&journal).unwrap();
        assert_eq!((names.data_sets.len(), names.data_sets[&7].file), (limits::SPOOL_DATA_SETS, 9));
        assert!(names.shapes.is_empty());
    }

    #[test]
    fn shapes_are_in_the_order_of_their_moments_and_the_last_record_of_one_counts() {
        let mut names = Names::default();
        names.add_all(&journal_of([(5, 1), (9, 2), (7, 3), (5, 4)].into_iter())).unwrap();
        names.add_all(&journal_of([(7, 5), (6, 6), (10, 7)].into_iter())).unwrap();
        let all: Vec<(u64, u64)> = names.shapes[&3].iter().map(|shape| (shape.since, shape.elements)).collect();
        assert_eq!(all, [(5, 4), (6, 6), (7, 5), (9, 2), (10, 7)]);
    }

    /// Checks that sorting many shapes takes about a second, not time quadratic in their number.
    #[test]
    fn shapes_in_the_wrong_order_take_no_longer() {
        let count = 200_000_u64;
        let journal = journal_of((0..count).rev().map(|since| (since, since)));
        let (begin, mut names) = (std::time::Instant::now(), Names::default());
        names.add_all(&journal).unwrap();
        let took = begin.elapsed();
        let shapes = &names.shapes[&3];
        assert_eq!((shapes.len(), shapes.last().unwrap().since), (limits::DATA_SET_SHAPES, count - 1));
        assert!(shapes.is_sorted_by_key(|shape| shape.since) && took.as_secs() < 10, "{took:?}");
        assert!(Names::read(&journal).unwrap().shapes.is_empty());
    }
}
