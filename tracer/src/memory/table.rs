//! Tables of records that are made once, never move and never go away. Making one is an atomic add. A record can be found
//! once it is whole: one that was half made by another thread when this child was forked is never found.
#![expect(unsafe_code, reason = "records in an area's memory")]

use super::area::{Area, Lent};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What a table may hold.
///
/// # Safety
/// `VALID_WHEN_ZERO` may be true only where a record of zeros is a valid one, and where readers tolerate one that is being
/// written: it can be found before it is made. For records whose form the spool's readers know.
pub(crate) unsafe trait Record: 'static {
    /// See above.
    const VALID_WHEN_ZERO: bool = false;
}

/// A record, and behind it whether it is whole.
#[repr(C)]
struct Made<T> {
    record: T,
    ready: AtomicUsize,
}

/// A table.
pub(crate) struct Table<T: Record> {
    area: Area,
    of: PhantomData<T>,
}

impl<T: Record> Table<T> {
    /// Bytes from one record to the next.
    const STRIDE: usize = if T::VALID_WHEN_ZERO { size_of::<T>() } else { size_of::<Made<T>>() };

    /// A table without memory.
    pub(crate) const fn new() -> Self {
        Self { area: Area::new(), of: PhantomData }
    }

    /// Gives the table room for `capacity` records, or less if the system refuses. For the constructor.
    pub(crate) fn prepare(&'static self, mut capacity: usize) {
        while capacity >= 64 && !self.area.prepare(capacity * Self::STRIDE) {
            capacity /= 2;
        }
    }

    /// From now on its records lie in the spool.
    ///
    /// # Safety
    /// There is no record yet, and `part` stays mapped for as long as the table may be used.
    pub(crate) unsafe fn lend(&'static self, part: Lent) {
        // SAFETY: the caller's.
        unsafe { self.area.lend(part) };
    }

    /// As [`Area::back_ahead`].
    pub(crate) fn back_ahead(&self, bytes: usize) {
        self.area.back_ahead(bytes);
    }

    /// Forgets all records.
    ///
    /// # Safety
    /// Nobody holds a reference to one.
    pub(crate) unsafe fn clear(&self) {
        // SAFETY: the caller's.
        unsafe { self.area.forget() };
    }

    /// Records that there may be.
    pub(crate) fn capacity(&self) -> usize {
        self.area.capacity() / Self::STRIDE
    }

    /// Records made so far.
    pub(crate) fn len(&self) -> usize {
        self.area.used() / Self::STRIDE
    }

    fn place(&self, at: usize) -> *mut T {
        // SAFETY: callers have `at` from `take`, or have compared it with what is used.
        unsafe { self.area.start().add(at) }.cast()
    }

    /// Whether the record at `place` is whole, as a word that says so; `None` where every record is.
    fn ready(place: *mut T) -> Option<&'static AtomicUsize> {
        if T::VALID_WHEN_ZERO {
            return None;
        }
        // SAFETY: the place is that of a `Made`; only an address is computed.
        let ready = unsafe { &raw const (*place.cast::<Made<T>>()).ready };
        // SAFETY: aligned, mapped for good, any bits are valid.
        Some(unsafe { &*ready })
    }

    /// Record `index`, if it has been made.
    pub(crate) fn get(&self, index: usize) -> Option<&'static T> {
        if index >= self.len() {
            return None;
        }
        let place = self.place(index * Self::STRIDE);
        if Self::ready(place).is_some_and(|ready| ready.load(Ordering::Acquire) == 0) {
            return None;
        }
        // SAFETY: whole, or valid when all zero; aligned to less than a page, never moved, and only shared.
        Some(unsafe { &*place })
    }

    /// Index of a record of this table.
    pub(crate) fn index_of(&self, record: &T) -> usize {
        (std::ptr::from_ref(record).addr() - self.area.start().addr()) / Self::STRIDE
    }

    /// Places `record` and returns it with its index; `None` when the table is full.
    pub(crate) fn push(&self, record: T) -> Option<(usize, &'static T)> {
        self.push_with(|_| record)
    }

    /// As [`Self::push`], for a record that has its index in it.
    pub(crate) fn push_with(&self, record: impl FnOnce(usize) -> T) -> Option<(usize, &'static T)> {
        let at = self.area.take(|_| Some(Self::STRIDE))?;
        let (place, index) = (self.place(at), at / Self::STRIDE);
        // SAFETY: the place was given to this call alone, so nobody else writes here; the memory is mapped.
        unsafe { place.write(record(index)) };
        if let Some(ready) = Self::ready(place) {
            ready.store(1, Ordering::Release);
        }
        // SAFETY: just written, never moved.
        Some((index, unsafe { &*place }))
    }

    /// A new record of zeros, which is valid; for one that is too large for a stack. What differs is set in its place.
    pub(crate) fn push_zeroed(&self) -> Option<&'static T> {
        const { assert!(T::VALID_WHEN_ZERO) };
        let at = self.area.take(|_| Some(Self::STRIDE))?;
        // SAFETY: given to this call alone, zeroed, never moved, valid, and only shared from now on.
        Some(unsafe { &*self.place(at) })
    }

    /// All records, with their indices: one that is being made is left out.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (usize, &'static T)> {
        (0..self.len()).filter_map(|index| Some((index, self.get(index)?)))
    }

    /// All records.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &'static T> {
        self.numbered().map(|(_, record)| record)
    }
}

// SAFETY: a byte is valid when zero; nobody finds bytes but through what [`Bytes::keep`] returns.
unsafe impl Record for u8 {
    const VALID_WHEN_ZERO: bool = true;
}

/// Bytes that are kept for good: paths, layouts, arguments.
pub(crate) struct Bytes(Table<u8>);

impl Bytes {
    /// A store without memory.
    pub(crate) const fn new() -> Self {
        Self(Table::new())
    }

    /// Bytes kept so far.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// As [`Table::prepare`].
    pub(crate) fn prepare(&'static self, capacity: usize) {
        self.0.prepare(capacity);
    }

    /// Keeps a copy of `bytes`; `None` when the store is full.
    pub(crate) fn keep(&self, bytes: &[u8]) -> Option<&'static [u8]> {
        self.keep_made(bytes.len(), |place| place.copy_from_slice(bytes))
    }

    /// Keeps `length` bytes that `make` writes over zeros; `None` when the store is full.
    pub(crate) fn keep_made(&self, length: usize, make: impl FnOnce(&mut [u8])) -> Option<&'static [u8]> {
        let at = self.0.area.take(|_| Some(length))?;
        if length == 0 {
            return Some(&[]);
        }
        // SAFETY: room for the bytes, given to this call alone, which nobody reads before it returns; zero or any other bytes.
        let place = unsafe { std::slice::from_raw_parts_mut(self.0.place(at), length) };
        make(place);
        Some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // SAFETY: the default needs nothing.
    unsafe impl Record for u64 {}

    #[test]
    fn a_record_that_is_being_made_is_not_found() {
        static TABLE: Table<u64> = Table::new();
        TABLE.prepare(64);
        // As another thread may have left it when this child was forked: taken, and not written.
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
