//! Layout of fixed-size counter records: number of counters in each record version, and conversion of old versions to the newest.
//!
//! A record consists of 8-byte fields: record id, rank, in some modules the id of the file that contains the object, integer counters, and
//! floating-point counters.

use super::{daos, libraries, names};
use crate::module::Module;

/// Value of integer counters that older logs lack; Darshan's own tools use the same value.
const UNKNOWN: i64 = -1;
/// Value of floating-point counters that older logs lack; Darshan's own tools use the same value.
const UNKNOWN_TIME: f64 = -1.0;

/// Layout of the counter records of one version of a module.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    pub(crate) ints: usize,
    pub(crate) floats: usize,
    /// True if, in each record, the rank is followed by the id of the file that contains the object (data set, variable).
    pub(crate) file_id: bool,
    /// Number of bytes after the counters that state the location of the file or object on DAOS.
    pub(crate) tail: usize,
}

impl Layout {
    /// Returns the record layout of a module's version; `None` unless the version is between 1 and the newest supported version.
    pub(crate) fn of(module: Module, version: u32) -> Option<Self> {
        let (ints, floats) = match (module, version) {
            (Module::Posix, 1) => (68, 15),
            (Module::Posix, 2) => (64, 15),
            (Module::Posix, 3) => (64, 17),
            (Module::Posix, 4) => (69, 17),
            (Module::MpiIo, 1 | 2) => (51, 15),
            (Module::MpiIo, 3) => (51, 17),
            (Module::Stdio, 1) => (13, 15),
            (Module::Stdio, 2) => (14, 15),
            (Module::H5F, 1) => (1, 2),
            (Module::H5F, 2) => (1, 4),
            (Module::H5F, 3) => (3, 5),
            (Module::H5D, 1 | 2) => (94, 17),
            (Module::PnetcdfFile, 1) => (2, 2),
            (Module::PnetcdfFile, 2) => (2, 4),
            (Module::PnetcdfFile, 3) => (9, 8),
            (Module::PnetcdfVar, 1) => (120, 17),
            (Module::BgQ, 1 | 2) => (11, 1),
            (Module::Dfs, 1) => (52, 15),
            (Module::Daos, 1) => (64, 15),
            _ => return None,
        };
        // BG/Q records of version 1 have a number without meaning in place of the file id.
        let file_id = matches!((module, version), (Module::H5D, 2) | (Module::PnetcdfVar | Module::BgQ, 1));
        // Pool and container UUIDs (16 bytes each); for DAOS objects also the object id (16 bytes).
        let tail = match module {
            Module::Dfs => 32,
            Module::Daos => 48,
            _ => 0,
        };
        Some(Self { ints, floats, file_id, tail })
    }

    pub(crate) fn bytes(self) -> usize {
        8 * (2 + usize::from(self.file_id) + self.ints + self.floats) + self.tail
    }
}

/// Returns the names of a module's integer and floating-point counters in the newest version; empty for modules without counter records.
pub(crate) fn counter_names(module: Module) -> (&'static [&'static str], &'static [&'static str]) {
    match module {
        Module::Posix => (&names::POSIX, &names::POSIX_F),
        Module::MpiIo => (&names::MPI_IO, &names::MPI_IO_F),
        Module::Stdio => (&names::STDIO, &names::STDIO_F),
        Module::H5F => (&libraries::H5F, &libraries::H5F_F),
        Module::H5D => (&libraries::H5D, &libraries::H5D_F),
        Module::PnetcdfFile => (&libraries::PNETCDF_FILE, &libraries::PNETCDF_FILE_F),
        Module::PnetcdfVar => (&libraries::PNETCDF_VAR, &libraries::PNETCDF_VAR_F),
        Module::BgQ => (&names::BGQ, &names::BGQ_F),
        Module::Dfs => (&daos::DFS, &daos::DFS_F),
        Module::Daos => (&daos::DAOS, &daos::DAOS_F),
        _ => (&[], &[]),
    }
}

/// Converts a record's counters from an old version to the newest version. Returns false if the record must be omitted: in POSIX version 1,
/// counters of files with calls on C streams include these calls.
pub(crate) fn upgrade(module: Module, version: u32, ints: &mut Vec<i64>, floats: &mut Vec<f64>) -> bool {
    match module {
        Module::Posix => return upgrade_posix(version, ints, floats),
        Module::MpiIo if version < 3 => close_start_and_open_end(floats, 3),
        Module::Stdio if version < 2 => insert(ints, 1, &[UNKNOWN]),
        Module::H5F if version < 3 => {
            if version < 2 {
                close_start_and_open_end(floats, 1);
            }
            // Version 3 adds FLUSHES, USE_MPIIO and META_TIME.
            insert(ints, 1, &[UNKNOWN; 2]);
            insert(floats, 4, &[UNKNOWN_TIME]);
        }
        Module::PnetcdfFile if version < 3 => {
            if version < 2 {
                close_start_and_open_end(floats, 1);
            }
            // Version 3 has one counter instead of two for independent and collective opens.
            let opens = ints.iter().fold(0i64, |sum, &opens| sum.wrapping_add(opens));
            *ints = vec![UNKNOWN; 9];
            ints[1] = opens;
            // Version 3 adds the timestamps of waits, META_TIME and WAIT_TIME.
            insert(floats, 2, &[UNKNOWN_TIME]);
            insert(floats, 5, &[UNKNOWN_TIME; 3]);
        }
        _ => {}
    }
    true
}

