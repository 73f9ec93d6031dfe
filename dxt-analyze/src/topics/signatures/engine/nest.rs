//! Loop nests: what they are, and when three things in a row are three iterations of one loop.
//!
//! A leaf knows how it moves with each loop around it, so that one body can hold a block that wanders and a header that stays.
//! Access `i` of a leaf is at `offset + sum of steps[d].offset * index of the d-th loop around it`, modulo 2^64.

use super::times::Intervals;

/// Loops deeper than this are not built.
pub const MAX_DEPTH: usize = 8;
/// Nests of more leaves are not built.
pub const MAX_LEAVES: usize = 1024;

/// How a leaf changes from one iteration of a loop to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Step {
    /// Bytes the first byte moves.
    pub offset: i64,
    /// Bytes the length grows.
    pub length: i64,
}

/// An access that loops repeat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// The operation.
    pub op: u16,
    /// The first byte of the first time.
    pub offset: u64,
    /// The length of the first time.
    pub length: u64,
    /// One per loop around it, the innermost first.
    pub steps: Vec<Step>,
}

/// A loop.
#[derive(Clone, Debug, PartialEq)]
pub struct Loop {
    /// Iterations, the first time.
    pub count: u64,
    /// How `count` grows with each loop around this one, the innermost first; all zero unless the loops are triangular.
    pub count_steps: Vec<i64>,
    /// What an iteration does, in order.
    pub body: Vec<Node>,
    /// Between the starts of successive iterations.
    pub times: Intervals,
}

/// A nest's node.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// An access.
    Leaf(Leaf),
    /// A loop.
    Loop(Loop),
}

pub(super) fn delta(from: u64, to: u64) -> i64 {
    to.wrapping_sub(from).cast_signed()
}

pub(super) fn moved(value: u64, step: i64, times: u64) -> u64 {
    value.wrapping_add(step.cast_unsigned().wrapping_mul(times))
}

fn mix(hash: u64, value: u64) -> u64 {
    (hash.rotate_left(5) ^ value).wrapping_mul(0x517c_c1b7_2722_0a95)
}

impl Loop {
    /// First byte that any access touches, and the byte behind the last: exact where counts and lengths do not vary, else bounds.
    #[must_use]
    pub fn extent(&self) -> (u64, u64) {
        let (first, end) = self.extent_in(&mut Vec::new());
        (u64::try_from(first).unwrap_or(0), u64::try_from(end.max(0)).unwrap_or(u64::MAX))
    }

    /// With the most iterations of the loops around, the outermost first.
    fn extent_in(&self, around: &mut Vec<u64>) -> (i128, i128) {
        // Of a step, over all iterations of its loop.
        let over = |step: i64, count: u64| i128::from(step).saturating_mul(i128::from(count.saturating_sub(1)));
        let grows = self.count_steps.iter().zip(around.iter().rev()).map(|(step, count)| over(*step, *count).max(0));
        let most = grows.fold(i128::from(self.count), i128::saturating_add);
        around.push(u64::try_from(most).unwrap_or(u64::MAX));
        let mut extent = (i128::MAX, i128::MIN);
        for node in &self.body {
            let (first, end) = match node {
                Node::Loop(inner) => inner.extent_in(around),
                Node::Leaf(leaf) => {
                    let offset = i128::from(leaf.offset);
                    let (mut first, mut end) = (offset, offset + i128::from(leaf.length));
                    for (step, count) in leaf.steps.iter().zip(around.iter().rev()) {
                        let (moves, grows) = (over(step.offset, *count), over(step.length, *count));
                        first = first.saturating_add(moves.min(0));
                        end = end.saturating_add(moves.max(0)).saturating_add(grows.max(0));
                    }
                    (first, end)
                }
            };
            extent = (extent.0.min(first), extent.1.max(end));
        }
        around.pop();
        extent
    }

    /// The length of the first access.
    #[must_use]
    pub fn first_length(&self) -> u64 {
        self.body.first().map_or(0, |node| match node {
            Node::Leaf(leaf) => leaf.length,
            Node::Loop(inner) => inner.first_length(),
        })
    }

    /// Loops within each other, this one among them.
    #[must_use]
    pub fn depth(&self) -> usize {
        1 + self.body.iter().map(Node::depth).max().unwrap_or(0)
    }
}

impl Leaf {
    pub(super) const fn of(op: u16, offset: u64, length: u64) -> Self {
        Self { op, offset, length, steps: Vec::new() }
    }
}

impl Node {
    pub(super) const fn leaf(op: u16, offset: u64, length: u64) -> Self {
        Self::Leaf(Leaf::of(op, offset, length))
    }

    /// A hash of the shape: operations, steps and loops, but no offset, length or count.
    #[must_use]
    pub fn shape(&self) -> u64 {
        match self {
            Self::Leaf(leaf) => leaf
                .steps
                .iter()
                .fold(shape_of_leaf(leaf.op), |h, s| mix(mix(h, s.offset.cast_unsigned()), s.length.cast_unsigned())),
            Self::Loop(l) => {
                let hash = l.count_steps.iter().fold(7, |h, s| mix(h, s.cast_unsigned()));
                mix(l.body.iter().fold(hash, |h, n| mix(h, n.shape())), 0x4c6f_6f70)
            }
        }
    }

    /// The first byte of the first access.
    pub(super) fn first(&self) -> u64 {
        match self {
            Self::Leaf(leaf) => leaf.offset,
            Self::Loop(l) => l.body.first().map_or(0, Self::first),
        }
    }

    /// Loops within each other.
    #[must_use]
    pub fn depth(&self) -> usize {
        match self {
            Self::Leaf(_) => 0,
            Self::Loop(l) => l.depth(),
        }
    }

