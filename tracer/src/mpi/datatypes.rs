//! Constructor (MPI 4.0, 5.1.13) and extent (MPI 4.0, 5.1.8) of datatypes. Predefined datatypes are recognized by their handle, without an
//! MPI call. Other datatypes are queried each time, since the handles of freed datatypes are reused.

use super::abi::Abi;
use super::calls::{Handle, SUCCESS, api};
use super::world::World;
use crate::registry::Datatype;
use std::ffi::c_int;
use trace_format::meta::{Combiner, extent_bin};

/// Combiners (datatype constructors) in the order common to MPICH's mpi.h, which numbers them from 1, and Open MPI's, from 0; includes
/// combiners that MPI 3.0 removed.
const HISTORIC: [Combiner; 20] = [
    Combiner::Named,
    Combiner::Dup,
    Combiner::Contiguous,
    Combiner::Vector,
    Combiner::Hvector,
    Combiner::Hvector,
    Combiner::Indexed,
    Combiner::Hindexed,
    Combiner::Hindexed,
    Combiner::IndexedBlock,
    Combiner::Struct,
    Combiner::Struct,
    Combiner::Subarray,
    Combiner::Darray,
    Combiner::F90Real,
    Combiner::F90Complex,
    Combiner::F90Integer,
    Combiner::Resized,
    Combiner::HindexedBlock,
    Combiner::ValueIndex,
];

/// Value of the first combiner in the standard ABI, which lists combiners in the order of the trace format.
const STANDARD_FIRST: c_int = 101;

/// Rule that recognizes predefined datatypes by their handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Predefined {
    /// MPICH: the two highest of the 32 bits of the handle are its kind. Pair types such as `MPI_FLOAT_INT` look like derived types and are queried.
    ByKind,
    /// Standard ABI: handles of predefined datatypes are small numbers.
    Small,
    /// Open MPI: handles are addresses in one of these ranges (start, end), of variables of the library or of their copies in the program.
    Within([(usize, usize); 2]),
}

/// Numbering of datatype combiners in an MPI library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Combiners {
    /// Order shared by MPICH's and Open MPI's mpi.h; the first combiner has this number.
    HistoricFrom(c_int),
    Standard,
}

impl Combiners {
    pub(super) fn meaning(self, value: c_int) -> Combiner {
        let at = |first: c_int| usize::try_from(value.wrapping_sub(first)).unwrap_or(usize::MAX);
        match self {
            Self::HistoricFrom(first) => HISTORIC.get(at(first)).copied().unwrap_or(Combiner::Other),
            Self::Standard => u32::try_from(at(STANDARD_FIRST)).map_or(Combiner::Other, Combiner::from),
        }
    }
}

impl Abi {
    /// True if `datatype` is certainly predefined or is not a datatype.
    fn is_predefined(&self, datatype: Handle) -> bool {
        match self.predefined {
            Predefined::ByKind => datatype as u32 >> 31 == 0,
            Predefined::Small => datatype < 4096,
            Predefined::Within(ranges) => ranges.iter().any(|&(start, end)| (start..end).contains(&datatype)),
        }
    }
}

impl World {
    /// Returns combiner and extent of `datatype`, an argument of a successful call, for the counts in the trace.
    #[inline]
    pub(crate) fn datatype(&self, datatype: Handle) -> Datatype {
        // The longest predefined types (MPI_C_LONG_DOUBLE_COMPLEX, MPI_LONG_DOUBLE_INT) have some 32 bytes.
        const PREDEFINED: Datatype = Datatype { combiner: Combiner::Named, extent_bin: Some(0) };
        if self.abi.is_predefined(datatype) { PREDEFINED } else { self.ask(datatype) }
    }

    #[cold]
    fn ask(&self, datatype: Handle) -> Datatype {
        let [mut lower_bound, mut extent] = [0; 2];
        let known = api().type_get_extent(datatype, &raw mut lower_bound, &raw mut extent) == SUCCESS;
        Datatype { combiner: self.combiner(datatype), extent_bin: known.then(|| extent_bin(extent)) }
    }

    fn combiner(&self, datatype: Handle) -> Combiner {
        let mut combiner = -1;
        // A datatype made with 64-bit counts may only be queried with 64-bit counts.
        let result = if self.has_large_counts {
            let [mut integers, mut addresses, mut counts, mut types] = [0; 4];
            let [integers, addresses] = [&raw mut integers, &raw mut addresses];
            api().type_get_envelope_c(datatype, integers, addresses, &raw mut counts, &raw mut types, &raw mut combiner)
        } else {
            let [mut integers, mut addresses, mut types] = [0; 3];
            api().type_get_envelope(datatype, &raw mut integers, &raw mut addresses, &raw mut types, &raw mut combiner)
        };
        if result == SUCCESS { self.abi.combiners.meaning(combiner) } else { Combiner::Other }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn combiners_of_each_interface() {
        let (mpich, open_mpi) = (Combiners::HistoricFrom(1), Combiners::HistoricFrom(0));
        for (combiner, in_mpich, in_open_mpi, in_standard) in [
            (Combiner::Named, 1, 0, 101),
            (Combiner::Vector, 4, 3, 104),
            (Combiner::Hvector, 6, 5, 105),
            (Combiner::Hindexed, 9, 8, 107),
            (Combiner::HindexedBlock, 19, 18, 109),
            (Combiner::Struct, 12, 11, 110),
            (Combiner::Subarray, 13, 12, 111),
            (Combiner::Darray, 14, 13, 112),
            (Combiner::F90Integer, 17, 16, 113),
            (Combiner::F90Complex, 16, 15, 115),
            (Combiner::Resized, 18, 17, 116),
            (Combiner::ValueIndex, 20, 19, 117),
        ] {
            let reported =
                [mpich.meaning(in_mpich), open_mpi.meaning(in_open_mpi), Combiners::Standard.meaning(in_standard)];
            assert_eq!(reported, [combiner; 3]);
        }
        for nothing in [-1, 1000, c_int::MIN, c_int::MAX] {
            assert_eq!(mpich.meaning(nothing), Combiner::Other);
            assert_eq!(Combiners::Standard.meaning(nothing), Combiner::Other);
        }
    }
}
