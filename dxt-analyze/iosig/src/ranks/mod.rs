//! Summary of the signatures of many ranks as a few lines.
//!
//! A [`Line`] combines loop nests of several ranks that differ only in offsets. The offsets must be linear in the rank, or in the rank's
//! coordinates in a process grid (in two dimensions, rank = y x width + x). A rank may be any number that identifies a stream of accesses.

mod across;
mod tiles;

pub use across::across;
pub use tiles::{Arrangement, Tiling, tilings};

use std::collections::HashMap;

use crate::nest::{Leaf, Loop, Node, delta, moved};
use crate::signature::{Pattern, Signature};

/// Dimension of a process grid along which an access pattern repeats from rank to rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Direction {
    /// Number of ranks along the dimension of the process grid.
    pub count: u64,
    /// Difference in rank between neighbours along the dimension of the process grid.
    pub rank_step: i64,
    /// Difference in offset between neighbours along the dimension, in bytes, for each leaf (access in a loop body) of the nest, in order.
    pub shifts: Vec<i64>,
}

/// Loop nest that several ranks share, except for offsets that are linear in the ranks' coordinates.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Loop nest of the lowest rank.
    pub nest: Loop,
    /// Lowest rank that shares the loop nest.
    pub first_rank: u64,
    /// Dimensions of the process grid, innermost (fastest-varying) first; empty for a single rank.
    pub directions: Vec<Direction>,
    /// Number of ranks that share the loop nest.
    pub ranks: u64,
    /// Index of the loop nest's first access among the accesses of the lowest rank.
    pub position: u64,
    /// For each rank: index of the loop nest's first access among the rank's accesses, in the order of [`Line::members`].
    pub positions: Vec<u64>,
    /// Start of the earliest access of all ranks, in ns.
    pub start_ns: u64,
    /// Latest start of a rank's last access, in ns.
    pub last_start_ns: u64,
    /// End of the latest access of all ranks, in ns.
    pub end_ns: u64,
    /// Number of accesses of all ranks together.
    pub accesses: u64,
    /// Number of bytes accessed by all ranks together.
    pub bytes: u128,
}

/// Combined signature of many ranks: the loop nests that they share.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Global {
    /// Number of signatures that were combined.
    pub processes: u64,
    /// Loop nests shared by ranks, ordered by lowest rank, then by position.
    pub lines: Vec<Line>,
    /// Number of accesses outside loop nests.
    pub residue: u64,
    /// Bytes of the accesses outside loop nests.
    pub residue_bytes: u128,
}

/// Offsets of a loop nest's accesses for one rank, or for several ranks that were combined already.
struct Row {
    rank: u64,
    offsets: Vec<u64>,
    directions: Vec<Direction>,
    positions: Vec<u64>,
    /// Numbers of ranks, accesses and bytes, and the times, over all ranks combined in the row.
    sum: Sum,
}

#[derive(Clone, Copy)]
struct Sum {
    ranks: u64,
    position: u64,
    start_ns: u64,
    last_start_ns: u64,
    end_ns: u64,
    accesses: u64,
    bytes: u128,
}

/// Combines the signatures of many ranks, given as pairs (rank, signature).
#[must_use]
pub fn globalize(signatures: &[(u64, &Signature)]) -> Global {
    let mut sorted: Vec<_> = signatures.to_vec();
    sorted.sort_by_key(|(rank, _)| *rank);
    let mut out = Global { processes: sorted.len() as u64, ..Global::default() };
    // Hashes find candidates, which are then compared.
    let mut groups: Vec<(&Loop, Vec<Row>)> = Vec::new();
    let mut by_hash: HashMap<(u64, u64), Vec<usize>> = HashMap::new();
    for (rank, signature) in sorted {
        out.residue = out.residue.saturating_add(signature.accesses.saturating_sub(signature.covered));
        out.residue_bytes = out.residue_bytes.saturating_add(signature.bytes.saturating_sub(signature.covered_bytes));
        let mut seen: HashMap<u64, u64> = HashMap::new();
        for pattern in signature.patterns() {
            let hash = hash_of(&pattern.nest, 17);
            let ordinal = seen.entry(hash).or_insert(0);
            let candidates = by_hash.entry((hash, *ordinal)).or_default();
            *ordinal += 1;
            let group = candidates
                .iter()
                .copied()
                .find(|g| groups.get(*g).is_some_and(|g| g.0.equals_but_offsets(&pattern.nest)));
            let group = group.unwrap_or_else(|| {
                candidates.push(groups.len());
                groups.push((&pattern.nest, Vec::new()));
                groups.len() - 1
            });
            if let Some((_, rows)) = groups.get_mut(group) {
                rows.push(Row::of(rank, pattern));
            }
        }
    }
    for (nest, mut rows) in groups {
        loop {
            let before = rows.len();
            rows = join(rows);
            if rows.len() == before {
                break;
            }
        }
        out.lines.extend(rows.into_iter().map(|row| row.line(nest)));
    }
    out.lines.sort_by_key(|line| (line.first_rank, line.position));
    out
}

