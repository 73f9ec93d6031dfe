//! The notation of the IOSIG paper. Its brackets are not consistent; this is how they are read here:
//!
//! `{operation, file, initial position, dimension, (patterns, iterations), repetitions}`, where a pattern is
//! `[{start, stride, strides}, size, repetitions, temporal]`, or, for a loop within, again `(patterns, iterations)`.
//! A run, which has one pattern, is written without the inner brackets, as the paper writes IOR:
//! `({start, stride, 1}, size, 1, temporal), iterations, 1`.
//!
//! - The initial position is the first access's. The dimension is the depth of the loops, and one more if a body holds several accesses.
//! - Of several strides the innermost stands first: `{start, (4096, 1048576), 2}`. A size that grows is `{first, step}`, with its steps
//!   likewise. Iterations that vary are `{first, step}`.
//! - `fixed_interval` stands once per loop, after its last own access. Random intervals are not written.
//! - If the operations differ they stand at each access, and joined by `+` at the front.

use std::fmt::Write;

use super::classes::{Class, Operation, Repetition, Size, Spatial, Temporal};
use super::global::leaves;
use super::nest::{Leaf, Loop, Node};
use super::print::Operations;

/// What the notation needs beside the nest.
pub struct Notation<'a> {
    /// The paper's names of operations, such as `MPI_READALL`.
    pub operations: &'a dyn Operations,
    /// The file's name.
    pub file: &'a str,
    /// The largest coefficient of variation of fixed intervals.
    pub limit: f64,
}

impl Notation<'_> {
    /// A nest.
    #[must_use]
    pub fn nest(&self, nest: &Loop) -> String {
        let mut names: Vec<String> = Vec::new();
        let mut first = None;
        leaves(nest, &mut |leaf| {
            let name = self.operations.name(leaf.op);
            if !names.contains(&name) {
                names.push(name);
            }
            first = first.or(Some(leaf.offset));
        });
        let several = names.len() > 1;
        let mut out = format!("{{{}, {}, {}, {}, ", names.join("+"), self.file, first.unwrap_or(0), dimension(nest));
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

/// The pattern signature: `{operation, <spatial pattern, dimension>, <repetitive behaviour>, <request size>, <temporal intervals>}`.
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

/// The depth of the loops, and one more if a body holds several accesses.
#[must_use]
pub fn dimension(nest: &Loop) -> usize {
    fn several(l: &Loop) -> bool {
        l.body.iter().filter(|n| matches!(n, Node::Leaf(_))).count() > 1
            || l.body.iter().any(|n| matches!(n, Node::Loop(inner) if several(inner)))
    }
    nest.depth() + usize::from(several(nest))
}
