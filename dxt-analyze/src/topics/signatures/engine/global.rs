//! The signatures of many ranks as a few lines: nests that are the same but for their offsets, where the offsets are a linear
//! function of the rank, or of its coordinates in a grid of ranks (rank = y x w + x, and so on).

use std::collections::HashMap;

use super::nest::{Leaf, Loop, Node, delta, moved};
use super::signature::{Pattern, Signature};

/// One direction in a grid of ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Direction {
    /// Ranks along it.
    pub count: u64,
    /// From one to the next.
    pub rank_step: i64,
    /// How each leaf's offset moves from one to the next, in the order of the leaves.
    pub shifts: Vec<i64>,
}

/// A nest of some ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The nest of the first rank.
    pub nest: Loop,
    /// The first rank.
    pub first_rank: u64,
    /// The grid, the fastest direction first; empty for one rank.
    pub directions: Vec<Direction>,
    /// Ranks.
    pub ranks: u64,
    /// The position of the nest in the first rank's signature.
    pub position: u64,
    /// Likewise in that of each, in the order of [`Line::members`].
    pub positions: Vec<u64>,
    /// When the first of them began.
    pub start_ns: u64,
    /// When the last access of the last of them began.
    pub last_start_ns: u64,
    /// When the last of them returned.
    pub end_ns: u64,
    /// Accesses of all.
    pub accesses: u64,
    /// Bytes of all.
    pub bytes: u128,
}

/// What many ranks do together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Global {
    /// Processes.
    pub processes: u64,
    /// Lines, by their first rank and place.
    pub lines: Vec<Line>,
    /// Accesses of no nest.
    pub residue: u64,
    /// Their bytes.
    pub residue_bytes: u128,
}

/// Points that lie in line: one rank's leaves, or a row of them.
struct Row {
    rank: u64,
    offsets: Vec<u64>,
    directions: Vec<Direction>,
    positions: Vec<u64>,
    /// Of the members that it stands for.
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

/// Puts the signatures of ranks together.
#[must_use]
pub fn globalize(signatures: &[(u64, &Signature)]) -> Global {
    let mut sorted: Vec<_> = signatures.to_vec();
    sorted.sort_by_key(|(rank, _)| *rank);
    let mut out = Global { processes: sorted.len() as u64, ..Global::default() };
    // A hash finds the candidates, a comparison decides.
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
            let group = candidates.iter().copied().find(|g| groups.get(*g).is_some_and(|g| like(g.0, &pattern.nest)));
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
        let mut offsets = Vec::new();
        leaves(&pattern.nest, &mut |leaf| offsets.push(leaf.offset));
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

/// Joins neighbours that lie in line.
fn join(rows: Vec<Row>) -> Vec<Row> {
    let mut out = Vec::new();
    let mut rest = rows.as_slice();
    while let Some(first) = rest.first() {
        let mut length = in_line(rest);
        // Two are always in line: the second may be the first of more.
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

/// How many of the first rows lie in line.
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
    /// Each rank with its leaves' offsets: what the line claims. Computed from the coordinates.
    pub fn members(&self) -> impl Iterator<Item = (u64, Vec<u64>)> + '_ {
        (0..self.ranks).map(|member| {
            let (mut left, mut rank) = (member, self.first_rank);
            let mut offsets = Vec::new();
            leaves(&self.nest, &mut |leaf| offsets.push(leaf.offset));
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

    /// The rank of each member, in the order of [`Self::members`].
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

    /// The shift of all leaves per step of a direction, if it is the same for all.
    #[must_use]
    pub fn shift(&self, direction: &Direction) -> Option<i64> {
        let first = direction.shifts.first()?;
        direction.shifts.iter().all(|s| s == first).then_some(*first)
    }

    /// `(a, b)` of `a x rank + b`, which is where a rank's first access is, if the ranks lie in one direction.
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

    /// The first byte of the first rank's first access.
    #[must_use]
    pub fn first_offset(&self) -> u64 {
        let mut first = None;
        leaves(&self.nest, &mut |leaf| first = first.or(Some(leaf.offset)));
        first.unwrap_or(0)
    }

    /// The bytes that the ranks access together without a gap and each once: first byte and length. `None` if it is not so.
    #[must_use]
    pub fn contiguous(&self) -> Option<(u64, u128)> {
        let mut all: Vec<&Leaf> = Vec::new();
        leaves(&self.nest, &mut |leaf| all.push(leaf));
        let first = *all.first()?;
        let mut dimensions: Vec<(u64, i64)> = Vec::new();
        let mut unit = u128::from(first.length);
        if let [leaf] = all.as_slice() {
            counts(&self.nest, &mut dimensions, leaf)?;
        } else {
            // Several leaves of one body, each where the one before ends.
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

/// Counts and steps of the loops around the only leaf.
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

/// Each leaf of a nest, in order.
pub fn leaves<'a>(l: &'a Loop, each: &mut dyn FnMut(&'a Leaf)) {
    for node in &l.body {
        match node {
            Node::Leaf(leaf) => each(leaf),
            Node::Loop(inner) => leaves(inner, each),
        }
    }
}

fn place(l: &mut Loop, offsets: &mut dyn Iterator<Item = u64>) {
    for node in &mut l.body {
        match node {
            Node::Leaf(leaf) => leaf.offset = offsets.next().unwrap_or(leaf.offset),
            Node::Loop(inner) => place(inner, offsets),
        }
    }
}

/// Of all but offsets and times.
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

/// Whether two nests are the same but for offsets and times.
#[must_use]
pub fn like(a: &Loop, b: &Loop) -> bool {
    a.count == b.count
        && a.count_steps == b.count_steps
        && a.body.len() == b.body.len()
        && a.body.iter().zip(&b.body).all(|(a, b)| match (a, b) {
            (Node::Leaf(a), Node::Leaf(b)) => a.op == b.op && a.length == b.length && a.steps == b.steps,
            (Node::Loop(a), Node::Loop(b)) => like(a, b),
            _ => false,
        })
}
