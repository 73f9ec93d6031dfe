//! Text notation of the IOSIG papers, which do not use brackets consistently; this module uses the following form:
//!
//! ```text
//! {operation, file, initial position, dimension, (patterns, iterations), repetitions}
//! pattern = [{start, stride, strides}, size, repetitions, temporal]
//!         | (patterns, iterations)                                      for an inner loop
//! run     = ({start, stride, 1}, size, 1, temporal), iterations, 1      one pattern, without the inner brackets, as the paper writes IOR
//! ```
//!
//! - The initial position is the offset of the first access. The dimension is the loop depth, plus one if a body has several accesses.
//! - Several strides are listed innermost first: `{start, (4096, 1048576), 2}`. A growing size is `{first, step}`, with several steps in
//!   parentheses; varying iteration counts are `{first, step}` too.
//! - `fixed_interval` is written once per loop, after the last access directly in the loop. Random intervals are not written.
//! - Different operations are named at each access, and joined by `+` at the start.

use std::fmt::Write;

use crate::classes::{Class, Operation, Repetition, Size, Spatial, Temporal};
use crate::nest::{Leaf, Loop, Node};
use crate::text::Operations;

/// Writer of the IOSIG papers' notation of loop nests, with its parameters.
pub struct Notation<'a> {
    /// Operation names in the paper's style, such as `MPI_READALL`.
    pub operations: &'a dyn Operations,
    /// File name to appear in the notation.
    pub file: &'a str,
    /// Maximum coefficient of variation at which intervals count as fixed.
    pub limit: f64,
}

impl Notation<'_> {
    /// Formats a loop nest in the notation.
    #[must_use]
    pub fn nest(&self, nest: &Loop) -> String {
        let leaves = nest.leaves();
        let mut names: Vec<String> = Vec::new();
        for name in leaves.iter().map(|leaf| self.operations.name(leaf.op)) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let first = leaves.first().map_or(0, |leaf| leaf.offset);
        let several = names.len() > 1;
        let mut out = format!("{{{}, {}, {}, {}, ", names.join("+"), self.file, first, dimension(nest));
        match nest.body.as_slice() {
            [Node::Leaf(leaf)] => {
                let _ = write!(out, "({}{}), {}, 1}}", self.leaf(leaf, several), self.temporal(nest), nest.count);
            }
            _ => {
                self.body(&mut out, nest, several);
                out.push_str(", 1}");
            }
        }
        out
    }

    fn body(&self, out: &mut String, l: &Loop, several: bool) {
        let last = l.body.iter().rposition(|n| matches!(n, Node::Leaf(_)));
        out.push('(');
        for (i, node) in l.body.iter().enumerate() {
            match node {
                Node::Leaf(leaf) => {
                    let temporal = if last == Some(i) { self.temporal(l) } else { "" };
                    let _ = write!(out, "[{}{temporal}], ", self.leaf(leaf, several));
                }
                Node::Loop(inner) => {
                    self.body(out, inner, several);
                    out.push_str(", ");
                }
            }
        }
        let steps = l.count_steps.iter().any(|s| *s != 0).then(|| list(l.count_steps.iter().copied()));
        match steps {
            Some(steps) => {
                let _ = write!(out, "{{{}, {steps}}})", l.count);
            }
            None => {
                let _ = write!(out, "{})", l.count);
            }
        }
    }

    fn leaf(&self, leaf: &Leaf, several: bool) -> String {
        let op = if several { format!("{} ", self.operations.name(leaf.op)) } else { String::new() };
        let strides = list(leaf.steps.iter().map(|s| s.offset));
        let size = if leaf.steps.iter().any(|s| s.length != 0) {
            format!("{{{}, {}}}", leaf.length, list(leaf.steps.iter().map(|s| s.length)))
        } else {
            leaf.length.to_string()
        };
        format!("{op}{{{}, {strides}, {}}}, {size}, 1", leaf.offset, leaf.steps.len())
    }

    fn temporal(&self, l: &Loop) -> &'static str {
        if l.times.is_fixed(self.limit) == Some(true) { ", fixed_interval" } else { "" }
    }
}

/// Formats a class as the pattern signature of the paper:
/// `{operation, <spatial pattern, dimension>, <repetitive behaviour>, <request size>, <temporal intervals>}`.
#[must_use]
pub fn pattern_signature(class: &Class) -> String {
    let operation = match class.operation {
        Operation::Read => "READ",
        Operation::Write => "WRITE",
        Operation::ReadWrite => "READ/WRITE",
    };
    let (spatial, dimension) = match class.spatial {
        Spatial::Contiguous => ("contiguous", 1),
        Spatial::FixedStride => ("fixed stride", 1),
        Spatial::Strided(dimension) => ("strided", dimension),
        Spatial::Negative => ("negative", 1),
        Spatial::Random => ("random", 1),
        Spatial::Combination => ("combination", 1),
    };
    let repetition = match class.repetition {
        Repetition::Single => "single",
        Repetition::Repeating => "repeating",
    };
    let size = match class.size {
        Size::Small => "small",
        Size::Medium => "medium",
        Size::Large => "large",
        Size::Mixed => "mixed",
    };
    let variable = if class.variable_size { "variable" } else { "fixed" };
    let temporal = if class.temporal == Some(Temporal::Fixed) { "fixed" } else { "random" };
    format!("{{{operation}, <{spatial}, {dimension}>, <{repetition}>, <{size}, {variable}>, <{temporal}>}}")
}

fn list(steps: impl ExactSizeIterator<Item = i64>) -> String {
    let several = steps.len() > 1;
    let steps = steps.map(|s| s.to_string()).collect::<Vec<_>>().join(", ");
    if several { format!("({steps})") } else { steps }
}

/// Returns the dimension in the sense of the notation: the loop depth, plus one if a loop body has several accesses.
fn dimension(nest: &Loop) -> usize {
    fn several(l: &Loop) -> bool {
        l.body.iter().filter(|n| matches!(n, Node::Leaf(_))).count() > 1
            || l.body.iter().any(|n| matches!(n, Node::Loop(inner) if several(inner)))
    }
    nest.depth() + usize::from(several(nest))
}
