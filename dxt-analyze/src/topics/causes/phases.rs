//! Where ranks meet, and when no process does I/O: first reading. The k-th call of a collective operation of one rank is the k-th of
//! every other, and none goes on before the last one has come: so the latest of the k-th beginnings ends a phase.

use super::slots::Slots;
use crate::model::{Process, Run, Stream, Within};
use crate::scan::{Analysis, Block};
use crate::topics::layers::parts::Form;
use rustc_hash::FxHashMap;
use trace_format::frame::BlockHead;
use trace_format::op::Layer;

/// Parts of the run in which I/O is looked for.
const PARTS: usize = 1 << 14;
/// Meetings of one operation that are followed.
const MEETINGS: usize = 1 << 16;
/// Parts without I/O, one after another, that end a phase: 1/512 of the run.
const GAP: usize = PARTS / 512;

/// What a stream's calls are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// Not looked at.
    None,
    /// Calls of the program or below.
    Call,
    /// Calls in which all ranks meet.
    Meeting { op: u16, file: u32 },
}

fn role(run: &Run, stream: &Stream) -> Role {
    let op = run.op(stream);
    if stream.overview || Form::of(op.mode) == Form::Unfinished {
        return Role::None;
    }
    let collective = op.layer == Some(Layer::Mpiio) && Form::of(op.mode) == Form::Collective;
    match stream.within() {
        Within::Nothing if collective && run.window.is_none() => Role::Meeting { op: stream.op, file: stream.file },
        Within::Nothing => Role::Call,
        _ => Role::None,
    }
}

/// The analysis.
#[derive(Clone, Debug)]
pub struct Phases {
    roles: Vec<Vec<Role>>,
    /// Length of the run, ns.
    length: u64,
}

/// From the job's start to its last end, ns.
#[must_use]
pub fn length(run: &Run) -> u64 {
    run.processes.iter().map(|process| process.end_ns).fold(run.span().1, u64::max).max(1)
}

impl Phases {
    /// Of `run`.
    #[must_use]
    pub fn new(run: &Run) -> Self {
        let of = |process: &Process| process.streams.iter().map(|stream| role(run, stream)).collect();
        Self { roles: run.processes.iter().map(of).collect(), length: length(run) }
    }
}

/// Meetings of one operation on one file.
#[derive(Clone, Debug, Default)]
struct Meetings {
    /// Latest beginning of each, ns since the job's start.
    last: Vec<u64>,
    /// Processes that took part, and in how many at least and at most.
    processes: u64,
    fewest: usize,
    most: usize,
}

impl Meetings {
    fn add(&mut self, begins: &[u64]) {
        self.join(&Self { last: begins.to_vec(), processes: 1, fewest: begins.len(), most: begins.len() });
    }

    fn join(&mut self, other: &Self) {
        if self.processes == 0 {
            self.clone_from(other);
            return;
        }
        if self.last.len() < other.last.len() {
            self.last.resize(other.last.len(), 0);
        }
        self.last.iter_mut().zip(&other.last).for_each(|(mine, theirs)| *mine = (*mine).max(*theirs));
        self.processes += other.processes;
        (self.fewest, self.most) = (self.fewest.min(other.fewest), self.most.max(other.most));
    }
}

/// Part of a run of `length` ns that a moment lies in.
fn part_of(at: u64, length: u64) -> usize {
    let part = u128::from(at) * PARTS as u128 / u128::from(length.max(1));
    usize::try_from(part).unwrap_or(PARTS).min(PARTS - 1)
}

/// When a part begins, ns.
fn begin_of(part: usize, length: u64) -> u64 {
    u64::try_from(part as u128 * u128::from(length) / PARTS as u128).unwrap_or(length)
}

/// What a thread keeps.
#[derive(Debug)]
pub struct Partial {
    /// Whether any process was in a call, by part of the run.
    busy: Vec<bool>,
    meetings: FxHashMap<(u16, u32), Meetings>,
    now: u32,
    begins: FxHashMap<(u16, u32), Vec<u64>>,
}

impl Partial {
    fn end_process(&mut self) {
        for (key, begins) in self.begins.drain() {
            self.meetings.entry(key).or_default().add(&begins);
        }
    }

    /// The slots of `run`.
    #[must_use]
    pub fn slots(mut self, run: &Run) -> Slots {
        let (length, ranks) = (length(run), run.ranks());
        self.end_process();
        let all_met = |meetings: &&Meetings| meetings.processes == ranks && meetings.fewest == meetings.most && ranks > 1;
        let mut ends: Vec<u64> = self.meetings.values().filter(all_met).flat_map(|meetings| &meetings.last).copied().collect();
        let ranks_met = !ends.is_empty();
        let mut idle = 0;
        for (part, &busy) in self.busy.iter().enumerate() {
            if busy && idle >= GAP {
                ends.push(begin_of(part, length));
            }
            idle = if busy { 0 } else { idle + 1 };
        }
        Slots::new(length, ends, ranks_met)
    }
}

impl Analysis for Phases {
    type Partial = Partial;

    fn start(&self) -> Partial {
        Partial { busy: vec![false; PARTS], meetings: FxHashMap::default(), now: u32::MAX, begins: FxHashMap::default() }
    }

    fn wants(&self, _run: &Run, _process: u32, _head: &BlockHead) -> bool {
        true
    }

    fn ordered(&self) -> bool {
        true
    }

    fn block(&self, partial: &mut Partial, block: &Block<'_>) {
        let Some(roles) = self.roles.get(block.number as usize) else { return };
        if partial.now != block.number {
            partial.end_process();
            partial.now = block.number;
        }
        let shift = block.process.shift_ns;
        for row in block.rows() {
            let role = roles.get(row.stream as usize).copied().unwrap_or(Role::None);
            if role == Role::None {
                continue;
            }
            let (start, end) = (row.start.saturating_add(shift), row.end.saturating_add(shift));
            let parts = part_of(start, self.length)..=part_of(end, self.length);
            partial.busy[parts].fill(true);
            if let Role::Meeting { op, file } = role {
                let begins = partial.begins.entry((op, file)).or_default();
                if begins.len() < MEETINGS {
                    begins.push(start);
                }
            }
        }
    }

    fn merge(&self, into: &mut Partial, mut other: Partial) {
        into.end_process();
        other.end_process();
        into.busy.iter_mut().zip(other.busy).for_each(|(mine, theirs)| *mine |= theirs);
        for (key, meetings) in other.meetings {
            into.meetings.entry(key).or_default().join(&meetings);
        }
    }
}
