//! Stack of the latest elements (accesses and loop nests). Three successive groups on top of the stack that are iterations of one loop are
//! replaced by that loop.
//!
//! Follows Ketterlin and Clauss, "Prediction and trace compression of data access addresses through nested loop recognition" (CGO 2008): for
//! each period up to a bound, the last elements are compared with the elements one and two periods before.

use crate::access::{Access, Accesses};
use crate::nest::{Loop, MAX_DEPTH, MAX_LEAVES, Node, delta, moved, shape_of_leaf};
use crate::times::Intervals;

/// Number of latest accesses that the recogniser's ring buffer holds, each stored singly even if it belongs to a loop.
pub(crate) const KEPT: usize = 256;
/// Maximum length of a loop body, in accesses and inner loops; three iterations of as many accesses fit into the ring buffer.
pub(crate) const LONGEST: usize = 64;
/// Maximum length of a loop body, in accesses and inner loops, that is searched for at each step; longer bodies are searched for only if a
/// sample indicates one.
pub(crate) const NEAR: usize = 16;

/// Ring buffer of the latest accesses, each stored singly even if it belongs to a loop.
#[derive(Debug)]
pub(crate) struct Ring {
    last: [Access; KEPT],
    /// Offsets of the accesses, stored twice, so that the latest offsets are always contiguous.
    offsets: [u64; 2 * KEPT],
    /// Number of accesses pushed so far, including those no longer in the ring.
    pub(crate) total: u64,
}

impl Ring {
    pub(crate) fn new() -> Self {
        Self { last: [Access::default(); KEPT], offsets: [0; 2 * KEPT], total: 0 }
    }

    #[inline]
    pub(crate) fn push(&mut self, access: &Access) {
        let at = self.total as usize % KEPT;
        self.last[at] = *access;
        self.offsets[at] = access.offset;
        self.offsets[at + KEPT] = access.offset;
        self.total += 1;
    }

    /// Pushes the first `count` calls of `calls`; stores only the last calls that fit into the ring.
    pub(crate) fn push_all(&mut self, op: u16, calls: &Accesses<'_>, count: usize) {
        let passed = count.saturating_sub(KEPT);
        self.total += passed as u64;
        let places = calls.offset.iter().zip(calls.length).zip(calls.start.iter().zip(calls.end));
        for ((&offset, &length), (&start, &end)) in places.take(count).skip(passed) {
            let (start_ns, end_ns) = (start.saturating_add(calls.shift), end.saturating_add(calls.shift));
            self.push(&Access { op, offset: offset.cast_unsigned(), length, start_ns, end_ns });
        }
    }

    /// Returns the access that is `by` positions before the last access.
    #[inline]
    pub(crate) fn back(&self, by: usize) -> &Access {
        &self.last[(self.total as usize).wrapping_sub(1 + by) % KEPT]
    }

    /// True if, for some period up to [`NEAR`], the offsets of the last access and of the accesses one and two periods before it grow by a
    /// constant step. Mostly false.
    #[inline]
    pub(crate) fn may_repeat(&self) -> bool {
        let end = (self.total as usize).wrapping_sub(1) % KEPT + KEPT + 1;
        let Some(last) = self.offsets.get(end - (2 * NEAR + 1)..end) else { return true };
        let Ok(last) = <&[u64; 2 * NEAR + 1]>::try_from(last) else { return true };
        let tip = last[2 * NEAR];
        // For period p, the accesses two and one periods before are at indices 2 x (NEAR - p) and 2 x NEAR - p. Branchless, hence unrolled.
        let (firsts, seconds) = (&last[..2 * NEAR], &last[NEAR..2 * NEAR]);
        let mut any = false;
        for (first, second) in firsts.chunks_exact(2).zip(seconds) {
            any |= second.wrapping_add(*second).wrapping_sub(first[0]) == tip;
        }
        any
    }

