//! Files of which ranks all read the same bytes: once for each node is enough, or once for all.

use super::Signed;
use crate::model::{FileId, Run, Within};
use crate::topics::signatures::alike::{Order, groups};
use crate::topics::signatures::engine::Signature;
use crate::topics::signatures::engine::global::{Line, globalize, leaves};
use crate::topics::signatures::names::writes;
use crate::topics::signatures::words::{file, small};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use trace_format::op::Layer;

/// Fewest ranks.
const RANKS: u64 = 3;
/// Fewest bytes of each: what is less fits in any cache.
const BYTES: u64 = 1 << 20;

/// Reads of the same bytes.
#[derive(Clone, Debug, Serialize)]
pub struct SameBytes {
    /// File.
    pub file: String,
    /// Interface.
    pub layer: &'static str,
    /// Ranks, or processes if they are no ranks.
    pub ranks: u64,
    /// Whether they are no ranks.
    #[serde(skip)]
    pub are_processes: bool,
    /// Their nodes.
    pub nodes: u64,
    /// Bytes that each reads.
    pub bytes_each: u64,
    /// Bytes that all read.
    pub bytes: u64,
    /// Bytes that would be read if each node read them once.
    pub bytes_by_node: u64,
}

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
    let mut any_writes = false;
    leaves(&line.nest, &mut |leaf| any_writes |= writes(run, leaf.op));
    let same = line.linear().is_some_and(|(each, _)| each == 0);
    let bytes = small(line.bytes);
    let bytes_each = bytes.checked_div(line.ranks)?;
    let is = same && !any_writes && line.ranks >= RANKS && bytes_each >= BYTES;
    is.then(|| SameBytes {
        file: file(run, of),
        layer: layer.name(),
        ranks: line.ranks,
        are_processes: run.ranks() == 0,
        nodes: nodes.max(1),
        bytes_each,
        bytes,
        bytes_by_node: bytes_each.saturating_mul(nodes.max(1)),
    })
}
