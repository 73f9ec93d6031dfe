//! Correction of runs (loops over a single access) that include accesses of a larger loop nest. Of several descriptions of the same
//! accesses, the description with the lowest cost is used.
//!
//! 1. `resplit` searches for a period in the latest raw accesses, regardless of their elements on the stack, and replaces these elements by
//!    a loop if the loop is cheaper.
//! 2. `absorb_back` extends a new nest backward: if the run before it ends with an earlier iteration of the nest, that iteration is moved to
//!    the nest.
//!
//! `turn` contains a third correction.

use crate::access::Access;
use crate::nest::{Leaf, Loop, Node, Step, delta, moved};
use crate::stack::{Element, NEAR, Ring, Stack};
use crate::times::Intervals;

impl Stack {
    /// Counts a step of the schedule that decides when long periods are searched for. Returns the maximum period to search for, in
    /// accesses; `None` if the last access continues no period.
    #[inline]
    pub(crate) fn may_resplit(&mut self, ring: &Ring) -> Option<usize> {
        let most = self.longest;
        let far = self.reach_of_accesses.step(|| ring.may_repeat_far(most));
        (far || ring.may_repeat()).then(|| if far { most } else { most.min(NEAR) })
    }

    /// Searches for a period of up to `longest` accesses in the latest raw accesses and replaces the last three periods by a loop. True if
    /// a loop was built.
    pub(crate) fn resplit(&mut self, ring: &Ring, longest: usize) -> bool {
        let tip = ring.back(0);
        let longest = longest.min(ring.len() / 3);
        for period in 1..=longest {
            let (b, a) = (ring.back(period), ring.back(2 * period));
            if b.offset.wrapping_sub(a.offset) == tip.offset.wrapping_sub(b.offset)
                && repeats(ring, period)
                && self.replace(ring, period)
            {
                return true;
            }
        }
        false
    }

    /// Replaces the stack elements of the last `3 * period` accesses by a loop if its description costs less (has fewer loops and accesses
    /// in loop bodies). True if they were replaced.
    fn replace(&mut self, ring: &Ring, period: usize) -> bool {
        let wanted = 3 * period as u64;
        let (mut from, mut covered, mut old) = (self.elements.len(), 0_u64, 0);
        while covered < wanted {
            let Some(element) = from.checked_sub(1).and_then(|i| self.elements.get(i)) else { return false };
            from -= 1;
            covered = covered.saturating_add(element.accesses);
            old += if element.is_leaf() { 1 } else { element.node.cost() };
        }
        let mut kept = Vec::new();
        if covered > wanted {
            match self.elements.get(from).and_then(|e| head_of(e, covered - wanted)) {
                Some(head) => kept = head,
                None => return false,
            }
        }
        if self.leaves >= 3 * period && period == 1 {
            // Common case: three single accesses.
            old = 3;
        }
        let body = body_of(ring, period);
        let new = 1 + body.iter().map(Node::cost).sum::<usize>() + kept.iter().map(|e| e.node.cost()).sum::<usize>();
        if new >= old {
            return false;
        }
        self.elements.truncate(from);
        self.elements.extend(kept);
        let bytes = (0..3 * period).map(|i| u128::from(ring.back(i).length)).sum();
        let starts = [3 * period - 1, 2 * period - 1, period - 1].map(|i| ring.back(i).start_ns);
        let mut times = Intervals::default();
        times.record(starts[0], starts[1]);
        times.record(starts[1], starts[2]);
        let node = Node::Loop(Loop { count: 3, count_steps: Vec::new(), body, times });
        self.elements.push(Element {
            shape: node.shape(),
            first: node.first(),
            node,
            accesses: wanted,
            bytes,
            start_ns: starts[0],
            last_start_ns: ring.back(0).start_ns,
            end_ns: ring.back(0).end_ns,
            iteration_ns: Some(starts[2]),
        });
        self.absorb_back();
        self.count_leaves();
        true
    }

    /// Extends the loop on top of the stack backward, as long as the elements (accesses and loops) before it are its preceding iteration.
    pub(crate) fn absorb_back(&mut self) {
        while self.absorb_one().is_some() {}
    }

