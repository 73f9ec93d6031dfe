//! Runs a job: each thread's next step begins when its last one ended, and at a meeting all wait for the last to come.

use super::calls::{Call, Op, Step};
use super::job::Job;
use super::storage::{Request, Storage};
use super::work::{Who, steps};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

/// Time of the first step, in ns since the epoch of every process.
const BEGIN_NS: u64 = 1_000_000;
/// What a meeting takes once all are there.
const MEETING_NS: u64 = 5_000;
/// What MPI-IO does before and after the calls that it makes.
const WRAP_NS: u64 = 1_000;

/// A call as a trace shows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Done {
    pub(super) call: Call,
    /// Whether MPI-IO made it.
    pub(super) nested: bool,
    pub(super) start: u64,
    pub(super) end: u64,
}

/// What one thread did: its calls, and when it met the others in which call of MPI's.
#[derive(Clone, Debug, Default)]
pub(super) struct Doings {
    pub(super) calls: Vec<Done>,
    pub(super) meetings: Vec<(Op, u64, u64)>,
}

/// What a job did.
pub(super) struct Outcome {
    /// By rank, then by thread.
    pub(super) threads: Vec<Doings>,
    /// When the last rank was done, in ns since the first step.
    pub(super) run_ns: u64,
    /// The same, since the epoch.
    pub(super) end_ns: u64,
}

struct Agent {
    who: Who,
    phase: u32,
    todo: VecDeque<Step>,
    /// Calls of each kind in the phase.
    counts: HashMap<Op, u64>,
    now: u64,
    inside: Vec<(Call, u64)>,
    doings: Doings,
}

/// Who holds a lock, and who waits for it.
#[derive(Default)]
struct Lock {
    held: bool,
    waiting: VecDeque<(usize, Call)>,
}

struct Engine<'a> {
    job: &'a Job,
    storage: Storage<'a>,
    agents: Vec<Agent>,
    ready: BinaryHeap<Reverse<(u64, usize)>>,
    met: Vec<(usize, Option<Op>)>,
    locks: HashMap<u64, Lock>,
    turn: u32,
    awaiting: HashMap<u32, usize>,
}

/// Runs `job` to its end.
pub(super) fn run(job: &Job) -> Outcome {
    let agents: Vec<Agent> = (0..job.ranks)
        .flat_map(|rank| (0..job.threads).map(move |thread| Who { rank, thread }))
        .map(|who| Agent {
            who,
            phase: 0,
            todo: steps(job, who, 0).into(),
            counts: HashMap::new(),
            now: BEGIN_NS,
            inside: Vec::new(),
            doings: Doings::default(),
        })
        .collect();
    let ready = (0..agents.len()).map(|agent| Reverse((BEGIN_NS, agent))).collect();
    let (met, locks, awaiting) = (Vec::new(), HashMap::new(), HashMap::new());
    let mut engine = Engine { job, storage: Storage::new(job), agents, ready, met, locks, turn: 0, awaiting };
    while let Some(Reverse((now, agent))) = engine.ready.pop() {
        engine.agents[agent].now = now;
        engine.advance(agent);
    }
    assert!(engine.met.is_empty() && engine.awaiting.is_empty(), "a thread waits for ever");
    let end_ns = engine.agents.iter().map(|agent| agent.now).max().unwrap_or(BEGIN_NS);
    let threads = engine.agents.into_iter().map(|agent| agent.doings).collect();
    Outcome { threads, run_ns: end_ns - BEGIN_NS, end_ns }
}

impl Engine<'_> {
    /// Does the next step of an agent, if it has one.
    fn advance(&mut self, number: usize) {
        let Some(step) = self.next(number) else { return };
        let now = self.agents[number].now;
        match step {
            Step::Pass(ns) => self.again(number, now + ns as u64),
            Step::Call(call) | Step::Header(call) => self.serve(number, call, now),
            Step::Enter(call) => {
                self.agents[number].inside.push((call, now));
                self.again(number, now + WRAP_NS);
            }
            Step::Leave => {
                if let Some((call, start)) = self.agents[number].inside.pop() {
                    self.record(number, call, start, now + WRAP_NS);
                }
                self.again(number, now + WRAP_NS);
            }
            Step::Meet(call) => self.meet(number, call),
            Step::Take { key, call } => {
                let lock = self.locks.entry(key).or_default();
                if lock.held {
                    lock.waiting.push_back((number, call));
                } else {
                    lock.held = true;
                    self.serve(number, call, now);
                }
            }
            Step::Give { key, call } => {
                self.serve(number, call, now);
                let next = self.locks.get_mut(&key).and_then(|lock| {
                    let next = lock.waiting.pop_front();
                    lock.held = next.is_some();
                    next
                });
                if let Some((waiting, call)) = next {
                    // Its call began when it came to wait, and is served from now on.
                    self.serve(waiting, call, now);
                }
            }
            Step::Await(turn) if turn > self.turn => {
                self.awaiting.insert(turn, number);
            }
            Step::Await(_) => self.again(number, now),
            Step::Next => {
                self.turn += 1;
                if let Some(next) = self.awaiting.remove(&self.turn) {
                    self.again(next, now + MEETING_NS);
                }
                self.again(number, now);
            }
        }
    }

    fn next(&mut self, number: usize) -> Option<Step> {
        let agent = &mut self.agents[number];
        while agent.todo.is_empty() && agent.phase + 1 < self.job.phases {
            agent.phase += 1;
            agent.counts.clear();
            agent.todo = steps(self.job, agent.who, agent.phase).into();
        }
        agent.todo.pop_front()
    }

    fn again(&mut self, number: usize, at: u64) {
        self.ready.push(Reverse((at, number)));
    }

    /// A call that the agent made when it was last ready and that is served from `from` on.
    fn serve(&mut self, number: usize, call: Call, from: u64) {
        let agent = &mut self.agents[number];
        let count = agent.counts.entry(call.op).or_default();
        *count += 1;
        let Who { rank, thread } = agent.who;
        let by = Request { now: from as f64, rank, thread, phase: agent.phase, number: *count };
        let start = agent.now;
        let end = self.storage.serve(by, &call) as u64;
        self.record(number, call, start, end);
        self.again(number, end);
    }

    fn record(&mut self, number: usize, call: Call, start: u64, end: u64) {
        let agent = &mut self.agents[number];
        let nested = !agent.inside.is_empty();
        agent.doings.calls.push(Done { call, nested, start, end });
    }

    fn meet(&mut self, number: usize, call: Option<Op>) {
        self.met.push((number, call));
        if self.met.len() < self.agents.len() {
            return;
        }
        let together = self.agents[number].now + MEETING_NS;
        for (number, call) in std::mem::take(&mut self.met) {
            let agent = &mut self.agents[number];
            if let Some(op) = call.filter(|_| agent.who.thread == 0) {
                agent.doings.meetings.push((op, agent.now, together));
            }
            self.again(number, together);
        }
    }
}
