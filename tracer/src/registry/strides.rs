//! Byte layouts with regular strides: blocks of bytes, repeated in several dimensions. Describes a regular MPI datatype, but does not depend on MPI.

/// Maximum number of dimensions of a regular layout.
const DIMENSIONS: usize = 6;

/// Regular byte layout: a block of bytes and its repetitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Strides {
    /// Offset of the layout's first byte from the datatype's origin, in bytes.
    pub(crate) first: i64,
    /// Number of contiguous bytes in each block.
    pub(crate) block: u64,
    dimensions: [(u64, u64); DIMENSIONS],
    used: usize,
}

impl Strides {
    /// Makes a layout of one contiguous block of `bytes` bytes; `None` if `bytes` is below 1.
    pub(crate) fn bytes(bytes: i64) -> Option<Self> {
        let block = u64::try_from(bytes).ok().filter(|block| *block > 0)?;
        Some(Self { first: 0, block, dimensions: [(0, 0); DIMENSIONS], used: 0 })
    }

    /// Returns (number of repetitions, stride in bytes) of each dimension of the layout, innermost first.
    pub(crate) fn dimensions(&self) -> &[(u64, u64)] {
        self.dimensions.get(..self.used).unwrap_or_default()
    }

    /// Returns the number of bytes from the first byte to the end of the last block, gaps included.
    fn span(&self) -> Option<u64> {
        let last = |(count, stride): &(u64, u64)| count.checked_sub(1)?.checked_mul(*stride);
        self.dimensions().iter().try_fold(self.block, |sum, dimension| sum.checked_add(last(dimension)?))
    }

    /// Returns the layout repeated `count` times, `stride` bytes apart. `None` if `count` is less than 1, if a copy would begin before the
    /// end of the previous copy, or if there are too many dimensions.
    pub(crate) fn repeat(mut self, count: i64, stride: i64) -> Option<Self> {
        let count = u64::try_from(count).ok().filter(|count| *count > 0)?;
        if count == 1 {
            return Some(self);
        }
        let stride = u64::try_from(stride).ok()?;
        if stride < self.span()? || count.checked_mul(stride)? > i64::MAX as u64 {
            return None;
        }
        match self.used.checked_sub(1).and_then(|last| self.dimensions.get_mut(last)) {
            None if stride == self.block => self.block *= count,
            Some((inner, step)) if *step * *inner == stride => *inner *= count,
            _ => {
                *self.dimensions.get_mut(self.used)? = (count, stride);
                self.used += 1;
            }
        }
        Some(self)
    }

    /// Returns the layout shifted by `bytes`; `None` on overflow.
    pub(crate) fn moved(mut self, bytes: i64) -> Option<Self> {
        self.first = self.first.checked_add(bytes)?;
        Some(self)
    }

    /// Returns the layout of several pieces. Each piece is a pair (length, offset): `length` copies of `self`, `extent` bytes apart, at
    /// `offset`. `None` unless all lengths, and all distances between offsets, are equal.
    pub(crate) fn pieces(self, extent: i64, pieces: impl Iterator<Item = (i64, i64)> + Clone) -> Option<Self> {
        let mut places = pieces.clone();
        let (length, place) = places.next()?;
        let stride = places.next().map_or(0, |(_, second)| second.wrapping_sub(place));
        let mut expected = place;
        let mut count = 0;
        for (other, place) in pieces {
            if (other, place) != (length, expected) {
                return None;
            }
            expected = expected.checked_add(stride)?;
            count += 1;
        }
        self.repeat(length, extent)?.repeat(count, stride)?.moved(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(count: i64) -> Strides {
        Strides::bytes(count).unwrap()
    }

    #[test]
    fn what_lies_side_by_side_is_one_block() {
        let ints = bytes(4).repeat(8, 4).unwrap();
        assert_eq!((ints.block, ints.dimensions()), (32, &[][..]));
        let rows = ints.repeat(16, 128).unwrap();
        assert_eq!((rows.block, rows.dimensions()), (32, &[(16, 128)][..]));
        assert_eq!(rows.repeat(3, 2048).unwrap().dimensions(), [(48, 128)], "planes without a gap are more rows");
        assert_eq!(rows.repeat(3, 4096).unwrap().dimensions(), [(16, 128), (3, 4096)]);
        assert_eq!(rows.repeat(1, 7), Some(rows));
    }

    #[test]
    fn what_goes_back_or_is_nothing_or_too_much_is_none() {
        let rows = bytes(32).repeat(16, 128).unwrap();
        for (count, stride) in [(2, 64), (2, -128), (0, 4096), (-1, 4096), (i64::MAX, 4096), (2, i64::MAX), (2, 0)] {
            assert_eq!(rows.repeat(count, stride), None, "{count} x {stride}");
        }
        assert_eq!((Strides::bytes(0), Strides::bytes(-1)), (None, None));
        let deep = (0..8).try_fold(bytes(1), |inner, level| inner.repeat(2, 3 << (2 * level)));
        assert_eq!(deep, None, "more dimensions than are kept");
    }

    #[test]
    fn pieces_of_one_length_at_one_stride_are_a_dimension() {
        let found = bytes(4).pieces(4, [(2, 16), (2, 48), (2, 80)].into_iter()).unwrap();
        assert_eq!((found.first, found.block, found.dimensions()), (16, 8, &[(3, 32)][..]));
        assert_eq!(bytes(4).pieces(4, [(2, 0), (2, 48), (2, 80)].into_iter()), None, "places of two strides");
        assert_eq!(bytes(4).pieces(4, [(2, 0), (1, 32)].into_iter()), None, "pieces of two lengths");
        assert_eq!(bytes(4).pieces(4, [].into_iter()), None);
        let one = bytes(4).pieces(4, [(5, 100)].into_iter()).unwrap();
        assert_eq!((one.first, one.block), (100, 20));
    }
}
