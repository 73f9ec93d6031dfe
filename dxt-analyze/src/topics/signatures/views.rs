//! MPI-IO file views: tracks the view in force on each file while a thread's calls are read, and applies the view to each call.
//!
//! A call under a strided view gets its own operation number, which encodes the shape of the view, so that pattern recognition need not
//! know about views.

use crate::model::{FileId, Op, Process, Run, Shape, Stream, View};
use iosig::{Access, Intervals, Leaf, Loop, Node, Step};
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;
use trace_format::meta::ViewDef;
use trace_format::op::{Layer, OpClass};

/// Returns the number that encodes operation `op` under the MPI file view whose shape (blocks and strides) has index `at`; `None` if the
/// number exceeds `u16`.
fn under(run: &Run, op: u16, at: u32) -> Option<u16> {
    let number = (u64::from(at) + 1).checked_mul(run.ops.len() as u64)?.checked_add(u64::from(op))?;
    u16::try_from(number).ok()
}

/// Returns the operation that an operation number encodes, with or without the shape of an MPI file view; `None` in a run without
/// operations.
pub(super) fn operation(run: &Run, op: u16) -> Option<&Op> {
    run.ops.get(usize::from(op).checked_rem(run.ops.len())?)
}

/// Returns the shape (blocks and strides) of the MPI file view that an operation number encodes; `None` if there is none.
pub(super) fn shape(run: &Run, op: u16) -> Option<&Shape> {
    run.shapes.get(usize::from(op).checked_div(run.ops.len())?.checked_sub(1)?)
}

/// Kind of MPI-IO call that changes the file view in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reported {
    Opened,
    Closed,
    Set,
}

/// Returns the effect of a call on MPI file views; `None` unless the call is a successful MPI-IO open, close or set_view.
pub(super) fn reported(op: &Op, stream: &Stream) -> Option<Reported> {
    match op.class.filter(|_| op.layer == Some(Layer::Mpiio) && !stream.failed)? {
        OpClass::Open => Some(Reported::Opened),
        OpClass::Close => Some(Reported::Closed),
        OpClass::Metadata if op.name == "set_view" => Some(Reported::Set),
        _ => None,
    }
}

/// Effect of an MPI file view on the bytes that calls access: none, strided, or unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum As {
    Plain,
    /// Strided view (blocks at a constant distance); the value is the index of its shape in [`Run::shapes`].
    Strided(u32),
    Unknown,
}

/// MPI file view set by a set_view call: its effect, and the offset of the first filetype's data relative to the displacement (`first`).
#[derive(Clone, Copy, Debug)]
struct Set {
    /// Number of set_view calls on the file up to and including the last one that sets this view.
    until: u64,
    kind: As,
    first: i64,
}

/// Views that a process set on a file, in the order of the set_view calls; empty if unknown.
#[derive(Debug)]
struct OfFile(Vec<Set>);

/// State of the MPI file view of a file while a thread's calls are read.
#[derive(Clone, Copy, Debug)]
struct Now {
    calls: u64,
    /// Number of handles through which the process has the file open.
    open: u64,
    /// True from the time when several handles are open until all are closed: the trace does not record which handle's view applies to a
    /// call.
    several: bool,
    kind: As,
    origin: i128,
}

impl Now {
    const NONE: Self = Self { calls: 0, open: 0, several: false, kind: As::Unknown, origin: 0 };
}

/// Views of all files on which a process called set_view.
#[derive(Debug, Default)]
pub(super) struct Views {
    files: FxHashMap<FileId, u32>,
    of: Vec<OfFile>,
}

impl Views {
    pub(super) fn of(run: &Run, process: &Process) -> Self {
        let mut out = Self::default();
        let set = |stream: &&Stream| reported(run.op(stream), stream) == Some(Reported::Set);
        let mut defs: FxHashMap<u32, Vec<&ViewDef>> = FxHashMap::default();
        for def in &process.views {
            defs.entry(def.file).or_default().push(def);
        }
        for stream in process.streams.iter().filter(set) {
            // Several streams may contain set_view calls of one file (made by the program, or inside other calls); they share one list.
            if let Entry::Vacant(new) = out.files.entry(stream.file) {
                new.insert(out.of.len() as u32);
                let views = defs.get(&stream.file.0).map(Vec::as_slice).unwrap_or_default();
                out.of.push(OfFile::new(run, process, stream.file, views));
            }
        }
        out
    }

    /// Returns the index of a file with MPI file views; `None` if the process set no view on the file.
    pub(super) fn number(&self, file: FileId) -> Option<u32> {
        self.files.get(&file).copied()
    }

    /// Returns the MPI file views of all files at the start of a thread: no open handle, view unknown.
    pub(super) fn begin(&self) -> State {
        State(vec![Now::NONE; self.of.len()])
    }
}

impl OfFile {
    fn new(run: &Run, process: &Process, file: FileId, views: &[&ViewDef]) -> Self {
        let mut until = 0_u64;
        let one = |def: &&ViewDef| {
            until = until.saturating_add(def.calls);
            let kind = match View::of(def) {
                View::Plain => As::Plain,
                View::Strided(shape) => {
                    run.shapes.binary_search(&shape).map_or(As::Unknown, |at| As::Strided(at as u32))
                }
                View::Unknown => As::Unknown,
            };
            Set { until, kind, first: def.first }
        };
        let all: Vec<Set> = views.iter().map(one).collect();
        let similar = all.windows(2).all(|pair| matches!(pair, [a, b] if (a.kind, a.first) == (b.kind, b.first)));
        Self(if similar || in_order(run, process, file) { all } else { Vec::new() })
    }

