//! Advice on files of which all ranks read the same bytes: one read per node would be enough, or one read in total with a broadcast.

use super::Signed;
use crate::model::{FileId, Run, Within};
use crate::topics::signatures::comparable::{Order, groups};
use iosig::ranks::{Line, globalize};
use iosig::{Loop, Node, Signature};

use crate::topics::signatures::names::writes;
use crate::topics::signatures::words::{file, small};
pub use crate::words::signatures::facts::SameBytes;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use trace_format::op::Layer;

/// Minimum number of ranks that read the same bytes, for advice.
const RANKS: u64 = 3;
/// Minimum number of same bytes that each rank reads, for advice; smaller amounts fit into any cache.
const BYTES: u64 = 1 << 20;

pub(super) fn rows(run: &Run, signed: &[Signed]) -> Vec<SameBytes> {
    let order = Order::new(run);
    let mut out = Vec::new();
    for group in groups(run, &order, signed) {
        let own = group.members.first().is_some_and(|(_, one)| one.whose.within == Within::Nothing);
        if !group.one_file || !own || !matches!(group.layer, Layer::Posix | Layer::Mpiio | Layer::Stdio) {
            continue;
        }
        let of_all: Vec<(u64, &Signature)> =
            group.members.iter().map(|(place, one)| (*place, &one.signature)).collect();
        let node = |(_, one): &(u64, &Signed)| Some(run.node(run.process(one.whose.process)?));
        let nodes = group.members.iter().filter_map(node).collect::<BTreeSet<&str>>().len() as u64;
        let of = group.members.first().map_or(FileId(0), |(_, one)| one.whose.file);
        let lines = globalize(&of_all).lines;
        out.extend(lines.iter().filter_map(|line| of_line(run, line, of, group.layer, nodes)));
    }
    out.sort_by_key(|row| Reverse(row.bytes));
    out
}

fn of_line(run: &Run, line: &Line, of: FileId, layer: Layer, nodes: u64) -> Option<SameBytes> {
    let any_writes = line.nest.leaves().iter().any(|leaf| writes(run, leaf.op));
    let same = line.linear().is_some_and(|(each, _)| each == 0);
    let bytes = small(line.bytes);
    let bytes_each = bytes.checked_div(line.ranks)?;
    let is = same && !any_writes && line.ranks >= RANKS && bytes_each >= BYTES;
    let distinct = reach(&line.nest).map_or(bytes_each, |reach| reach.min(bytes_each));
    is.then(|| SameBytes {
        file: file(run, of),
        layer: layer.name(),
        ranks: line.ranks,
        are_processes: run.ranks() == 0,
        nodes: nodes.max(1),
        bytes_each,
        distinct,
        bytes,
        bytes_by_node: distinct.saturating_mul(nodes.max(1)),
    })
}

/// Returns the length of the range from the first to the last byte that a loop nest accesses. `None` if lengths vary, or on overflow.
fn reach(nest: &Loop) -> Option<u64> {
    let (mut first, mut end) = (i128::MAX, i128::MIN);
    let mut around = Vec::new();
    reach_within(nest, &mut around, &mut first, &mut end)?;
    u64::try_from(end.checked_sub(first)?).ok()
}

fn reach_within(nest: &Loop, around: &mut Vec<u64>, first: &mut i128, end: &mut i128) -> Option<()> {
    // Upper bound for a loop whose iteration count varies with the enclosing loops.
    let grows = around.iter().rev().zip(&nest.count_steps);
    let more = grows.map(|(count, step)| step.max(&0).cast_unsigned().saturating_mul(count.saturating_sub(1)));
    around.push(more.fold(nest.count, u64::saturating_add));
    for node in &nest.body {
        match node {
            Node::Loop(inner) => reach_within(inner, around, first, end)?,
            Node::Leaf(leaf) => {
                let (mut low, mut high) = (i128::from(leaf.offset), i128::from(leaf.offset) + i128::from(leaf.length));
                for (count, step) in around.iter().rev().zip(&leaf.steps) {
                    let moved = i128::from(step.offset).checked_mul(i128::from(count.saturating_sub(1)))?;
                    low = low.checked_add(moved.min(0))?;
                    high = high.checked_add(moved.max(0))?;
                }
                if leaf.steps.iter().any(|step| step.length != 0) {
                    return None;
                }
                (*first, *end) = ((*first).min(low), (*end).max(high));
            }
        }
    }
    around.pop();
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosig::{Leaf, Step};

    fn read(offset: u64, steps: &[i64]) -> Node {
        let steps = steps.iter().map(|offset| Step { offset: *offset, length: 0 }).collect();
        Node::Leaf(Leaf { op: 0, offset, length: 10, steps })
    }

    fn times(count: u64, body: Vec<Node>) -> Loop {
        Loop { count, count_steps: Vec::new(), body, times: Default::default() }
    }

    #[test]
    fn what_is_read_again_is_reached_once() {
        let again = times(20, vec![Node::Loop(times(6, vec![read(100, &[10, 0])]))]);
        assert_eq!(reach(&again), Some(60));
        let further = times(20, vec![Node::Loop(times(6, vec![read(100, &[10, 60])]))]);
        assert_eq!(reach(&further), Some(1200));
        let backwards = times(3, vec![read(100, &[-50]), read(0, &[0])]);
        assert_eq!(reach(&backwards), Some(110));
        let inner = Loop { count_steps: vec![3], ..times(3, vec![read(0, &[10, 0])]) };
        assert_eq!(reach(&times(20, vec![Node::Loop(inner)])), Some(600));
        let far = times(u64::MAX, vec![Node::Loop(times(u64::MAX, vec![read(0, &[i64::MAX, i64::MAX])]))]);
        assert_eq!(reach(&far), None);
    }
}
