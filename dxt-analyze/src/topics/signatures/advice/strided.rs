//! Advice on small reads and writes at a fixed distance with gaps between them, by any number of processes: each is a separate request to
//! storage, and read-ahead fetches bytes that are never used.

use super::{SMALL_BYTES, Signed, WAITED_NS};
use crate::model::{FileId, ProcessId, Run, Within};
use crate::shared::totals::add;
use crate::topics::signatures::names::writes;
use crate::topics::signatures::words::file;
pub use crate::words::signatures::facts::Strided;
use iosig::{Loop, Node};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use trace_format::op::Layer;

/// Minimum number of strided reads (or writes) of a file for advice; fewer cost little.
const CALLS: u64 = 32;
/// Minimum mean number of strided reads (or writes) of a file per process for advice.
const OF_EACH: u64 = 8;
/// Minimum share of strided calls among the reads, or the writes, of a file for advice.
const MOST: f64 = 0.5;
/// Minimum distance between the starts of strided calls, as a multiple of their length.
const APART: u64 = 2;
/// Upper bound of the length of a strided call, bytes.
const SHORT_BYTES: u64 = 1 << 20;
/// Minimum mean duration of calls of at least [`SMALL_BYTES`] to count, ns: the time of faster ones may be due to their length rather than
/// their position.
const SOUGHT_NS: u64 = 5_000_000;

/// Totals of the reads (or writes) on one file so far.
#[derive(Default)]
struct Found {
    all: u64,
    time_ns: u64,
    calls: u64,
    processes: BTreeSet<ProcessId>,
    /// Number of strided calls by (length, stride), both in bytes.
    by: BTreeMap<(u64, u64), u64>,
}

/// Returns the files on which at least [`MOST`] of all reads (or writes) are strided, most strided calls first. Considers only POSIX calls
/// that the program itself makes, not calls inside a library's.
pub(super) fn rows(run: &Run, signed: &[Signed]) -> Vec<Strided> {
    let mut by: BTreeMap<(FileId, bool), Found> = BTreeMap::new();
    for one in signed.iter().filter(|one| one.whose.layer == Layer::Posix && one.whose.within == Within::Nothing) {
        for calls in &one.calls {
            let of = by.entry((one.whose.file, writes(run, calls.op))).or_default();
            add(&mut of.all, calls.calls);
            add(&mut of.time_ns, calls.time_ns);
        }
        for pattern in one.signature.patterns() {
            let (mut leaves, mut strided) = (0, Vec::new());
            gaps(&pattern.nest, &mut leaves, &mut strided);
            for (op, length, stride) in strided {
                let of = by.entry((one.whose.file, writes(run, op))).or_default();
                let calls = pattern.accesses / leaves;
                add(&mut of.calls, calls);
                of.processes.insert(one.whose.process);
                add(of.by.entry((length, stride)).or_default(), calls);
            }
        }
    }
    let row = |((of, writes), found): ((FileId, bool), Found)| {
        let processes = found.processes.len() as u64;
        let (&(length, stride), _) = found.by.iter().max_by_key(|(_, calls)| **calls)?;
        let enough = found.calls >= CALLS.max(processes.saturating_mul(OF_EACH));
        let most = found.calls as f64 >= found.all as f64 * MOST;
        let least = if length < SMALL_BYTES { WAITED_NS } else { SOUGHT_NS };
        let wait = found.time_ns / found.all.max(1) >= least;
        (enough && most && wait).then(|| Strided {
            file: file(run, of),
            writes,
            processes,
            calls: found.calls,
            length,
            stride,
        })
    };
    let mut out: Vec<Strided> = by.into_iter().filter_map(row).collect();
    out.sort_by_key(|row| Reverse(row.calls));
    out
}

/// Counts the calls in the body of a loop nest (`leaves`), and collects (operation, length, stride) of calls with gaps between them
/// (`strided`). All calls in the body of a loop together must leave gaps.
fn gaps(nest: &Loop, leaves: &mut u64, strided: &mut Vec<(u16, u64, u64)>) {
    let together: u64 = nest.body.iter().fold(0, |sum, node| match node {
        Node::Leaf(leaf) => sum.saturating_add(leaf.length),
        Node::Loop(_) => sum,
    });
    for node in &nest.body {
        match node {
            Node::Leaf(leaf) => {
                *leaves += 1;
                let stride = leaf.steps.first().map_or(0, |step| step.offset.unsigned_abs());
                if leaf.length > 0 && leaf.length < SHORT_BYTES && stride >= together.saturating_mul(APART) {
                    strided.push((leaf.op, leaf.length, stride));
                }
            }
            Node::Loop(inner) => gaps(inner, leaves, strided),
        }
    }
}