    fn set(&self, number: u64) -> Option<&Set> {
        self.0.get(self.0.partition_point(|set| set.until <= number))
    }
}

/// True if all set_view calls on the file are recorded and made by one thread, so that a call's sequence number identifies the MPI file
/// view.
fn in_order(run: &Run, process: &Process, file: FileId) -> bool {
    let is = |stream: &&Stream| stream.file == file && reported(run.op(stream), stream) == Some(Reported::Set);
    let ids = || process.streams.iter().filter(is).map(|stream| stream.id);
    let mask = process.streams.iter().filter(is).fold(0, |mask, stream| mask | stream.mask);
    let of_sets = process.blocks.iter().filter(|block| block.head.stream_mask & mask != 0);
    let mut tids = of_sets.map(|block| process.tid(block.head.thread));
    let first = tids.next();
    let missing = ids().any(|id| process.missing.iter().any(|missing| missing.stream == id));
    run.window.is_none() && !missing && tids.all(|tid| Some(tid) == first)
}

/// MPI file view in force on each file, by index of the file.
#[derive(Debug, Default)]
pub(super) struct State(Vec<Now>);

impl State {
    /// Updates the MPI file view in force on the file with index `number` after a call of kind `reported`.
    pub(super) fn tell(&mut self, views: &Views, number: u32, reported: Reported, offset: i64) {
        let (Some(now), Some(of)) = (self.0.get_mut(number as usize), views.of.get(number as usize)) else { return };
        match reported {
            Reported::Opened => {
                now.open = now.open.saturating_add(1);
                now.several |= now.open > 1;
                now.kind = As::Plain;
            }
            Reported::Closed => {
                now.open = now.open.saturating_sub(1);
                now.several &= now.open > 0;
                now.kind = As::Unknown;
            }
            Reported::Set => {
                let set = of.set(now.calls);
                now.calls += 1;
                now.kind = set.map_or(As::Unknown, |set| set.kind);
                now.origin = set.map_or(0, |set| i128::from(set.first)) + i128::from(offset);
            }
        }
        if now.several {
            now.kind = As::Unknown;
        }
    }

    /// Converts an access under the MPI file view in force on the file with index `number`. Returns false if the view, or its effect on the
    /// access, is unknown.
    pub(super) fn apply(&self, run: &Run, number: u32, access: &mut Access) -> bool {
        let Some(now) = self.0.get(number as usize) else { return false };
        let As::Strided(at) = now.kind else { return now.kind == As::Plain };
        let Some(form) = run.shapes.get(at as usize).filter(|form| form.begins_at(access.offset, now.origin)) else {
            return false;
        };
        match form.pieces(access.length) {
            Some(pieces) if pieces.is_empty() => true,
            Some(_) => under(run, access.op, at).is_some_and(|op| {
                access.op = op;
                true
            }),
            None => false,
        }
    }
}

/// Returns block size, and (count, stride) per dimension, of the blocks that a call under a strided MPI file view touches; `None` for other
/// calls.
pub(super) fn pieces(run: &Run, leaf: &Leaf) -> Option<(u64, Vec<(u64, u64)>)> {
    let form = shape(run, leaf.op)?;
    let constant = leaf.steps.iter().all(|step| step.length == 0);
    Some((form.block, form.pieces(leaf.length).filter(|_| constant)?))
}

/// Returns the loop nest with innermost loops added over the blocks that a call under an MPI file view touches.
pub(super) fn unrolled(run: &Run, nest: &Loop) -> Loop {
    let node = |node: &Node| match node {
        Node::Loop(inner) => Node::Loop(unrolled(run, inner)),
        Node::Leaf(leaf) => of_leaf(run, leaf),
    };
    let out = Loop { body: nest.body.iter().map(node).collect(), count_steps: nest.count_steps.clone(), ..*nest };
    match out.body.as_slice() {
        // Single call: only the blocks that the call touches repeat.
        [inner @ Node::Loop(_)] if out.count == 1 => match inner.at_iteration(0) {
            Node::Loop(inner) => inner,
            Node::Leaf(_) => out,
        },
        _ => out,
    }
}

/// True if a call touches several blocks under its MPI file view, so that the call alone is a pattern.
pub(super) fn is_strided(run: &Run, access: &Access) -> bool {
    pieces(run, &Leaf { op: access.op, offset: access.offset, length: access.length, steps: Vec::new() })
        .is_some_and(|(_, pieces)| !pieces.is_empty())
}

fn of_leaf(run: &Run, leaf: &Leaf) -> Node {
    let Some((block, pieces)) = pieces(run, leaf) else { return Node::Leaf(leaf.clone()) };
    let step = |&(_, stride): &(u64, u64)| Step { offset: stride.cast_signed(), length: 0 };
    let steps = pieces.iter().map(step).chain(leaf.steps.iter().copied()).collect();
    let inner = Node::Leaf(Leaf { length: block, steps, ..leaf.clone() });
    let around = |inner: Node, (at, &(count, _)): (usize, &(u64, u64))| {
        let loops_around = pieces.len() - 1 - at + leaf.steps.len();
        Node::Loop(Loop { count, count_steps: vec![0; loops_around], body: vec![inner], times: Intervals::default() })
    };
    pieces.iter().enumerate().fold(inner, around)
}