    /// True if, for some period above [`NEAR`], the last two accesses may continue a loop: the offsets of each of them and of the accesses
    /// one and two periods before it grow by a constant step.
    pub(crate) fn may_repeat_far(&self, longest: usize) -> bool {
        let end = (self.total as usize).wrapping_sub(1) % KEPT + KEPT;
        if self.len() >= 3 * LONGEST && !self.first_may_repeat_far(end) {
            return false;
        }
        let at = |back: usize| self.offsets.get(end.wrapping_sub(back)).copied().unwrap_or(0);
        let in_line = |period: usize, i: usize| {
            at(period + i).wrapping_sub(at(2 * period + i)) == at(i).wrapping_sub(at(period + i))
        };
        // Two accesses are tested, because with few distinct offsets a single access often passes the test by chance.
        (NEAR + 1..=longest.min(self.len() / 3)).any(|period| in_line(period, 0) && in_line(period, 1))
    }

    /// True if the last access alone passes the test of [`Ring::may_repeat_far`] for some period above [`NEAR`]; as fast as
    /// [`Ring::may_repeat`].
    #[inline]
    fn first_may_repeat_far(&self, end: usize) -> bool {
        let Some(last) = self.offsets.get(end - 2 * LONGEST..=end) else { return true };
        let Ok(last) = <&[u64; 2 * LONGEST + 1]>::try_from(last) else { return true };
        let tip = last[2 * LONGEST];
        let (firsts, seconds) = (&last[..2 * (LONGEST - NEAR)], &last[LONGEST..2 * LONGEST - NEAR]);
        let mut any = false;
        for (first, second) in firsts.chunks_exact(2).zip(seconds) {
            any |= second.wrapping_add(*second).wrapping_sub(first[0]) == tip;
        }
        any
    }

    pub(crate) fn len(&self) -> usize {
        self.total.min(KEPT as u64) as usize
    }
}

/// Access or loop nest on the recogniser's stack of latest elements.
#[derive(Clone, Debug)]
pub(crate) struct Element {
    pub(crate) node: Node,
    pub(crate) shape: u64,
    /// Offset of the first access; comparing it first rejects most groups of elements that are no iterations of a loop.
    pub(crate) first: u64,
    pub(crate) accesses: u64,
    pub(crate) bytes: u128,
    pub(crate) start_ns: u64,
    /// Start of the element's last access, in ns.
    pub(crate) last_start_ns: u64,
    /// End of the element's last access, in ns.
    pub(crate) end_ns: u64,
    /// Start of the loop's last iteration, in ns; `None` if unknown.
    pub(crate) iteration_ns: Option<u64>,
}

impl Element {
    #[inline]
    pub(crate) fn of_access(access: &Access) -> Self {
        Self {
            node: Node::leaf(access.op, access.offset, access.length),
            shape: shape_of_leaf(access.op),
            first: access.offset,
            accesses: 1,
            bytes: u128::from(access.length),
            start_ns: access.start_ns,
            last_start_ns: access.start_ns,
            end_ns: access.end_ns,
            iteration_ns: None,
        }
    }

    /// Creates an element of the stack from a node (access or loop) that is in no other loop.
    pub(crate) fn of_node(node: Node, start_ns: u64, last_start_ns: u64, end_ns: u64) -> Self {
        let (accesses, bytes) = totals(&node);
        Self {
            shape: node.shape(),
            first: node.first(),
            node,
            accesses,
            bytes,
            start_ns,
            last_start_ns,
            end_ns,
            iteration_ns: None,
        }
    }

    pub(crate) fn is_leaf(&self) -> bool {
        matches!(self.node, Node::Leaf(_))
    }
}

/// Returns the numbers of accesses and bytes of a node (access or loop) that is in no other loop. Visits single iterations only if they
/// differ.
pub(crate) fn totals(node: &Node) -> (u64, u128) {
    match node {
        Node::Leaf(leaf) => (1, u128::from(leaf.length)),
        Node::Loop(l) => {
            let one = |index| {
                l.body
                    .iter()
                    .map(|n| totals(&n.at_iteration(index)))
                    .fold((0_u64, 0_u128), |sum, part| (sum.0.saturating_add(part.0), sum.1.saturating_add(part.1)))
            };
            if l.body.iter().all(is_constant) {
                let (accesses, bytes) = one(0);
                return (accesses.saturating_mul(l.count), bytes.saturating_mul(u128::from(l.count)));
            }
            if let [Node::Leaf(leaf)] = l.body.as_slice() {
                let step = leaf.steps.last().map_or(0, |s| s.length);
                let bytes = (0..l.count).map(|i| u128::from(moved(leaf.length, step, i))).sum();
                return (l.count, bytes);
            }
            (0..l.count)
                .map(one)
                .fold((0_u64, 0_u128), |sum, part| (sum.0.saturating_add(part.0), sum.1.saturating_add(part.1)))
        }
    }
}

