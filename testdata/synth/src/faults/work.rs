//! Steps of a simulated thread in a phase: computing, then accesses through the job's interface, then synchronization.

use super::calls::{Call, Op, Step};
use super::chance::{lognormal, shuffled};
use super::job::{Direction, Interface, Job, Order, Placement, Sieve, factor};

/// Size, in bytes, of the header block (read in each phase) and of the blocks at both ends of a write that are read first.
const SMALL_BLOCK: u64 = 4096;
/// Size of ROMIO's data sieving buffer for reads, in bytes.
const READ_SIEVE: u64 = 4 << 20;
/// Size of ROMIO's data sieving buffer for writes, in bytes.
const WRITE_SIEVE: u64 = 512 << 10;
/// Size of an aggregator's buffer in ROMIO, in bytes.
const AGGREGATOR_BUFFER: u64 = 16 << 20;
/// Random variation of compute times: standard deviation (sigma) of their logarithm.
const COMPUTE_SIGMA: f64 = 0.01;
/// Number (id) of the file that contains the header block, a small block that all ranks, or only rank 0, read in each phase.
const HEADER_FILE: u32 = u32::MAX;

/// Rank and thread number of a simulated thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Who {
    pub(super) rank: u32,
    pub(super) thread: u32,
}

/// True for the file that contains only the header block, a small block that all ranks, or only rank 0, read in each phase.
pub(super) fn is_header(file: u32) -> bool {
    file == HEADER_FILE
}

pub(super) fn steps(job: &Job, who: Who, phase: u32) -> Vec<Step> {
    assert!(!job.only_rank_0 || job.interface != Interface::Collective, "a collective call is made by all ranks");
    let mut out = Vec::new();
    let busy = lognormal(COMPUTE_SIGMA, &[job.seed, 1, who.rank.into(), who.thread.into(), phase.into()]);
    out.push(Step::Pass(job.compute_ns * busy * factor(&job.late, who.rank)));
    if let Some(header) = job.header {
        let block = Call::at(Op::Read, HEADER_FILE, 0, SMALL_BLOCK);
        if who.thread == 0 && (header.by_all || who.rank == 0) {
            out.extend((phase == 0).then_some(Step::Call(Call::on(Op::Open, HEADER_FILE))));
            out.push(Step::Header(block));
        }
        if !header.by_all {
            out.push(Step::Meet(Some(Op::Broadcast)));
        }
    }
    if takes_part(job, who) {
        part(job, who, phase, &mut out);
    }
    if job.meet {
        out.push(Step::Meet(Some(Op::Barrier)));
    }
    out
}

fn takes_part(job: &Job, who: Who) -> bool {
    (!job.only_rank_0 || who.rank == 0) && job.header.is_none_or(|header| who.rank < header.bulk_ranks)
}

/// Appends the I/O steps of a thread in a phase (after computing, before synchronization) to `out`.
fn part(job: &Job, who: Who, phase: u32, out: &mut Vec<Step>) {
    let file = file_of(job, who, phase);
    let turn = job.serial.then_some(phase * job.ranks + who.rank);
    out.extend(turn.map(Step::Await));
    let (open, close) = match job.interface {
        Interface::Streams => (Op::StreamOpen, Op::StreamClose),
        _ => (Op::Open, Op::Close),
    };
    let shared_by_threads = who.thread > 0;
    if !job.open_each && !shared_by_threads && (phase == 0 || job.file_per_phase) {
        of_the_file(job, Op::FileOpen, Call::on(open, file), out);
    }
    if job.threads > 1 && phase == 0 {
        out.push(Step::Meet(None));
    }
    for (index, (offset, length)) in accesses(job, who, phase).into_iter().enumerate() {
        if job.open_each {
            out.push(Step::Call(Call::on(open, file)));
        }
        out.extend((0..job.stats_each).map(|_| Step::Call(Call::on(Op::Stat, file))));
        match job.interface {
            Interface::Collective => collective(job, who, phase, index, (offset, length), out),
            Interface::Independent => independent(job, phase, Call::at(Op::Read, file, offset, length), out),
            Interface::Posix | Interface::Streams => plain(job, phase, Call::at(Op::Read, file, offset, length), out),
        }
        if job.open_each {
            out.push(Step::Call(Call::on(close, file)));
        }
    }
    if !job.open_each && !shared_by_threads && (phase + 1 == job.phases || job.file_per_phase) {
        of_the_file(job, Op::FileClose, Call::on(close, file), out);
    }
    out.extend(turn.map(|_| Step::Next));
}

