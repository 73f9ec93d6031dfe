//! Lock-free hash table of fixed size, with open addressing. An entry is claimed by compare-and-swap of its key word, then filled, then
//! published by storing its key. Several entries may have the same key; all entries of a key lie in one window of adjacent entries. A
//! search ends at an entry that was never used, since a new entry takes the first free place of its window. No thread waits for another, so
//! signal handlers may use the table. A caller that looks up an entry without holding it must ensure that no thread removes the entry
//! meanwhile.
#![expect(unsafe_code, reason = "all-zero entries; a window's bounds")]

use std::mem::MaybeUninit;
use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};

// Key words of entries without a key. Key words of entries with a key are odd.
/// Key word of a table entry that was never used.
const NEVER: usize = 0;
/// Key word of a table entry that one thread fills or holds, so that no other thread finds it.
const BUSY: usize = 2;
/// Key word of a table entry that was used and is free again.
const FREE: usize = 4;

/// Returns the word that stands for a key in a table entry. Drops the highest bit, which no address, handle or descriptor of a process has.
const fn word_of(key: usize) -> usize {
    key << 1 | 1
}

fn key_of(word: usize) -> Option<usize> {
    (word & 1 != 0).then_some(word >> 1)
}

/// Types of values that the entries of a [`FixedTable`] can hold.
///
/// # Safety
/// All-zero bytes must be a valid value.
pub(crate) unsafe trait Zeroed {}

// SAFETY: an all-zero atomic number is valid.
unsafe impl Zeroed for AtomicUsize {}

pub(crate) struct Entry<V> {
    word: AtomicUsize,
    value: V,
}

/// Hash table of `CAPACITY` entries. A key's entries lie within `WINDOW` adjacent entries. If `WINDOW` equals `CAPACITY`, each key may use
/// all entries, and a new entry takes the first free place of the table.
pub(crate) struct FixedTable<V, const CAPACITY: usize, const WINDOW: usize> {
    entries: [Entry<V>; CAPACITY],
    /// Number of entries of the table that are in use.
    used: AtomicUsize,
}

impl<V> Deref for Entry<V> {
    type Target = V;

    fn deref(&self) -> &V {
        &self.value
    }
}

// Loads and compare-and-swap are SeqCst: `handles/rings.rs` needs them in one order with its own accesses. That costs nothing on x86-64 and AArch64.
impl<V> Entry<V> {
    /// Returns the entry's key; `None` if the entry is free or busy.
    pub(crate) fn key(&self) -> Option<usize> {
        key_of(self.word.load(Ordering::SeqCst))
    }

    /// True if the entry has this key and is neither free nor busy.
    pub(crate) fn is(&self, key: usize) -> bool {
        self.word.load(Ordering::SeqCst) == word_of(key)
    }

    /// Claims the entry if it still has this key. No thread finds the entry until it is published or removed.
    pub(crate) fn hold(&self, key: usize) -> bool {
        // Acquire on failure: the thread that holds the entry may have added other entries before, which the caller examines next.
        self.word.compare_exchange(word_of(key), BUSY, Ordering::SeqCst, Ordering::Acquire).is_ok()
    }

    /// Publishes a claimed entry under this key.
    pub(crate) fn publish(&self, key: usize) {
        self.word.store(word_of(key), Ordering::Release);
    }

    /// Claims the entry if it is free: no other thread can claim or find it from then on.
    fn claim(&self) -> bool {
        let word = self.word.load(Ordering::Relaxed);
        matches!(word, NEVER | FREE)
            && self.word.compare_exchange(word, BUSY, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }
}

impl<V: Zeroed, const CAPACITY: usize, const WINDOW: usize> FixedTable<V, CAPACITY, WINDOW> {
    /// Number of entries at which a window (adjacent entries that are searched for a key) may start.
    const STARTS: usize = CAPACITY - WINDOW + 1;

    /// Returns an empty table.
    pub(crate) const fn new() -> Self {
        // SAFETY: all-zero bytes are a valid counter, key words of entries never used, and valid values (`Zeroed`).
        unsafe { MaybeUninit::zeroed().assume_init() }
    }

    /// Returns the window (adjacent entries) that may hold this key word.
    fn window(&self, word: usize) -> &[Entry<V>] {
        // Multiplicative hash, scaled to `STARTS`: spreads addresses as well as small numbers.
        let mixed = word.wrapping_mul(0x9E37_79B9_7F4A_7C15) as u128;
        let first = ((mixed * Self::STARTS as u128) >> usize::BITS) as usize;
        // SAFETY: `mixed` is below 2^64, so `first` is below `STARTS`.
        unsafe { self.entries.get_unchecked(first..first + WINDOW) }
    }

    /// Adds an entry: `fill` stores its value before any other thread finds the entry. Returns `None` if the key's window is full.
    pub(crate) fn add(&self, key: usize, fill: impl FnOnce(&V)) -> Option<&Entry<V>> {
        let entry = self.window(word_of(key)).iter().find(|entry| entry.claim())?;
        self.used.fetch_add(1, Ordering::Relaxed);
        fill(&entry.value);
        entry.publish(key);
        Some(entry)
    }

    /// Removes an entry, which the caller must have claimed.
    pub(crate) fn remove(&self, held: &Entry<V>) {
        self.used.fetch_sub(1, Ordering::Relaxed);
        held.word.store(FREE, Ordering::Release);
    }