/// True if neither lengths nor iteration counts change with the outermost loop around `node`.
fn is_constant(node: &Node) -> bool {
    match node {
        Node::Leaf(leaf) => leaf.steps.last().is_none_or(|s| s.length == 0),
        Node::Loop(l) => l.count_steps.last().is_none_or(|s| *s == 0) && l.body.iter().all(is_constant),
    }
}

/// Schedule of the search for long periods (loops with long bodies), which is too slow for every step.
///
/// One step in [`NEAR`] takes a sample; if the sample indicates a long period, the search is enabled for `4 * LONGEST` steps. The third
/// iteration of a long body is longer than the distance between samples, so that a sample falls into it and the search is enabled until the
/// iteration is complete.
#[derive(Debug, Default)]
pub(crate) struct Reach {
    steps: u32,
    until: u32,
}

impl Reach {
    /// Counts one step of a search; returns true if this step is to search for long periods too. `sample` returns true if a long period is
    /// likely.
    pub(crate) fn step(&mut self, sample: impl FnOnce() -> bool) -> bool {
        self.steps = self.steps.wrapping_add(1);
        self.until = self.until.saturating_sub(1);
        if self.steps.is_multiple_of(NEAR as u32) && sample() {
            self.until = 4 * LONGEST as u32;
        }
        self.is_far()
    }

    const fn is_far(&self) -> bool {
        self.until > 0
    }
}

#[derive(Debug)]
pub(crate) struct Stack {
    pub(crate) elements: Vec<Element>,
    /// Number of elements on top of the stack that are single accesses.
    pub(crate) leaves: usize,
    /// Maximum length of a loop body, in elements (accesses and inner loops).
    pub(crate) longest: usize,
    /// Schedule of the search for long periods of stack elements (accesses and loops).
    reach: Reach,
    /// Schedule of the search for long periods of single accesses (those in the ring buffer).
    pub(crate) reach_of_accesses: Reach,
}

impl Stack {
    pub(crate) fn new(longest: usize) -> Self {
        Self { elements: Vec::new(), leaves: 0, longest, reach: Reach::default(), reach_of_accesses: Reach::default() }
    }

    #[inline]
    pub(crate) fn push(&mut self, element: Element) {
        self.leaves = if element.is_leaf() { self.leaves + 1 } else { 0 };
        self.elements.push(element);
    }

    pub(crate) fn count_leaves(&mut self) {
        self.leaves = self.elements.iter().rev().take_while(|e| e.is_leaf()).count();
    }

    /// Replaces three groups of elements (accesses and loop nests) on top of the stack by a loop if they are its iterations; repeats this
    /// as long as possible. True if any were replaced.
    ///
    /// `open` is true if the last element is a loop that may continue. Groups that consist only of single accesses are left to
    /// [`Stack::resplit`](crate::resplit), which examines more of them.
    pub(crate) fn reduce(&mut self, mut open: bool) -> bool {
        if self.leaves >= 3 * self.longest {
            return false;
        }
        let mut reach = std::mem::take(&mut self.reach);
        let longest = if reach.step(|| self.may_repeat_far()) { self.longest } else { self.longest.min(NEAR) };
        self.reach = reach;
        let mut any = false;
        while let Some(period) = (1..=longest).find(|period| self.repeats(*period, open)) {
            self.build(period);
            self.absorb_back();
            any = true;
            open = true;
        }
        if any {
            self.count_leaves();
        }
        any
    }