/// Appends the steps that open or close a file. In MPI-IO, these calls are collective.
fn of_the_file(job: &Job, outer: Op, call: Call, out: &mut Vec<Step>) {
    if matches!(job.interface, Interface::Independent | Interface::Collective) {
        let meet = Step::Meet(None);
        out.extend([Step::Enter(Call::on(outer, call.file)), Step::Call(call), meet, Step::Leave]);
    } else {
        out.push(Step::Call(call));
    }
}

/// Returns the number of the file that a thread uses in a phase: 0 if all ranks share one file, else the rank, plus an offset if each phase
/// has its own files.
pub(super) fn file_of(job: &Job, who: Who, phase: u32) -> u32 {
    let own = if job.place == Placement::Own { who.rank } else { 0 };
    let each = if job.place == Placement::Own { job.ranks } else { 1 };
    own + if job.file_per_phase { phase * each } else { 0 }
}

/// Returns the index of the part of its data (the bytes of one phase) that a rank accesses in `phase`. If phases alternate between writing
/// and reading, all parts that are read follow all parts that are written. With a file per phase the index is 0.
fn step_of(job: &Job, phase: u32) -> u64 {
    match job.direction {
        Direction::Both if job.writes(phase) => (phase / 2).into(),
        Direction::Both => (phase / 2 + job.phases.div_ceil(2)).into(),
        _ if job.file_per_phase => 0,
        _ => phase.into(),
    }
}

/// Returns (offset, length) of each access of a thread in a phase.
fn accesses(job: &Job, who: Who, phase: u32) -> Vec<(u64, u64)> {
    let whole = if job.only_rank_0 { u64::from(job.ranks) } else { 1 };
    let count = (job.bytes * job.share(who.rank) * whole / job.transfer).max(1);
    let threads = u64::from(job.threads);
    let worker = u64::from(who.rank) * threads + u64::from(who.thread);
    let workers = u64::from(job.ranks) * threads;
    let step = step_of(job, phase);
    let most = job.bytes * job.largest_share() * whole;
    let (region, mine) = match job.place {
        Placement::Own => (0, u64::from(who.thread)),
        _ if job.only_rank_0 => (0, 0),
        _ => (most * u64::from(job.phases) + job.gap, worker),
    };
    let one = |i: u64| match (job.place, job.order) {
        (Placement::Turns, Order::Forward) => ((step * count + i) * workers + worker) * job.transfer,
        (place, Order::Random) => {
            let (of, mine) = if place == Placement::Own { (threads, who.thread.into()) } else { (workers, worker) };
            let file = if place == Placement::Own { worker / threads } else { 0 };
            shuffled((step * count + i) * of + mine, u64::from(job.phases) * count * of, job.seed + file) * job.transfer
        }
        (Placement::Own, _) => {
            mine * most * u64::from(job.phases) + step * job.bytes * job.share(who.rank) + i * job.transfer
        }
        _ => mine * region + step * job.bytes * job.share(who.rank) * whole + i * job.transfer,
    };
    let times = if let Order::Again(times) = job.order { times } else { 1 };
    (0..times).flat_map(|_| 0..count).map(|i| (one(i) + job.shift, job.transfer)).collect()
}

