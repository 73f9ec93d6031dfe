//! Random jobs with one or two faults; each type of fault has a function that draws a job.

use super::Draw;
use crate::faults::injected::{self as fault, Fault};
use crate::faults::job::{Direction, Header, Interface, Job, Placement};

/// Type of fault: name, and function that draws a job with a fault of this type.
pub(super) type Kind = (&'static str, fn(&mut Draw) -> (Job, Fault));

const FIRST: [Kind; 31] = [
    ("slow-rank", slow_rank),
    ("slow-node", slow_node),
    ("slow-ost", slow_ost),
    ("two-slow-osts", two_slow_osts),
    ("ost-queue", ost_queue),
    ("few-stripes", few_stripes),
    ("window", window),
    ("tail", tail),
    ("stall", stall),
    ("slow-open", slow_open),
    ("slow-metadata", slow_metadata),
    ("shared-stripes", shared_stripes),
    ("misaligned", misaligned),
    ("small-writes", small_writes),
    ("small-reads", small_reads),
    ("random-reads", random_reads),
    ("strided", strided),
    ("sieved-reads", sieved_reads),
    ("sieved-writes", sieved_writes),
    ("late-rank", late_rank),
    ("only-rank-0", only_rank_0),
    ("one-aggregator", one_aggregator),
    ("open-storm", open_storm),
    ("stat-storm", stat_storm),
    ("sync-each", sync_each),
    ("file-locks", file_locks),
    ("more-data", more_data),
    ("serial", serial),
    ("hot-block", hot_block),
    ("reading-again", reading_again),
    ("edges", edges),
];

/// Types of faults, in lists called generations. The number of types decides which fault a job gets, so a list for which frozen runs
/// (stored scores) exist must never change: new types belong in the last list, or in a new list after it, and a new kind of second fault
/// ([`SECOND`]) must be drawn only for generations that include that list.
pub(super) const KINDS: [&[Kind]; 2] = [&FIRST, &[]];
pub(in crate::faults) const GENERATIONS: u64 = KINDS.len() as u64;

/// Fraction of jobs that get a second fault.
const SECOND: f64 = 0.25;

/// Draws a job with a fault of type `number` (modulo the number of types) from generations 1 to `generation`. Some jobs also get a second
/// fault, of a type that suits any job.
pub(super) fn drawn(draw: &mut Draw, number: u64, generation: u64) -> (&'static str, Job, Vec<Fault>) {
    let kinds = KINDS[..generation as usize].concat();
    let (name, kind) = kinds[(number % kinds.len() as u64) as usize];
    let (job, first) = kind(draw);
    let job = job.beside();
    let mut faults = vec![first];
    if draw.is(SECOND) && !["slow-rank", "stall", "window", "tail", "more-data"].contains(&name) {
        let rank = draw.number(0, job.ranks);
        faults.push(match draw.number(0, 3) {
            0 => fault::slow_rank(rank, draw.between(1.5, 3.0)),
            1 => hang(draw, &job, rank),
            _ => fault::tail(draw.between(0.002, 0.02), draw.between(10.0, 40.0)),
        });
    }
    (name, job, faults)
}

fn plain(draw: &mut Draw) -> Job {
    loop {
        let job = draw.job();
        if !matches!(job.interface, Interface::Collective | Interface::Streams) {
            return job;
        }
    }
}

/// Draws a job with one shared file, of which each rank has a part.
fn shared(draw: &mut Draw) -> Job {
    let job = plain(draw);
    Job { place: Placement::Parts, stripe_count: job.osts, file_per_phase: false, ..job }
}

fn own(draw: &mut Draw) -> Job {
    Job { place: Placement::Own, stripe_count: 1, ..plain(draw) }
}

fn collective(draw: &mut Draw) -> Job {
    loop {
        let job = draw.job();
        if job.interface == Interface::Collective {
            return job;
        }
    }
}

/// Draws a job with few bytes per phase, so that small requests do not lead to too many calls.
fn light(draw: &mut Draw) -> Job {
    let compute_ns = draw.between(20e6, 150e6);
    let phases = draw.number(4, 13);
    let ranks = draw.one_of(&[4, 8, 16]);
    let nodes = draw.one_of(&[1, 2, 4]);
    Job { ranks, nodes, phases, bytes: 4 << 20, transfer: 1 << 20, stripe_size: 1 << 20, compute_ns, ..plain(draw) }
}

fn slow_rank(draw: &mut Draw) -> (Job, Fault) {
    let job = draw.job();
    // Only aggregators make system calls in collective I/O.
    let every = if job.interface == Interface::Collective { (job.ranks / job.aggregators).max(1) } else { 1 };
    let rank = draw.number(0, job.ranks) / every * every;
    (job, fault::slow_rank(rank, draw.between(1.6, 8.0)))
}

fn slow_node(draw: &mut Draw) -> (Job, Fault) {
    loop {
        let job = plain(draw);
        if job.nodes >= 2 && job.ranks / job.nodes >= 3 {
            let node = draw.number(0, job.nodes);
            return (job, fault::slow_node(node, draw.between(1.6, 5.0)));
        }
    }
}

/// Draws a job in which each call accesses only a few of the OSTs.
fn narrow(draw: &mut Draw, osts: &[u32]) -> Job {
    let osts = draw.one_of(osts);
    loop {
        let job = plain(draw);
        let reached = job.transfer.div_ceil(job.stripe_size) as u32;
        let own = job.place == Placement::Own;
        if own && job.ranks >= osts * 2 || !own && reached * 4 <= osts {
            return Job { osts, stripe_count: if own { 1 } else { osts }, ..job };
        }
    }
}

/// Returns the fault "slow OSTs". A finding counts as right even if it names OSTs that requests access together with the slow OSTs.
fn slow_osts(job: &Job, osts: &[u32], times: f64) -> Fault {
    let reached = if job.place == Placement::Own { 1 } else { job.transfer.div_ceil(job.stripe_size) as u32 };
    let group = |ost: &u32| (ost / reached * reached)..(ost / reached + 1) * reached;
    let accused: Vec<u32> = osts.iter().flat_map(group).collect();
    Fault { right: fault::slow_osts(&accused, times).right, ..fault::slow_osts(osts, times) }
}

fn slow_ost(draw: &mut Draw) -> (Job, Fault) {
    let job = narrow(draw, &[4, 8, 16, 32]);
    let ost = draw.number(0, job.osts);
    let fault = slow_osts(&job, &[ost], draw.between(2.5, 12.0));
    (job, fault)
}

fn two_slow_osts(draw: &mut Draw) -> (Job, Fault) {
    let job = narrow(draw, &[8, 16, 32]);
    let first = draw.number(0, job.osts / 2);
    let second = draw.number(job.osts / 2, job.osts);
    let fault = slow_osts(&job, &[first, second], draw.between(3.0, 12.0));
    (job, fault)
}

fn ost_queue(draw: &mut Draw) -> (Job, Fault) {
    let job = own(draw);
    let osts = job.osts.max(4);
    let headroom = draw.between(1.2, 3.0);
    (Job { osts, headroom, ..job }, fault::ost_queue())
}

fn few_stripes(draw: &mut Draw) -> (Job, Fault) {
    let job = shared(draw);
    let osts = job.osts.max(4);
    let headroom = draw.between(1.2, 3.0);
    (Job { osts, stripe_count: osts, headroom, ..job }, fault::few_stripes())
}

fn window(draw: &mut Draw) -> (Job, Fault) {
    let job = plain(draw);
    let (from, length) = (draw.between(0.1, 0.6), draw.between(0.08, 0.3));
    (Job { phases: draw.number(15, 41), ..job }, fault::window(from, from + length, draw.between(3.0, 10.0)))
}

/// Minimum expected number of slow calls of a job with the fault "tail" (a small fraction of calls is slow), because one or two slow calls
/// look like single events.
const HIT: f64 = 10.0;

fn tail(draw: &mut Draw) -> (Job, Fault) {
    loop {
        let (job, part) = (plain(draw), draw.between(0.002, 0.02));
        let calls = u64::from(job.ranks * job.phases) * (job.bytes / job.transfer).max(1);
        if calls as f64 * part >= HIT {
            return (job, fault::tail(part, draw.between(15.0, 80.0)));
        }
    }
}

fn hang(draw: &mut Draw, job: &Job, rank: u32) -> Fault {
    let run_s = f64::from(job.phases) * (job.compute_ns * 1e-9 + job.bytes as f64 / job.client_rate);
    let phase = draw.number(1, job.phases);
    fault::stall(rank, phase, run_s * draw.between(0.1, 1.0))
}

fn stall(draw: &mut Draw) -> (Job, Fault) {
    let job = plain(draw);
    let rank = draw.number(0, job.ranks);
    let fault = hang(draw, &job, rank);
    (job, fault)
}

fn slow_open(draw: &mut Draw) -> (Job, Fault) {
    let job = Job { interface: Interface::Posix, file_per_phase: true, ..own(draw) };
    let rank = draw.number(0, job.ranks);
    (job, fault::slow_open(rank, draw.between(0.05, 0.6)))
}

fn slow_metadata(draw: &mut Draw) -> (Job, Fault) {
    let job = Job { interface: Interface::Posix, file_per_phase: true, ..own(draw) };
    (job, fault::slow_metadata(draw.between(1e6, 1e7)))
}

fn shared_stripes(draw: &mut Draw) -> (Job, Fault) {
    let job = Job { interface: Interface::Posix, direction: Direction::Write, ..shared(draw) };
    let nodes = job.ranks / draw.one_of(&[1, 2]);
    let handover_ns = draw.between(1e6, 8e6);
    (Job { nodes, transfer: 1 << 20, stripe_size: 4 << 20, handover_ns, ..job }, fault::shared_stripes())
}

fn misaligned(draw: &mut Draw) -> (Job, Fault) {
    let job = Job { interface: Interface::Posix, direction: Direction::Write, ..shared(draw) };
    let handover_ns = draw.between(3e6, 1e7);
    let (nodes, transfer) = (job.ranks, job.stripe_size);
    let job = Job { nodes, transfer, bytes: transfer * 8, place: Placement::Turns, handover_ns, ..job };
    (job, fault::misaligned(draw.one_of(&[512, 2048, 1 << 16])))
}

fn small_writes(draw: &mut Draw) -> (Job, Fault) {
    let transfer = draw.one_of(&[1024, 4096, 8192, 16384, 32768]);
    (Job { direction: Direction::Write, ..light(draw) }, fault::small_writes(transfer))
}

fn small_reads(draw: &mut Draw) -> (Job, Fault) {
    let transfer = draw.one_of(&[1024, 4096, 8192, 16384, 32768]);
    (Job { direction: Direction::Read, ..light(draw) }, fault::small_reads(transfer))
}

fn random_reads(draw: &mut Draw) -> (Job, Fault) {
    let transfer = draw.one_of(&[4096, 8192, 16384, 32768]);
    (Job { direction: Direction::Read, ..light(draw) }, fault::random_reads(transfer))
}

fn strided(draw: &mut Draw) -> (Job, Fault) {
    let transfer = draw.one_of(&[16 << 10, 32 << 10, 64 << 10]);
    let handover_ns = draw.between(3e5, 3e6);
    let job = collective(draw);
    let (ranks, phases) = (draw.one_of(&[4, 8, 16]), draw.number(4, 9));
    let aggregators = ranks / 2;
    let job =
        Job { ranks, nodes: ranks / 2, aggregators, phases, bytes: 4 << 20, transfer: 1 << 20, handover_ns, ..job };
    (job, fault::strided(transfer))
}

fn sieved(draw: &mut Draw, direction: Direction) -> Job {
    let transfer = draw.one_of(&[256 << 10, 512 << 10, 1 << 20]);
    let job = Job { interface: Interface::Independent, direction, transfer, bytes: 8 << 20, ..shared(draw) };
    Job { stripe_size: 1 << 20, ..job }
}

fn sieved_reads(draw: &mut Draw) -> (Job, Fault) {
    (sieved(draw, Direction::Read), fault::sieved_reads(draw.one_of(&[4, 8, 16, 32])))
}

fn sieved_writes(draw: &mut Draw) -> (Job, Fault) {
    let job = sieved(draw, Direction::Write);
    (Job { ranks: job.ranks.min(32), nodes: 1, bytes: 2 << 20, ..job }, fault::sieved_writes(draw.one_of(&[4, 8, 16])))
}

fn late_rank(draw: &mut Draw) -> (Job, Fault) {
    let job = collective(draw);
    let rank = draw.number(0, job.ranks);
    (job, fault::late_rank(rank, draw.between(1.4, 4.0)))
}

fn only_rank_0(draw: &mut Draw) -> (Job, Fault) {
    let job = shared(draw);
    let bytes = job.transfer.max(job.stripe_size) * 2;
    (
        Job { interface: Interface::Posix, meet: true, ranks: job.ranks.min(48), bytes, nodes: 1, ..job },
        fault::only_rank_0(),
    )
}

fn one_aggregator(draw: &mut Draw) -> (Job, Fault) {
    (collective(draw), fault::one_aggregator())
}

fn open_storm(draw: &mut Draw) -> (Job, Fault) {
    let transfer = draw.one_of(&[256 << 10, 1 << 20]);
    (Job { interface: Interface::Posix, transfer, bytes: 4 << 20, ..plain(draw) }, fault::open_storm())
}

fn stat_storm(draw: &mut Draw) -> (Job, Fault) {
    let each = draw.number(10, 60);
    let job = plain(draw);
    (Job { interface: Interface::Posix, phases: job.phases.min(12), ..job }, fault::stat_storm(each))
}

fn sync_each(draw: &mut Draw) -> (Job, Fault) {
    let sync_ns = draw.between(1e6, 1e7);
    (Job { direction: Direction::Write, sync_ns, ..plain(draw) }, fault::sync_each())
}

fn file_locks(draw: &mut Draw) -> (Job, Fault) {
    let job = shared(draw);
    let bytes = job.transfer.max(job.stripe_size);
    (Job { interface: Interface::Posix, bytes, ..job }, fault::file_locks())
}

fn more_data(draw: &mut Draw) -> (Job, Fault) {
    let job = plain(draw);
    let rank = draw.number(0, job.ranks);
    (job, fault::more_data(rank, draw.one_of(&[2, 3, 4])))
}

fn serial(draw: &mut Draw) -> (Job, Fault) {
    let job = plain(draw);
    let bytes = job.transfer.max(job.stripe_size);
    // Serialized ranks do not open files collectively.
    let interface = Interface::Posix;
    (Job { interface, ranks: job.ranks.min(48), nodes: 1, bytes, ..job }, fault::serial())
}

fn hot_block(draw: &mut Draw) -> (Job, Fault) {
    let ranks = draw.one_of(&[64, 128, 256]);
    let ost_ns = draw.between(3e5, 2e6);
    let bulk_ranks = draw.one_of(&[8, ranks]);
    let header = Some(Header { by_all: false, bulk_ranks, ost_ns });
    let job = shared(draw);
    let phases = job.phases.min(12);
    let job = Job { ranks, nodes: 8, phases, direction: Direction::Read, header, meet: true, ..job };
    (Job { interface: Interface::Posix, ..job }, fault::hot_block(bulk_ranks, ost_ns))
}

fn reading_again(draw: &mut Draw) -> (Job, Fault) {
    (Job { direction: Direction::Read, ..plain(draw) }, fault::reading_again(draw.one_of(&[2, 3, 4])))
}

fn edges(draw: &mut Draw) -> (Job, Fault) {
    let transfer = draw.one_of(&[1 << 20, 2 << 20]);
    let job = Job { interface: Interface::Posix, direction: Direction::Write, transfer, bytes: 8 << 20, ..own(draw) };
    (job, fault::edges(draw.one_of(&[100, 1000, 5000])))
}
