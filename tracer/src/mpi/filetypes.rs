//! Decomposes the filetype of a file view by the MPI library's envelope and contents queries (MPI 4.0, 5.1.13), if its bytes lie at regular
//! strides. Used only when a view is set, on datatypes that MPI_File_set_view has just accepted, so no query can fail for its arguments.

use super::calls::{Handle, SUCCESS, api};
use super::world::World;
use crate::registry::{Strides, Viewed};
use std::ffi::c_int;
use trace_format::meta::Combiner;

/// Maximum nesting depth of MPI datatypes whose byte layout is determined.
const DEPTH: usize = 8;
/// Maximum number of integer arguments of a datatype constructor; suffices for subarrays of 20 dimensions and for 31 blocks.
const INTEGERS: usize = 64;
/// Maximum number of address arguments of a datatype constructor.
const ADDRESSES: usize = 32;

/// Constructor arguments of a datatype, as MPI_Type_get_contents returns them.
struct Contents {
    integers: [c_int; INTEGERS],
    addresses: [i64; ADDRESSES],
    /// True if addresses are passed as integers, as in constructors that MPI 3.0 removed.
    no_addresses: bool,
}

impl Contents {
    fn integer(&self, at: usize) -> Option<i64> {
        self.integers.get(at).copied().map(i64::from)
    }

    fn integers(&self, from: usize, count: i64) -> Option<&[c_int]> {
        self.integers.get(from..from.checked_add(usize::try_from(count).ok()?)?)
    }

    /// Returns address argument `number`; if addresses are passed as integers, returns the integer argument at index `at` instead.
    fn address(&self, number: usize, at: usize) -> Option<i64> {
        if self.no_addresses { self.integer(at) } else { self.addresses.get(number).copied() }
    }
}

impl World {
    pub(crate) fn viewed(&self, etype: Handle, filetype: Handle) -> Viewed {
        let [etype_bytes, bytes] = [etype, filetype].map(|datatype| size(datatype).unwrap_or(0));
        let extent = extent(filetype).unwrap_or(0);
        let strides = self.strides(filetype, DEPTH);
        Viewed { etype_bytes: etype_bytes.max(0).unsigned_abs(), size: bytes.max(0).unsigned_abs(), extent, strides }
    }

    /// Returns the byte layout of a datatype; `None` if the layout is not regular, or nested deeper than `depth` datatypes.
    fn strides(&self, datatype: Handle, depth: usize) -> Option<Strides> {
        let (combiner, [integers, addresses, types]) = self.envelope(datatype)?;
        if combiner == Combiner::Named {
            // Pairs such as MPI_DOUBLE_INT have gaps.
            return size(datatype).filter(|bytes| extent(datatype) == Some(*bytes)).and_then(Strides::bytes);
        }
        let fits = types == 1 && integers <= INTEGERS && addresses <= ADDRESSES && is_made(combiner);
        let depth = depth.checked_sub(1).filter(|_| fits)?;
        let mut contents =
            Contents { integers: [0; INTEGERS], addresses: [0; ADDRESSES], no_addresses: addresses == 0 };
        let mut inner: Handle = 0;
        let (to_integers, to_addresses) = (contents.integers.as_mut_ptr(), contents.addresses.as_mut_ptr());
        let counts = [integers, addresses, types].map(|count| count as c_int);
        let [integers, addresses, types] = counts;
        let got =
            api().type_get_contents(datatype, integers, addresses, types, to_integers, to_addresses, &raw mut inner);
        let inner = self.abi.handle(inner);
        if got != SUCCESS {
            return None;
        }
        let of_inner = self.strides(inner, depth).zip(extent(inner));
        let out = of_inner.and_then(|(of_inner, extent)| self.made_of(combiner, &contents, of_inner, extent));
        self.give_back(inner);
        out
    }

    /// Frees a datatype handle that a contents query returned, unless the datatype is predefined.
    fn give_back(&self, mut datatype: Handle) {
        if self.envelope(datatype).is_some_and(|(combiner, _)| is_made(combiner)) {
            api().type_free(&raw mut datatype);
        }
    }

