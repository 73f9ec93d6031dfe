//! Progress of folding scratch buffers ([`scratch`]), that is of adding their segments to counters, and the undoing of unfinished
//! additions.

use super::parts::{u32_at, u64_at};
use super::sparse::Sparse;
use super::{folded, scratch};
use crate::counters::{SIZE_BINS, size_bin};
use crate::segment::{MARKS, Segment};

/// Addition of a scratch buffer's segments to the counters (fold) that is in progress, or was in progress when the process was killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fold {
    /// Bit mask of the slots that are already in the counters.
    pub(super) counted: u64,
    /// Bit mask of further slots that may be in the counters already: the slots of the stream that was being added. `Some(0)` from version
    /// 5 on, because [`take_back`] undoes unfinished additions. `None` in spools of version 4 that do not state the stream: then the
    /// consecutive slots of one stream after the counted slots may be in the counters.
    pub(super) counting: Option<u64>,
}

/// Returns the addition of the scratch buffer's segments to the counters that is in progress, if any.
pub(super) fn fold(scratch: &[u8], is_of_version_4: bool) -> Option<Fold> {
    let [counted, counting] = [scratch::COUNTED, scratch::COUNTING].map(|at| u64_at(scratch, at));
    if !is_of_version_4 {
        return (counting != 0).then_some(Fold { counted, counting: Some(0) });
    }
    let done = (u32_at(scratch, scratch::FOLDED) as usize).checked_sub(1)?;
    if counting != 0 {
        return Some(Fold { counted, counting: Some(counting & !counted) });
    }
    let counted = if done < scratch::SLOTS { (1 << done) - 1 } else { u64::MAX };
    Some(Fold { counted, counting: None })
}

/// Undoes unfinished additions of a killed process in `counters`; the segments are still in the slots of `scratches`.
pub(super) fn take_back(counters: &mut Sparse, scratches: &Sparse) {
    let unfinished = counters.records(folded::BYTES).filter_map(|(number, entry)| {
        let scratch = scratches.record(adder(entry)?, scratch::BYTES)?;
        Some((number, scratch))
    });
    for (number, scratch) in unfinished.collect::<Vec<_>>() {
        if let Some(entry) = counters.bytes.get_mut(number * folded::BYTES..(number + 1) * folded::BYTES) {
            take_back_from(entry, scratch);
        }
    }
}

/// Undoes an unfinished addition of segments in the scratch buffer `scratch` to `entry`, the counters of one stream (operation on a file).
pub(super) fn take_back_from(entry: &mut [u8], scratch: &[u8]) {
    if let Some(lengths) = being_added(entry, scratch) {
        before_adding(entry, &lengths);
    }
}

/// Returns the number of the scratch buffer whose segments are being added to `entry`, the counters of one stream (operation on a file);
/// `None` if no addition is in progress.
pub(super) fn adder(entry: &[u8]) -> Option<usize> {
    usize::try_from(u64_at(entry, folded::ADDER).checked_sub(1)?).ok()
}

/// Returns the lengths of the segments in `scratch` that are being added to `entry`, the counters of one stream (operation on a file);
/// `None` if no addition is in progress.
fn being_added(entry: &[u8], scratch: &[u8]) -> Option<Vec<u64>> {
    let members = u64_at(scratch, scratch::COUNTING) & !u64_at(scratch, scratch::COUNTED);
    let slots = scratch.get(scratch::FIRST..)?.chunks_exact(size_of::<Segment>()).enumerate();
    let is_new = |end: u64| end != 0 && end & MARKS == 0;
    let segments = slots.filter(|(at, slot)| members >> at & 1 != 0 && is_new(u64_at(slot, 24)));
    let segments: Vec<Segment> =
        segments.map(|(_, slot)| Segment { word: u64_at(slot, 8), ..Segment::default() }).collect();
    // While the process runs, the scratch buffer and the counters may have been copied at different times.
    let is_its = |one: &Segment| u64::from(one.stream().0) + 1 == u64_at(entry, folded::STREAM);
    (members != 0 && segments.iter().all(is_its)).then(|| segments.iter().map(Segment::length).collect())
}