impl Row {
    fn of(rank: u64, pattern: &Pattern) -> Self {
        let offsets = pattern.nest.leaves().iter().map(|leaf| leaf.offset).collect();
        let sum = Sum {
            ranks: 1,
            position: pattern.position,
            start_ns: pattern.start_ns,
            last_start_ns: pattern.last_start_ns,
            end_ns: pattern.end_ns,
            accesses: pattern.accesses,
            bytes: pattern.bytes,
        };
        Self { rank, offsets, directions: Vec::new(), positions: vec![pattern.position], sum }
    }

    fn line(self, nest: &Loop) -> Line {
        let mut nest = nest.clone();
        let mut offsets = self.offsets.iter().copied();
        place(&mut nest, &mut offsets);
        Line {
            nest,
            first_rank: self.rank,
            directions: self.directions,
            ranks: self.sum.ranks,
            position: self.sum.position,
            positions: self.positions,
            start_ns: self.sum.start_ns,
            last_start_ns: self.sum.last_start_ns,
            end_ns: self.sum.end_ns,
            accesses: self.sum.accesses,
            bytes: self.sum.bytes,
        }
    }

    fn is_followed(&self, next: &Self, step: i64, shifts: &[i64]) -> bool {
        self.directions == next.directions
            && delta(self.rank, next.rank) == step
            && self.offsets.len() == next.offsets.len()
            && self.offsets.iter().zip(&next.offsets).zip(shifts).all(|((a, b), s)| delta(*a, *b) == *s)
    }
}

/// Combines consecutive rows (loop nests of one or several ranks) whose ranks and offsets grow by constant steps.
fn join(rows: Vec<Row>) -> Vec<Row> {
    let mut out = Vec::new();
    let mut rest = rows.as_slice();
    while let Some(first) = rest.first() {
        let mut length = in_line(rest);
        // Two rows always have a constant step. If the second row begins a sequence of at least three rows, it is left to that sequence.
        if length == 2 && rest.get(1..).map_or(0, in_line) >= 3 {
            length = 1;
        }
        let (taken, left) = rest.split_at_checked(length.max(1)).unwrap_or((rest, &[]));
        let mut directions = first.directions.clone();
        if let [a, b, ..] = taken {
            let shifts = a.offsets.iter().zip(&b.offsets).map(|(a, b)| delta(*a, *b)).collect();
            directions.push(Direction { count: taken.len() as u64, rank_step: delta(a.rank, b.rank), shifts });
        }
        let mut sum = first.sum;
        let mut positions = first.positions.clone();
        for row in taken.iter().skip(1) {
            positions.extend(&row.positions);
            sum.ranks = sum.ranks.saturating_add(row.sum.ranks);
            sum.start_ns = sum.start_ns.min(row.sum.start_ns);
            sum.last_start_ns = sum.last_start_ns.max(row.sum.last_start_ns);
            sum.end_ns = sum.end_ns.max(row.sum.end_ns);
            sum.accesses = sum.accesses.saturating_add(row.sum.accesses);
            sum.bytes = sum.bytes.saturating_add(row.sum.bytes);
        }
        out.push(Row { rank: first.rank, offsets: first.offsets.clone(), directions, positions, sum });
        rest = left;
    }
    out
}

/// Returns the number of rows (loop nests of one or several ranks) at the beginning of `rows` whose ranks and offsets grow by constant
/// steps.
fn in_line(rows: &[Row]) -> usize {
    let [a, b, ..] = rows else { return rows.len() };
    if a.directions != b.directions {
        return 1;
    }
    let step = delta(a.rank, b.rank);
    let shifts: Vec<i64> = a.offsets.iter().zip(&b.offsets).map(|(a, b)| delta(*a, *b)).collect();
    1 + rows.windows(2).take_while(|w| matches!(w, [a, b] if a.is_followed(b, step, &shifts))).count()
}

