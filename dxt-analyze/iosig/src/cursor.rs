//! Fast path for a loop nest: predicts the next access from a flattened form of the nest, and compares each access only with the prediction.

use crate::access::Access;
use crate::nest::{Loop, MAX_DEPTH, Node, Step, moved};
use crate::run::Took;
use crate::stack::Element;
use crate::times::Intervals;

/// State of a leaf (access in a loop body). `values[k]` is (offset, length) at the start of the current iteration of the k-th loop around
/// the leaf; k = 0 is the innermost loop, so that `values[0]` is the next access.
#[derive(Debug)]
struct LeafState {
    op: u16,
    values: [(u64, u64); MAX_DEPTH],
    steps: [Step; MAX_DEPTH],
}

#[derive(Debug)]
struct LoopState {
    start: usize,
    counts: [u64; MAX_DEPTH],
    count_steps: [i64; MAX_DEPTH],
    done: u64,
    target: u64,
    /// Leaves (accesses) inside this loop, as (index in [`NestCursor::slots`], level); `level` is the number of loops between this loop and
    /// the leaf.
    slots: Vec<(usize, usize)>,
    /// Loops inside this loop, as (index in [`NestCursor::loops`], level); `level` is the number of loops between this loop and the inner
    /// loop.
    loops: Vec<(usize, usize)>,
    last_ns: Option<u64>,
    times: Intervals,
}

#[derive(Clone, Copy, Debug)]
enum Code {
    Leaf(usize),
    Begin(usize),
    End(usize),
}

#[derive(Clone, Copy, Debug)]
enum Mark {
    Fresh(usize),
    Again(usize),
}

/// Cursor that predicts the accesses of the loop nest on top of the stack.
#[derive(Debug)]
pub(crate) struct NestCursor {
    code: Vec<Code>,
    slots: Vec<LeafState>,
    loops: Vec<LoopState>,
    at: usize,
    marks: Vec<Mark>,
    /// True if no access can follow, because the iteration count of an inner, triangular loop has fallen below 1.
    dead: bool,
    watch: u64,
    accesses: u64,
    bytes: u128,
    pending: u64,
    pending_bytes: u128,
    /// Start and end of the last access added to the loop nest, in ns.
    last_ns: (u64, u64),
    /// Start and end of the last access of the last complete iteration of the outermost loop, in ns.
    committed_ns: (u64, u64),
}

impl NestCursor {
    pub(crate) fn new(nest: &Loop, element: &Element, watch: u64) -> Self {
        let mut cursor = Self {
            code: Vec::new(),
            slots: Vec::new(),
            loops: Vec::new(),
            at: 0,
            marks: Vec::new(),
            dead: false,
            watch,
            accesses: element.accesses,
            bytes: element.bytes,
            pending: 0,
            pending_bytes: 0,
            last_ns: (element.last_start_ns, element.end_ns),
            committed_ns: (element.last_start_ns, element.end_ns),
        };
        cursor.lay_out(nest, &mut Vec::new(), nest.count);
        if let Some(top) = cursor.loops.first_mut() {
            top.done = nest.count;
            top.target = u64::MAX;
            top.last_ns = element.iteration_ns;
            cursor.at = top.start;
        }
        cursor.marks.push(Mark::Again(0));
        cursor.settle();
        cursor
    }

