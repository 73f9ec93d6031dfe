//! Simulator of a job. A thread's next step begins when its previous step ends; at synchronization points, all threads wait for the thread
//! that arrives last.

use super::calls::{Call, Op, Step};
use super::job::Job;
use super::processor::Processor;
use super::storage::{Request, Storage};
use super::work::{Who, steps};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use trace_format::meta::CpuSample;

/// Start of the first step, in ns since the common epoch (time zero) of all processes.
const BEGIN_NS: u64 = 1_000_000;
/// Duration of a synchronization after the arrival of the last thread, in ns.
const MEETING_NS: u64 = 5_000;
/// Time that an MPI-IO call spends before, and again after, its nested calls, in ns.
const WRAP_NS: u64 = 1_000;

/// Call of a simulated thread with start and end, as recorded in the trace.
#[derive(Clone, Copy, Debug)]
pub(super) struct Done {
    pub(super) call: Call,
    /// True if the call was made inside an MPI-IO call.
    pub(super) nested: bool,
    pub(super) start: u64,
    pub(super) end: u64,
}

/// Recorded activity of one thread: I/O calls, synchronizations as (MPI call, start, end), and its use of the processors.
#[derive(Clone, Debug, Default)]
pub(super) struct Doings {
    pub(super) calls: Vec<Done>,
    pub(super) sync_points: Vec<(Op, u64, u64)>,
    /// Samples of the use of the processors, as sums since the first step.
    pub(super) cpu: Vec<CpuSample>,
}

pub(super) struct Outcome {
    /// Recorded activity of each thread, by rank, then by thread.
    pub(super) threads: Vec<Doings>,
    /// Time when the last rank ends, in ns since the first step.
    pub(super) run_ns: u64,
    /// Time when the last rank ends, in ns since the epoch.
    pub(super) end_ns: u64,
}

struct Agent {
    who: Who,
    phase: u32,
    todo: VecDeque<Step>,
    /// Number of calls by operation in the current phase (computing, I/O, synchronization).
    counts: HashMap<Op, u64>,
    now: u64,
    inside: Vec<(Call, u64)>,
    doings: Doings,
    processor: Processor,
}

/// State of a lock: held or free, and the queue of waiting threads.
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
            processor: Processor::new(job.cpu_share, [job.seed, (who.rank * job.threads + who.thread).into()]),
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
    let doings = |mut agent: Agent| {
        agent.processor.sample(agent.now);
        Doings { cpu: agent.processor.samples, ..agent.doings }
    };
    let threads = engine.agents.into_iter().map(doings).collect();
    Outcome { threads, run_ns: end_ns - BEGIN_NS, end_ns }
}

impl Engine<'_> {
    /// Executes the next step of the thread with index `number`, if it has one left.
    fn advance(&mut self, number: usize) {
        let Some(step) = self.next(number) else { return };
        let now = self.agents[number].now;
        match step {
            Step::Pass(ns) => {
                let wait = self.agents[number].processor.runs(ns);
                self.again(number, now + (ns + wait) as u64);
            }
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
                    // The call began when the thread started to wait, but is served from now on.
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

    /// Serves a call of thread `number` by storage. The call was made at the thread's current time; service starts at `from`.
    fn serve(&mut self, number: usize, call: Call, from: u64) {
        let agent = &mut self.agents[number];
        let count = agent.counts.entry(call.op).or_default();
        *count += 1;
        let Who { rank, thread } = agent.who;
        let by = Request { now: from as f64, rank, thread, phase: agent.phase, number: *count };
        let start = agent.now;
        let processor = &mut agent.processor;
        let end = (self.storage.serve(by, &call) + processor.calls(call.length)) as u64;
        processor.after_call(end);
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
                agent.doings.sync_points.push((op, agent.now, together));
            }
            agent.processor.sample(together);
            self.again(number, together);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::job::{Interface, Placement};
    use super::*;

    /// Returns a job of four ranks on two nodes, with I/O only and without random variation.
    fn exact() -> Job {
        Job {
            ranks: 4,
            nodes: 2,
            sigma: 0.0,
            compute_ns: 0.0,
            phases: 3,
            bytes: 16 << 20,
            headroom: 1e6,
            ost_ns: 0.0,
            ..Job::default()
        }
    }

    fn write_ns(job: &Job) -> f64 {
        job.write_ns + job.transfer as f64 * 1e9 / job.client_rate
    }

    fn near(is: u64, expected: f64) -> bool {
        (is as f64 - expected).abs() < 1e3 + expected * 1e-4
    }

    #[test]
    fn a_slow_rank_costs_its_own_time_and_not_the_sum() {
        let job = exact();
        let healthy = run(&job).run_ns;
        let slow = run(&Job { slow_ranks: vec![(2, 3.0)], ..job.clone() }).run_ns;
        let expected = 2.0 * (12.0 * write_ns(&job) + job.open_ns + job.close_ns);
        assert!(near(slow - healthy, expected), "{} {expected}", slow - healthy);
    }

    #[test]
    fn turns_cost_what_the_others_could_have_done_at_once() {
        let job = Job { phases: 1, ..exact() };
        let each = 4.0 * write_ns(&job) + job.open_ns + job.close_ns;
        let serial = run(&Job { serial: true, ..job.clone() }).run_ns - run(&job).run_ns;
        assert!(near(serial, 3.0 * each + 15e3), "{serial} {each}");
    }

    #[test]
    fn a_lock_on_the_file_is_held_by_one_and_waited_for_in_its_call() {
        let job = Job { lock_each: true, ..exact() };
        let outcome = run(&job);
        let mut held: Vec<(u64, u64)> = Vec::new();
        for doings in &outcome.threads {
            let calls: Vec<&Done> =
                doings.calls.iter().filter(|done| matches!(done.call.op, Op::Lock | Op::Unlock)).collect();
            held.extend(calls.chunks(2).map(|pair| (pair[0].end, pair[1].start)));
        }
        held.sort_unstable();
        assert!(held.windows(2).all(|pair| pair[0].1 <= pair[1].0), "two hold it at once");
        assert_eq!(held.len(), 48);
    }

    #[test]
    fn nodes_hand_over_the_locks_of_stripes_that_they_share() {
        let shared = Job { place: Placement::Turns, transfer: 2 << 20, phases: 1, nodes: 4, ..exact() };
        let cost = run(&shared).run_ns - run(&Job { nodes: 1, ..shared.clone() }).run_ns;
        // Each rank shares each of its eight stripes with one other rank, which waits for the first rank and then takes over the lock.
        assert!(cost as f64 >= 8.0 * shared.handover_ns, "{cost}");
    }

    #[test]
    fn one_ost_serves_one_request_after_another() {
        let job = Job { headroom: 1.0, osts: 4, stripe_count: 1, place: Placement::Own, ..exact() };
        let spread = run(&job).run_ns as f64;
        let crowded = run(&Job { crowded: true, ..job }).run_ns as f64;
        assert!((3.0..4.5).contains(&(crowded / spread)), "{crowded} {spread}");
    }

    #[test]
    fn what_mpi_io_calls_lies_inside_its_call() {
        for interface in [Interface::Independent, Interface::Collective] {
            let outcome = run(&Job { interface, place: Placement::Turns, aggregators: 2, ..exact() });
            for doings in &outcome.threads {
                let mut inner: Vec<&Done> = Vec::new();
                for done in &doings.calls {
                    if done.nested {
                        inner.push(done);
                    } else {
                        assert!(inner.iter().all(|nested| done.start <= nested.start && nested.end <= done.end));
                        inner.clear();
                    }
                }
                assert!(inner.is_empty());
            }
        }
    }
}
