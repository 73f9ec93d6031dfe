//! Loop recognition in one pass over a stream of accesses.
//!
// Most accesses take a fast path: a cursor (`run`, `cursor`) predicts the next access of the loop on top of the stack. Other accesses are
// pushed onto the stack (`stack`), where three successive iterations that differ by equal steps become a loop. `resplit` and `turn` correct
// loops that include accesses of other loops. Memory is bounded, except for the resulting signature.

use crate::access::{Access, Accesses};
use crate::cursor::NestCursor;
use crate::nest::Node;
use crate::run::{RunCursor, Took};
use crate::signature::{Item, Pattern, Residue, Signature};
use crate::stack::{Element, KEPT, LONGEST, Ring, Stack};

/// Number of pending accesses ([`Recogniser::waiting`]) that move to the signature at once when the ring buffer is full of them; the buffer
/// then still holds three iterations of the longest loop body.
const PASSED: usize = 32;

/// Memory limits of a recogniser.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum number of accesses and inner loops in a loop body, clamped to 1..=64. Default: 64.
    pub body: usize,
    /// Maximum number of items in a signature; further loop nests are counted as residue (accesses outside loops). Default: 65,536.
    pub items: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { body: LONGEST, items: 65_536 }
    }
}

#[derive(Debug)]
enum Cursor {
    None,
    Run(RunCursor),
    Nest(Box<NestCursor>),
}

/// Recogniser of the loops in one stream. Accesses must be pushed in the order of their starts.
#[derive(Debug)]
pub struct Recogniser {
    items: usize,
    ring: Ring,
    stack: Stack,
    cursor: Cursor,
    out: Signature,
    emitted: u64,
    /// Number of pending accesses: the latest accesses, which are in the ring buffer (`ring`) but not on the stack. `None` while all
    /// accesses are put on the stack; `Some` after many accesses without repetition.
    waiting: Option<usize>,
}

impl Default for Recogniser {
    fn default() -> Self {
        Self::new(Limits::default())
    }
}

