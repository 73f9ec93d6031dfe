//! Profiles: access statistics of one file through one layer. [`Profile::fold`] defines every number: the tracer adds accesses that it does
//! not store as segments, the analyzer adds segments, and both get equal profiles.

use crate::common_values::CommonValues;
use crate::segment::NO_TIME;
use serde::{Deserialize, Serialize};

/// Successful read or write call.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// True for a write, false for a read.
    pub writes: bool,
    /// File offset of the first byte accessed; negative if unknown.
    pub offset: i64,
    /// Number of bytes transferred.
    pub length: u64,
    /// Start time of the call, in any unit.
    pub start: u64,
    /// End time of the call, in the same unit as `start`; [`NO_TIME`] or 0 if the call was not timed.
    pub end: u64,
    /// True if the address of the program's buffer is not a multiple of the process's alignment (see [`MEMORY_ALIGNMENT`]); `None` if unknown.
    pub memory_unaligned: Option<bool>,
}

/// Default alignment in bytes with which addresses of the program's buffers are compared. A process that checks another alignment states
/// that alignment in [`crate::meta::MemoryDef::alignment`].
pub const MEMORY_ALIGNMENT: usize = 8;

/// Longest of several accesses; all fields are 0 if there was no access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slowest {
    /// Duration (end - start) of the longest access.
    pub duration: u64,
    /// Start time of the longest access.
    pub start: u64,
    /// Bytes transferred by the longest access.
    pub bytes: u64,
}

impl Slowest {
    /// Replaces this access by `other` if `other` took longer. On equal durations, keeps the access that started earlier, then the larger one.
    fn offer(&mut self, other: Self) {
        let order = |one: &Self| (one.duration, std::cmp::Reverse(one.start), one.bytes);
        if *self == Self::default() || other != Self::default() && order(&other) > order(self) {
            *self = other;
        }
    }
}

/// Access statistics over the successful reads and writes of one file through one layer, including calls made inside calls of other layers.
/// Times are in the unit of the added accesses: nanoseconds since the process's epoch in a trace file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    /// Number of accesses (reads and writes) added.
    pub accesses: u64,
    /// Alignment assumed for the file, in bytes: the stripe size, or else `st_blksize`; 0 if both are unknown. Merging keeps the larger value.
    pub alignment: u64,
    /// Number of accesses whose file offset is not a multiple of the alignment.
    pub file_unaligned: u64,
    /// Number of accesses whose buffer's memory address is known.
    pub memory_known: u64,
    /// Number of accesses whose buffer's memory address is known and not a multiple of the alignment, see [`MEMORY_ALIGNMENT`].
    pub memory_unaligned: u64,
    /// Number of reads that directly follow a write plus writes that directly follow a read.
    pub switches: u64,
    /// Longest read call added.
    pub slowest_read: Slowest,
    /// Longest write call added.
    pub slowest_write: Slowest,
    /// Most common access sizes, in bytes.
    pub sizes: CommonValues,
    /// Most common strides (distances between accesses), in bytes; see [`Profile::fold`].
    pub strides: CommonValues,
}

/// Direction and end offsets of the latest accesses to a file, with which the next access is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Last {
    /// True if the last access was a write; `None` if there was no access.
    writes: Option<bool>,
    /// End offsets of the last read and of the last write, in bytes.
    ends: [Option<i64>; 2],
}

/// Accesses as columns: equally long slices, one per field of [`Access`].
#[derive(Clone, Copy, Debug)]
pub struct Accesses<'a> {
    /// File offset of each access in bytes, see [`Access::offset`].
    pub offset: &'a [i64],
    /// Length of each access in bytes, see [`Access::length`].
    pub length: &'a [u64],
    /// Start time of each access, see [`Access::start`].
    pub start: &'a [u64],
    /// End time of each access, see [`Access::end`].
    pub end: &'a [u64],
}

/// True if `offset` is a multiple of `alignment`. Powers of two, the nearly universal case, avoid the slow division.
#[inline]
const fn is_aligned(offset: u64, alignment: u64) -> bool {
    let beside = if alignment.is_power_of_two() { offset & (alignment - 1) } else { offset % alignment };
    beside == 0
}