    fn absorb_one(&mut self) -> Option<()> {
        let (top, before) = self.elements.split_last()?;
        let Node::Loop(nest) = &top.node else { return None };
        let (last, previous) = (nest.body.last()?, before.last()?);
        // Rejects most candidates before any node is copied.
        match (last, &previous.node) {
            (Node::Leaf(leaf), Node::Leaf(other)) => {
                let step = leaf.steps.last()?;
                if moved(other.offset, step.offset, 1) != leaf.offset || other.op != leaf.op {
                    return None;
                }
            }
            (Node::Leaf(_), Node::Loop(_)) => return None,
            (Node::Loop(l), Node::Leaf(_)) => {
                if moved(l.count, *l.count_steps.last()?, u64::MAX) > 2 {
                    return None;
                }
            }
            (Node::Loop(a), Node::Loop(b)) => {
                if a.body.len() != b.body.len() {
                    return None;
                }
            }
        }
        let mut from = before.len();
        let mut split = None;
        let (mut accesses, mut bytes) = (0_u64, 0_u128);
        for (i, node) in nest.body.iter().enumerate().rev() {
            if split.is_some() {
                return None;
            }
            let expected = node.at_iteration(u64::MAX);
            for part in unrolled(expected)?.iter().rev() {
                from = from.checked_sub(1)?;
                let element = before.get(from)?;
                if element.node.same(part) {
                    accesses = accesses.saturating_add(element.accesses);
                    bytes = bytes.saturating_add(element.bytes);
                } else if i == 0 && split.is_none() {
                    let (head, tail) = split_run(element, part)?;
                    accesses = accesses.saturating_add(tail.accesses);
                    bytes = bytes.saturating_add(tail.bytes);
                    split = Some((head, tail.start_ns));
                } else {
                    return None;
                }
            }
        }
        let start_ns = split.as_ref().map_or_else(|| before.get(from).map_or(0, |e| e.start_ns), |s| s.1);
        let mut top = self.elements.pop()?;
        self.elements.truncate(from);
        self.elements.extend(split.map(|s| s.0));
        if let Node::Loop(nest) = &mut top.node {
            nest.body.iter_mut().for_each(|n| n.shift(u64::MAX));
            nest.count = nest.count.saturating_add(1);
            nest.times.record(start_ns, top.start_ns);
        }
        top.start_ns = start_ns;
        top.first = top.node.first();
        top.accesses = top.accesses.saturating_add(accesses);
        top.bytes = top.bytes.saturating_add(bytes);
        self.elements.push(top);
        Some(())
    }
}

/// True if the last `3 * period` accesses are three iterations of a loop with `period` accesses in its body.
fn repeats(ring: &Ring, period: usize) -> bool {
    (0..period).all(|i| {
        let (a, b, c) = (ring.back(i + 2 * period), ring.back(i + period), ring.back(i));
        a.op == b.op
            && b.op == c.op
            && delta(a.offset, b.offset) == delta(b.offset, c.offset)
            && delta(a.length, b.length) == delta(b.length, c.length)
    })
}

/// Returns the body of the loop that the last `3 * period` accesses form.
fn body_of(ring: &Ring, period: usize) -> Vec<Node> {
    let leaves = (0..period)
        .map(|i| {
            let (a, b) = (ring.back(3 * period - 1 - i), ring.back(2 * period - 1 - i));
            let step = Step { offset: delta(a.offset, b.offset), length: delta(a.length, b.length) };
            Leaf { op: a.op, offset: a.offset, length: a.length, steps: vec![step] }
        })
        .collect();
    let mut body = compact(leaves);
    let mut at = 0;
    for node in &mut body {
        let Node::Loop(run) = node else {
            at += 1;
            continue;
        };
        let count = run.count as usize;
        for iteration in 0..3 {
            for i in at + 1..at + count {
                let back = 3 * period - 1 - iteration * period - i;
                run.times.record(ring.back(back + 1).start_ns, ring.back(back).start_ns);
            }
        }
        at += count;
    }
    body
}

