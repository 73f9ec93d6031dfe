//! Advice on files of which several ranks read the same bytes: one read per node would be enough, or one read in total with a broadcast.

use super::Signed;
use crate::model::{FileId, Run, Within};
use crate::topics::signatures::comparable::{Group, Order, groups};
use iosig::ranks::{Line, globalize};
use iosig::{Access, Loop, Node, Signature};

use crate::topics::signatures::names::writes;
use crate::topics::signatures::words::{file, small};
pub use crate::words::signatures::facts::SameBytes;
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use trace_format::op::Layer;

pub(super) fn rows(run: &Run, signed: &[Signed]) -> Vec<SameBytes> {
    let order = Order::new(run);
    let mut out = Vec::new();
    for group in groups(run, &order, signed) {
        let own = group.members.first().is_some_and(|(_, one)| one.whose.within == Within::Nothing);
        if !group.one_file || !own || !matches!(group.layer, Layer::Posix | Layer::Mpiio | Layer::Stdio) {
            continue;
        }
        let all = group.members.iter().map(|(_, one)| small(one.signature.bytes)).fold(0, u64::saturating_add);
        let once = once(run, &group);
        let is_shared = |access: &Access| {
            once.get(&key(access)).is_some_and(|ranks| needless(run, (access.length, access.length), ranks.0, all))
        };
        let with_once: Vec<(u64, Cow<'_, Signature>)> =
            group.members.iter().map(|(place, one)| (*place, with_single(&one.signature, is_shared))).collect();
        let of_all: Vec<(u64, &Signature)> = with_once.iter().map(|(place, one)| (*place, one.as_ref())).collect();
        let node = |(_, one): &(u64, &Signed)| Some(run.node(run.process(one.whose.process)?));
        let nodes = group.members.iter().filter_map(node).collect::<BTreeSet<&str>>().len() as u64;
        let of = group.members.first().map_or(FileId(0), |(_, one)| one.whose.file);
        let lines = globalize(&of_all).lines;
        let mut mine: Vec<(&Line, SameBytes)> = Vec::new();
        for (line, row) in
            lines.iter().filter_map(|line| Some((line, of_line(run, line, of, all, group.layer, nodes)?)))
        {
            let members = |line: &Line| (line.first_rank, line.directions.clone());
            // Several parts of a file that the same ranks read are one finding.
            match mine.iter_mut().find(|(other, _)| members(other) == members(line)) {
                Some((_, known)) => known.join(&row),
                None => mine.push((line, row)),
            }
        }
        out.extend(mine.into_iter().map(|(_, row)| row));
    }
    out.sort_by_key(|row| Reverse(row.bytes));
    out
}

fn key(access: &Access) -> (u16, u64, u64) {
    (access.op, access.offset, access.length)
}

/// Counts the ranks that make each access outside of loops: number of ranks, and the place of the last one.
fn once(run: &Run, group: &Group<'_>) -> FxHashMap<(u16, u64, u64), (u64, u64)> {
    let mut ranks: FxHashMap<(u16, u64, u64), (u64, u64)> = FxHashMap::default();
    for (place, one) in &group.members {
        let single = one.signature.residue().filter_map(|part| part.few.as_ref()).flatten();
        for access in single.filter(|access| !writes(run, access.op)) {
            let of = ranks.entry(key(access)).or_insert((0, u64::MAX));
            *of = if of.1 == *place { *of } else { (of.0 + 1, *place) };
        }
    }
    ranks
}

/// Returns the signature with those accesses outside of loops that `is_shared` selects as loops of one iteration.
fn with_single(signature: &Signature, is_shared: impl Fn(&Access) -> bool) -> Cow<'_, Signature> {
    let any = signature.residue().filter_map(|part| part.few.as_ref()).flatten().any(&is_shared);
    if any { Cow::Owned(signature.with_single(is_shared)) } else { Cow::Borrowed(signature) }
}

/// True if reads of the same `distinct` bytes by all but one of `ranks`, in which each moves `each` bytes, are a considerable part of `all`
/// bytes that the ranks move.
fn needless(run: &Run, (distinct, each): (u64, u64), ranks: u64, all: u64) -> bool {
    let others = |bytes: u64| bytes.saturating_mul(ranks.saturating_sub(1));
    let least = all as f64 * run.thresholds.traffic_share;
    others(distinct) >= run.thresholds.traffic_min_bytes && others(each) as f64 >= least
}

fn of_line(run: &Run, line: &Line, of: FileId, all: u64, layer: Layer, nodes: u64) -> Option<SameBytes> {
    let any_writes = line.nest.leaves().iter().any(|leaf| writes(run, leaf.op));
    let same = line.linear().is_some_and(|(each, _)| each == 0);
    let bytes = small(line.bytes);
    let bytes_each = bytes.checked_div(line.ranks)?;
    let distinct = reach(&line.nest).map_or(bytes_each, |reach| reach.min(bytes_each));
    let is = same && !any_writes && needless(run, (distinct, bytes_each), line.ranks, all);
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