/// Restores one stream's counters to their state before an addition. Sums are restored from saved values. The histogram of sizes was to be
/// updated last, bin after bin: its bins are reduced until their total equals the restored number of segments.
fn before_adding(entry: &mut [u8], lengths: &[u64]) {
    let mut set = |at: usize, change: &dyn Fn(&[u8], u64) -> u64| {
        let value = change(entry, u64_at(entry, at));
        entry[at..at + 8].copy_from_slice(&value.to_le_bytes());
    };
    let sums = (0..folded::BASES - 1).map(|i| folded::SUMS + i * 8);
    for (i, at) in sums.chain([folded::PREVIOUS]).enumerate() {
        set(at, &|entry, _| u64_at(entry, folded::BASE + i * 8));
    }
    let mut added = [0; SIZE_BINS];
    lengths.iter().for_each(|length| added[size_bin(*length)] += 1);
    let sizes = |bin: usize| folded::SIZES + bin * 8;
    for (bin, added) in added.into_iter().enumerate() {
        set(sizes(bin), &|entry, now| {
            let all: u64 = (0..SIZE_BINS).map(|bin| u64_at(entry, sizes(bin))).sum();
            now.saturating_sub(all.saturating_sub(u64_at(entry, folded::SUMS)).min(added))
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::StreamId;

    fn put(bytes: &mut [u8], at: usize, value: u64) {
        bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
    }

    /// Adds five slots of two streams to the counters step by step, one memory write per step, and kills the process after each step.
    #[test]
    fn what_a_killed_process_was_adding_is_in_slots_or_in_counters() {
        let lengths = [1_u64, 5000, 5000, 2, 1 << 40];
        let (mut scratch, counters) = (vec![0; scratch::BYTES], vec![0; 2 * folded::BYTES]);
        for (slot, length) in lengths.into_iter().enumerate() {
            let stream = StreamId(u32::from(slot == 3));
            let word = crate::segment::pack(stream, length);
            put(&mut scratch, scratch::FIRST + slot * 32 + 8, word);
            put(&mut scratch, scratch::FIRST + slot * 32 + 24, 9);
        }
        let mut steps: Vec<(bool, usize, u64)> = Vec::new();
        let mut counted = 0;
        for (stream, members) in [(0, 0b10111_u64), (1, 0b01000)] {
            let at = stream * folded::BYTES;
            let mut entry = |place: usize, value: u64| steps.push((true, at + place, value));
            entry(folded::STREAM, stream as u64 + 1);
            steps.push((false, scratch::COUNTING, members));
            let mut entry = |place: usize, value: u64| steps.push((true, at + place, value));
            entry(folded::ADDER, folded::PREPARING | 1);
            (0..folded::BASES).for_each(|i| entry(folded::BASE + i * 8, 0));
            entry(folded::ADDER, 1);
            let own = |slot: &usize| members >> slot & 1 != 0;
            let own: Vec<u64> = (0..5).filter(own).map(|slot| lengths[slot]).collect();
            let bytes = own.iter().sum();
            [own.len() as u64, bytes, 7, 2, 3]
                .into_iter()
                .enumerate()
                .for_each(|(i, sum)| entry(folded::SUMS + i * 8, sum));
            entry(folded::PREVIOUS, 77);
            for bin in 0..SIZE_BINS {
                let count = own.iter().filter(|length| size_bin(**length) == bin).count() as u64;
                entry(folded::SIZES + bin * 8, count);
            }
            counted |= members;
            steps.push((false, scratch::COUNTED, counted));
            steps.push((true, at + folded::ADDER, 0));
        }
        for kill in 0..=steps.len() {
            let (mut scratch, mut counters) = (scratch.clone(), counters.clone());
            for &(of_counters, at, value) in &steps[..kill] {
                put(if of_counters { &mut counters } else { &mut scratch }, at, value);
            }
            let mut counters = Sparse::from(&counters[..]);
            take_back(&mut counters, &Sparse::from(&scratch[..]));
            let counted = fold(&scratch, false).map_or(0, |fold| fold.counted);
            let in_counters: Vec<u64> =
                (0..5).filter(|slot| counted >> slot & 1 != 0).map(|slot| lengths[slot]).collect();
            let all = |at: usize| counters.records(folded::BYTES).map(|(_, entry)| u64_at(entry, at)).sum::<u64>();
            assert_eq!(all(folded::SUMS), in_counters.len() as u64, "{kill}");
            assert_eq!(all(folded::SUMS + 8), in_counters.iter().sum::<u64>(), "{kill}");
            for bin in 0..SIZE_BINS {
                let wanted = in_counters.iter().filter(|length| size_bin(**length) == bin).count() as u64;
                assert_eq!(all(folded::SIZES + bin * 8), wanted, "{kill}, bin {bin}");
            }
        }
    }
}