    /// True if, for some period above [`NEAR`], the last two elements (accesses or loops) may form a loop with the elements one and two
    /// periods before them.
    fn may_repeat_far(&self) -> bool {
        let Some((tip, rest)) = self.elements.split_last() else { return false };
        let at = |back: usize| rest.len().checked_sub(back).and_then(|i| rest.get(i));
        let in_line = |tip: &Element, period: usize, i: usize| match (at(period + i), at(2 * period + i)) {
            (Some(b), Some(a)) => {
                b.shape == tip.shape && delta(a.first, b.first) == delta(b.first, tip.first) && a.shape == b.shape
            }
            _ => false,
        };
        let Some(before) = rest.last() else { return false };
        // Two elements are tested, because with few distinct offsets a single element often passes the test by chance.
        (NEAR + 1..=self.longest).any(|period| in_line(tip, period, 0) && in_line(before, period, 1))
    }

    fn repeats(&self, period: usize, open: bool) -> bool {
        let n = self.elements.len();
        if 3 * period > n || 3 * period <= self.leaves {
            return false;
        }
        let group = &self.elements[n - 3 * period..];
        let (a, rest) = group.split_at(period);
        let (b, c) = rest.split_at(period);
        if let ([.., a], [.., b], [.., c]) = (a, b, c)
            && b.first.wrapping_sub(a.first) != c.first.wrapping_sub(b.first)
        {
            return false;
        }
        let mut leaves = 0;
        for (i, ((a, b), c)) in a.iter().zip(b).zip(c).enumerate().rev() {
            if a.shape != b.shape || b.shape != c.shape {
                return false;
            }
            if !Node::in_line(&a.node, &b.node, &c.node, open && i + 1 == period) {
                return false;
            }
            if !a.is_leaf() {
                leaves += a.node.leaf_count();
                if leaves > MAX_LEAVES || a.node.depth() >= MAX_DEPTH {
                    return false;
                }
            }
        }
        true
    }

    fn build(&mut self, period: usize) {
        let from = self.elements.len() - 3 * period;
        let mut body = Vec::with_capacity(period);
        let mut times = Intervals::default();
        let (mut accesses, mut bytes) = (0_u64, 0_u128);
        let starts = [0, 1, 2].map(|i| self.elements[from + i * period].start_ns);
        times.record(starts[0], starts[1]);
        times.record(starts[1], starts[2]);
        let (last_start_ns, end_ns) = self.elements.last().map_or((0, 0), |e| (e.last_start_ns, e.end_ns));
        let mut rest = self.elements.split_off(from).into_iter();
        let first: Vec<Element> = rest.by_ref().take(period).collect();
        for element in &first {
            accesses = accesses.saturating_add(element.accesses);
            bytes = bytes.saturating_add(element.bytes);
        }
        body.extend(first.into_iter().map(|e| e.node));
        for (i, element) in rest.enumerate() {
            accesses = accesses.saturating_add(element.accesses);
            bytes = bytes.saturating_add(element.bytes);
            let node = &mut body[i % period];
            if i < period {
                node.take_step(&element.node);
            }
            node.merge_times(&element.node);
        }
        let node = Node::Loop(Loop { count: 3, count_steps: Vec::new(), body, times });
        self.elements.push(Element {
            shape: node.shape(),
            first: node.first(),
            node,
            accesses,
            bytes,
            start_ns: starts[0],
            last_start_ns,
            end_ns,
            iteration_ns: Some(starts[2]),
        });
    }

    /// Returns the number of iterations at which the loop on top of the stack becomes as long as an earlier loop of the same shape;
    /// `u64::MAX` without such an earlier loop.
    pub(crate) fn watch(&self) -> u64 {
        let Some((top, rest)) = self.elements.split_last() else { return u64::MAX };
        let Node::Loop(l) = &top.node else { return u64::MAX };
        let reach = if self.reach.is_far() { self.longest } else { self.longest.min(NEAR) };
        let near = rest.len().saturating_sub(2 * reach);
        rest[near..]
            .iter()
            .filter(|e| e.shape == top.shape)
            .filter_map(|e| match &e.node {
                Node::Loop(other) if other.count > l.count => Some(other.count),
                _ => None,
            })
            .min()
            .unwrap_or(u64::MAX)
    }
}
