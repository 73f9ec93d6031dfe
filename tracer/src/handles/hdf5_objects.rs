//! Cache of open HDF5 files and data sets, by identifier. HDF5 identifiers increase and are hardly ever reused. A new entry evicts an old
//! one if there is no room; a file or data set that is not cached is queried from HDF5 again.
#![expect(unsafe_code, reason = "references into reserved memory")]

use crate::memory::FixedTable;
use crate::registry::{DataSet, File};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bit of a stored address that distinguishes a data set from a file; records are aligned to more than 1 byte.
const IS_DATA_SET: usize = 1;

/// Recorded HDF5 file or data set to which an HDF5 identifier refers.
#[derive(Clone, Copy)]
pub(crate) enum Hdf5Object {
    File(&'static File),
    DataSet(&'static DataSet),
}

/// HDF5 identifier, together with the HDF5 library that issued it (a process may have several).
#[derive(Clone, Copy)]
pub(crate) struct Hdf5Id {
    /// ID of the HDF5 library (copy) that issued the identifier.
    pub(crate) library: usize,
    /// Identifier as issued by that library (`hid_t`).
    pub(crate) id: i64,
}

/// Addresses of the records of HDF5 files and data sets, by the key that combines identifier and library.
static OBJECTS: FixedTable<AtomicUsize, 8192, 8> = FixedTable::new();

impl Hdf5Id {
    /// Combines identifier and library into one key. The highest byte of the identifier is its type, the low bits a serial number. The bits
    /// in between take the library's address, whose lowest and highest bits carry no information.
    fn key(self) -> usize {
        (self.id as usize) ^ (self.library << 20 & 0x00ff_ffff_ff00_0000)
    }

    /// Returns the HDF5 file or data set with this identifier, if it is cached.
    pub(crate) fn find(self) -> Option<Hdf5Object> {
        let key = self.key();
        let entry = OBJECTS.find(key)?;
        let object = entry.load(Ordering::Acquire);
        // Another thread may have reused the entry for another object meanwhile.
        if !entry.is(key) {
            return None;
        }
        Some(if object & IS_DATA_SET != 0 {
            // SAFETY: stored by `remember`, and records are never freed.
            Hdf5Object::DataSet(unsafe { &*((object & !IS_DATA_SET) as *const DataSet) })
        } else {
            // SAFETY: stored by `remember`, and records are never freed.
            Hdf5Object::File(unsafe { &*(object as *const File) })
        })
    }

    pub(crate) fn remember(self, object: Hdf5Object) {
        self.forget();
        let address = match object {
            Hdf5Object::File(file) => std::ptr::from_ref(file) as usize,
            Hdf5Object::DataSet(set) => std::ptr::from_ref(set) as usize | IS_DATA_SET,
        };
        let add = || OBJECTS.add(self.key(), |object| object.store(address, Ordering::Release)).is_some();
        if !add() {
            OBJECTS.evict(self.key(), self.id as usize);
            add();
        }
    }

    pub(crate) fn forget(self) {
        let key = self.key();
        OBJECTS.all(key).filter(|entry| entry.hold(key)).for_each(|entry| OBJECTS.remove(entry));
    }
}

/// Removes all HDF5 identifiers from the cache, because HDF5 may reuse them.
pub(crate) fn forget_all() {
    OBJECTS.live().filter(|(key, entry)| entry.hold(*key)).for_each(|(_, entry)| OBJECTS.remove(entry));
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