    /// Appends the flattened form of loop `l`. `around` contains the indices of the loops around `l`, outermost first; `index` is the
    /// iteration of the outermost loop.
    fn lay_out(&mut self, l: &Loop, around: &mut Vec<usize>, index: u64) {
        let me = self.loops.len();
        let depth = around.len();
        let mut state = LoopState {
            start: self.code.len() + 1,
            counts: [l.count; MAX_DEPTH],
            count_steps: [0; MAX_DEPTH],
            done: 0,
            target: l.count,
            slots: Vec::new(),
            loops: Vec::new(),
            last_ns: None,
            times: Intervals::default(),
        };
        if depth > 0 {
            for (to, step) in state.count_steps.iter_mut().zip(&l.count_steps) {
                *to = *step;
            }
            let outer = l.count_steps.get(depth - 1).copied().unwrap_or(0);
            state.counts = [moved(l.count, outer, index); MAX_DEPTH];
            state.target = state.counts[0];
            for (k, ancestor) in around.iter().rev().enumerate() {
                self.loops[*ancestor].loops.push((me, k));
            }
        }
        self.loops.push(state);
        self.code.push(Code::Begin(me));
        around.push(me);
        for node in &l.body {
            match node {
                Node::Loop(inner) => self.lay_out(inner, around, index),
                Node::Leaf(leaf) => {
                    let slot = self.slots.len();
                    let mut steps = [Step::default(); MAX_DEPTH];
                    for (to, step) in steps.iter_mut().zip(&leaf.steps) {
                        *to = *step;
                    }
                    let outer = leaf.steps.last().copied().unwrap_or_default();
                    let value = (moved(leaf.offset, outer.offset, index), moved(leaf.length, outer.length, index));
                    self.slots.push(LeafState { op: leaf.op, values: [value; MAX_DEPTH], steps });
                    for (k, ancestor) in around.iter().rev().enumerate() {
                        self.loops[*ancestor].slots.push((slot, k));
                    }
                    self.code.push(Code::Leaf(slot));
                }
            }
        }
        around.pop();
        self.code.push(Code::End(me));
    }

    #[inline]
    pub(crate) fn take(&mut self, access: &Access) -> Took {
        let Some(Code::Leaf(slot)) = self.code.get(self.at) else { return Took::No };
        let Some(slot) = self.slots.get(*slot) else { return Took::No };
        let (offset, length) = slot.values[0];
        if access.offset != offset || access.length != length || access.op != slot.op || self.dead {
            return Took::No;
        }
        self.last_ns = (access.start_ns, access.end_ns);
        self.pending += 1;
        self.pending_bytes = self.pending_bytes.wrapping_add(u128::from(length));
        if !self.marks.is_empty() {
            self.note_times(access.start_ns);
        }
        self.at += 1;
        if let Some(Code::Leaf(_)) = self.code.get(self.at) {
            return Took::Yes;
        }
        let before = self.loops[0].done;
        self.settle();
        if self.loops[0].done != before && self.loops[0].done == self.watch { Took::Watch } else { Took::Yes }
    }

    fn note_times(&mut self, start_ns: u64) {
        for mark in &self.marks {
            let (Mark::Fresh(l) | Mark::Again(l)) = *mark;
            let l = &mut self.loops[l];
            if let (Mark::Again(_), Some(last)) = (mark, l.last_ns) {
                l.times.record(last, start_ns);
            }
            l.last_ns = Some(start_ns);
        }
        self.marks.clear();
    }

    /// Advances to the next access in the flattened form of the nest.
    fn settle(&mut self) {
        while !self.dead {
            match self.code.get(self.at) {
                Some(Code::Begin(l)) => {
                    let me = *l;
                    let l = &mut self.loops[me];
                    l.done = 0;
                    l.target = l.counts[0];
                    self.dead = l.target.cast_signed() < 1;
                    self.marks.push(Mark::Fresh(me));
                    self.at += 1;
                }
                Some(Code::End(l)) => self.end_of(*l),
                _ => return,
            }
        }
    }

