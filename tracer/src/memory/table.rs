//! Append-only tables of records that never move and are never freed. Adding a record is an atomic add. A record is found only once
//! complete: a record that another thread was writing when this child was forked is never found.
#![expect(unsafe_code, reason = "records in an area's memory")]

use super::growable_region::{Area, Lent};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Types that a table can hold.
///
/// # Safety
/// `VALID_WHEN_ZERO` may be true only if an all-zero record is valid and readers tolerate a record that is being written: readers can find
/// it before it is complete. Meant for records whose layout the spool's readers know.
pub(crate) unsafe trait Record: 'static {
    /// True if an all-zero record is valid, so that no completeness flag is stored (see Safety).
    const VALID_WHEN_ZERO: bool = false;
}

/// Record, followed by a flag that is set once the record is complete and may be found.
#[repr(C)]
struct Made<T> {
    record: T,
    ready: AtomicUsize,
}

pub(crate) struct Table<T: Record> {
    area: Area,
    of: PhantomData<T>,
}

impl<T: Record> Table<T> {
    /// Distance between consecutive records of the table, in bytes.
    const STRIDE: usize = if T::VALID_WHEN_ZERO { size_of::<T>() } else { size_of::<Made<T>>() };

    /// Returns a table that has no memory yet; see [`Self::prepare`].
    pub(crate) const fn new() -> Self {
        Self { area: Area::new(), of: PhantomData }
    }

    /// Reserves address space for `capacity` records, or fewer if the system refuses. Called from the library's constructor.
    pub(crate) fn prepare(&'static self, mut capacity: usize) {
        while capacity >= 64 && !self.area.prepare(capacity * Self::STRIDE) {
            capacity /= 2;
        }
    }

    /// Moves the table into `part` of the spool.
    ///
    /// # Safety
    /// The table must have no record yet, and `part` must stay mapped as long as the table may be used.
    pub(crate) unsafe fn lend(&'static self, part: Lent) {
        // SAFETY: the table and `part` meet the caller's promise.
        unsafe { self.area.lend(part) };
    }

    /// Backs (makes usable) the first `bytes` of the table ahead of need, because system calls are impossible later (seccomp); see
    /// [`Area::back_ahead`].
    pub(crate) fn back_ahead(&self, bytes: usize) {
        self.area.back_ahead(bytes);
    }

    /// Removes all records.
    ///
    /// # Safety
    /// No reference to a record may exist.
    pub(crate) unsafe fn clear(&self) {
        // SAFETY: no reference to a record exists, as the caller guarantees.
        unsafe { self.area.forget() };
    }

    pub(crate) fn capacity(&self) -> usize {
        self.area.capacity() / Self::STRIDE
    }

    pub(crate) fn len(&self) -> usize {
        self.area.used() / Self::STRIDE
    }

    fn place(&self, at: usize) -> *mut T {
        // SAFETY: callers got `at` from `take`, or have checked it against the used bytes.
        unsafe { self.area.start().add(at) }.cast()
    }

    /// Returns the word that is nonzero once the record at `place` is complete; `None` if records of this type have no such word.
    fn ready(place: *mut T) -> Option<&'static AtomicUsize> {
        if T::VALID_WHEN_ZERO {
            return None;
        }
        // SAFETY: `place` holds a `Made`; only an address is computed.
        let ready = unsafe { &raw const (*place.cast::<Made<T>>()).ready };
        // SAFETY: the word is aligned, mapped for good, and valid for any bits.
        Some(unsafe { &*ready })
    }

    /// Returns the record with this index, if it exists and is complete.
    pub(crate) fn get(&self, index: usize) -> Option<&'static T> {
        if index >= self.len() {
            return None;
        }
        let place = self.place(index * Self::STRIDE);
        if Self::ready(place).is_some_and(|ready| ready.load(Ordering::Acquire) == 0) {
            return None;
        }
        // SAFETY: the record is complete, or valid when all zero; it is aligned to less than a page, never moved, and only shared.
        Some(unsafe { &*place })
    }

    /// Returns the index in this table of `record`, which must belong to this table.
    pub(crate) fn index_of(&self, record: &T) -> usize {
        (std::ptr::from_ref(record).addr() - self.area.start().addr()) / Self::STRIDE
    }

    /// Adds `record` and returns it with its index; returns `None` if the table is full.
    pub(crate) fn push(&self, record: T) -> Option<(usize, &'static T)> {
        self.push_with(|_| record)
    }

    /// Like [`Self::push`], with a record that `record` creates from its own index.
    pub(crate) fn push_with(&self, record: impl FnOnce(usize) -> T) -> Option<(usize, &'static T)> {
        let at = self.area.take(|_| Some(Self::STRIDE))?;
        let (place, index) = (self.place(at), at / Self::STRIDE);
        // SAFETY: `take` gave the place to this call alone, and its memory is mapped.
        unsafe { place.write(record(index)) };
        if let Some(ready) = Self::ready(place) {
            ready.store(1, Ordering::Release);
        }
        // SAFETY: the record was just written, and never moves.
        Some((index, unsafe { &*place }))
    }

    /// Adds an all-zero record, whose fields the caller then sets in place. For records too large for a stack.
    pub(crate) fn push_zeroed(&self) -> Option<&'static T> {
        const { assert!(T::VALID_WHEN_ZERO) };
        let at = self.area.take(|_| Some(Self::STRIDE))?;
        // SAFETY: `take` gave the place to this call alone; the record is zeroed, valid, never moved, and only shared from now on.
        Some(unsafe { &*self.place(at) })
    }

    /// Iterates over all complete records with their indices.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (usize, &'static T)> {
        (0..self.len()).filter_map(|index| Some((index, self.get(index)?)))
    }

    /// Iterates over all complete records.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &'static T> {
        self.numbered().map(|(_, record)| record)
    }
}