    /// Returns a datatype's combiner (constructor), and how many integer, address and datatype arguments the datatype was made with. `None`
    /// if it was made with 64-bit counts.
    fn envelope(&self, datatype: Handle) -> Option<(Combiner, [usize; 3])> {
        let mut combiner = -1;
        let counts = if self.has_large_counts {
            let [mut integers, mut addresses, mut counts, mut types] = [0; 4];
            let [to_integers, to_addresses] = [&raw mut integers, &raw mut addresses];
            let [to_counts, to_types] = [&raw mut counts, &raw mut types];
            let result =
                api().type_get_envelope_c(datatype, to_integers, to_addresses, to_counts, to_types, &raw mut combiner);
            (result == SUCCESS && counts == 0).then_some([integers, addresses, types])?
        } else {
            let [mut integers, mut addresses, mut types] = [0; 3];
            let [to_integers, to_addresses] = [&raw mut integers, &raw mut addresses];
            let result =
                api().type_get_envelope(datatype, to_integers, to_addresses, &raw mut types, &raw mut combiner);
            (result == SUCCESS).then_some([integers, addresses, types].map(i64::from))?
        };
        let [integers, addresses, types] = counts.map(|count| usize::try_from(count).unwrap_or(usize::MAX));
        Some((self.abi.combiners.meaning(combiner), [integers, addresses, types]))
    }

    /// Returns the byte layout of a datatype that `combiner` makes with arguments `of` from a datatype of layout `inner` and `extent` bytes.
    fn made_of(&self, combiner: Combiner, of: &Contents, inner: Strides, extent: i64) -> Option<Strides> {
        let count = of.integer(0);
        let bytes = |place: &c_int| i64::from(*place).wrapping_mul(extent);
        match combiner {
            Combiner::Dup | Combiner::Resized => Some(inner),
            Combiner::Contiguous => inner.repeat(count?, extent),
            Combiner::Vector => {
                inner.repeat(of.integer(1)?, extent)?.repeat(count?, of.integer(2)?.checked_mul(extent)?)
            }
            Combiner::Hvector => inner.repeat(of.integer(1)?, extent)?.repeat(count?, of.address(0, 2)?),
            Combiner::Subarray => self.subarray(of, inner, extent),
            Combiner::Indexed => {
                let (lengths, places) =
                    (of.integers(1, count?)?, of.integers(1 + usize::try_from(count?).ok()?, count?)?);
                inner.pieces(extent, lengths.iter().map(|length| i64::from(*length)).zip(places.iter().map(bytes)))
            }
            Combiner::IndexedBlock => {
                let (length, places) = (of.integer(1)?, of.integers(2, count?)?);
                inner.pieces(extent, places.iter().map(|place| (length, bytes(place))))
            }
            Combiner::Hindexed | Combiner::Struct => {
                let (lengths, first) = (of.integers(1, count?)?, 1 + usize::try_from(count?).ok()?);
                let place = |number: usize| of.address(number, first + number);
                place(lengths.len().checked_sub(1)?)?;
                let pieces = lengths.iter().enumerate();
                inner.pieces(extent, pieces.map(|(at, length)| (i64::from(*length), place(at).unwrap_or(0))))
            }
            Combiner::HindexedBlock => {
                let (length, places) = (of.integer(1)?, of.addresses.get(..usize::try_from(count?).ok()?)?);
                inner.pieces(extent, places.iter().map(|place| (length, *place)))
            }
            _ => None,
        }
    }

    fn subarray(&self, of: &Contents, inner: Strides, extent: i64) -> Option<Strides> {
        let dimensions = of.integer(0)?;
        let n = usize::try_from(dimensions).ok()?;
        let part = |number: usize| of.integers(1 + number * n, dimensions);
        let (sizes, parts, starts) = (part(0)?, part(1)?, part(2)?);
        let order = *of.integers.get(1 + 3 * n)?;
        let (mut out, mut stride) = (inner, extent);
        for k in 0..n {
            let at = match self.abi.orders {
                Some([in_c, _]) if order == in_c => n - 1 - k,
                Some([_, in_fortran]) if order == in_fortran => k,
                _ if n == 1 => 0,
                _ => return None,
            };
            let [size, part, start] = [sizes, parts, starts].map(|of| of.get(at).copied().map(i64::from));
            out = out.repeat(part?, stride)?.moved(start?.checked_mul(stride)?)?;
            stride = stride.checked_mul(size?)?;
        }
        Some(out)
    }
}

/// True if the program constructed the datatype; false if it is predefined.
fn is_made(combiner: Combiner) -> bool {
    use Combiner::{F90Complex, F90Integer, F90Real, Named, Other, ValueIndex};
    !matches!(combiner, Named | F90Integer | F90Real | F90Complex | ValueIndex | Other)
}

fn size(datatype: Handle) -> Option<i64> {
    let mut bytes = 0;
    (api().type_size(datatype, &raw mut bytes) == SUCCESS).then_some(bytes)
}

fn extent(datatype: Handle) -> Option<i64> {
    let [mut lower_bound, mut extent] = [0; 2];
    (api().type_get_extent(datatype, &raw mut lower_bound, &raw mut extent) == SUCCESS).then_some(extent)
}
