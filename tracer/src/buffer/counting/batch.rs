//! Folds the segments in a thread's chunk into counters (per stream) and profiles (per file and layer). Segments are grouped by stream and
//! by profile, even if streams or profiles alternate.

use crate::buffer::scratch::{SLOTS, Scratch};
use crate::notes::Note;
use crate::ops::Role;
use crate::registry::{self, Adder, Stream};
use trace_format::counters::Counters;
use trace_format::profile::Access;
use trace_format::{Segment, StreamId};

/// Work space for adding (folding) a chunk's segments to counters: segments grouped by stream, segments grouped by (file, layer) and, for
/// each (file, layer), one of its streams. Too large for the stacks of some threads. Valid when all zero.
pub(super) struct Batch {
    similar: Common,
    profiles: Common,
    kinds: [Option<&'static Stream>; SLOTS],
}

/// Segments of a full chunk that have a common key (stream, or file and layer), as bit masks of their slots.
#[derive(Clone, Copy)]
struct Same {
    key: u64,
    members: u64,
    /// Bit mask of the group's segments that are writes.
    writes: u64,
}

/// Groups of the segments in a full chunk (a thread's memory for segments) by key, in order of first occurrence. A hash table, since a
/// batch may have as many streams as segments.
struct Common {
    list: [Same; SLOTS],
    used: usize,
    /// Hash table of the keys: index of the key's group in `list` plus 1, or 0 if free.
    places: [u8; 2 * SLOTS],
}

impl Common {
    fn empty(&mut self) {
        self.used = 0;
        self.places.fill(0);
    }

    fn all(&self) -> &[Same] {
        self.list.get(..self.used).unwrap_or_default()
    }

    /// Adds segments (bit masks `members` and `writes`) to the group of `key`; returns the index of the group in `list`. May be called at
    /// most once per segment of the batch.
    fn add(&mut self, key: u64, members: u64, writes: u64) -> usize {
        let mut place = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 57) as usize;
        loop {
            // Half of the hash table is free, so the search ends.
            let Some(number) = self.places.get_mut(place % (2 * SLOTS)) else { return SLOTS };
            if *number == 0 {
                *number = self.used as u8 + 1;
                if let Some(new) = self.list.get_mut(self.used) {
                    *new = Same { key, members, writes };
                    self.used += 1;
                }
                return self.used - 1;
            }
            let at = usize::from(*number) - 1;
            if let Some(same) = self.list.get_mut(at).filter(|same| same.key == key) {
                same.members |= members;
                same.writes |= writes;
                return at;
            }
            place += 1;
        }
    }
}

impl Batch {
    /// Adds the segments in the filled slots of `waiting` to the counters per stream, then to the profiles per file and layer, each in
    /// segment order. Atomics and the lock are used once per group. Slots are emptied only afterwards, so that each call is always in a
    /// slot or in the counters.
    pub(super) fn fold(&mut self, waiting: &Scratch) {
        let Self { similar, profiles, kinds } = self;
        let filled = waiting.filled();
        similar.empty();
        profiles.empty();
        // Looks up a run of segments of one stream only once.
        let mut run = (StreamId(0), 0);
        for (bit, id) in waiting.streams(filled) {
            if id != run.0 && run.1 != 0 {
                similar.add(u64::from(run.0.0), run.1, 0);
                run.1 = 0;
            }
            run = (id, run.1 | bit);
        }
        if run.1 != 0 {
            similar.add(u64::from(run.0.0), run.1, 0);
        }
        let mut adder = waiting.adder();
        for &Same { key: id, members, .. } in similar.all() {
            let Some(stream) = registry::stream_by_id(StreamId(id as u32)) else { continue };
            count(waiting, stream, members, adder.adding(members));
            if stream.role != Role::None {
                let key = std::ptr::from_ref(stream.file).addr() as u64 | stream.layer as u64;
                let writes = if stream.role == Role::Writes { members } else { 0 };
                if let Some(kind) = kinds.get_mut(profiles.add(key, members, writes)) {
                    *kind = Some(stream);
                }
            }
        }
        for (same, stream) in profiles.all().iter().zip(kinds) {
            if let Some(stream) = stream {
                profile(waiting, stream, same.members, same.writes);
            }
        }
        waiting.empty(filled);
    }
}

/// Adds the segments in the bit mask `members` to the counters of `stream` (calls with the same file and operation).
fn count(waiting: &Scratch, stream: &'static Stream, members: u64, adder: &Adder<'_>) {
    let ordered = stream.has_order();
    // If a program alternates over many files, each segment of a batch may have a stream of its own.
    if members.is_power_of_two() {
        for (_, segment) in waiting.segments(members) {
            if !stream.add_one(&segment, ordered, adder) {
                Note::TablesFull.count();
                adder.is_done();
            }
        }
        return;
    }
    let (mut counters, mut previous) = (Counters::default(), stream.previous());
    for (_, segment) in waiting.segments(members) {
        if ordered {
            counters.fold(&mut previous, segment.offset, segment.length(), segment.started(), segment.end);
        } else {
            counters.fold_alone(segment.offset, segment.length(), segment.started(), segment.end);
        }
    }
    if !stream.add(&counters, previous, adder) {
        Note::TablesFull.count_many(counters.segments);
        adder.is_done();
    }
}

/// Adds the segments in the bit mask `members`, of which those in `writes` are writes, to the profile of the stream's file and layer.
fn profile(waiting: &Scratch, stream: &'static Stream, members: u64, writes: u64) {
    let alignment = stream.file.alignment();
    let ordered = stream.has_order();
    let done = stream.file.with_profile(stream.layer, |profile, last| {
        for (bit, segment) in waiting.segments(members) {
            let access = access(&segment, writes & bit != 0);
            if ordered {
                profile.fold(last, access, alignment);
            } else {
                profile.fold_alone(access, alignment);
            }
        }
    });
    if done.is_none() {
        Note::NotProfiled.count_many(u64::from(members.count_ones()));
    }
}

fn access(segment: &Segment, writes: bool) -> Access {
    Access {
        writes,
        offset: segment.offset,
        length: segment.length(),
        start: segment.started(),
        end: segment.end,
        memory_unaligned: segment.memory_unaligned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_similar_is_found_however_many_kinds_there_are() {
        for kinds in [1, 2, 3, 63, 64_u64] {
            let mut similar =
                Common { list: [Same { key: 0, members: 0, writes: 0 }; SLOTS], used: 7, places: [1; 2 * SLOTS] };
            similar.empty();
            for at in 0..SLOTS as u64 {
                // Keys that differ only in bits 40 and above.
                let position = similar.add((at % kinds) << 40, 1 << at, (at % 2) << at);
                assert_eq!(position as u64, at % kinds);
            }
            assert_eq!(similar.all().len() as u64, kinds);
            for (number, same) in (0..).zip(similar.all()) {
                let members = (0..64).filter(|at| at % kinds == number).fold(0, |all, at| all | 1_u64 << at);
                assert_eq!((same.key, same.members), (number << 40, members));
                assert_eq!(same.writes, members & 0xaaaa_aaaa_aaaa_aaaa);
            }
        }
    }
}