impl Recogniser {
    /// Creates a recogniser with the given memory limits.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            items: limits.items.max(1),
            ring: Ring::new(),
            stack: Stack::new(limits.body.clamp(1, LONGEST)),
            cursor: Cursor::None,
            out: Signature::default(),
            emitted: 0,
            waiting: None,
        }
    }

    /// Adds the next access of the stream.
    #[inline]
    pub fn push(&mut self, access: &Access) {
        self.ring.push(access);
        let took = match &mut self.cursor {
            Cursor::Run(run) => run.take(access),
            Cursor::Nest(nest) => nest.take(access),
            Cursor::None => Took::No,
        };
        match took {
            Took::Yes => {}
            Took::Watch => self.watch(),
            Took::No => self.push_slowly(access),
        }
    }

    /// Adds the first calls of `calls`, all with operation `op`, as long as they continue the current run (loop over a single access);
    /// returns their number, possibly 0. The caller must pass the next call to [`Self::push`]. Faster than [`Self::push`] for long runs.
    pub fn push_expected(&mut self, op: u16, calls: &Accesses<'_>) -> usize {
        let Cursor::Run(run) = &mut self.cursor else { return 0 };
        let taken = run.take_all(op, calls);
        self.ring.push_all(op, calls, taken);
        taken
    }

    #[cfg(test)]
    pub(crate) fn push_all(&mut self, accesses: &[Access]) {
        accesses.iter().for_each(|access| self.push(access));
    }

    /// Ends the stream of accesses and returns its signature (loop nests and residues).
    #[must_use]
    pub fn finish(mut self) -> Signature {
        if let Some(waiting) = self.waiting.take() {
            self.emit(self.stack.elements.len());
            self.pass(waiting, 0);
        }
        self.close(0);
        let all = self.stack.elements.len();
        self.emit(all);
        self.out.accesses = self.ring.total;
        self.out.items.shrink_to_fit();
        self.out
    }

    #[inline(never)]
    fn push_slowly(&mut self, access: &Access) {
        // When a loop ends, the loop below may be on top of the stack and continue with this access.
        while !matches!(self.cursor, Cursor::None) {
            self.close(1);
            match &mut self.cursor {
                Cursor::Run(run) => match run.take(access) {
                    Took::Yes => return,
                    Took::Watch => return self.watch(),
                    Took::No => {}
                },
                Cursor::Nest(nest) => match nest.take(access) {
                    Took::Yes => return,
                    Took::Watch => return self.watch(),
                    Took::No => {}
                },
                Cursor::None => {}
            }
        }
        let mut may_resplit = None;
        if let Some(waiting) = self.waiting {
            may_resplit = Some(self.stack.may_resplit(&self.ring));
            if may_resplit == Some(None) {
                return self.wait(waiting + 1);
            }
            self.stop_waiting(waiting);
        }
        self.stack.push(Element::of_access(access));
        let mut any = self.stack.reduce(true);
        let longest = may_resplit.unwrap_or_else(|| self.stack.may_resplit(&self.ring));
        if longest.is_some_and(|longest| self.stack.resplit(&self.ring, longest)) {
            any = true;
            self.stack.reduce(true);
        }
        if any {
            self.follow();
        } else if longest.is_none() && self.stack.leaves >= 3 * LONGEST {
            self.waiting = Some(0);
        }
        if self.stack.elements.len() > 8 * self.stack.longest {
            self.emit(4 * self.stack.longest);
        }
    }

    /// Sets the number of pending accesses (only in the ring buffer, not on the stack) to `waiting`. If the ring buffer is full of them,
    /// first moves the oldest ones to the signature as residue (accesses outside loops).
    #[inline]
    fn wait(&mut self, mut waiting: usize) {
        if waiting == KEPT {
            self.emit(self.stack.elements.len());
            self.pass(PASSED, KEPT - PASSED);
            waiting -= PASSED;
        }
        self.waiting = Some(waiting);
    }

    /// Pushes the pending accesses from the ring buffer onto the stack. The last access in the ring buffer is not pending.
    fn stop_waiting(&mut self, waiting: usize) {
        for back in (1..=waiting).rev() {
            self.stack.push(Element::of_access(self.ring.back(back)));
        }
        self.waiting = None;
    }

    /// Adds `count` accesses of the ring buffer to the signature as residue (accesses outside loops). `behind` is the number of later
    /// accesses in the ring buffer.
    fn pass(&mut self, count: usize, behind: usize) {
        let out = &mut self.out;
        if count > 0 && !matches!(out.items.last(), Some(Item::Residue(_))) {
            out.items.push(Item::Residue(Residue::behind(out.items.len())));
        }
        let Some(Item::Residue(residue)) = out.items.last_mut() else { return };
        for back in (behind..behind + count).rev() {
            let access = self.ring.back(back);
            residue.add(access, self.emitted);
            self.emitted = self.emitted.saturating_add(1);
            out.bytes = out.bytes.saturating_add(u128::from(access.length));
        }
    }

    /// Makes the loop on top of the stack an iteration of an outer loop if possible. Called when this loop has become as long as an earlier
    /// loop, since both may be such iterations.
    #[cold]
    fn watch(&mut self) {
        self.sync();
        if self.stack.reduce(true) {
            self.follow();
            return;
        }
        let watch = self.stack.watch();
        match &mut self.cursor {
            Cursor::Run(run) => run.set_watch(watch),
            Cursor::Nest(nest) => nest.set_watch(watch),
            Cursor::None => {}
        }
    }

    fn sync(&mut self) {
        if let Some(top) = self.stack.elements.last_mut() {
            match &mut self.cursor {
                Cursor::Run(run) => run.sync(top),
                Cursor::Nest(nest) => nest.sync(top),
                Cursor::None => {}
            }
        }
    }

    /// Lets the cursor predict the accesses of the loop on top of the stack, if a loop is there.
    fn follow(&mut self) {
        self.cursor = Cursor::None;
        let Some(top) = self.stack.elements.last() else { return };
        let Node::Loop(nest) = &top.node else { return };
        let watch = self.stack.watch();
        self.cursor = match top.node.as_run() {
            Some((run, leaf)) => Cursor::Run(RunCursor::new(run, leaf, top, watch)),
            None => Cursor::Nest(Box::new(NestCursor::new(nest, top, watch))),
        };
    }

    /// Ends the loop on top of the stack. The last `after` accesses in the ring buffer do not belong to the loop.
    fn close(&mut self, after: usize) {
        self.sync();
        let cursor = std::mem::replace(&mut self.cursor, Cursor::None);
        let mut partial = Vec::new();
        if let (Cursor::Nest(cursor), Some(Element { node: Node::Loop(nest), .. })) =
            (&cursor, self.stack.elements.last())
        {
            let pending = cursor.pending();
            partial = cursor.partial(nest);
            if pending > 0 && self.stack.turn(&self.ring, pending, after) {
                partial.clear();
            }
        }
        let mut follow = self.stack.reduce(false);
        let mut left: u64 = partial.iter().map(|n| crate::stack::totals(n).0).sum();
        for node in partial {
            let start_ns = self.back_to(left, after).start_ns;
            let element = Element::of_node(node, start_ns, start_ns, start_ns);
            left = left.saturating_sub(element.accesses);
            let last = *self.back_to(left + 1, after);
            self.stack.push(Element { last_start_ns: last.start_ns, end_ns: last.end_ns, ..element });
            self.stack.reduce(false);
            follow = true;
        }
        if follow {
            self.follow();
        }
    }

    /// Returns the access at position `from_end` from the end of the ring buffer (1 is the last access), ignoring the last `after`
    /// accesses; the oldest access in the buffer if the position is too large.
    fn back_to(&self, from_end: u64, after: usize) -> &Access {
        let by = usize::try_from(from_end).unwrap_or(usize::MAX).saturating_add(after).saturating_sub(1);
        self.ring.back(by.min(self.ring.len().saturating_sub(1)))
    }

    /// Moves the oldest `count` elements (accesses and loop nests) from the stack to the signature.
    fn emit(&mut self, count: usize) {
        let out = &mut self.out;
        for element in self.stack.elements.drain(..count) {
            let position = self.emitted;
            self.emitted = self.emitted.saturating_add(element.accesses);
            out.bytes = out.bytes.saturating_add(element.bytes);
            let full = out.items.len() >= self.items;
            match element.node {
                Node::Loop(nest) if !full => {
                    out.covered = out.covered.saturating_add(element.accesses);
                    out.covered_bytes = out.covered_bytes.saturating_add(element.bytes);
                    out.items.push(Item::Pattern(Pattern {
                        position,
                        accesses: element.accesses,
                        bytes: element.bytes,
                        start_ns: element.start_ns,
                        last_start_ns: element.last_start_ns,
                        end_ns: element.end_ns,
                        nest,
                    }));
                }
                node => {
                    if !matches!(out.items.last(), Some(Item::Residue(_))) {
                        out.items.push(Item::Residue(Residue::behind(out.items.len())));
                    }
                    let Some(Item::Residue(residue)) = out.items.last_mut() else { continue };
                    if let Node::Leaf(leaf) = &node {
                        let (op, offset, length) = (leaf.op, leaf.offset, leaf.length);
                        let access = Access { op, offset, length, start_ns: element.start_ns, end_ns: element.end_ns };
                        residue.add(&access, position);
                    } else {
                        out.dropped = out.dropped.saturating_add(1);
                        let times = [element.start_ns, element.last_start_ns, element.end_ns];
                        residue.add_many(&node, position, element.accesses, element.bytes, times);
                    }
                }
            }
        }
        self.stack.count_leaves();
    }
}
