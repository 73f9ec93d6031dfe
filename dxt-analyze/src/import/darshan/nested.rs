//! Identification of POSIX calls made inside MPI-IO calls. If DXT has all MPI-IO calls, the times of the segments decide which POSIX calls
//! are nested. Otherwise the records of a rank that opened the file through MPI-IO decide: POSIX writes are nested if MPI-IO wrote the
//! file; POSIX reads are nested if MPI-IO read or wrote the file (to write part of a block, MPI-IO reads the block). A shared record counts
//! as a record of each rank. Metadata calls are nested wherever MPI-IO opened the file.

use super::named::Named;
use darshan_log::{CounterRecord, Module};
use rustc_hash::{FxHashMap, FxHashSet};

/// Operations of an upper layer (MPI-IO) on a file, which determine the calls of the lower layer (POSIX) that were made inside the upper layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Above {
    opened: bool,
    read: bool,
    wrote: bool,
}

impl Above {
    /// Returns true if the lower layer's reads, or its writes if `writes` is true, were made inside calls of the upper layer.
    pub(crate) fn data(self, writes: bool) -> bool {
        self.wrote || self.read && !writes
    }

    /// Returns true if the lower layer's metadata calls were made inside calls of the upper layer.
    pub(crate) fn metadata(self) -> bool {
        self.opened
    }

    /// Returns the DFS (DAOS file system) operations over all records: DFS calls become calls on DAOS objects, which no record names.
    pub(crate) fn of_dfs<'a>(records: impl Iterator<Item = &'a (Module, CounterRecord)>) -> Self {
        let mut out = Self::default();
        for (module, record) in records.filter(|(module, _)| *module == Module::Dfs) {
            let named = Named { module: *module, record };
            let calls = |writes| named.data(writes).segments > 0;
            out = out.merge(Self { opened: true, read: calls(false), wrote: calls(true) });
        }
        out
    }

    /// Returns the MPI-IO operations on files without a POSIX record. If the log has DFS records, these operations became DFS calls.
    pub(crate) fn past_posix<'a>(records: impl Iterator<Item = &'a (Module, CounterRecord)> + Clone) -> Self {
        let of = |wanted| records.clone().filter(move |(module, _)| *module == wanted).map(|(_, record)| record);
        let posix: FxHashSet<u64> = of(Module::Posix).map(|record| record.id).collect();
        of(Module::MpiIo)
            .filter(|record| !posix.contains(&record.id))
            .map(Self::of_mpi)
            .fold(Self::default(), Self::merge)
    }

    /// Returns the operations of MPI-IO on a file (opened, read, wrote) according to an MPI-IO record.
    pub(crate) fn of_mpi(record: &CounterRecord) -> Self {
        let named = Named { module: Module::MpiIo, record };
        let calls = |writes| named.data(writes).segments > 0;
        Self { opened: true, read: calls(false), wrote: calls(true) }
    }

    pub(crate) fn merge(self, other: Self) -> Self {
        Self { opened: self.opened || other.opened, read: self.read || other.read, wrote: self.wrote || other.wrote }
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct MpiFiles(FxHashMap<u64, Above>);

impl MpiFiles {
    /// Collects the MPI-IO operations on each file from counter records.
    pub(crate) fn of(counters: &[(Module, CounterRecord)]) -> Self {
        let mut out = Self::default();
        counters.iter().filter(|(module, _)| *module == Module::MpiIo).for_each(|(_, record)| out.add(record));
        out
    }

    pub(crate) fn add(&mut self, record: &CounterRecord) {
        let known = self.0.entry(record.id).or_default();
        *known = known.merge(Above::of_mpi(record));
    }

    pub(crate) fn has(&self, id: u64) -> bool {
        self.0.contains_key(&id)
    }

    pub(crate) fn above(&self, id: u64) -> Above {
        self.0.get(&id).copied().unwrap_or_default()
    }

    /// Returns the operations of MPI-IO on file `id` on behalf of one rank: the rank's own operations (`self`), plus the operations in
    /// shared records (`of_all`), which count for each rank.
    pub(crate) fn above_with(&self, of_all: &Self, id: u64) -> Above {
        self.above(id).merge(of_all.above(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use darshan_log::counters::int_names;

    #[test]
    fn reads_lie_below_writes_but_not_the_reverse() {
        let record = |counter: &str| {
            let mut record = CounterRecord::zero(Module::MpiIo, 7, 0).expect("a record");
            let at = int_names(Module::MpiIo).iter().position(|name| *name == counter).expect("known");
            record.ints[at] = 3;
            record
        };
        let below = |counters: &[&str]| {
            let all: Vec<_> = counters.iter().map(|counter| (Module::MpiIo, record(counter))).collect();
            let above = MpiFiles::of(&all).above(7);
            (above.data(false), above.data(true), above.metadata())
        };
        assert_eq!(below(&["MPIIO_COLL_WRITES"]), (true, true, true));
        assert_eq!(below(&["MPIIO_NB_READS"]), (true, false, true));
        assert_eq!(below(&["MPIIO_COLL_OPENS"]), (false, false, true));
        assert_eq!(below(&["MPIIO_INDEP_READS", "MPIIO_SPLIT_WRITES"]), (true, true, true));
        assert_eq!(below(&[]), (false, false, false));
        let (own, all) = (MpiFiles::of(&[(Module::MpiIo, record("MPIIO_INDEP_READS"))]), MpiFiles::of(&[]));
        assert!(own.above_with(&all, 7).data(false) && all.above_with(&own, 7).data(false));
        assert!(!own.above_with(&all, 8).metadata());
    }
}