/// Returns a loop body that consists of the accesses `leaves`, in which three or more successive accesses at constant strides become an
/// inner loop.
pub(crate) fn compact(leaves: Vec<Leaf>) -> Vec<Node> {
    let mut out = Vec::with_capacity(leaves.len());
    let mut rest = leaves.as_slice();
    while let Some(first) = rest.first() {
        let mut count = 1;
        if let [a, b, ..] = rest {
            let step = Step { offset: delta(a.offset, b.offset), length: delta(a.length, b.length) };
            count += rest
                .windows(2)
                .take_while(|w| match w {
                    [a, b] => {
                        a.op == b.op
                            && a.steps == b.steps
                            && delta(a.offset, b.offset) == step.offset
                            && delta(a.length, b.length) == step.length
                    }
                    _ => false,
                })
                .count();
            if count >= 3 {
                let mut steps = first.steps.clone();
                steps.insert(0, step);
                let leaf = Leaf { steps, ..first.clone() };
                out.push(Node::Loop(Loop {
                    count: count as u64,
                    count_steps: vec![0],
                    body: vec![Node::Leaf(leaf)],
                    times: Intervals::default(),
                }));
            } else {
                count = 1;
            }
        }
        if count == 1 {
            out.push(Node::Leaf(first.clone()));
        }
        rest = rest.get(count..).unwrap_or_default();
    }
    out
}

/// Returns the first `keep` accesses of a run (loop over a single access) as stack elements: a run if `keep` is at least three, else single
/// accesses. `None` if `element` is not a run.
fn head_of(element: &Element, keep: u64) -> Option<Vec<Element>> {
    let (run, leaf) = element.node.as_run()?;
    let step = leaf.steps.last()?;
    let mean = run.times.mean_ns().unwrap_or(0.0);
    if keep >= 3 {
        let times = run.times.scaled(keep - 1);
        let node = Node::Loop(Loop { count: keep, times, ..run.clone() });
        let last = element.start_ns.saturating_add((mean * (keep - 1) as f64) as u64);
        return Some(vec![Element::of_node(node, element.start_ns, last, last)]);
    }
    let access = |i| {
        // A loop does not store the times of single accesses, so they are estimated from the mean interval.
        let start_ns = element.start_ns.saturating_add((mean * i as f64) as u64);
        let (offset, length) = (moved(leaf.offset, step.offset, i), moved(leaf.length, step.length, i));
        Access { op: leaf.op, offset, length, start_ns, end_ns: start_ns }
    };
    Some((0..keep).map(|i| Element::of_access(&access(i))).collect())
}

/// Returns the node in the form used on the stack, in which loops of fewer than three iterations are unrolled. `None` if the iteration
/// count is below 1.
fn unrolled(node: Node) -> Option<Vec<Node>> {
    match &node {
        Node::Loop(l) if l.count.cast_signed() < 1 => None,
        Node::Loop(l) if l.count < 3 => {
            let mut out = Vec::new();
            for i in 0..l.count {
                out.extend(l.body.iter().map(|n| n.at_iteration(i)));
            }
            Some(out)
        }
        _ => Some(vec![node]),
    }
}

/// Splits a run (loop over a single access) into its first access and the remaining run; `None` unless the remaining run equals `tail`.
fn split_run(element: &Element, tail: &Node) -> Option<(Element, Element)> {
    let ((run, leaf), (wanted, first)) = (element.node.as_run()?, tail.as_run()?);
    if run.count.checked_sub(1)? != wanted.count || leaf.steps != first.steps || leaf.op != first.op {
        return None;
    }
    let step = leaf.steps.last()?;
    if moved(leaf.offset, step.offset, 1) != first.offset || moved(leaf.length, step.length, 1) != first.length {
        return None;
    }
    let head = head_of(element, 1)?.pop()?;
    let start = element.start_ns.saturating_add(run.times.mean_ns().unwrap_or(0.0) as u64);
    Some((head, Element::of_node(tail.clone(), start, element.last_start_ns, element.end_ns)))
}
