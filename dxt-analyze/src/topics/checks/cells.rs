//! Bytes that several processes read: each process's ranges, cut into cells of a fixed size. A cell keeps how many bytes its
//! readers read of it and the span that they read in, so what is read in common is at least the difference. Cells are
//! bounded in number by the same adaptive sampling as shared stripes (Flajolet, Computing 43, 1990).

use rustc_hash::FxHashMap;

/// Bytes of a cell: small against what is worth a broadcast, large enough that a terabyte has few.
pub const CELL_BYTES: u64 = 1 << 20;
/// Cells of a file that are looked at per process: what it reads beyond four tebibytes of one file is left out.
const CELLS_OF_A_PROCESS: u64 = 1 << 22;

/// What the processes read of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cell {
    /// Processes.
    readers: u32,
    /// Bytes, of each process every byte once.
    bytes: u64,
    /// First byte that any of them read.
    first: u64,
    /// Behind the last.
    behind: u64,
}

/// Cells of files, by file and number.
#[derive(Clone, Debug)]
pub struct Cells {
    map: FxHashMap<(u32, u64), Cell>,
    bits: u32,
    limit: usize,
}

/// What several processes read of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Common {
    /// Bytes that were read although another process read them too: all but one reading of each.
    pub bytes: u64,
    /// Most processes that read parts of one cell.
    pub readers: u32,
}

fn is_in(key: (u32, u64), bits: u32) -> bool {
    // The finalizer of SplitMix64 (Steele, Lea & Flood, OOPSLA 2014).
    let mut z = key.1 ^ u64::from(key.0).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ z >> 31).leading_zeros() >= bits
}

impl Cells {
    /// Follows `limit` cells at most.
    #[must_use]
    pub fn with_limit(limit: usize) -> Self {
        Self { map: FxHashMap::default(), bits: 0, limit }
    }

    /// Adds what one process read of `file`: disjoint ranges in order. Called once per process and file.
    pub fn add(&mut self, file: u32, ranges: impl Iterator<Item = (u64, u64)>) {
        // Ranges are in order, so those of one cell follow each other and their reader counts once.
        let (mut open, mut left) = (None::<(u64, Cell)>, CELLS_OF_A_PROCESS);
        for (start, end) in ranges {
            let first = start / CELL_BYTES;
            let last = (end.saturating_sub(1) / CELL_BYTES).min(first.saturating_add(left));
            left -= last.saturating_sub(first).min(left);
            for number in first..=last {
                let (from, until) =
                    (number.saturating_mul(CELL_BYTES), number.saturating_add(1).saturating_mul(CELL_BYTES));
                let (from, until) = (start.max(from), end.min(until));
                let bytes = until.saturating_sub(from);
                match &mut open {
                    Some((same, cell)) if *same == number => {
                        (cell.bytes, cell.behind) = (cell.bytes.saturating_add(bytes), until);
                    }
                    _ => {
                        let cell = Cell { readers: 1, bytes, first: from, behind: until };
                        if let Some((number, cell)) = open.replace((number, cell)) {
                            self.join((file, number), cell);
                        }
                    }
                }
            }
        }
        if let Some((number, cell)) = open {
            self.join((file, number), cell);
        }
    }

    fn join(&mut self, key: (u32, u64), cell: Cell) {
        if !is_in(key, self.bits) {
            return;
        }
        self.map
            .entry(key)
            .and_modify(|mine| {
                mine.readers = mine.readers.saturating_add(cell.readers);
                mine.bytes = mine.bytes.saturating_add(cell.bytes);
                (mine.first, mine.behind) = (mine.first.min(cell.first), mine.behind.max(cell.behind));
            })
            .or_insert(cell);
        while self.map.len() > self.limit && self.bits < u64::BITS {
            self.thin(self.bits + 1);
        }
    }

    fn thin(&mut self, bits: u32) {
        self.bits = bits;
        self.map.retain(|key, _| is_in(*key, bits));
    }

    /// Adds what other processes read.
    pub fn merge(&mut self, other: Self) {
        if other.bits > self.bits {
            self.thin(other.bits);
        }
        other.map.into_iter().for_each(|(key, cell)| self.join(key, cell));
    }

    /// One cell in so many was followed.
    #[must_use]
    pub fn followed_one_in(&self) -> u64 {
        1_u64.checked_shl(self.bits).unwrap_or(u64::MAX)
    }

    /// Per file; an estimate if not all cells were followed.
    #[must_use]
    pub fn common(&self) -> FxHashMap<u32, Common> {
        let mut out: FxHashMap<u32, Common> = FxHashMap::default();
        for ((file, _), cell) in self.map.iter().filter(|(_, cell)| cell.readers > 1) {
            let common = out.entry(*file).or_default();
            let bytes = cell.bytes.saturating_sub(cell.behind - cell.first).saturating_mul(self.followed_one_in());
            common.bytes = common.bytes.saturating_add(bytes);
            common.readers = common.readers.max(cell.readers);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_but_one_reading_of_each_byte_is_in_common() {
        let mut cells = Cells::with_limit(100);
        let span = 3 * CELL_BYTES + 17;
        (0..5).for_each(|_| cells.add(7, [(100, span)].into_iter()));
        // Each of two processes reads its own part of the same cell: nothing in common.
        cells.add(8, [(0, 500), (600, 700)].into_iter());
        cells.add(8, [(700, 900)].into_iter());
        let common = cells.common();
        assert_eq!(common.get(&7), Some(&Common { bytes: 4 * (span - 100), readers: 5 }));
        assert_eq!(common.get(&8), Some(&Common { bytes: 0, readers: 2 }));
    }

    #[test]
    fn a_sample_is_the_same_in_whatever_order_and_near_the_whole() {
        let part = |limit, files: std::ops::Range<u32>| {
            let mut cells = Cells::with_limit(limit);
            for file in files {
                (0..2).for_each(|_| cells.add(file, [(0, 64 * CELL_BYTES)].into_iter()));
            }
            cells
        };
        let sum = |cells: &Cells| cells.common().values().map(|common| common.bytes).sum::<u64>();
        let (mut one, mut two) = (part(500, 0..60), part(500, 60..100));
        let whole = part(500, 0..100);
        let (first, second) = (one.clone(), two.clone());
        one.merge(second);
        two.merge(first);
        assert_eq!((sum(&one), sum(&two)), (sum(&whole), sum(&whole)));
        assert!(whole.followed_one_in() > 1);
        let exact = sum(&part(usize::MAX, 0..100));
        assert_eq!(exact, 100 * 64 * CELL_BYTES);
        assert!((sum(&whole) as f64 / exact as f64 - 1.0).abs() < 0.25);
    }
}
