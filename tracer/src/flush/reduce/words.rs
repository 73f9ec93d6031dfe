//! Wire format of the reduction: records as arrays of 64-bit words, all of one size, so that MPI needs only one datatype. Times are in ns
//! since each rank left the barrier that aligns the ranks' clocks, shifted by [`BIAS`] to stay unsigned and in order.

use trace_format::common_values::{CommonValue, CommonValues, TRACKED};
use trace_format::counters::Counters;
use trace_format::profile::{Profile, Slowest};
use trace_format::spread::{Moments, RankShare, Spread};

/// Offset, in ns, added to times relative to the barrier that aligns the ranks' clocks, so that times before the barrier stay positive.
const BIAS: i64 = 1 << 62;

/// Number of 64-bit words of the encoded [`Counters`] of a stream.
pub(super) const COUNTERS: usize = 20;
/// Number of 64-bit words of an encoded [`Profile`] and [`Spread`] together.
pub(super) const FILE: usize = 12 + 2 * (1 + 3 * TRACKED) + 11;

/// Converts `ns` since the rank's epoch to time relative to the barrier that aligns the ranks' clocks. `sync_ns`: time at which this rank
/// left the barrier, in ns since its epoch.
pub(super) fn aligned(ns: u64, sync_ns: u64) -> u64 {
    (ns as i64).wrapping_sub(sync_ns as i64).wrapping_add(BIAS) as u64
}

/// Converts time relative to the barrier that aligns the ranks' clocks to ns since a rank's epoch. `sync_ns`: time at which that rank left
/// the barrier, in ns since its epoch. Times before the epoch become 0.
pub(super) fn since_epoch(aligned: u64, sync_ns: u64) -> u64 {
    u64::try_from((aligned as i64).wrapping_sub(BIAS).wrapping_add(sync_ns as i64)).unwrap_or(0)
}

/// Returns a copy of the profile with `change` applied to the start times of the slowest read and write.
pub(super) fn with_starts(profile: Profile, change: impl Fn(u64) -> u64) -> Profile {
    let change = |slowest: Slowest| match slowest == Slowest::default() {
        true => slowest,
        false => Slowest { start: change(slowest.start), ..slowest },
    };
    Profile { slowest_read: change(profile.slowest_read), slowest_write: change(profile.slowest_write), ..profile }
}

/// Writer of consecutive 64-bit words of an encoded record.
struct Put<'a>(std::slice::IterMut<'a, u64>);

impl Put<'_> {
    fn put(&mut self, words: &[u64]) {
        for word in words {
            if let Some(place) = self.0.next() {
                *place = *word;
            }
        }
    }
}

/// Reader of consecutive 64-bit words of an encoded record; returns zeros after the last word.
struct Take<'a>(std::slice::Iter<'a, u64>);

impl Take<'_> {
    fn take(&mut self) -> u64 {
        self.0.next().copied().unwrap_or(0)
    }
}

pub(super) fn put_counters(c: &Counters, words: &mut [u64]) {
    let mut out = Put(words.iter_mut());
    out.put(&[c.segments, c.bytes, c.duration, c.max_duration, c.first_start, c.last_end]);
    out.put(&[c.min_offset as u64, c.max_end_offset as u64, c.consecutive, c.sequential]);
    out.put(&c.sizes);
}

pub(super) fn counters(words: &[u64]) -> Counters {
    let mut from = Take(words.iter());
    Counters {
        segments: from.take(),
        bytes: from.take(),
        duration: from.take(),
        max_duration: from.take(),
        first_start: from.take(),
        last_end: from.take(),
        min_offset: from.take() as i64,
        max_end_offset: from.take() as i64,
        consecutive: from.take(),
        sequential: from.take(),
        sizes: std::array::from_fn(|_| from.take()),
    }
}

fn put_common(values: &CommonValues, out: &mut Put<'_>) {
    let (all, used) = values.sorted();
    out.put(&[used as u64]);
    all.iter().for_each(|common| out.put(&[common.value as u64, common.count, common.over]));
}