    /// Makes room in the window of this key, which is full: removes the entry at index `choice` (modulo the window's size).
    pub(crate) fn evict(&self, key: usize, choice: usize) {
        let entry = &self.window(word_of(key))[choice % WINDOW];
        if entry.key().is_some_and(|key| entry.hold(key)) {
            self.remove(entry);
        }
    }

    pub(crate) fn find(&self, key: usize) -> Option<&Entry<V>> {
        self.all(key).next()
    }

    pub(crate) fn all(&self, key: usize) -> impl Iterator<Item = &Entry<V>> {
        let word = word_of(key);
        let words = self.window(word).iter().map(|entry| (entry.word.load(Ordering::Acquire), entry));
        words.take_while(|(found, _)| *found != NEVER).filter(move |(found, _)| *found == word).map(|(_, entry)| entry)
    }

    /// Iterates over the keys and entries of the table.
    pub(crate) fn live(&self) -> impl Iterator<Item = (usize, &Entry<V>)> {
        let words = self.entries.iter().map(|entry| (entry.word.load(Ordering::Acquire), entry));
        // If the window is the whole table, no entry follows one that was never used.
        let reached = words.take_while(|(word, _)| WINDOW < CAPACITY || *word != NEVER);
        reached.filter_map(|(word, entry)| Some((key_of(word)?, entry)))
    }

    /// Returns the number of entries of the table that are in use.
    pub(crate) fn len(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Removes all entries, in a forked child, which has one thread. Calls `each` with the value of every entry, also of entries that
    /// another thread of the parent was using or changing at the fork.
    pub(crate) fn clear(&self, each: impl Fn(&Entry<V>)) {
        for entry in &self.entries {
            each(entry);
            entry.word.store(NEVER, Ordering::Relaxed);
        }
        self.used.store(0, Ordering::Relaxed);
    }

    /// Returns the index of an entry of this table.
    pub(crate) fn index_of(&self, entry: &Entry<V>) -> usize {
        (std::ptr::from_ref(entry).addr() - self.entries.as_ptr().addr()) / size_of::<Entry<V>>()
    }

    /// Returns the entry at `index`, regardless of its key.
    pub(crate) fn get(&self, index: usize) -> Option<&Entry<V>> {
        self.entries.get(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Numbers = FixedTable<AtomicUsize, 4096, 32>;

    fn add(table: &Numbers, key: usize, number: usize) -> bool {
        table.add(key, |value| value.store(number, Ordering::Relaxed)).is_some()
    }

    fn take(table: &Numbers, key: usize) -> Option<usize> {
        let entry = table.all(key).find(|entry| entry.hold(key))?;
        table.remove(entry);
        Some(entry.load(Ordering::Relaxed))
    }

    #[test]
    fn entries_come_and_go() {
        let table = Numbers::new();
        // Small numbers, addresses, and the highest key.
        let keys = || (0..500).chain((0..500).map(|page| 0x7F00_0000_0000 + page * 64)).chain([usize::MAX >> 1]);
        for key in keys() {
            assert!(table.find(key).is_none() && add(&table, key, key + 1));
            assert!(table.find(key).is_some_and(|entry| entry.is(key) && entry.key() == Some(key)));
        }
        assert!(table.len() == 1001 && table.live().all(|(key, number)| number.load(Ordering::Relaxed) == key + 1));
        assert!(
            keys().all(|key| take(&table, key) == Some(key + 1) && take(&table, key).is_none()) && table.len() == 0
        );
    }

    #[test]
    fn a_full_window_accepts_no_more() {
        let table = Numbers::new();
        assert!((0..32).all(|number| add(&table, 5, number)) && !add(&table, 5, 32));
        // Entries after a free one are found, and the free one is used again.
        assert!(take(&table, 5) == Some(0) && table.all(5).count() == 31);
        assert!(add(&table, 5, 33) && !add(&table, 5, 34) && table.find(5).unwrap().load(Ordering::Relaxed) == 33);
        table.evict(5, 32);
        assert_eq!(take(&table, 5), Some(1));
        table.clear(|number| number.store(0, Ordering::Relaxed));
        assert!(table.len() == 0 && table.find(5).is_none() && table.live().next().is_none());
    }

    #[test]
    fn a_table_of_one_window_is_searched_from_its_start() {
        let table = FixedTable::<AtomicUsize, 8, 8>::new();
        assert!((1..4).all(|key| table.add(key, |value| value.store(key, Ordering::Relaxed)).is_some()));
        let first = table.find(1).unwrap();
        assert!(first.hold(1));
        table.remove(first);
        // Entries after a freed one are still found.
        assert_eq!(table.live().map(|(key, _)| key).collect::<Vec<_>>(), [2, 3]);
        assert!(table.find(3).is_some_and(|entry| table.index_of(entry) == 2 && table.get(2).unwrap().is(3)));
        assert!((4..10).all(|key| table.add(key, |_| ()).is_some()) && table.add(10, |_| ()).is_none());
        table.clear(|value| value.store(7, Ordering::Relaxed));
        table.clear(|value| assert_eq!(value.load(Ordering::Relaxed), 7, "also if no entry is in use"));
    }

    #[test]
    fn a_held_entry_is_not_found() {
        let table = Numbers::new();
        assert!(add(&table, 5, 1));
        let held = table.find(5).unwrap();
        assert!(!held.hold(6) && held.hold(5) && !held.hold(5) && held.key().is_none() && !held.is(5));
        // Its key may be used again meanwhile.
        assert!(take(&table, 5).is_none() && add(&table, 5, 2) && table.live().count() == 1);
        held.publish(5);
        assert_eq!([0; 3].map(|_| take(&table, 5)), [Some(1), Some(2), None]);
    }
}