    fn end_of(&mut self, me: usize) {
        let (loops, rest) = self.loops.split_at_mut(me + 1);
        let l = &mut loops[me];
        if l.done + 1 >= l.target {
            self.at += 1;
            return;
        }
        l.done += 1;
        for (slot, level) in &l.slots {
            let slot = &mut self.slots[*slot];
            let step = slot.steps[*level];
            let value = slot.values[*level];
            let value = (moved(value.0, step.offset, 1), moved(value.1, step.length, 1));
            slot.values[*level] = value;
            for lower in 0..*level {
                slot.values[lower] = value;
            }
        }
        for (inner, level) in &l.loops {
            // In the list, inner loops follow their outer loops.
            let inner = &mut rest[*inner - me - 1];
            let count = moved(inner.counts[*level], inner.count_steps[*level], 1);
            for lower in 0..=*level {
                inner.counts[lower] = count;
            }
        }
        self.at = l.start;
        self.marks.push(Mark::Again(me));
        if me == 0 {
            self.accesses = self.accesses.saturating_add(self.pending);
            self.bytes = self.bytes.wrapping_add(self.pending_bytes);
            (self.pending, self.pending_bytes, self.committed_ns) = (0, 0, self.last_ns);
        }
    }

    /// Stores the number of complete iterations and the intervals between them in the loop nest of `element`, and resets the cursor's own
    /// intervals.
    pub(crate) fn sync(&mut self, element: &mut Element) {
        if let Node::Loop(nest) = &mut element.node {
            nest.count = self.loops[0].done;
            let mut times = self.loops.iter_mut().map(|l| std::mem::take(&mut l.times));
            merge_times(nest, &mut times);
        }
        element.accesses = self.accesses;
        element.bytes = self.bytes;
        (element.last_start_ns, element.end_ns) = self.committed_ns;
        element.iteration_ns = if self.pending == 0 { self.loops[0].last_ns } else { None };
    }

    /// Returns the number of accesses in the current, incomplete iteration of the outermost loop.
    pub(crate) fn pending(&self) -> u64 {
        self.pending
    }

    /// Returns the accesses of the outermost loop's incomplete iteration as separate nodes; [`NestCursor::sync`] must have been called for
    /// `nest` before.
    pub(crate) fn partial(&self, nest: &Loop) -> Vec<Node> {
        let mut out = Vec::new();
        if self.pending > 0 {
            let body: Vec<Node> = nest.body.iter().map(|n| n.at_iteration(self.loops[0].done)).collect();
            let mut index = 1;
            self.partial_body(&body, self.loops[0].start, &mut index, &mut out);
        }
        out
    }

    /// Appends the accesses of `body` that the incomplete iteration has made so far to `out`. `at` is the index in [`NestCursor::code`]
    /// where `body` begins; `index` is the index in `NestCursor::loops` of the next loop in `body`, advanced past each skipped loop.
    fn partial_body(&self, body: &[Node], mut at: usize, index: &mut usize, out: &mut Vec<Node>) {
        for node in body {
            let (code, loops) = extent(node);
            if at + code <= self.at {
                out.push(node.clone());
                at += code;
                *index += loops;
                continue;
            }
            if let Node::Loop(l) = node
                && at < self.at
            {
                let done = self.loops[*index].done;
                if done >= 3 {
                    let times = l.times.scaled(done - 1);
                    out.push(Node::Loop(Loop { count: done, times, ..l.clone() }));
                } else {
                    for i in 0..done {
                        out.extend(l.body.iter().map(|n| n.at_iteration(i)));
                    }
                }
                let body: Vec<Node> = l.body.iter().map(|n| n.at_iteration(done)).collect();
                *index += 1;
                self.partial_body(&body, at + 1, index, out);
            }
            return;
        }
    }

    pub(crate) fn set_watch(&mut self, watch: u64) {
        self.watch = watch;
    }
}

/// Returns the number of entries for `node` in the flattened form of its nest ([`NestCursor::code`]), and the number of loops in `node`.
fn extent(node: &Node) -> (usize, usize) {
    match node {
        Node::Leaf(_) => (1, 0),
        Node::Loop(l) => l.body.iter().map(extent).fold((2, 1), |sum, (code, loops)| (sum.0 + code, sum.1 + loops)),
    }
}

fn merge_times(l: &mut Loop, times: &mut dyn Iterator<Item = Intervals>) {
    if let Some(mine) = times.next() {
        l.times.merge(&mine);
    }
    for node in &mut l.body {
        if let Node::Loop(inner) = node {
            merge_times(inner, times);
        }
    }
}