impl Profile {
    /// Adds one access; `last` describes the accesses before. `alignment` is the file's alignment in bytes, 0 if unknown.
    ///
    /// The *stride* of an access is its offset minus the end (offset + length) of the previous access of the same direction (read or write)
    /// to the same file through the same layer: 0 if the access continues there, negative if it goes back. The first read and the first
    /// write have no stride. An access without a known offset has none either; the next access is then compared with the last known end.
    #[inline]
    pub fn fold(&mut self, last: &mut Last, access: Access, alignment: u64) {
        self.switches += u64::from(last.writes.is_some_and(|writes| writes != access.writes));
        last.writes = Some(access.writes);
        let end = &mut last.ends[usize::from(access.writes)];
        if access.offset >= 0 {
            if let Some(end) = *end {
                self.strides.add(access.offset.saturating_sub(end));
            }
            *end = Some(access.offset.saturating_add_unsigned(access.length));
        }
        self.fold_alone(access, alignment);
    }

    /// Adds consecutive accesses like [`Profile::fold`]. All accesses must have the same direction (read or write) and unknown buffer
    /// addresses; the slices must be equally long.
    pub fn fold_all(&mut self, last: &mut Last, writes: bool, all: Accesses<'_>, alignment: u64) {
        let Accesses { offset, length, start, end } = all;
        if offset.is_empty() {
            return;
        }
        self.switches += u64::from(last.writes.is_some_and(|before| before != writes));
        last.writes = Some(writes);
        self.accesses += offset.len() as u64;
        for similar in length.chunk_by(|a, b| a == b) {
            let value = similar.first().map_or(0, |length| i64::try_from(*length).unwrap_or(i64::MAX));
            self.sizes.add_times(value, similar.len() as u64);
        }
        let (mut before, mut placed) = (last.ends[usize::from(writes)], false);
        for (&offset, &length) in offset.iter().zip(length) {
            if offset >= 0 {
                if let Some(end) = before {
                    self.strides.add(offset.saturating_sub(end));
                }
                before = Some(offset.saturating_add_unsigned(length));
                placed = true;
            }
        }
        last.ends[usize::from(writes)] = before;
        if alignment > 0 && placed {
            self.alignment = self.alignment.max(alignment);
            let unaligned =
                offset.iter().filter(|offset| **offset >= 0 && !is_aligned(offset.unsigned_abs(), alignment));
            self.file_unaligned += unaligned.count() as u64;
        }
        let slowest = if writes { &mut self.slowest_write } else { &mut self.slowest_read };
        for ((&start, &end), &bytes) in start.iter().zip(end).zip(length) {
            let duration = end.saturating_sub(start);
            if duration >= slowest.duration && end > NO_TIME {
                slowest.offer(Slowest { duration, start, bytes });
            }
        }
    }

    /// Adds one access without comparing the access with its predecessor: neither a switch nor a stride is counted.
    #[inline]
    pub fn fold_alone(&mut self, access: Access, alignment: u64) {
        self.accesses += 1;
        self.sizes.add(i64::try_from(access.length).unwrap_or(i64::MAX));
        if alignment > 0 && access.offset >= 0 {
            self.alignment = self.alignment.max(alignment);
            self.file_unaligned += u64::from(!is_aligned(access.offset.unsigned_abs(), alignment));
        }
        if let Some(unaligned) = access.memory_unaligned {
            self.memory_known += 1;
            self.memory_unaligned += u64::from(unaligned);
        }
        // A call without times cannot be the longest one.
        if access.end > NO_TIME {
            let duration = access.end.saturating_sub(access.start);
            let slowest = if access.writes { &mut self.slowest_write } else { &mut self.slowest_read };
            if duration >= slowest.duration {
                slowest.offer(Slowest { duration, start: access.start, bytes: access.length });
            }
        }
    }

