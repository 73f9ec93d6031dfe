//! Strided MPI-IO file views: one call touches several strided blocks of the file instead of one contiguous range.

use trace_format::meta::ViewDef;

/// Maximum number of dimensions of a strided file view; views with more are treated as unknown.
const DIMENSIONS: usize = 6;

/// Layout of the blocks of an MPI filetype, and the distance at which the filetype repeats in the file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shape {
    /// Size of a contiguous block, in bytes.
    pub block: u64,
    /// Repetitions of the block within a filetype: (count, stride in bytes), innermost first.
    pub dimensions: Vec<(u64, u64)>,
    /// Distance from the start of one filetype to the start of the next, in bytes.
    pub extent: u64,
}

/// Effect of an MPI-IO file view on the calls that use it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum View {
    /// Each call touches one contiguous range of bytes.
    Plain,
    /// Each call touches strided blocks of the given shape.
    Strided(Shape),
    /// View that was not recorded, or recorded inconsistently.
    Unknown,
}

impl View {
    /// Converts the recorded definition of a file view; an inconsistent one becomes [`View::Unknown`].
    #[must_use]
    pub fn of(def: &ViewDef) -> Self {
        Shape::of(def).map_or(Self::Unknown, |shape| {
            let plain = shape.dimensions.is_empty() && shape.block == shape.extent;
            if plain { Self::Plain } else { Self::Strided(shape) }
        })
    }
}

impl Shape {
    fn of(def: &ViewDef) -> Option<Self> {
        let mut extent = u64::try_from(def.extent).ok()?;
        let (mut span, mut size) = (def.block, def.block);
        if def.block == 0 || def.dimensions.len() > DIMENSIONS {
            return None;
        }
        for dimension in &def.dimensions {
            if dimension.count < 2 || dimension.stride < span {
                return None;
            }
            span = span.checked_add(dimension.stride.checked_mul(dimension.count - 1)?)?;
            size = size.checked_mul(dimension.count)?;
        }
        if extent < span || size != def.size || span > i64::MAX as u64 {
            return None;
        }
        // Filetypes that continue the outermost dimension without a break become one dimension.
        let mut dimensions: Vec<(u64, u64)> = def.dimensions.iter().map(|of| (of.count, of.stride)).collect();
        while let Some((_, stride)) = dimensions.pop_if(|(count, stride)| count.checked_mul(*stride) == Some(extent)) {
            extent = stride;
        }
        Some(Self { block: def.block, dimensions, extent })
    }

    /// Returns true if a repetition of the filetype begins at file offset `offset`; the first repetition's data begins at offset `origin`.
    #[must_use]
    pub fn begins_at(&self, offset: u64, origin: i128) -> bool {
        let within = i128::from(offset) - origin;
        within >= 0 && within % i128::from(self.extent.max(1)) == 0
    }

    /// Returns the repetitions of the block in a call of `length` bytes that starts at the beginning of a filetype: (count, stride in
    /// bytes), innermost first; empty for at most one block. `None` if the call ends in the middle of a repetition.
    #[must_use]
    pub fn pieces(&self, length: u64) -> Option<Vec<(u64, u64)>> {
        if length <= self.block {
            return Some(Vec::new());
        }
        let mut left = length / self.block;
        let mut out = Vec::new();
        if !length.is_multiple_of(self.block) {
            return None;
        }
        for &(count, stride) in &self.dimensions {
            if left <= count {
                out.push((left, stride));
                return Some(out);
            }
            if !left.is_multiple_of(count) {
                return None;
            }
            out.push((count, stride));
            left /= count;
        }
        if left > 1 {
            out.push((left, self.extent));
        }
        Some(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::meta::DimensionDef;

    fn def(block: u64, dimensions: &[(u64, u64)], extent: i64) -> ViewDef {
        let size = dimensions.iter().fold(block, |size, (count, _)| size.saturating_mul(*count));
        let dimensions = dimensions.iter().map(|&(count, stride)| DimensionDef { count, stride }).collect();
        ViewDef { calls: 1, etype_bytes: 1, size, extent, block, dimensions, ..ViewDef::default() }
    }

    fn shape(block: u64, dimensions: &[(u64, u64)], extent: i64) -> Shape {
        let View::Strided(shape) = View::of(&def(block, dimensions, extent)) else { panic!("{block} {dimensions:?}") };
        shape
    }

    #[test]
    fn bytes_side_by_side_are_plain() {
        assert_eq!(View::of(&def(100, &[], 100)), View::Plain);
        assert_eq!(shape(100, &[], 400), Shape { block: 100, dimensions: Vec::new(), extent: 400 });
        // A vector that continues without a break equals its blocks, regardless of the number of blocks per vector.
        assert_eq!(shape(100, &[(8, 400)], 3200), shape(100, &[], 400));
        assert_eq!(shape(4, &[(8, 16), (10, 128)], 1280), shape(4, &[], 16));
    }

    #[test]
    fn what_makes_no_sense_is_not_known() {
        let huge = u64::MAX / 2;
        let wrong = [
            def(0, &[], 100),
            def(100, &[], 50),
            def(100, &[], -100),
            def(100, &[(1, 400)], 3200),
            def(100, &[(8, 50)], 3200),
            def(100, &[(8, 400)], 1000),
            def(huge, &[(huge, huge)], i64::MAX),
            def(1, &[(2, 2), (2, 8), (2, 32), (2, 128), (2, 512), (2, 2048), (2, 8192)], 1 << 20),
            ViewDef { size: 99, ..def(100, &[], 400) },
        ];
        assert!(wrong.iter().all(|def| View::of(def) == View::Unknown));
    }

    #[test]
    fn a_call_is_so_many_blocks() {
        let rows = shape(100, &[], 400);
        assert_eq!(rows.pieces(100), Some(vec![]));
        assert_eq!(rows.pieces(60), Some(vec![]));
        assert_eq!(rows.pieces(3200), Some(vec![(32, 400)]));
        assert_eq!(rows.pieces(3250), None, "the last block is not whole");
        let tile = shape(100, &[(8, 400)], 1 << 20);
        assert_eq!(tile.pieces(800), Some(vec![(8, 400)]));
        assert_eq!(tile.pieces(300), Some(vec![(3, 400)]));
        assert_eq!(tile.pieces(1600), Some(vec![(8, 400), (2, 1 << 20)]));
        assert_eq!(tile.pieces(900), None);
        assert!(tile.begins_at(7 + (3 << 20), 7) && !tile.begins_at(407, 7) && !tile.begins_at(0, 7));
    }
}
