//! Classification of patterns, and of accesses outside loops, on the five axes of IOSIG: spatial order, size, repetition, intervals, operation.

use crate::nest::{Leaf, Loop, Node, Step};
use crate::signature::{Residue, Signature};
pub use crate::succession::Spatial;
use crate::times::Intervals;

/// Page size in bytes, which separates small from large requests.
pub const PAGE: u64 = 4096;

/// Size class of the requests in a loop nest (pattern), relative to [`PAGE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Size {
    /// All requests are smaller than a page.
    Small,
    /// All requests are exactly one page.
    Medium,
    /// All requests are larger than a page.
    Large,
    /// Requests of several size classes (below, at or above a page).
    Mixed,
}

/// Repetition class of a loop nest (pattern): it occurs once, or repeatedly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Repetition {
    /// The pattern occurs once in the stream of accesses.
    Single,
    /// The pattern is repeated by a loop around it, or occurs again elsewhere in the stream of accesses.
    Repeating,
}

/// Regularity of the intervals between iterations of a pattern's loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Temporal {
    /// Intervals are regular: in every loop, their coefficient of variation is at most the limit given to [`classes`].
    Fixed,
    /// Intervals are irregular: in at least one loop, their coefficient of variation exceeds the limit given to [`classes`].
    Random,
}

/// Direction of the transfers in a loop nest (pattern).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// The pattern only reads.
    Read,
    /// The pattern only writes.
    Write,
    /// The pattern reads and writes.
    ReadWrite,
}

/// Class of a loop nest (pattern) on the five axes of IOSIG: spatial order, size, repetition, intervals, operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Class {
    /// Spatial order of the pattern's accesses, such as contiguous.
    pub spatial: Spatial,
    /// Size class of the pattern's requests: below, at or above a page.
    pub size: Size,
    /// True if the pattern's requests differ in size.
    pub variable_size: bool,
    /// Repetition of the pattern: once or repeatedly.
    pub repetition: Repetition,
    /// Regularity of the intervals between iterations of the pattern's loops; `None` if there are no intervals.
    pub temporal: Option<Temporal>,
    /// Direction of the transfers: reads, writes, or both.
    pub operation: Operation,
}

impl Class {
    /// Returns this class with size and operation merged with those of `other`; spatial order, repetition and intervals remain unchanged.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self {
            size: if self.size == other.size { self.size } else { Size::Mixed },
            operation: if self.operation == other.operation { self.operation } else { Operation::ReadWrite },
            variable_size: self.variable_size || other.variable_size,
            ..self
        }
    }
}

/// Returns the class of each pattern (loop nest) in a signature, in the order of the patterns.
///
/// `writes` returns true for operations that write. Intervals with a coefficient of variation up to `limit`, such as
/// [`FIXED_CV`](crate::FIXED_CV), count as fixed.
#[must_use]
pub fn classes(signature: &Signature, writes: impl Fn(u16) -> bool, limit: f64) -> Vec<Class> {
    // Sorted by shape, so that equal loop nests are adjacent and need not be searched for among all pairs.
    let mut by_shape: Vec<(u64, u64, usize, &Loop)> =
        signature.patterns().enumerate().map(|(i, p)| (shape(&p.nest), p.nest.count, i, &p.nest)).collect();
    by_shape.sort_by_key(|(shape, count, i, _)| (*shape, *count, *i));
    let mut again = vec![false; by_shape.len()];
    for pair in by_shape.windows(2) {
        if let [(_, _, i, a), (_, _, j, b)] = pair
            && a.equals_but_offsets(b)
        {
            for at in [*i, *j] {
                if let Some(again) = again.get_mut(at) {
                    *again = true;
                }
            }
        }
    }
    signature.patterns().zip(again).map(|(p, again)| class(&p.nest, again, &writes, limit)).collect()
}

fn shape(l: &Loop) -> u64 {
    l.body.iter().fold(0, |h, n| (h ^ n.shape()).rotate_left(7).wrapping_mul(0x517c_c1b7_2722_0a95))
}

/// Returns the class of one loop nest. `again` is true if another nest in the stream of accesses is equal except for offsets and times.
/// `writes` and `limit` are those of [`classes`].
#[must_use]
pub fn class(nest: &Loop, again: bool, writes: &dyn Fn(u16) -> bool, limit: f64) -> Class {
    let all = nest.leaves();
    let lengths = lengths(nest);
    let several =
        all.iter().any(|l| l.length != lengths.0) || all.iter().any(|l| l.steps.iter().any(|s| s.length != 0));
    let mut fixed = None;
    intervals(nest, &mut |times| fixed = times.is_fixed(limit).map(|f| f && fixed.unwrap_or(true)).or(fixed));
    let (read, write) = (all.iter().any(|l| !writes(l.op)), all.iter().any(|l| writes(l.op)));
    Class {
        spatial: spatial(nest),
        size: size(lengths),
        variable_size: several,
        repetition: if again || nest.depth() > 1 { Repetition::Repeating } else { Repetition::Single },
        temporal: fixed.map(|f| if f { Temporal::Fixed } else { Temporal::Random }),
        operation: match (read, write) {
            (true, true) => Operation::ReadWrite,
            (false, true) => Operation::Write,
            _ => Operation::Read,
        },
    }
}

pub(crate) fn size((least, most): (u64, u64)) -> Size {
    if most < PAGE {
        Size::Small
    } else if least > PAGE {
        Size::Large
    } else if least == PAGE && most == PAGE {
        Size::Medium
    } else {
        Size::Mixed
    }
}

