use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Set of a spool's segments that were already delivered, by thread, chunk (segment buffer) and slot. The set stays small, because slots
/// are stored only for chunks that are still being filled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shown {
    threads: BTreeMap<u32, Thread>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Thread {
    /// Sequence number below which all chunks (segment buffers) were delivered completely.
    below: u32,
    /// Sequence numbers at or above `below` of chunks (segment buffers) that were delivered completely.
    done: BTreeSet<u32>,
    /// Bit mask of the slots whose segments were delivered, for each chunk (segment buffer) not delivered completely.
    slots: BTreeMap<u32, Vec<u64>>,
}

impl Shown {
    /// Returns the approximate memory used by the set, in bytes.
    pub(super) fn weight(&self) -> usize {
        let of_slots = |one: &Thread| one.slots.values().map(|bits| 64 + bits.len() * 8).sum::<usize>();
        self.threads.values().map(|one| 128 + one.done.len() * 16 + of_slots(one)).sum()
    }

    /// True if all segments of the chunk (segment buffer) were delivered.
    pub(super) fn is_done(&self, thread: u32, sequence: u32) -> bool {
        self.threads.get(&thread).is_some_and(|one| sequence < one.below || one.done.contains(&sequence))
    }

    /// True if the segment in slot `slot` of the chunk (segment buffer) was delivered.
    pub(super) fn has(&self, thread: u32, sequence: u32, slot: u32) -> bool {
        let Some(one) = self.threads.get(&thread) else { return false };
        let bits = one.slots.get(&sequence).and_then(|bits| bits.get(slot as usize / 64));
        self.is_done(thread, sequence) || bits.is_some_and(|bits| bits >> (slot % 64) & 1 != 0)
    }

    /// Marks the segment in slot `slot` of the chunk (segment buffer) as delivered; returns false if it was delivered already.
    pub(super) fn mark(&mut self, thread: u32, sequence: u32, slot: u32) -> bool {
        if self.has(thread, sequence, slot) {
            return false;
        }
        let bits = self.threads.entry(thread).or_default().slots.entry(sequence).or_default();
        let (word, bit) = (slot as usize / 64, slot % 64);
        if bits.len() <= word {
            bits.resize(word + 1, 0);
        }
        bits[word] |= 1 << bit;
        true
    }

    pub(super) fn finish(&mut self, thread: u32, sequence: u32) {
        let one = self.threads.entry(thread).or_default();
        one.slots.remove(&sequence);
        if sequence >= one.below {
            one.done.insert(sequence);
        }
        while one.done.remove(&one.below) {
            one.below += 1;
        }
    }

    /// Returns the first slot of the chunk (segment buffer) whose segment may not have been delivered.
    pub(super) fn first_unknown(&self, thread: u32, sequence: u32) -> usize {
        let bits = self.threads.get(&thread).and_then(|one| one.slots.get(&sequence));
        let Some(bits) = bits else { return 0 };
        let whole = bits.iter().take_while(|word| **word == u64::MAX).count();
        whole * 64 + bits.get(whole).map_or(0, |word| word.trailing_ones() as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_given_once_and_what_is_done_takes_no_room() {
        let mut shown = Shown::default();
        for slot in (0..130).chain([140]) {
            assert_eq!(shown.first_unknown(1, 0), slot.min(130) as usize);
            assert!(shown.mark(1, 0, slot) && !shown.mark(1, 0, slot));
        }
        assert!(!shown.has(1, 0, 135) && shown.has(1, 0, 140) && !shown.has(2, 0, 140));
        for sequence in [2, 0, 3] {
            shown.finish(1, sequence);
        }
        assert!(shown.is_done(1, 0) && !shown.is_done(1, 1) && shown.is_done(1, 3) && !shown.mark(1, 2, 7));
        shown.finish(1, 1);
        let one = &shown.threads[&1];
        assert_eq!((one.below, one.done.len(), one.slots.len()), (4, 0, 0));
        let text = serde_json::to_string(&shown).unwrap();
        assert_eq!(serde_json::from_str::<Shown>(&text).unwrap(), shown);
    }
}