fn common(from: &mut Take<'_>) -> CommonValues {
    let used = from.take() as usize;
    let all: [CommonValue; TRACKED] = std::array::from_fn(|_| {
        let (value, count, over) = (from.take() as i64, from.take(), from.take());
        CommonValue { value, count, over }
    });
    CommonValues::from_entries(all.get(..used).unwrap_or(&all))
}

pub(super) fn put_file(p: &Profile, s: &Spread, words: &mut [u64]) {
    let mut out = Put(words.iter_mut());
    out.put(&[p.accesses, p.alignment, p.file_unaligned, p.memory_known, p.memory_unaligned, p.switches]);
    for slowest in [p.slowest_read, p.slowest_write] {
        out.put(&[slowest.duration, slowest.start, slowest.bytes]);
    }
    put_common(&p.sizes, &mut out);
    put_common(&p.strides, &mut out);
    out.put(&[u64::from(s.ranks)]);
    for share in [s.fastest, s.slowest] {
        out.put(&[u64::from(share.rank), share.time_ns, share.bytes]);
    }
    for moments in [s.time_ns, s.bytes] {
        out.put(&[moments.mean.to_bits(), moments.squares.to_bits()]);
    }
}

pub(super) fn file(words: &[u64]) -> (Profile, Spread) {
    let mut from = Take(words.iter());
    let [accesses, alignment, file_unaligned, memory_known, memory_unaligned, switches] =
        std::array::from_fn(|_| from.take());
    let [slowest_read, slowest_write] = std::array::from_fn(|_| {
        let (duration, start, bytes) = (from.take(), from.take(), from.take());
        Slowest { duration, start, bytes }
    });
    let (sizes, strides) = (common(&mut from), common(&mut from));
    let profile = Profile {
        accesses,
        alignment,
        file_unaligned,
        memory_known,
        memory_unaligned,
        switches,
        slowest_read,
        slowest_write,
        sizes,
        strides,
    };
    let ranks = from.take() as u32;
    let [fastest, slowest] = std::array::from_fn(|_| {
        let (rank, time_ns, bytes) = (from.take() as u32, from.take(), from.take());
        RankShare { rank, time_ns, bytes }
    });
    let [time_ns, bytes] = std::array::from_fn(|_| {
        let (mean, squares) = (f64::from_bits(from.take()), f64::from_bits(from.take()));
        Moments { mean, squares }
    });
    (profile, Spread { ranks, fastest, slowest, time_ns, bytes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::counters::Previous;
    use trace_format::profile::{Access, Last};

    #[test]
    fn records_come_back_from_their_words() {
        let (mut sums, mut previous) = (Counters::default(), Previous::default());
        let (mut profile, mut last) = (Profile::default(), Last::default());
        for i in 0..50_u64 {
            let (offset, start) = ((i * i) as i64 - 3, 1000 * i + 7);
            sums.fold(&mut previous, offset, i << 20, start, start + i);
            let access =
                Access { writes: i % 3 == 0, offset, length: i, start, end: start + i, memory_unaligned: None };
            profile.fold(&mut last, access, 512);
        }
        let mut words = [u64::MAX; COUNTERS];
        put_counters(&sums, &mut words);
        assert_eq!(counters(&words), sums);
        put_counters(&Counters::default(), &mut words);
        assert_eq!(counters(&words), Counters::default());
        let mut spread = Spread::of(RankShare { rank: 3, time_ns: 5, bytes: u64::MAX });
        spread.merge(&Spread::of(RankShare { rank: 9, time_ns: 1 << 50, bytes: 1 }));
        let mut words = [u64::MAX; FILE];
        put_file(&profile, &spread, &mut words);
        assert_eq!(file(&words), (profile, spread));
        assert_ne!(words[FILE - 1], u64::MAX, "every word is used");
    }

    #[test]
    fn times_keep_their_order_across_the_barrier() {
        let times = [0, 5, 1000, 2000].map(|ns| aligned(ns, 1000));
        assert!(times.is_sorted() && times[0] > 0);
        assert_eq!(times.map(|time| since_epoch(time, 300)), [0, 0, 300, 1300]);
    }
}