/// Appends the steps of an access through POSIX or C streams.
fn plain(job: &Job, phase: u32, access: Call, out: &mut Vec<Step>) {
    let writes = job.writes(phase);
    let op = match (job.interface, writes) {
        (Interface::Streams, true) => Op::StreamWrite,
        (Interface::Streams, false) => Op::StreamRead,
        (_, true) => Op::Write,
        (_, false) => Op::Read,
    };
    let whole_file = Call::at(Op::Lock, access.file, 0, 0);
    let key = u64::from(access.file) << 32;
    out.extend(job.lock_each.then_some(Step::Take { key, call: whole_file }));
    if job.edges && writes {
        let (first, last) = (access.offset.unwrap_or(0), access.offset.unwrap_or(0) + access.length - 1);
        for edge in [first, last] {
            out.push(Step::Call(Call::at(Op::Read, access.file, edge / SMALL_BLOCK * SMALL_BLOCK, SMALL_BLOCK)));
        }
    }
    out.push(Step::Call(Call { op, ..access }));
    if job.sync_each && writes {
        let op = if job.interface == Interface::Streams { Op::StreamFlush } else { Op::Sync };
        out.push(Step::Call(Call::on(op, access.file)));
    }
    out.extend(job.lock_each.then_some(Step::Give { key, call: Call { op: Op::Unlock, ..whole_file } }));
}

fn independent(job: &Job, phase: u32, access: Call, out: &mut Vec<Step>) {
    let writes = job.writes(phase);
    let (outer, inner) = if writes { (Op::FileWrite, Op::Write) } else { (Op::FileRead, Op::Read) };
    out.push(Step::Enter(Call { op: outer, ..access }));
    let (from, file) = (access.offset.unwrap_or(0), access.file);
    match job.sieve {
        Sieve::Reads(times) if !writes => {
            out.extend(
                pieces(from, access.length * times, READ_SIEVE)
                    .map(|(at, length)| Step::Call(Call::at(Op::Read, file, at, length))),
            );
        }
        Sieve::Writes(times) if writes => {
            for (at, length) in pieces(from, access.length * times, WRITE_SIEVE) {
                let key = u64::from(file) << 32 | (at / WRITE_SIEVE);
                let of = |op| Call::at(op, file, at, length);
                out.push(Step::Take { key, call: of(Op::Lock) });
                out.extend([Step::Call(of(Op::Read)), Step::Call(of(Op::Write))]);
                out.push(Step::Give { key, call: of(Op::Unlock) });
            }
        }
        _ => out.push(Step::Call(Call { op: inner, ..access })),
    }
    if job.sync_each && writes {
        out.push(Step::Call(Call::on(Op::Sync, file)));
    }
    out.push(Step::Leave);
}

/// Splits the range of `length` bytes at `from` into pieces (offset, length) of at most `most` bytes.
fn pieces(from: u64, length: u64, most: u64) -> impl Iterator<Item = (u64, u64)> {
    (0..length.div_ceil(most)).map(move |i| (from + i * most, most.min(length - i * most)))
}

/// Appends the steps of a collective MPI-IO access: ranks exchange their requests, then aggregators transfer the data.
fn collective(job: &Job, who: Who, phase: u32, index: usize, access: (u64, u64), out: &mut Vec<Step>) {
    let writes = job.writes(phase);
    let (outer, inner) = if writes { (Op::FileWriteAll, Op::Write) } else { (Op::FileReadAll, Op::Read) };
    out.push(Step::Enter(Call::at(outer, 0, access.0, access.1)));
    out.push(Step::Meet(None));
    out.push(Step::Pass(50e3 + job.transfer as f64 / 10.0));
    let every = (job.ranks / job.aggregators).max(1);
    if who.rank.is_multiple_of(every) && who.rank / every < job.aggregators {
        let round = u64::from(job.ranks) * access.1;
        let step = step_of(job, phase);
        let begin = (step * (job.bytes / job.transfer).max(1) + index as u64) * round;
        let share = round.div_ceil(job.aggregators.into()).next_multiple_of(job.stripe_size.min(round));
        let from = begin + u64::from(who.rank / every) * share;
        let to = (from + share).min(begin + round);
        for (at, length) in pieces(from, to.saturating_sub(from), AGGREGATOR_BUFFER) {
            out.push(Step::Call(Call::at(inner, 0, at + job.shift, length)));
        }
    }
    out.extend([Step::Meet(None), Step::Leave]);
}