// SAFETY: a zero byte is valid; bytes are reached only through the result of [`Bytes::keep`].
unsafe impl Record for u8 {
    const VALID_WHEN_ZERO: bool = true;
}

/// Append-only store of byte strings that are never freed: paths, layouts, arguments.
pub(crate) struct Bytes(Table<u8>);

impl Bytes {
    /// Returns a store that has no memory yet; see [`Self::prepare`].
    pub(crate) const fn new() -> Self {
        Self(Table::new())
    }

    /// Returns the number of bytes stored so far.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Reserves address space for `capacity` bytes; see [`Table::prepare`].
    pub(crate) fn prepare(&'static self, capacity: usize) {
        self.0.prepare(capacity);
    }

    /// Stores a copy of `bytes`; returns `None` if the store is full.
    pub(crate) fn keep(&self, bytes: &[u8]) -> Option<&'static [u8]> {
        self.keep_made(bytes.len(), |place| place.copy_from_slice(bytes))
    }

    /// Stores `length` bytes, which are zero until `make` fills them in; returns `None` if the store is full.
    pub(crate) fn keep_made(&self, length: usize, make: impl FnOnce(&mut [u8])) -> Option<&'static [u8]> {
        let at = self.0.area.take(|_| Some(length))?;
        if length == 0 {
            return Some(&[]);
        }
        // SAFETY: `take` gave room for the bytes to this call alone; no other thread reads them before it returns. Any bytes are valid.
        let place = unsafe { std::slice::from_raw_parts_mut(self.0.place(at), length) };
        make(place);
        Some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // SAFETY: the default (`VALID_WHEN_ZERO` is false) has no requirements.
    unsafe impl Record for u64 {}

    #[test]
    fn a_record_that_is_being_made_is_not_found() {
        static TABLE: Table<u64> = Table::new();
        TABLE.prepare(64);
        // Simulates a record that another thread had allocated but not written when this child was forked.
        assert!(TABLE.area.take(|_| Some(Table::<u64>::STRIDE)).is_some());
        assert_eq!(TABLE.push_with(|index| index as u64 + 5).unwrap(), (1, &6));
        assert_eq!((TABLE.len(), TABLE.get(0), TABLE.get(1)), (2, None, Some(&6)));
        assert_eq!(TABLE.numbered().collect::<Vec<_>>(), [(1, &6)]);
    }

    #[test]
    fn a_table_fills_up_and_says_so() {
        static TABLE: Table<u64> = Table::new();
        let table = &TABLE;
        assert!(table.push(1).is_none());
        table.prepare(64);
        for i in 0..64 {
            assert_eq!(table.push(i).unwrap(), (i as usize, &i));
        }
        assert!(table.push(64).is_none());
        assert_eq!((table.len(), table.get(63), table.get(64)), (64, Some(&63), None));
    }

    #[test]
    fn bytes_are_kept_whole_or_not_at_all() {
        static BYTES: Bytes = Bytes::new();
        let bytes = &BYTES;
        assert!(bytes.keep(b"a").is_none());
        bytes.prepare(64);
        assert_eq!(bytes.keep(b"abc"), Some(b"abc".as_slice()));
        assert_eq!(bytes.keep(&[1; 62]), None);
        assert_eq!(bytes.keep(&[1; 61]).map(<[u8]>::len), Some(61));
    }
}