impl Line {
    /// Returns an iterator over (rank, offset of each access in the loop nest), computed from the ranks' grid coordinates.
    pub fn members(&self) -> impl Iterator<Item = (u64, Vec<u64>)> + '_ {
        (0..self.ranks).map(|member| {
            let (mut left, mut rank) = (member, self.first_rank);
            let mut offsets: Vec<u64> = self.nest.leaves().iter().map(|leaf| leaf.offset).collect();
            for direction in &self.directions {
                let at = left % direction.count.max(1);
                left /= direction.count.max(1);
                rank = moved(rank, direction.rank_step, at);
                for (offset, shift) in offsets.iter_mut().zip(&direction.shifts) {
                    *offset = moved(*offset, *shift, at);
                }
            }
            (rank, offsets)
        })
    }

    /// Returns an iterator over the ranks that share the loop nest, in the order of [`Self::members`].
    pub fn numbers(&self) -> impl Iterator<Item = u64> + '_ {
        (0..self.ranks).map(|member| {
            let (mut left, mut rank) = (member, self.first_rank);
            for direction in &self.directions {
                rank = moved(rank, direction.rank_step, left % direction.count.max(1));
                left /= direction.count.max(1);
            }
            rank
        })
    }

    /// Returns the offset difference between neighbours along `direction`, in bytes; `None` if the offset differences of the nest's
    /// accesses are not equal.
    #[must_use]
    pub fn shift(&self, direction: &Direction) -> Option<i64> {
        let first = direction.shifts.first()?;
        direction.shifts.iter().all(|s| s == first).then_some(*first)
    }

    /// Returns `(a, b)` if each rank's first access is at offset `a x rank + b` with an integer `a`. Returns `None` otherwise, and if the
    /// ranks form a grid of several dimensions, or if the nest's accesses move by different distances from rank to rank.
    #[must_use]
    pub fn linear(&self) -> Option<(i64, i128)> {
        let [direction] = self.directions.as_slice() else { return None };
        let shift = self.shift(direction)?;
        if direction.rank_step == 0 || shift.checked_rem(direction.rank_step)? != 0 {
            return None;
        }
        let a = shift.checked_div(direction.rank_step)?;
        Some((a, i128::from(self.first_offset()) - i128::from(a) * i128::from(self.first_rank)))
    }

    /// Returns the offset of the lowest rank's first access.
    #[must_use]
    pub fn first_offset(&self) -> u64 {
        self.nest.leaves().first().map_or(0, |leaf| leaf.offset)
    }

    /// Returns (first byte, length) of the accessed range if all ranks together access it without gaps and each byte exactly once; else `None`.
    #[must_use]
    pub fn contiguous(&self) -> Option<(u64, u128)> {
        let all = self.nest.leaves();
        let first = *all.first()?;
        let mut dimensions: Vec<(u64, i64)> = Vec::new();
        let mut unit = u128::from(first.length);
        if let [leaf] = all.as_slice() {
            counts(&self.nest, &mut dimensions, leaf)?;
        } else {
            // Several accesses in one loop body: each must begin where the previous access ends.
            let mut body = &self.nest;
            let mut around = vec![self.nest.count];
            while let [Node::Loop(inner)] = body.body.as_slice() {
                if inner.count_steps.iter().any(|s| *s != 0) {
                    return None;
                }
                around.push(inner.count);
                body = inner;
            }
            let mut next = u128::from(first.offset);
            for node in &body.body {
                let Node::Leaf(leaf) = node else { return None };
                if u128::from(leaf.offset) != next || leaf.steps != first.steps {
                    return None;
                }
                next += u128::from(leaf.length);
            }
            unit = next - u128::from(first.offset);
            if first.steps.iter().any(|s| s.length != 0) {
                return None;
            }
            dimensions.extend(around.iter().rev().zip(&first.steps).map(|(count, s)| (*count, s.offset)));
        }
        for direction in &self.directions {
            dimensions.push((direction.count, self.shift(direction)?));
        }
        dimensions.retain(|(count, _)| *count > 1);
        dimensions.sort_by_key(|(_, step)| *step);
        for (count, step) in dimensions {
            if u128::try_from(step).ok()? != unit {
                return None;
            }
            unit = unit.checked_mul(u128::from(count))?;
        }
        Some((first.offset, unit))
    }
}

/// Collects (count, offset step) of the loops around the nest's only access, innermost first. `None` if a count or length varies.
fn counts(l: &Loop, out: &mut Vec<(u64, i64)>, leaf: &Leaf) -> Option<()> {
    let mut around = Vec::new();
    let mut at = l;
    loop {
        if at.count_steps.iter().any(|s| *s != 0) {
            return None;
        }
        around.push(at.count);
        match at.body.as_slice() {
            [Node::Loop(inner)] => at = inner,
            _ => break,
        }
    }
    if leaf.steps.iter().any(|s| s.length != 0) {
        return None;
    }
    out.extend(around.iter().rev().zip(&leaf.steps).map(|(count, s)| (*count, s.offset)));
    Some(())
}

fn place(l: &mut Loop, offsets: &mut dyn Iterator<Item = u64>) {
    for node in &mut l.body {
        match node {
            Node::Leaf(leaf) => leaf.offset = offsets.next().unwrap_or(leaf.offset),
            Node::Loop(inner) => place(inner, offsets),
        }
    }
}

/// Returns a hash of a loop nest's structure, lengths, steps and iteration counts; offsets and times do not influence it.
fn hash_of(l: &Loop, hash: u64) -> u64 {
    let mix = |h: u64, v: u64| (h.rotate_left(5) ^ v).wrapping_mul(0x517c_c1b7_2722_0a95);
    let mut hash = mix(hash, l.count);
    for step in &l.count_steps {
        hash = mix(hash, step.cast_unsigned());
    }
    for node in &l.body {
        hash = match node {
            Node::Leaf(leaf) => mix(mix(hash, node.shape()), leaf.length),
            Node::Loop(inner) => hash_of(inner, mix(hash, 3)),
        };
    }
    mix(hash, 5)
}
