//! Loop nests, and the test if three consecutive nodes are iterations of one loop.
//!
//! A leaf is an access in a loop body. A leaf has one step per loop around it, so that one body can contain both a moving block and a fixed header:
//!
//! ```text
//! offset = leaf.offset + sum over d of steps[d].offset * index[d]    (modulo 2^64; d = 0 is the innermost loop)
//! ```
//!
//! The formula also holds for lengths, and for the iteration counts of inner loops with their `count_steps`.

use crate::times::Intervals;

pub(crate) const MAX_DEPTH: usize = 8;
/// Maximum number of leaves (accesses in loop bodies) in the inner loops of a nest that the recogniser builds.
pub(crate) const MAX_LEAVES: usize = 1024;

/// Change of a leaf (access in a loop body) from one iteration of a loop to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Step {
    /// Change of the file offset of the access's first byte per iteration, in bytes.
    pub offset: i64,
    /// Change of the access's length per iteration, in bytes.
    pub length: i64,
}

/// Access in a loop body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// Operation number, as in [`crate::Access::op`].
    pub op: u16,
    /// File offset of the first byte accessed when all loops around the access are in their first iteration.
    pub offset: u64,
    /// Number of bytes accessed when all loops around the access are in their first iteration.
    pub length: u64,
    /// Change of offset and length per iteration of each loop around the access, innermost loop first.
    pub steps: Vec<Step>,
}

/// Loop whose body consists of accesses and inner loops.
#[derive(Clone, Debug, PartialEq)]
pub struct Loop {
    /// Number of iterations when all loops around this loop are in their first iteration.
    pub count: u64,
    /// Change of `count` per iteration of each loop around this loop, innermost first; nonzero only in triangular loops.
    pub count_steps: Vec<i64>,
    /// Accesses and inner loops of one iteration, in the order of execution.
    pub body: Vec<Node>,
    /// Intervals between the starts of successive iterations of the loop.
    pub times: Intervals,
}

/// Access or inner loop in a loop body.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// Single access in a loop body.
    Leaf(Leaf),
    /// Inner loop in a loop body.
    Loop(Loop),
}

pub(crate) fn delta(from: u64, to: u64) -> i64 {
    to.wrapping_sub(from).cast_signed()
}

pub(crate) fn moved(value: u64, step: i64, times: u64) -> u64 {
    value.wrapping_add(step.cast_unsigned().wrapping_mul(times))
}

fn mix(hash: u64, value: u64) -> u64 {
    (hash.rotate_left(5) ^ value).wrapping_mul(0x517c_c1b7_2722_0a95)
}

impl Loop {
    /// Returns (first byte, end) of the byte range that the loop accesses: exact if counts and lengths are constant, else an outer bound.
    #[must_use]
    pub fn extent(&self) -> (u64, u64) {
        let (first, end) = self.extent_in(&mut Vec::new());
        (u64::try_from(first).unwrap_or(0), u64::try_from(end.max(0)).unwrap_or(u64::MAX))
    }

    /// Returns the byte range that the loop accesses, as (first byte, end); `around` contains the maximum iteration counts of the loops
    /// around this loop, outermost first.
    fn extent_in(&self, around: &mut Vec<u64>) -> (i128, i128) {
        // Total change by a step over all iterations of its loop.
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

    /// Returns the length of the loop's first access, in bytes.
    #[must_use]
    pub fn first_length(&self) -> u64 {
        self.body.first().map_or(0, |node| match node {
            Node::Leaf(leaf) => leaf.length,
            Node::Loop(inner) => inner.first_length(),
        })
    }

    /// Returns the leaves (accesses in loop bodies) of the nest, in order.
    #[must_use]
    pub fn leaves(&self) -> Vec<&Leaf> {
        fn add<'a>(nest: &'a Loop, out: &mut Vec<&'a Leaf>) {
            for node in &nest.body {
                match node {
                    Node::Leaf(leaf) => out.push(leaf),
                    Node::Loop(inner) => add(inner, out),
                }
            }
        }
        let mut out = Vec::new();
        add(self, &mut out);
        out
    }

