//! Jobs without faults, some with inefficient I/O that is too short to matter. Any finding above severity `info` is a false alarm.

use super::case::Case;
use super::injected as fault;
use super::job::{Direction, Header, Interface, Job, Order, Placement};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = [shapes(), spreads(), interfaces(), rhythms(), habits(), hardly_any()].concat();
    for (number, case) in cases.iter_mut().enumerate() {
        case.1.seed += 200 + number as u64;
        case.1.shown = number % 2 == 0;
    }
    let short = ["even-32-ranks", "spread-0.8", "collective", "one-process", "threads", "compute-bound", "no-meeting"];
    let mut cases: Vec<Case> = cases
        .into_iter()
        .map(|(name, job)| {
            let case = Case::new(&format!("healthy-{name}"), job, []);
            if short.contains(&name) { case.short() } else { case }
        })
        .collect();
    cases.extend(not_worth_it());
    cases
}

type Named = (&'static str, Job);

fn usual() -> Job {
    Job::default()
}

fn own_files(job: Job) -> Job {
    Job { place: Placement::Own, stripe_count: 1, ..job }
}

fn reads(job: Job) -> Job {
    Job { direction: Direction::Read, ..job }
}

fn collective(job: Job) -> Job {
    Job { interface: Interface::Collective, place: Placement::Turns, headroom: 8.0, aggregators: 16, ..job }
}

/// Returns healthy jobs (without faults) with different numbers of ranks, nodes and OSTs.
fn shapes() -> Vec<Named> {
    let of = |ranks: u32, nodes: u32, osts: u32| {
        let bytes = if ranks > 200 { 32 << 20 } else { 64 << 20 };
        Job { ranks, nodes, osts, stripe_count: osts, bytes, ..usual() }
    };
    vec![
        ("two-ranks", of(2, 1, 4)),
        ("four-ranks", of(4, 2, 4)),
        ("eight-ranks-one-ost", Job { sigma: 0.2, ..of(8, 1, 1) }),
        ("even-32-ranks", of(32, 4, 8)),
        ("even-64-ranks", of(64, 2, 16)),
        ("even-64-osts", of(128, 8, 64)),
        ("even-256-ranks", Job { sigma: 0.2, ..of(256, 16, 32) }),
        ("even-1024-ranks", Job { sigma: 0.15, phases: 4, ..of(1024, 32, 64) }),
        ("a-node-each", of(32, 32, 8)),
        ("own-files-of-64", own_files(of(64, 4, 16))),
        ("own-files-reads", reads(own_files(of(32, 4, 8)))),
        ("reads", reads(of(32, 4, 8))),
    ]
}

/// Returns healthy jobs (without faults) with different random variations of the durations of calls.
fn spreads() -> Vec<Named> {
    vec![
        ("spread-0.1", Job { sigma: 0.1, ..usual() }),
        ("spread-0.5", Job { sigma: 0.5, bytes: 128 << 20, ..usual() }),
        ("spread-0.8", Job { sigma: 0.8, bytes: 256 << 20, compute_ns: 600e6, ..usual() }),
        ("spread-0.8-reads", reads(Job { sigma: 0.8, bytes: 256 << 20, compute_ns: 600e6, ..own_files(usual()) })),
        (
            "heavy-tails-everywhere",
            Job { tail: Some((0.02, 4.0)), sigma: 0.6, bytes: 256 << 20, compute_ns: 1e9, ..usual() },
        ),
        (
            "heavy-tails-no-meeting",
            Job { tail: Some((0.02, 4.0)), sigma: 0.6, meet: false, bytes: 128 << 20, compute_ns: 500e6, ..usual() },
        ),
    ]
}

fn interfaces() -> Vec<Named> {
    let stream = Job { interface: Interface::Streams, ..own_files(usual()) };
    vec![
        ("collective", collective(usual())),
        ("collective-reads", reads(collective(usual()))),
        (
            "collective-of-256",
            Job { ranks: 256, nodes: 8, aggregators: 32, bytes: 8 << 20, transfer: 1 << 20, ..collective(usual()) },
        ),
        (
            "collective-small-pieces",
            Job {
                transfer: 256 << 10,
                bytes: 4 << 20,
                stripe_size: 512 << 10,
                compute_ns: 400e6,
                ..collective(usual())
            },
        ),
        ("collective-noisy", Job { sigma: 0.6, ..collective(usual()) }),
        ("independent", Job { interface: Interface::Independent, ..usual() }),
        ("independent-own-files", Job { interface: Interface::Independent, ..own_files(usual()) }),
        ("independent-reads", Job { interface: Interface::Independent, ..reads(usual()) }),
        ("streams", stream.clone()),
        ("streams-one-process", Job { ranks: 1, nodes: 1, ..stream }),
        ("threads", Job { ranks: 8, nodes: 4, threads: 8, bytes: 32 << 20, ..own_files(usual()) }),
        ("threads-one-process", Job { ranks: 1, nodes: 1, threads: 16, bytes: 32 << 20, ..reads(usual()) }),
        ("one-process", Job { ranks: 1, nodes: 1, ..usual() }),
    ]
}

/// Returns healthy jobs (without faults) that alternate between computing and I/O in different ways.
fn rhythms() -> Vec<Named> {
    vec![
        ("compute-bound", Job { compute_ns: 7e9, ..usual() }),
        ("compute-bound-collective", Job { compute_ns: 20e9, ..collective(usual()) }),
        ("io-bound", Job { compute_ns: 1e6, bytes: 128 << 20, sigma: 0.2, ..usual() }),
        ("io-bound-own-files", Job { compute_ns: 0.0, bytes: 256 << 20, sigma: 0.2, ..own_files(usual()) }),
        ("bursts", Job { phases: 4, compute_ns: 5e9, bytes: 512 << 20, ..usual() }),
        ("one-burst", Job { phases: 1, compute_ns: 3e9, bytes: 512 << 20, ..usual() }),
        ("writes-and-reads", Job { direction: Direction::Both, ..usual() }),
        ("writes-and-reads-own-files", Job { direction: Direction::Both, ..own_files(usual()) }),
        ("no-meeting", Job { meet: false, ..usual() }),
        ("no-meeting-reads", Job { meet: false, ..reads(own_files(usual())) }),
        ("few-calls", Job { phases: 2, bytes: 4 << 20, compute_ns: 400e6, ..usual() }),
        ("large-calls", Job { transfer: 64 << 20, bytes: 256 << 20, sigma: 0.1, compute_ns: 1e9, ..usual() }),
    ]
}

/// Returns healthy jobs (without faults) with moderate numbers of additional calls (opens, stats, syncs, locks).
fn habits() -> Vec<Named> {
    let header = Some(Header { by_all: false, bulk_ranks: 64, ost_ns: 1e4 });
    vec![
        ("file-per-step", Job { file_per_phase: true, ..own_files(usual()) }),
        ("file-per-step-shared", Job { file_per_phase: true, compute_ns: 300e6, ..usual() }),
        ("header-read-once", Job { ranks: 64, header, ..reads(usual()) }),
        ("random-large-reads", Job { order: Order::Random, ..reads(usual()) }),
        ("a-stat-each", Job { stats_each: 1, ..own_files(usual()) }),
        ("turns-on-whole-stripes", Job { place: Placement::Turns, ..usual() }),
    ]
}

/// Returns healthy jobs with so little I/O that no inefficiency in it matters.
fn hardly_any() -> Vec<Named> {
    let little = Job { compute_ns: 5e9, bytes: 64 << 10, transfer: 4096, ..usual() };
    vec![
        ("small-writes-that-cost-nothing", own_files(little.clone())),
        ("small-reads-that-cost-nothing", reads(little.clone())),
        ("syncs-that-cost-nothing", Job { sync_each: true, compute_ns: 20e9, ..own_files(little.clone()) }),
        ("rank-0-that-costs-nothing", Job { only_rank_0: true, bytes: 1 << 20, transfer: 1 << 20, ..little }),
        ("cpus-of-their-own", Job { cpu_share: Some(1.0), ..usual() }),
    ]
}

/// Returns cases (simulated jobs) with a slow rank, node or OST that costs almost nothing, so that they count as healthy.
fn not_worth_it() -> Vec<Case> {
    let long = |seed| Job { seed, compute_ns: 20e9, ..usual() };
    let mut cases = vec![
        Case::new("healthy-slow-rank-that-costs-nothing", long(291), [fault::slow_rank(5, 3.0)]),
        Case::new("healthy-slow-ost-that-costs-nothing", long(292), [fault::slow_osts(&[3], 4.0)]),
        Case::new("healthy-tail-that-costs-nothing", long(293), [fault::tail(0.002, 20.0)]),
    ];
    for case in &mut cases {
        case.negligible = true;
    }
    cases
}