fn upgrade_posix(version: u32, ints: &mut Vec<i64>, floats: &mut Vec<f64>) -> bool {
    if version < 2 {
        // In version 1, counters 6 to 9 count calls on C streams. If a file has such calls, its other counters include them too.
        if ints[6] > 0 {
            return false;
        }
        ints.drain(6..10);
    }
    if version < 3 {
        close_start_and_open_end(floats, 3);
    }
    if version < 4 {
        // Version 4 adds FILENOS, DUPS, RENAME_SOURCES, RENAME_TARGETS and RENAMED_FROM, which is an id and therefore 0 instead of -1.
        insert(ints, 1, &[UNKNOWN; 2]);
        insert(ints, 10, &[UNKNOWN, UNKNOWN, 0]);
    }
    true
}

/// Inserts the timestamps CLOSE_START and OPEN_END, which old versions lack, at index `at`.
fn close_start_and_open_end(floats: &mut Vec<f64>, at: usize) {
    insert(floats, at, &[UNKNOWN_TIME; 2]);
}

fn insert<T: Copy>(values: &mut Vec<T>, at: usize, new: &[T]) {
    let at = at.min(values.len());
    values.splice(at..at, new.iter().copied());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_darshans_structures() {
        let sizes = [
            (Module::Posix, &[680, 648, 664, 704][..]),
            (Module::MpiIo, &[544, 544, 560]),
            (Module::Stdio, &[240, 248]),
            (Module::H5F, &[40, 56, 80]),
            (Module::H5D, &[904, 912]),
            (Module::PnetcdfFile, &[48, 64, 152]),
            (Module::PnetcdfVar, &[1120]),
            (Module::BgQ, &[120, 112]),
            (Module::Dfs, &[584]),
            (Module::Daos, &[696]),
        ];
        for (module, sizes) in sizes {
            for (version, &size) in (1..).zip(sizes) {
                assert_eq!(Layout::of(module, version).map(Layout::bytes), Some(size), "{module} {version}");
            }
            assert_eq!(module.newest_version(), sizes.len() as u32, "{module}");
        }
        assert!(Layout::of(Module::Posix, 5).is_none());
    }

    #[test]
    fn every_version_becomes_the_newest() {
        for place in 0..18 {
            let Some(module) = Module::at(place) else { continue };
            let (int_names, float_names) = counter_names(module);
            for version in 1..=module.newest_version() {
                let Some(layout) = Layout::of(module, version) else { continue };
                let (mut ints, mut floats) = (vec![0; layout.ints], vec![0.0; layout.floats]);
                assert!(upgrade(module, version, &mut ints, &mut floats));
                assert_eq!((ints.len(), floats.len()), (int_names.len(), float_names.len()), "{module} {version}");
            }
        }
    }

    #[test]
    fn old_counters_keep_their_names() {
        let at = |module: Module, name: &str| counter_names(module).0.iter().position(|&n| n == name).expect("known");
        let mut ints: Vec<i64> = (0..68).collect();
        let mut floats: Vec<f64> = (0..15).map(f64::from).collect();
        assert!(!upgrade(Module::Posix, 1, &mut ints.clone(), &mut floats.clone()), "it has fopen calls");
        ints[6] = 0;
        assert!(upgrade(Module::Posix, 1, &mut ints, &mut floats));
        assert_eq!(ints[at(Module::Posix, "POSIX_OPENS")], 0);
        assert_eq!(ints[at(Module::Posix, "POSIX_DUPS")], -1);
        assert_eq!(ints[at(Module::Posix, "POSIX_READS")], 1);
        assert_eq!(ints[at(Module::Posix, "POSIX_RENAMED_FROM")], 0);
        assert_eq!(ints[at(Module::Posix, "POSIX_SLOWEST_RANK_BYTES")], 67);
        assert_eq!(floats[2..6], [2.0, -1.0, -1.0, 3.0]);
        let (mut ints, mut floats) = (vec![3, 4], vec![0.5, 0.75]);
        assert!(upgrade(Module::PnetcdfFile, 1, &mut ints, &mut floats));
        assert_eq!(ints, [-1, 7, -1, -1, -1, -1, -1, -1, -1]);
        assert_eq!(floats, [0.5, -1.0, -1.0, -1.0, 0.75, -1.0, -1.0, -1.0]);
        let (mut ints, mut floats) = (vec![3], vec![0.5, 0.75]);
        assert!(upgrade(Module::H5F, 1, &mut ints, &mut floats));
        assert_eq!((ints, floats), (vec![3, -1, -1], vec![0.5, -1.0, -1.0, 0.75, -1.0]));
    }
}
