//! The five axes of a local pattern: spatial, size, repetition, temporal, operation. And what can be said of random accesses.

use super::global::{leaves, like};
use super::nest::{Leaf, Loop, Node};
use super::signature::{Residue, Signature};
pub use super::succession::Spatial;
use super::times::Intervals;

/// Sizes are told by it.
pub const PAGE: u64 = 4096;

/// How large requests are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Size {
    /// Below a page.
    Small,
    /// A page.
    Medium,
    /// Above.
    Large,
    /// Of more than one of these.
    Mixed,
}

/// Whether a pattern comes again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Repetition {
    /// It stands once.
    Single,
    /// A loop repeats it, or it stands in the stream again elsewhere.
    Repeating,
}

/// Whether its iterations come at regular times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Temporal {
    /// The coefficient of variation is within the limit, in all loops.
    Fixed,
    /// It is not.
    Random,
}

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Reads only.
    Read,
    /// Writes only.
    Write,
    /// Both.
    ReadWrite,
}

/// A pattern on the five axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Class {
    /// Where.
    pub spatial: Spatial,
    /// How much.
    pub size: Size,
    /// Whether requests differ in size.
    pub variable_size: bool,
    /// How often.
    pub repetition: Repetition,
    /// When; `None` without intervals.
    pub temporal: Option<Temporal>,
    /// What.
    pub operation: Operation,
}

impl Class {
    /// Of patterns of both.
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

/// The classes of a signature's patterns, in their order. `writes` tells which operations write; `limit` bounds the coefficient of
/// variation of fixed intervals.
#[must_use]
pub fn classes(signature: &Signature, writes: impl Fn(u16) -> bool, limit: f64) -> Vec<Class> {
    // Neighbours in the order of their shapes are compared, so that many patterns take no square of time.
    let mut by_shape: Vec<(u64, u64, usize, &Loop)> =
        signature.patterns().enumerate().map(|(i, p)| (shape(&p.nest), p.nest.count, i, &p.nest)).collect();
    by_shape.sort_by_key(|(shape, count, i, _)| (*shape, *count, *i));
    let mut again = vec![false; by_shape.len()];
    for pair in by_shape.windows(2) {
        if let [(_, _, i, a), (_, _, j, b)] = pair
            && like(a, b)
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

/// The class of one nest; `again`: whether it stands in the stream elsewhere.
#[must_use]
pub fn class(nest: &Loop, again: bool, writes: &dyn Fn(u16) -> bool, limit: f64) -> Class {
    let mut all: Vec<&Leaf> = Vec::new();
    leaves(nest, &mut |leaf| all.push(leaf));
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

pub(super) fn size((least, most): (u64, u64)) -> Size {
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

/// The shortest and the longest request. Lengths are linear: they are at a loop's ends.
pub(super) fn lengths(nest: &Loop) -> (u64, u64) {
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

/// Where a nest's accesses are.
#[must_use]
pub fn spatial(nest: &Loop) -> Spatial {
    // Down to where the loops do more than one thing.
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
        // Blocks of several requests and a jump.
        if joined > 0 || all.len() > 1 {
            return Spatial::Combination;
        }
    }
    if !regular || grows && all.len() > 1 {
        return Spatial::Combination;
    }
    let back = |s: i64| s < 0;
    if first.steps.iter().any(|s| back(s.offset)) || distance.is_some_and(|d| d < 0) {
        // Backward in every direction, or in one of several.
        let everywhere = first.steps.iter().all(|s| back(s.offset)) && distance.is_none_or(|d| d < 0 || adjacent);
        return if everywhere { Spatial::Negative } else { Spatial::Combination };
    }
    if depth == 1 { Spatial::FixedStride } else { Spatial::Strided(depth) }
}

/// Loops, from the innermost on, whose iterations each begin where the one before ended; a body has so many bytes side by side.
fn joined(nest: &Loop, leaf: &Leaf, bytes: i128) -> usize {
    let (mut counts, mut at, mut even) = (vec![nest.count], nest, true);
    while let [Node::Loop(inner)] = at.body.as_slice() {
        even &= inner.count_steps.iter().all(|s| *s == 0);
        counts.push(inner.count);
        at = inner;
    }
    let mut bytes = Some(bytes);
    let mut follows = |(count, step): &(&u64, &super::nest::Step)| {
        let ends = bytes.is_some_and(|bytes| bytes > 0 && bytes == i128::from(step.offset));
        bytes = bytes.and_then(|bytes| bytes.checked_mul(i128::from(**count)));
        ends
    };
    let most = if even { counts.len() } else { 1 };
    counts.iter().rev().zip(&leaf.steps).take(most).take_while(|pair| follows(pair)).count()
}

/// The class of a signature's accesses without a loop; `None` if there are none.
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
