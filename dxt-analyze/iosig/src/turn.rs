//! Rotation of loop nests that end within an iteration, which restores the program's iteration boundaries.
//!
//! A run (loop over a single access) may include the end of one iteration and the start of the next; then the recognised nest has other
//! iteration boundaries than the program. If the nest ends within an iteration, and the accesses before the nest are the rest of that
//! iteration, the nest is rotated.

use crate::nest::{Leaf, Node, moved};
use crate::resplit::compact;
use crate::stack::{Ring, Stack};

impl Stack {
    /// Rotates the nest on top of the stack if the accesses before the nest complete its last, incomplete iteration of `partial` accesses.
    /// After the rotation, all iterations are complete; true if the nest was rotated. `after` is the number of later accesses in the ring
    /// buffer.
    pub(crate) fn turn(&mut self, ring: &Ring, partial: u64, after: usize) -> bool {
        self.try_turn(ring, partial, after).is_some()
    }

    fn try_turn(&mut self, ring: &Ring, partial: u64, after: usize) -> Option<()> {
        let (top, before) = self.elements.split_last()?;
        let Node::Loop(nest) = &top.node else { return None };
        let mut flat = Vec::new();
        nest.body.iter().try_for_each(|n| flatten(n, ring.len().saturating_sub(after), &mut flat))?;
        let head = (flat.len() as u64).checked_sub(partial)? as usize;
        let partial = partial as usize;
        if head == 0 || partial == 0 || head > before.len() {
            return None;
        }
        let rest = &before[before.len() - head..];
        let moved_head: Vec<Leaf> = flat
            .get(partial..)?
            .iter()
            .map(|leaf| {
                let mut leaf = leaf.clone();
                Node::shift_leaf(&mut leaf, u64::MAX);
                leaf
            })
            .collect();
        for (element, leaf) in rest.iter().zip(&moved_head) {
            match &element.node {
                Node::Leaf(other)
                    if other.op == leaf.op && other.offset == leaf.offset && other.length == leaf.length => {}
                _ => return None,
            }
        }
        let body = compact(moved_head.into_iter().chain(flat.into_iter().take(partial)).collect());
        let start_ns = rest.first()?.start_ns;
        let bytes: u128 = rest.iter().map(|e| e.bytes).sum();
        let from = before.len() - head;
        let mut top = self.elements.pop()?;
        self.elements.truncate(from);
        if let Node::Loop(nest) = &mut top.node {
            nest.body = body;
            nest.count = nest.count.saturating_add(1);
        }
        top.shape = top.node.shape();
        top.first = top.node.first();
        top.accesses = top.accesses.saturating_add((head + partial) as u64);
        let tail: u128 = (0..partial).map(|i| u128::from(ring.back(i + after).length)).sum();
        top.bytes = top.bytes.saturating_add(bytes).saturating_add(tail);
        top.start_ns = start_ns;
        top.last_start_ns = ring.back(after).start_ns;
        top.end_ns = ring.back(after).end_ns;
        top.iteration_ns = None;
        self.elements.push(top);
        self.count_leaves();
        Some(())
    }
}

impl Node {
    fn shift_leaf(leaf: &mut Leaf, index: u64) {
        if let Some(step) = leaf.steps.last().copied() {
            leaf.offset = moved(leaf.offset, step.offset, index);
            leaf.length = moved(leaf.length, step.length, index);
        }
    }
}

/// Appends the accesses of `node` in one iteration of the outermost loop to `out`, with inner loops unrolled. Each access keeps only its
/// step for the outermost loop. `None` for more than `most` accesses, or if their number varies.
fn flatten(node: &Node, most: usize, out: &mut Vec<Leaf>) -> Option<()> {
    match node {
        Node::Leaf(leaf) => {
            out.push(Leaf { steps: leaf.steps.last().copied().into_iter().collect(), ..leaf.clone() });
            (out.len() <= most).then_some(())
        }
        Node::Loop(l) => {
            if l.count > most as u64 || l.count_steps.iter().any(|s| *s != 0) {
                return None;
            }
            for index in 0..l.count {
                for node in &l.body {
                    flatten(&inner_at(node, l.count_steps.len(), index), most, out)?;
                }
            }
            Some(())
        }
    }
}

/// Returns a node of an inner loop's body with the values that it has in iteration `index` of that loop, without its steps for that loop.
/// `around` is the number of loops around that loop.
fn inner_at(node: &Node, around: usize, index: u64) -> Node {
    match node {
        Node::Leaf(leaf) => {
            let mut leaf = leaf.clone();
            if let Some(at) = leaf.steps.len().checked_sub(around + 1) {
                let step = leaf.steps.remove(at);
                leaf.offset = moved(leaf.offset, step.offset, index);
                leaf.length = moved(leaf.length, step.length, index);
            }
            Node::Leaf(leaf)
        }
        Node::Loop(l) => {
            let mut l = l.clone();
            if let Some(at) = l.count_steps.len().checked_sub(around + 1) {
                let step = l.count_steps.remove(at);
                l.count = moved(l.count, step, index);
            }
            l.body = l.body.iter().map(|n| inner_at(n, around, index)).collect();
            Node::Loop(l)
        }
    }
}
