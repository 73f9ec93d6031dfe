//! Merging of calls to fewer slices (bars in the viewer): calls of one thread, file and operation that begin in the same time window become
//! one slice. Time windows are 2^10 ns long at first, and doubled whenever there are too many slices. If a single window still has too
//! many, calls of all files are merged, then calls of all operations.

use super::{Common, Slice};
use crate::model::{Process, Within};
use rustc_hash::FxHashMap;

/// Length of the shortest time window, as a power of two in ns.
const FIRST_SHIFT: u32 = 10;

/// Key of a merged slice: thread; number of the stream, operation or caller that the calls have in common (see `Common`); time window.
type Key = (u32, u32, u64);

/// Slices (bars in the viewer) into which calls of one process are merged, under construction.
pub(crate) struct Merger<'a> {
    process: &'a Process,
    room: usize,
    shift: u32,
    similar: Common,
    slices: FxHashMap<Key, Slice>,
    left_out: u64,
}

impl<'a> Merger<'a> {
    /// Creates a merger that makes at most `room` slices.
    pub(crate) fn new(process: &'a Process, room: u64) -> Self {
        let room = usize::try_from(room).unwrap_or(usize::MAX);
        let slices = FxHashMap::default();
        Self { process, room, shift: FIRST_SHIFT, similar: Common::Stream, slices, left_out: 0 }
    }

    pub(crate) fn add(&mut self, mut slice: Slice) {
        if self.similar != Common::Stream {
            slice.what.of = slice.what.of.max(self.similar);
        }
        self.put(slice);
        while self.slices.len() > self.room {
            self.coarsen();
        }
    }

    fn put(&mut self, slice: Slice) {
        let key = self.key(&slice);
        match self.slices.get_mut(&key) {
            Some(known) => join(known, &slice),
            None => {
                self.slices.insert(key, slice);
            }
        }
    }

    fn key(&self, slice: &Slice) -> Key {
        let span = slice.start.checked_shr(self.shift).unwrap_or(0);
        let stream = self.process.stream(slice.what.stream);
        let number = match (self.similar, stream) {
            (Common::Stream, _) | (_, None) => slice.what.stream.0,
            (Common::Operation, Some(stream)) => u32::from(stream.op) * 4 + within(stream.within()),
            (Common::Within, Some(stream)) => within(stream.within()),
        };
        (slice.thread, number, span)
    }

    /// Merges the slices (bars in the viewer) further: doubles the time window, or else merges more files or operations, or else drops the
    /// shortest slice.
    fn coarsen(&mut self) {
        match (self.shift < u64::BITS, self.similar) {
            (true, _) => self.shift += 1,
            (false, Common::Stream) => self.similar = Common::Operation,
            (false, Common::Operation) => self.similar = Common::Within,
            (false, Common::Within) => {
                let shortest = self.slices.iter().min_by_key(|(key, slice)| (slice.time, **key)).map(|(key, _)| *key);
                let gone = shortest.and_then(|key| self.slices.remove(&key));
                self.left_out += gone.map_or(0, |slice| slice.count);
                return;
            }
        }
        // The result does not depend on the iteration order of the hash table: sums and minima are commutative.
        for mut slice in std::mem::take(&mut self.slices).into_values() {
            slice.what.of = slice.what.of.max(self.similar);
            self.put(slice);
        }
    }

    /// Returns the merged slices (bars in the viewer) in order, and the number of calls that no slice stands for.
    pub(crate) fn finish(self) -> (Vec<Slice>, u64) {
        let mut slices: Vec<Slice> = self.slices.into_values().collect();
        slices.sort_unstable_by_key(|slice| (slice.thread, slice.start, slice.end, slice.what));
        (slices, self.left_out)
    }
}

fn within(maker: Within) -> u32 {
    match maker {
        Within::Nothing | Within::Overview => 0,
        Within::Hdf5 => 1,
        Within::Mpiio => 2,
    }
}

fn join(known: &mut Slice, more: &Slice) {
    known.start = known.start.min(more.start);
    known.end = known.end.max(more.end);
    known.count += more.count;
    known.bytes = known.bytes.saturating_add(more.bytes);
    known.time = known.time.saturating_add(more.time);
    known.what.stream = known.what.stream.min(more.what.stream);
    known.offset = -1;
    known.site = known.site.filter(|site| more.site == Some(*site));
}