    /// True if both loop nests are equal except for file offsets and times.
    pub(crate) fn equals_but_offsets(&self, other: &Self) -> bool {
        self.count == other.count
            && self.count_steps == other.count_steps
            && self.body.len() == other.body.len()
            && self.body.iter().zip(&other.body).all(|(a, b)| match (a, b) {
                (Node::Leaf(a), Node::Leaf(b)) => a.op == b.op && a.length == b.length && a.steps == b.steps,
                (Node::Loop(a), Node::Loop(b)) => a.equals_but_offsets(b),
                _ => false,
            })
    }

    /// Returns the depth of the loop nest, which is 1 without inner loops.
    pub(crate) fn depth(&self) -> usize {
        1 + self.body.iter().map(Node::depth).max().unwrap_or(0)
    }
}

impl Leaf {
    pub(crate) const fn of(op: u16, offset: u64, length: u64) -> Self {
        Self { op, offset, length, steps: Vec::new() }
    }
}

impl Node {
    pub(crate) const fn leaf(op: u16, offset: u64, length: u64) -> Self {
        Self::Leaf(Leaf::of(op, offset, length))
    }

    /// Returns a hash of operations, steps and loop structure; offsets, lengths and iteration counts do not influence it.
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

    /// Returns the offset of the first byte of the node's first access.
    pub(crate) fn first(&self) -> u64 {
        match self {
            Self::Leaf(leaf) => leaf.offset,
            Self::Loop(l) => l.body.first().map_or(0, Self::first),
        }
    }

    /// Returns the depth of the loop nest, which is 0 for a single access.
    pub(crate) fn depth(&self) -> usize {
        match self {
            Self::Leaf(_) => 0,
            Self::Loop(l) => l.depth(),
        }
    }

    /// Returns the number of leaves (accesses in loop bodies), regardless of iteration counts.
    pub(crate) fn leaf_count(&self) -> usize {
        match self {
            Self::Leaf(_) => 1,
            Self::Loop(l) => l.body.iter().map(Self::leaf_count).sum(),
        }
    }

    /// Returns the number of loops and of accesses in loop bodies. Of several descriptions of the same accesses, the recogniser chooses the
    /// one with the lowest cost.
    pub(crate) fn cost(&self) -> usize {
        match self {
            Self::Leaf(_) => 1,
            Self::Loop(l) => 1 + l.body.iter().map(Self::cost).sum::<usize>(),
        }
    }

    /// Returns the loop and the leaf in its body if this node is a run (a loop over a single access), else `None`.
    pub(crate) fn as_run(&self) -> Option<(&Loop, &Leaf)> {
        match self {
            Self::Loop(l) => match l.body.as_slice() {
                [Self::Leaf(leaf)] => Some((l, leaf)),
                _ => None,
            },
            Self::Leaf(_) => None,
        }
    }

    /// True if `a`, `b`, `c` can be three successive iterations of one node. `open` is true if `c` may be a loop that still grows; then
    /// `a`, `b` and `c` must be loops with equal counts.
    pub(crate) fn in_line(a: &Self, b: &Self, c: &Self, open: bool) -> bool {
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

    /// Converts a node of the first iteration to a node of the loop body by adding a step, computed from `next`, the corresponding node of
    /// the second iteration. See [`Node::in_line`].
    pub(crate) fn take_step(&mut self, next: &Self) {
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

    /// Adds the intervals of `other`, the same loop of the program in another iteration of an outer loop.
    pub(crate) fn merge_times(&mut self, other: &Self) {
        if let (Self::Loop(a), Self::Loop(b)) = (self, other) {
            a.times.merge(&b.times);
            for (a, b) in a.body.iter_mut().zip(&b.body) {
                a.merge_times(b);
            }
        }
    }

    /// Returns this node of a loop's body with the offsets, lengths and iteration counts that it has in iteration `index` of the loop. The
    /// node's steps for that loop are removed.
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

    /// Sets the node's start values to those in iteration `index` of the outermost loop around it and keeps the steps, so that the loop
    /// begins with that iteration. `u64::MAX` stands for the iteration before the first.
    pub(crate) fn shift(&mut self, index: u64) {
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

    /// True if both nodes (accesses or loops) are equal except for times.
    pub(crate) fn same(&self, other: &Self) -> bool {
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
}

/// Returns the [`Node::shape`] (hash of the structure) of a single access with operation `op` outside loops.
pub(crate) fn shape_of_leaf(op: u16) -> u64 {
    mix(1, u64::from(op))
}
