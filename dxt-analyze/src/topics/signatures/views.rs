//! File views of MPI-IO while a thread's calls are read: which one is in force on which file, and what it makes of a call. A call under a strided
//! view is an operation of its own, with the form of the view in its number, so that all that looks for patterns need not know of views.

use super::engine::Access;
use super::engine::nest::{Leaf, Loop, Node, Step};
use super::engine::times::Intervals;
use crate::model::{FileId, Op, Process, Run, Shape, Stream, View};
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;
use trace_format::meta::ViewDef;
use trace_format::op::{Layer, OpClass};

/// Operation `op` under the view of form `at`; `None` if there are too many.
fn under(run: &Run, op: u16, at: u32) -> Option<u16> {
    let number = (u64::from(at) + 1).checked_mul(run.ops.len() as u64)?.checked_add(u64::from(op))?;
    u16::try_from(number).ok()
}

/// The operation of a number, under a view or not.
pub(super) fn operation(run: &Run, op: u16) -> Option<&Op> {
    run.ops.get(usize::from(op).checked_rem(run.ops.len())?)
}

/// The form of the view under which an operation is.
pub(super) fn shape(run: &Run, op: u16) -> Option<&Shape> {
    run.shapes.get(usize::from(op).checked_div(run.ops.len())?.checked_sub(1)?)
}

/// A call that tells of a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    Opened,
    Closed,
    Set,
}

/// What a call of MPI-IO is to views, if it is to any.
pub(super) fn told(op: &Op, stream: &Stream) -> Option<Told> {
    match op.class.filter(|_| op.layer == Some(Layer::Mpiio) && !stream.failed)? {
        OpClass::Open => Some(Told::Opened),
        OpClass::Close => Some(Told::Closed),
        OpClass::Metadata if op.name == "set_view" => Some(Told::Set),
        _ => None,
    }
}

/// How bytes lie under a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum As {
    Plain,
    /// By number in [`Run::shapes`].
    Strided(u32),
    Unknown,
}

/// A view as it is set, and where the data of its first filetype begin behind the displacement.
#[derive(Clone, Copy, Debug)]
struct Set {
    /// Calls up to the last one that sets it.
    until: u64,
    kind: As,
    first: i64,
}

/// The views of a file of a process, in the order in which they are set. None: what they are is not known.
#[derive(Debug)]
struct OfFile(Vec<Set>);

/// A file while calls are read.
#[derive(Clone, Copy, Debug)]
struct Now {
    calls: u64,
    /// How often it is open.
    open: u64,
    /// It was open several times at once: whose view a call goes by is not told.
    several: bool,
    kind: As,
    origin: i128,
}

impl Now {
    const NONE: Self = Self { calls: 0, open: 0, several: false, kind: As::Unknown, origin: 0 };
}

/// The files of a process that are given views.
#[derive(Debug, Default)]
pub(super) struct Views {
    files: FxHashMap<FileId, u32>,
    of: Vec<OfFile>,
}

impl Views {
    pub(super) fn of(run: &Run, process: &Process) -> Self {
        let mut out = Self::default();
        let set = |stream: &&Stream| told(run.op(stream), stream) == Some(Told::Set);
        let mut defs: FxHashMap<u32, Vec<&ViewDef>> = FxHashMap::default();
        for def in &process.views {
            defs.entry(def.file).or_default().push(def);
        }
        for stream in process.streams.iter().filter(set) {
            // Of several streams of such calls, made inside others or not: those of a file are one list.
            if let Entry::Vacant(new) = out.files.entry(stream.file) {
                new.insert(out.of.len() as u32);
                let views = defs.get(&stream.file.0).map(Vec::as_slice).unwrap_or_default();
                out.of.push(OfFile::new(run, process, stream.file, views));
            }
        }
        out
    }

    /// The number of a file that is given views.
    pub(super) fn number(&self, file: FileId) -> Option<u32> {
        self.files.get(&file).copied()
    }

    /// The state of all, for a thread.
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
        let alike = all.windows(2).all(|pair| matches!(pair, [a, b] if (a.kind, a.first) == (b.kind, b.first)));
        Self(if alike || in_order(run, process, file) { all } else { Vec::new() })
    }

    fn set(&self, number: u64) -> Option<&Set> {
        self.0.get(self.0.partition_point(|set| set.until <= number))
    }
}

/// Whether all calls that set a view of the file are on record and one thread's, so that their number tells which one it is.
fn in_order(run: &Run, process: &Process, file: FileId) -> bool {
    let is = |stream: &&Stream| stream.file == file && told(run.op(stream), stream) == Some(Told::Set);
    let ids = || process.streams.iter().filter(is).map(|stream| stream.id);
    let mask = ids().fold(0, |mask, id| mask | 1_u64 << (id % 64));
    let of_sets = process.blocks.iter().filter(|block| block.head.stream_mask & mask != 0);
    let mut tids = of_sets.map(|block| process.tid(block.head.thread));
    let first = tids.next();
    let missing = ids().any(|id| process.missing.iter().any(|missing| missing.stream == id));
    run.window.is_none() && !missing && tids.all(|tid| Some(tid) == first)
}

/// Which view is in force on which file.
#[derive(Debug, Default)]
pub(super) struct State(Vec<Now>);

impl State {
    /// A call tells of the view of file `number`.
    pub(super) fn tell(&mut self, views: &Views, number: u32, told: Told, offset: i64) {
        let (Some(now), Some(of)) = (self.0.get_mut(number as usize), views.of.get(number as usize)) else { return };
        match told {
            Told::Opened => {
                now.open = now.open.saturating_add(1);
                now.several |= now.open > 1;
                now.kind = As::Plain;
            }
            Told::Closed => {
                now.open = now.open.saturating_sub(1);
                now.several &= now.open > 0;
                now.kind = As::Unknown;
            }
            Told::Set => {
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

    /// Makes of a call on file `number` what the view makes of it; whether that is known.
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

/// What a call of a leaf touches, if it is one under a strided view: the block, and how it is repeated.
pub(super) fn pieces(run: &Run, leaf: &Leaf) -> Option<(u64, Vec<(u64, u64)>)> {
    let form = shape(run, leaf.op)?;
    let constant = leaf.steps.iter().all(|step| step.length == 0);
    Some((form.block, form.pieces(leaf.length).filter(|_| constant)?))
}

/// A nest in which the blocks of a call under a view are loops of their own, the innermost ones.
pub(super) fn unrolled(run: &Run, nest: &Loop) -> Loop {
    let node = |node: &Node| match node {
        Node::Loop(inner) => Node::Loop(unrolled(run, inner)),
        Node::Leaf(leaf) => of_leaf(run, leaf),
    };
    let out = Loop { body: nest.body.iter().map(node).collect(), count_steps: nest.count_steps.clone(), ..*nest };
    match out.body.as_slice() {
        // A single call: its blocks are all that repeats.
        [inner @ Node::Loop(_)] if out.count == 1 => match inner.at_iteration(0) {
            Node::Loop(inner) => inner,
            Node::Leaf(_) => out,
        },
        _ => out,
    }
}

/// If one call touches several blocks under its view: it is a pattern by itself.
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