    /// Leaves.
    #[must_use]
    pub fn leaves(&self) -> usize {
        match self {
            Self::Leaf(_) => 1,
            Self::Loop(l) => l.body.iter().map(Self::leaves).sum(),
        }
    }

    /// Leaves and loops: what a form is short by.
    #[must_use]
    pub fn cost(&self) -> usize {
        match self {
            Self::Leaf(_) => 1,
            Self::Loop(l) => 1 + l.body.iter().map(Self::cost).sum::<usize>(),
        }
    }

    /// The loop, and its only leaf, of a run.
    pub(super) fn as_run(&self) -> Option<(&Loop, &Leaf)> {
        match self {
            Self::Loop(l) => match l.body.as_slice() {
                [Self::Leaf(leaf)] => Some((l, leaf)),
                _ => None,
            },
            Self::Leaf(_) => None,
        }
    }

    /// Whether a, b, c are the first three iterations of something. If the last loop is still `open`, its count must be equal.
    pub(super) fn in_line(a: &Self, b: &Self, c: &Self, open: bool) -> bool {
        match (a, b, c) {
            (Self::Leaf(a), Self::Leaf(b), Self::Leaf(c)) => {
                a.op == b.op
                    && b.op == c.op
                    && delta(a.offset, b.offset) == delta(b.offset, c.offset)
                    && delta(a.length, b.length) == delta(b.length, c.length)
                    && a.steps == b.steps
                    && b.steps == c.steps
            }
            (Self::Loop(a), Self::Loop(b), Self::Loop(c)) => {
                delta(a.count, b.count) == delta(b.count, c.count)
                    && (!open || a.count == b.count)
                    && a.count_steps == b.count_steps
                    && b.count_steps == c.count_steps
                    && a.body.len() == b.body.len()
                    && b.body.len() == c.body.len()
                    && a.body.iter().zip(&b.body).zip(&c.body).all(|((a, b), c)| Self::in_line(a, b, c, false))
            }
            _ => false,
        }
    }

    /// Makes this, the first iteration's, the body of a loop whose second iteration is `next`. They are [`Node::in_line`].
    pub(super) fn take_step(&mut self, next: &Self) {
        match (self, next) {
            (Self::Leaf(a), Self::Leaf(b)) => {
                a.steps.push(Step { offset: delta(a.offset, b.offset), length: delta(a.length, b.length) });
            }
            (Self::Loop(a), Self::Loop(b)) => {
                a.count_steps.push(delta(a.count, b.count));
                for (a, b) in a.body.iter_mut().zip(&b.body) {
                    a.take_step(b);
                }
            }
            _ => {}
        }
    }

    /// Adds the times of the same node of another iteration.
    pub(super) fn merge_times(&mut self, other: &Self) {
        if let (Self::Loop(a), Self::Loop(b)) = (self, other) {
            a.times.merge(&b.times);
            for (a, b) in a.body.iter_mut().zip(&b.body) {
                a.merge_times(b);
            }
        }
    }

    /// This child as it stands in iteration `index` of the loop around it; that loop's steps are gone from it.
    #[must_use]
    pub fn at_iteration(&self, index: u64) -> Self {
        match self {
            Self::Leaf(leaf) => {
                let mut leaf = leaf.clone();
                if let Some(step) = leaf.steps.pop() {
                    leaf.offset = moved(leaf.offset, step.offset, index);
                    leaf.length = moved(leaf.length, step.length, index);
                }
                Self::Leaf(leaf)
            }
            Self::Loop(l) => {
                let mut count_steps = l.count_steps.clone();
                let step = count_steps.pop().unwrap_or(0);
                let count = moved(l.count, step, index);
                let times = l.times.scaled(count.saturating_sub(1));
                let body = l.body.iter().map(|n| n.at_iteration(index)).collect();
                Self::Loop(Loop { count, count_steps, body, times })
            }
        }
    }

    /// Moves this to another iteration of the outermost loop around it, whose steps stay: the loop then begins there.
    pub(super) fn shift(&mut self, index: u64) {
        match self {
            Self::Leaf(leaf) => {
                if let Some(step) = leaf.steps.last().copied() {
                    leaf.offset = moved(leaf.offset, step.offset, index);
                    leaf.length = moved(leaf.length, step.length, index);
                }
            }
            Self::Loop(l) => {
                if let Some(step) = l.count_steps.last().copied() {
                    l.count = moved(l.count, step, index);
                }
                for node in &mut l.body {
                    node.shift(index);
                }
            }
        }
    }

    /// Whether the two do the same; times are not asked.
    #[must_use]
    pub fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Leaf(a), Self::Leaf(b)) => a == b,
            (Self::Loop(a), Self::Loop(b)) => {
                a.count == b.count
                    && a.count_steps == b.count_steps
                    && a.body.len() == b.body.len()
                    && a.body.iter().zip(&b.body).all(|(a, b)| a.same(b))
            }
            _ => false,
        }
    }

    /// Accesses and bytes, if counts do not vary with loops around this (the usual case); walks loops, not iterations.
    /// `None` if it is triangular, or more than `u64` holds.
    #[must_use]
    pub fn accesses(&self) -> Option<u64> {
        match self {
            Self::Leaf(_) => Some(1),
            Self::Loop(l) if l.count_steps.iter().all(|s| *s == 0) => {
                l.body.iter().try_fold(0_u64, |sum, n| sum.checked_add(n.accesses()?))?.checked_mul(l.count)
            }
            Self::Loop(_) => None,
        }
    }
}

/// The shape of a leaf without loops around it.
pub(super) fn shape_of_leaf(op: u16) -> u64 {
    mix(1, u64::from(op))
}
