//! Combinations of analyses that run in one pass: a pair, a reference to an analysis, an optional analysis, and an empty one.

use super::{Alone, Analysis, Block, give};
use crate::model::{ProcessId, Run};
use trace_format::frame::BlockHead;

/// Pair of analyses in one pass; pairs can be nested.
impl<A: Analysis, B: Analysis> Analysis for (A, B) {
    type Partial = (A::Partial, B::Partial);

    fn start(&self) -> Self::Partial {
        (self.0.start(), self.1.start())
    }

    fn wants(&self, run: &Run, process: ProcessId, head: &BlockHead) -> bool {
        self.0.wants(run, process, head) || self.1.wants(run, process, head)
    }

    fn ordered(&self) -> bool {
        self.0.ordered() || self.1.ordered()
    }

    fn block(&self, partial: &mut Self::Partial, block: &Block<'_>) {
        give(&self.0, &mut partial.0, block);
        give(&self.1, &mut partial.1, block);
    }

    fn each<'p>(&'p self, partial: &'p mut Self::Partial, into: &mut Vec<Alone<'p>>) {
        self.0.each(&mut partial.0, into);
        self.1.each(&mut partial.1, into);
    }

    fn merge(&self, into: &mut Self::Partial, other: Self::Partial) {
        self.0.merge(&mut into.0, other.0);
        self.1.merge(&mut into.1, other.1);
    }
}

/// Empty analysis, for callers that need nothing from the segments.
#[derive(Clone, Copy, Debug)]
pub struct Nothing;

impl Analysis for Nothing {
    type Partial = ();

    fn start(&self) {}

    fn wants(&self, _run: &Run, _process: ProcessId, _head: &BlockHead) -> bool {
        false
    }

    fn block(&self, _partial: &mut (), _block: &Block<'_>) {}

    fn each<'p>(&'p self, _partial: &'p mut (), _into: &mut Vec<Alone<'p>>) {}

    fn merge(&self, _into: &mut (), _other: ()) {}
}

/// Reference to an analysis, which the caller can use again after the pass.
impl<A: Analysis> Analysis for &A {
    type Partial = A::Partial;

    fn start(&self) -> Self::Partial {
        (**self).start()
    }

    fn wants(&self, run: &Run, process: ProcessId, head: &BlockHead) -> bool {
        (**self).wants(run, process, head)
    }

    fn ordered(&self) -> bool {
        (**self).ordered()
    }

    fn block(&self, partial: &mut Self::Partial, block: &Block<'_>) {
        (**self).block(partial, block);
    }

    fn each<'p>(&'p self, partial: &'p mut Self::Partial, into: &mut Vec<Alone<'p>>) {
        (**self).each(partial, into);
    }

    fn merge(&self, into: &mut Self::Partial, other: Self::Partial) {
        (**self).merge(into, other);
    }
}

/// Optional analysis; `None` does nothing in the pass.
impl<A: Analysis> Analysis for Option<A> {
    type Partial = Option<A::Partial>;

    fn start(&self) -> Self::Partial {
        self.as_ref().map(Analysis::start)
    }

    fn wants(&self, run: &Run, process: ProcessId, head: &BlockHead) -> bool {
        self.as_ref().is_some_and(|analysis| analysis.wants(run, process, head))
    }

    fn ordered(&self) -> bool {
        self.as_ref().is_some_and(Analysis::ordered)
    }

    fn block(&self, partial: &mut Self::Partial, block: &Block<'_>) {
        if let (Some(analysis), Some(partial)) = (self, partial) {
            analysis.block(partial, block);
        }
    }

    fn each<'p>(&'p self, partial: &'p mut Self::Partial, into: &mut Vec<Alone<'p>>) {
        if let (Some(analysis), Some(partial)) = (self, partial) {
            analysis.each(partial, into);
        }
    }

    fn merge(&self, into: &mut Self::Partial, other: Self::Partial) {
        if let (Some(analysis), Some(into), Some(other)) = (self, into, other) {
            analysis.merge(into, other);
        }
    }
}
