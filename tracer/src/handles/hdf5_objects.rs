//! Open HDF5 files and data sets by identifier. Identifiers grow and are hardly ever used again, so a row of the table is
//! small, and a new object takes an old one's place when its row is full; what is not found is asked for again.
#![expect(unsafe_code, reason = "references into reserved memory")]

use crate::registry::{DataSet, File};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

const ROWS: usize = 1 << 10;
const PLACES: usize = 8;
/// Tells a data set's address from a file's; records are aligned to more than this.
const IS_DATA_SET: usize = 1;

/// What an identifier stands for.
#[derive(Clone, Copy)]
pub(crate) enum Hdf5Object {
    /// An open file.
    File(&'static File),
    /// An open data set.
    DataSet(&'static DataSet),
}

/// An identifier of one of the HDF5 libraries of the process.
#[derive(Clone, Copy)]
pub(crate) struct Hdf5Id {
    /// The library.
    pub(crate) library: usize,
    /// The number that it gave.
    pub(crate) id: i64,
}

struct Place {
    /// Identifier and library in one, or 0.
    key: AtomicU64,
    object: AtomicUsize,
}

static TABLE: [[Place; PLACES]; ROWS] =
    [const { [const { Place { key: AtomicU64::new(0), object: AtomicUsize::new(0) } }; PLACES] }; ROWS];

impl Hdf5Id {
    /// The upper byte of an identifier is its type, the lower part a running number; what lies between is free for the
    /// library's address, whose lowest and highest bits say nothing.
    fn key(self) -> u64 {
        (self.id as u64) ^ ((self.library as u64) << 20 & 0x00ff_ffff_ff00_0000)
    }

    fn row(self) -> &'static [Place; PLACES] {
        let mixed = self.key().wrapping_mul(0x9E37_79B9_7F4A_7C15);
        &TABLE[(mixed >> 54) as usize % ROWS]
    }

    /// What it stands for, if that is remembered.
    pub(crate) fn find(self) -> Option<Hdf5Object> {
        let key = self.key();
        let place = self.row().iter().find(|place| place.key.load(Ordering::Acquire) == key)?;
        let object = place.object.load(Ordering::Acquire);
        // Another thread may have given the place to another object meanwhile.
        if object == 0 || place.key.load(Ordering::Acquire) != key {
            return None;
        }
        Some(if object & IS_DATA_SET != 0 {
            // SAFETY: put there by `remember`, and records never go away.
            Hdf5Object::DataSet(unsafe { &*((object & !IS_DATA_SET) as *const DataSet) })
        } else {
            // SAFETY: likewise.
            Hdf5Object::File(unsafe { &*(object as *const File) })
        })
    }

    /// It stands for `object`.
    pub(crate) fn remember(self, object: Hdf5Object) {
        let (key, row) = (self.key(), self.row());
        let mine = row.iter().find(|place| place.key.load(Ordering::Relaxed) == key);
        let free = || row.iter().find(|place| place.key.load(Ordering::Relaxed) == 0);
        let place = mine.or_else(free).unwrap_or(&row[self.id as usize % PLACES]);
        place.key.store(0, Ordering::Release);
        let address = match object {
            Hdf5Object::File(file) => std::ptr::from_ref(file) as usize,
            Hdf5Object::DataSet(set) => std::ptr::from_ref(set) as usize | IS_DATA_SET,
        };
        place.object.store(address, Ordering::Release);
        place.key.store(key, Ordering::Release);
    }

    /// It stands for nothing any more.
    pub(crate) fn forget(self) {
        let key = self.key();
        for place in self.row() {
            let _ = place.key.compare_exchange(key, 0, Ordering::AcqRel, Ordering::Relaxed);
        }
    }
}

/// Forgets all identifiers: HDF5 may give the same ones again.
pub(crate) fn forget_all() {
    TABLE.iter().flatten().for_each(|place| place.key.store(0, Ordering::Release));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::{Identity, data_set, find_or_add};

    #[test]
    fn identifiers_come_and_go_for_ever() {
        crate::registry::prepare_for_tests();
        let file = find_or_add(b"/data/objects.h5", Identity::default()).unwrap();
        let set = data_set(file, b"/x").unwrap();
        let of = |library, number: i64| Hdf5Id { library, id: 5 << 56 | number };
        of(0x7000_1000, 1).remember(Hdf5Object::File(file));
        for number in 2..100_000 {
            let id = of(0x7000_1000, number);
            id.remember(Hdf5Object::DataSet(set));
            assert!(matches!(id.find(), Some(Hdf5Object::DataSet(found)) if std::ptr::eq(found, set)));
            if number % 3 != 0 {
                id.forget();
                assert!(id.find().is_none());
            }
        }
        let id = of(0x7000_1000, 100_000);
        id.remember(Hdf5Object::File(file));
        assert!(matches!(id.find(), Some(Hdf5Object::File(found)) if std::ptr::eq(found, file)));
        assert!(of(0x7200_1000, 100_000).find().is_none());
        forget_all();
        assert!(id.find().is_none());
    }
}
