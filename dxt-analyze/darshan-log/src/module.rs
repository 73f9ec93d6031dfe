//! Modules of a log: their indices in a header of format 3.41, names, and the record versions that this reader supports.

use std::fmt;

/// Module of Darshan; variants are in the order of the indices in a header of format 3.41.
///
/// Source: `DARSHAN_MODULE_IDS` in Darshan's `darshan-log-format.h`. Older formats have fewer indices, see [`crate::header`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Module {
    /// Module of Darshan's own tests, with index 0.
    Null,
    /// Counters of POSIX calls.
    Posix,
    /// Counters of MPI-IO calls.
    MpiIo,
    /// Counters of HDF5, one record per file.
    H5F,
    /// Counters of HDF5, one record per data set.
    H5D,
    /// Counters of PnetCDF, one record per file.
    PnetcdfFile,
    /// Counters of PnetCDF, one record per variable.
    PnetcdfVar,
    /// Information on a Blue Gene/Q job.
    BgQ,
    /// Stripe layouts of files on Lustre.
    Lustre,
    /// Counters of calls on C streams (fopen, fread, ...).
    Stdio,
    /// DXT segments, one per POSIX read or write.
    DxtPosix,
    /// DXT segments, one per MPI-IO read or write.
    DxtMpiIo,
    /// Counters of MDHIM (a key-value store for HPC).
    Mdhim,
    /// AutoPerf module: counters of Cray XC systems.
    ApXc,
    /// AutoPerf module: counters of MPI calls.
    ApMpi,
    /// Heat maps: bytes read and written per time bin, by rank.
    Heatmap,
    /// Counters of the DAOS file system.
    Dfs,
    /// Counters of DAOS objects.
    Daos,
}

/// Number of module indices in a header of format 3.41.
pub(crate) const PLACES: usize = 64;

/// Number of module indices that this reader knows; larger indices are unknown.
pub(crate) const KNOWN: usize = 18;

/// All modules in the order of their indices, with the name in the output of Darshan's tools and the newest supported record version (0 if none).
const TABLE: [(Module, &str, u32); KNOWN] = [
    (Module::Null, "NULL", 0),
    (Module::Posix, "POSIX", 4),
    (Module::MpiIo, "MPI-IO", 3),
    (Module::H5F, "H5F", 3),
    (Module::H5D, "H5D", 2),
    (Module::PnetcdfFile, "PNETCDF_FILE", 3),
    (Module::PnetcdfVar, "PNETCDF_VAR", 1),
    (Module::BgQ, "BG/Q", 2),
    (Module::Lustre, "LUSTRE", 2),
    (Module::Stdio, "STDIO", 2),
    (Module::DxtPosix, "DXT_POSIX", 2),
    (Module::DxtMpiIo, "DXT_MPIIO", 3),
    (Module::Mdhim, "MDHIM", 0),
    (Module::ApXc, "APXC", 0),
    (Module::ApMpi, "APMPI", 0),
    (Module::Heatmap, "HEATMAP", 1),
    (Module::Dfs, "DFS", 1),
    (Module::Daos, "DAOS", 1),
];

impl Module {
    /// Returns the module with index `place` in a header of format 3.41; `None` if this reader does not know the index.
    #[must_use]
    pub fn at(place: usize) -> Option<Self> {
        TABLE.get(place).map(|row| row.0)
    }

    /// Returns the module's index in a header of format 3.41.
    #[must_use]
    pub fn place(self) -> usize {
        self as usize
    }

    /// Returns the module's name in the output of Darshan's tools.
    #[must_use]
    pub fn name(self) -> &'static str {
        TABLE[self.place()].1
    }

    /// Returns the newest version of the module's records that this reader supports; 0 if the reader supports none.
    #[must_use]
    pub fn newest_version(self) -> u32 {
        TABLE[self.place()].2
    }
}

impl fmt::Display for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_places() {
        for (place, row) in TABLE.iter().enumerate() {
            assert_eq!(row.0.place(), place);
            assert_eq!(Module::at(place), Some(row.0));
        }
        assert_eq!(Module::DxtMpiIo.place(), 11);
        assert_eq!(Module::Daos.place(), 17);
        assert_eq!(Module::at(18), None);
    }
}