/// Returns the lengths of the shortest and of the longest request, in bytes. Lengths are linear in loop indices, so their extremes are at
/// the ends of loops.
pub(crate) fn lengths(nest: &Loop) -> (u64, u64) {
    fn add(l: &Loop, counts: &mut Vec<u64>, out: &mut (u64, u64)) {
        counts.push(l.count);
        for node in &l.body {
            match node {
                Node::Leaf(leaf) => {
                    let (mut low, mut high) = (i128::from(leaf.length), i128::from(leaf.length));
                    for (step, count) in leaf.steps.iter().zip(counts.iter().rev()) {
                        let end = i128::from(step.length).saturating_mul(i128::from(count.saturating_sub(1)));
                        low = low.saturating_add(end.min(0));
                        high = high.saturating_add(end.max(0));
                    }
                    let clamp = |v: i128| v.clamp(0, i128::from(u64::MAX)) as u64;
                    *out = (out.0.min(clamp(low)), out.1.max(clamp(high)));
                }
                Node::Loop(inner) => add(inner, counts, out),
            }
        }
        counts.pop();
    }
    let mut out = (u64::MAX, 0);
    add(nest, &mut Vec::new(), &mut out);
    out
}

fn intervals(l: &Loop, each: &mut dyn FnMut(&Intervals)) {
    each(&l.times);
    for node in &l.body {
        if let Node::Loop(inner) = node {
            intervals(inner, each);
        }
    }
}

fn spatial(nest: &Loop) -> Spatial {
    // Descends to the first loop whose body is more than a single inner loop.
    let mut at = nest;
    while let [Node::Loop(inner)] = at.body.as_slice() {
        at = inner;
    }
    let mut all: Vec<&Leaf> = Vec::with_capacity(at.body.len());
    for node in &at.body {
        match node {
            Node::Leaf(leaf) => all.push(leaf),
            Node::Loop(_) => return Spatial::Combination,
        }
    }
    let Some(first) = all.first() else { return Spatial::Random };
    if all.iter().any(|l| l.steps != first.steps) {
        return Spatial::Combination;
    }
    let mut end = i128::from(first.offset);
    let mut distance = None;
    let (mut adjacent, mut regular) = (true, true);
    for (i, leaf) in all.iter().enumerate() {
        adjacent &= i128::from(leaf.offset) == end;
        end = i128::from(leaf.offset) + i128::from(leaf.length);
        if let Some(before) = i.checked_sub(1).and_then(|b| all.get(b)) {
            let step = i128::from(leaf.offset) - i128::from(before.offset);
            regular &= step == *distance.get_or_insert(step);
        }
    }
    let depth = nest.depth() + usize::from(all.len() > 1 && !adjacent);
    let grows = first.steps.first().is_some_and(|s| s.length != 0);
    if adjacent && first.steps.iter().all(|s| s.length == 0) {
        let joined = joined(nest, first, end - i128::from(first.offset));
        if joined == nest.depth() {
            return Spatial::Contiguous;
        }
        // Contiguous blocks of several requests each, with jumps between the blocks.
        if joined > 0 || all.len() > 1 {
            return Spatial::Combination;
        }
    }
    if !regular || grows && all.len() > 1 {
        return Spatial::Combination;
    }
    let back = |s: i64| s < 0;
    if first.steps.iter().any(|s| back(s.offset)) || distance.is_some_and(|d| d < 0) {
        // Backward strides in all loops are `Negative`, in only some of the loops `Combination`.
        let everywhere = first.steps.iter().all(|s| back(s.offset)) && distance.is_none_or(|d| d < 0 || adjacent);
        return if everywhere { Spatial::Negative } else { Spatial::Combination };
    }
    if depth == 1 { Spatial::FixedStride } else { Spatial::Strided(depth) }
}

/// Returns the number of loops, counted from the innermost, in which the bytes of each iteration directly follow the bytes of the previous
/// one in the file. `bytes` is the length of the contiguous range that one iteration of the innermost loop accesses.
fn joined(nest: &Loop, leaf: &Leaf, bytes: i128) -> usize {
    let (mut counts, mut at, mut even) = (vec![nest.count], nest, true);
    while let [Node::Loop(inner)] = at.body.as_slice() {
        even &= inner.count_steps.iter().all(|s| *s == 0);
        counts.push(inner.count);
        at = inner;
    }
    let mut bytes = Some(bytes);
    let mut follows = |(count, step): &(&u64, &Step)| {
        let ends = bytes.is_some_and(|bytes| bytes > 0 && bytes == i128::from(step.offset));
        bytes = bytes.and_then(|bytes| bytes.checked_mul(i128::from(**count)));
        ends
    };
    let most = if even { counts.len() } else { 1 };
    counts.iter().rev().zip(&leaf.steps).take(most).take_while(|pair| follows(pair)).count()
}

/// Returns the class of a signature's accesses outside loops; `None` if all accesses are in loops. `writes` and `limit` are those of [`classes`].
#[must_use]
pub fn random_class(signature: &Signature, writes: impl Fn(u16) -> bool, limit: f64) -> Option<Class> {
    let sum: Residue = signature.residue_sum();
    if sum.accesses == 0 {
        return None;
    }
    let (read, write) = (sum.ops.iter().any(|(op, _)| !writes(*op)), sum.ops.iter().any(|(op, _)| writes(*op)));
    Some(Class {
        operation: match (read, write) {
            (true, true) => Operation::ReadWrite,
            (false, true) => Operation::Write,
            _ => Operation::Read,
        },
        spatial: sum.succession.spatial(),
        size: size(sum.lengths),
        variable_size: sum.lengths.0 != sum.lengths.1,
        repetition: if signature.residue().count() > 1 { Repetition::Repeating } else { Repetition::Single },
        temporal: sum.times.is_fixed(limit).map(|f| if f { Temporal::Fixed } else { Temporal::Random }),
    })
}
