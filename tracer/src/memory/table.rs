//! Tables of records that are made once, never move and never go away. Making one is an atomic add.
#![expect(unsafe_code, reason = "records in an area's memory")]

use super::area::{Area, Lent};
use std::marker::PhantomData;

/// A table.
pub(crate) struct Table<T: 'static> {
    area: Area,
    of: PhantomData<T>,
}

impl<T: 'static> Table<T> {
    /// A table without memory.
    pub(crate) const fn new() -> Self {
        Self { area: Area::new(), of: PhantomData }
    }

    /// Gives the table room for `capacity` records, or less if the system refuses. For the constructor.
    pub(crate) fn prepare(&self, mut capacity: usize) {
        while capacity >= 64 && !self.area.prepare(capacity * size_of::<T>()) {
            capacity /= 2;
        }
    }

    /// From now on its records lie in the spool. There may be none yet.
    pub(crate) fn lend(&self, part: Lent) {
        self.area.lend(part);
    }

    /// As [`Area::back_ahead`].
    pub(crate) fn back_ahead(&self, bytes: usize) {
        self.area.back_ahead(bytes);
    }

    /// Forgets all records. Nobody may hold one.
    pub(crate) fn clear(&self) {
        self.area.forget();
    }

    /// Records made so far.
    pub(crate) fn len(&self) -> usize {
        self.area.used() / size_of::<T>()
    }

    fn place(&self, at: usize) -> *mut T {
        // SAFETY: callers have `at` from `take`, or have compared it with what is used.
        unsafe { self.area.start().add(at) }.cast()
    }

    /// Record `index`, if it has been made. A record just being made may still be all zero.
    pub(crate) fn get(&self, index: usize) -> Option<&'static T> {
        if index >= self.len() {
            return None;
        }
        // SAFETY: records of a `Table` are valid when all zero, aligned to less than a page, and only shared.
        Some(unsafe { &*self.place(index * size_of::<T>()) })
    }

    /// Index of a record of this table.
    pub(crate) fn index_of(&self, record: &T) -> usize {
        (std::ptr::from_ref(record).addr() - self.area.start().addr()) / size_of::<T>()
    }

    /// Places `record` and returns it with its index; `None` when the table is full.
    pub(crate) fn push(&self, record: T) -> Option<(usize, &'static T)> {
        let at = self.area.take(|_| Some(size_of::<T>()))?;
        let place = self.place(at);
        // SAFETY: the place was given to this call alone, so nobody else writes here; the memory is mapped.
        unsafe { place.write(record) };
        // SAFETY: just written, never moved.
        Some((at / size_of::<T>(), unsafe { &*place }))
    }

    /// All records.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &'static T> {
        (0..self.len()).filter_map(|index| self.get(index))
    }
}

/// Bytes that are kept for good: paths, layouts, arguments.
pub(crate) struct Bytes(Table<u8>);

impl Bytes {
    /// A store without memory.
    pub(crate) const fn new() -> Self {
        Self(Table::new())
    }

    /// As [`Table::prepare`].
    pub(crate) fn prepare(&self, capacity: usize) {
        self.0.prepare(capacity);
    }

    /// Keeps a copy of `bytes`; `None` when the store is full.
    pub(crate) fn keep(&self, bytes: &[u8]) -> Option<&'static [u8]> {
        let at = self.0.area.take(|_| Some(bytes.len()))?;
        if bytes.is_empty() {
            return Some(&[]);
        }
        let place = self.0.place(at);
        // SAFETY: `place` has room for the bytes, given to this call alone, and does not overlap them.
        unsafe { place.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        // SAFETY: just written, never changed again.
        Some(unsafe { std::slice::from_raw_parts(place, bytes.len()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_fills_up_and_says_so() {
        let table = Table::<u64>::new();
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
        let bytes = Bytes::new();
        assert!(bytes.keep(b"a").is_none());
        bytes.prepare(64);
        assert_eq!(bytes.keep(b"abc"), Some(b"abc".as_slice()));
        assert_eq!(bytes.keep(&[1; 62]), None);
        assert_eq!(bytes.keep(&[1; 61]).map(<[u8]>::len), Some(61));
    }
}