    /// Adds the statistics of `other`. The result equals adding all accesses to one profile, except for the switch and the strides between
    /// the last accesses of `self` and the first ones of `other`. For common values the limits of [`CommonValues::merge`] apply.
    pub fn merge(&mut self, other: &Self) {
        self.accesses = self.accesses.saturating_add(other.accesses);
        self.alignment = self.alignment.max(other.alignment);
        self.file_unaligned = self.file_unaligned.saturating_add(other.file_unaligned);
        self.memory_known = self.memory_known.saturating_add(other.memory_known);
        self.memory_unaligned = self.memory_unaligned.saturating_add(other.memory_unaligned);
        self.switches = self.switches.saturating_add(other.switches);
        self.slowest_read.offer(other.slowest_read);
        self.slowest_write.offer(other.slowest_write);
        self.sizes.merge(&other.sizes);
        self.strides.merge(&other.strides);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common_values::CommonValue;

    fn access(writes: bool, offset: i64, length: u64, start: u64, took: u64) -> Access {
        Access { writes, offset, length, start, end: start + took, memory_unaligned: Some(length % 2 == 1) }
    }

    fn common(value: i64, count: u64) -> CommonValue {
        CommonValue { value, count, over: 0 }
    }

    #[test]
    fn a_profile_worked_out_by_hand() {
        let (mut profile, mut last) = (Profile::default(), Last::default());
        for one in [
            access(true, 0, 100, 10, 5),    // first write: no stride
            access(true, 100, 100, 20, 9),  // stride 0
            access(true, 4096, 101, 30, 9), // stride 3896; equally slow as the access before, which stays the slowest
            access(false, 0, 50, 40, 3),    // switch; first read: no stride
            access(false, -1, 7, 50, 4),    // no offset: no stride, no alignment
            access(false, 40, 50, 60, 1),   // stride 40 - 50 = -10
            access(true, 8292, 100, 70, 1), // switch; stride 8292 - 4197 = 4095
        ] {
            profile.fold(&mut last, one, 4096);
        }
        assert_eq!((profile.accesses, profile.switches, profile.alignment), (7, 2, 4096));
        // Offsets that are not multiples of 4096: 100, 40, 8292.
        assert_eq!(profile.file_unaligned, 3);
        assert_eq!((profile.memory_known, profile.memory_unaligned), (7, 2));
        assert_eq!(profile.slowest_write, Slowest { duration: 9, start: 20, bytes: 100 });
        assert_eq!(profile.slowest_read, Slowest { duration: 4, start: 50, bytes: 7 });
        assert_eq!(profile.sizes.top(), [common(100, 3), common(50, 2), common(7, 1), common(101, 1)]);
        assert_eq!(profile.strides.top(), [common(-10, 1), common(3896, 1), common(4095, 1)]);
    }

    #[test]
    fn without_an_alignment_none_is_unaligned_and_alone_there_is_no_stride() {
        let mut profile = Profile::default();
        profile.fold(&mut Last::default(), access(true, 3, 4, 1, 0), 0);
        profile.fold_alone(access(false, 3, 4, 1, 0), 0);
        assert_eq!((profile.accesses, profile.file_unaligned, profile.switches), (2, 0, 0));
        assert_eq!(profile.strides.top(), []);
        let mut odd = Profile::default();
        (0..6).for_each(|i| odd.fold_alone(access(true, i * 500, 4, 1, 0), 1000));
        assert_eq!(odd.file_unaligned, 3);
    }

    #[test]
    fn many_at_once_are_the_same_one_by_one() {
        let all: Vec<Access> = (0..300_i64)
            .map(|i| {
                let one = access(
                    i / 50 % 2 == 1,
                    i * 37 % 23 * 512 - i % 9 / 8 * 99_999,
                    (i / 3 % 4) as u64,
                    i as u64,
                    i as u64 % 7,
                );
                Access { memory_unaligned: None, ..one }
            })
            .collect();
        for alignment in [0, 512, 1000] {
            let (mut one_by_one, mut at_once) = (Profile::default(), Profile::default());
            let (mut last, mut last_of_all) = (Last::default(), Last::default());
            all.iter().for_each(|one| one_by_one.fold(&mut last, *one, alignment));
            for some in all.chunk_by(|a, b| a.writes == b.writes) {
                let offset: Vec<i64> = some.iter().map(|one| one.offset).collect();
                let column = |of: fn(&Access) -> u64| some.iter().map(of).collect::<Vec<u64>>();
                let (length, start, end) = (column(|one| one.length), column(|one| one.start), column(|one| one.end));
                let some_of = Accesses { offset: &offset, length: &length, start: &start, end: &end };
                at_once.fold_all(&mut last_of_all, some[0].writes, some_of, alignment);
            }
            assert_eq!((at_once, last_of_all), (one_by_one, last));
        }
    }

    #[test]
    fn merge_of_halves_is_the_whole() {
        let all: Vec<Access> = (0..200_i64)
            .map(|i| access(i % 7 < 4, i * 37 % 11 * 4096, (i % 5) as u64 * 10, i as u64 * 9, (i * i % 13) as u64))
            .collect();
        let (mut whole, mut last) = (Profile::default(), Last::default());
        all.iter().for_each(|one| whole.fold(&mut last, *one, 8192));
        let (mut a, mut b, mut last) = (Profile::default(), Profile::default(), Last::default());
        all[..77].iter().for_each(|one| a.fold(&mut last, *one, 8192));
        all[77..].iter().for_each(|one| b.fold(&mut last, *one, 8192));
        let mut other = b;
        other.merge(&a);
        a.merge(&b);
        // There are more than 16 strides: rare ones may differ after merging, everything else must be equal.
        let without = |profile: Profile| Profile { strides: CommonValues::new(), ..profile };
        assert_eq!((without(a), without(other)), (without(whole), without(whole)));
    }
}
