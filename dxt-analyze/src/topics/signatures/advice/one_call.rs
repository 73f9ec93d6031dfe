//! Advice on loops of small calls by several ranks that together access a range without gaps: one collective call, with a datatype that
//! describes the loop's accesses, could replace each loop.

use super::{FEWEST, SMALL_BYTES};
use crate::model::{FileId, Op, Run, Within};
use crate::shared::layer_calls::Form;
use crate::topics::signatures::comparable::{Order, groups};
use crate::topics::signatures::names::writes;
use crate::topics::signatures::views::{operation, shape};
use crate::topics::signatures::words::file;
pub use crate::words::signatures::facts::OneCall;
use iosig::ranks::{Line, globalize};
use iosig::{Node, Signature};
use std::cmp::Reverse;
use trace_format::op::Layer;

pub(super) fn rows(run: &Run, signed: &[super::Signed]) -> Vec<OneCall> {
    let order = Order::new(run);
    let mut out = Vec::new();
    for group in groups(run, &order, signed) {
        // Skips the whole group if a process has several threads or files in it, and so does other I/O as well.
        let one_each = group.members.windows(2).all(|pair| pair[0].0 != pair[1].0);
        let is_of_program = |layer| matches!(layer, Layer::Posix | Layer::Mpiio | Layer::Stdio);
        if !group.one_file || !one_each || !is_of_program(group.layer) {
            continue;
        }
        let Some((_, first)) = group.members.first().filter(|(_, one)| one.whose.within == Within::Nothing) else {
            continue;
        };
        let of_all: Vec<(u64, &Signature)> =
            group.members.iter().map(|(place, one)| (*place, &one.signature)).collect();
        let lines = globalize(&of_all).lines;
        out.extend(lines.iter().filter_map(|line| of_line(run, line, first.whose.file, group.layer)));
    }
    out.sort_by_key(|row| Reverse(row.calls.saturating_mul(row.ranks)));
    out
}

fn of_line(run: &Run, line: &Line, of: FileId, layer: Layer) -> Option<OneCall> {
    let calls = line.accesses.checked_div(line.ranks)?;
    // Only loops over a single call: the datatype of other loops does not fit into a table.
    let [Node::Leaf(leaf)] = line.nest.body.as_slice() else { return None };
    let stride = leaf.steps.first().map(|step| step.offset)?;
    let stride = u64::try_from(stride).ok().filter(|stride| *stride > leaf.length)?;
    let is = |op: &Op| Form::of(op.mode) == Form::Independent;
    let alone = shape(run, leaf.op).is_none() && operation(run, leaf.op).is_some_and(is);
    if line.ranks < 2 || calls < FEWEST || leaf.length >= SMALL_BYTES || !alone {
        return None;
    }
    let (first, bytes) = line.contiguous()?;
    Some(OneCall {
        file: file(run, of),
        layer: layer.name(),
        writes: writes(run, leaf.op),
        ranks: line.ranks,
        calls,
        length: leaf.length,
        stride,
        bytes: u64::try_from(bytes).unwrap_or(u64::MAX),
        first,
        begins: line.linear(),
    })
}
