//! Faults of the program: its requests, additional calls, and coordination of its ranks.

use super::{Fault, fault, numbers};
use crate::faults::job::{Header, Interface, Order, Placement, Sieve};
use crate::faults::truth::Right;

/// Returns the fault "shared stripes": transfers of ranks on several nodes lie in the same stripe.
pub(in super::super) fn shared_stripes() -> Fault {
    let words: [&[&str]; 1] = [&[
        "shared stripe",
        "share stripe",
        "share a stripe",
        "same stripe",
        "several nodes",
        "several processes",
        "lock",
        "handover",
        "boundar",
        "align",
        "unalign",
        "misalign",
    ]];
    fault("nodes take stripes' locks from each other", vec![Right::words(&words)], |job| job.place = Placement::Turns)
}

pub(in super::super) fn misaligned(shift: u64) -> Fault {
    let words: [&[&str]; 1] = [&[
        "shared stripe",
        "share stripe",
        "share a stripe",
        "same stripe",
        "several nodes",
        "several processes",
        "lock",
        "handover",
        "boundar",
        "align",
        "unalign",
        "misalign",
        "cross",
    ]];
    fault(format!("writes begin {shift} bytes behind stripes"), vec![Right::words(&words)], move |job| {
        job.shift = shift;
    })
}

fn is_small(direction: &[&str], other: &str) -> Vec<Right> {
    vec![
        Right::words(&[&["small", "tiny", "short", "kib", "latency", "less than", "many"], direction])
            .never(&[other, "align", "unalign", "misalign"]),
    ]
}

pub(in super::super) fn small_writes(transfer: u64) -> Fault {
    let right = is_small(&["write", "request", "call", "transfer", "access"], "read");
    fault(format!("writes of {transfer} bytes"), right, move |job| job.transfer = transfer)
}

pub(in super::super) fn small_reads(transfer: u64) -> Fault {
    let right = is_small(&["read", "request", "call", "transfer", "access"], "write");
    fault(format!("reads of {transfer} bytes"), right, move |job| job.transfer = transfer)
}

pub(in super::super) fn random_reads(transfer: u64) -> Fault {
    let mut right = is_small(&["read", "request", "call", "transfer", "access"], "write");
    right.push(
        Right::words(&[&["random", "scattered", "not sequential", "jump", "backward", "begin before"]])
            .never(&["write"]),
    );
    fault(format!("random reads of {transfer} bytes"), right, move |job| {
        (job.transfer, job.order) = (transfer, Order::Random);
        job.read_ns *= 3.0; // no read-ahead
    })
}

/// Returns the fault "strided": independent requests, where the fault-free twin makes collective calls.
pub(in super::super) fn strided(transfer: u64) -> Fault {
    let mut right = is_small(&["write", "read", "request", "call", "transfer", "access"], "no such word");
    right.push(Right::words(&[&[
        "independent",
        "strided",
        "interleaved",
        "collective",
        "shared stripe",
        "same stripe",
        "several nodes",
        "lock",
    ]]));
    fault(format!("independent strided requests of {transfer} bytes"), right, move |job| {
        (job.transfer, job.interface) = (transfer, Interface::Independent);
    })
}

pub(in super::super) fn sieved_reads(times: u64) -> Fault {
    let words: [&[&str]; 1] = [&["siev", "times the bytes", "times what", "amplif", "asked", "holes", "as much"]];
    fault(format!("data sieving reads {times} times what is asked"), vec![Right::words(&words)], move |job| {
        job.sieve = Sieve::Reads(times);
    })
}

pub(in super::super) fn sieved_writes(times: u64) -> Fault {
    let words: [&[&str]; 1] =
        [&["siev", "times the bytes", "times what", "amplif", "asked", "holes", "lock", "read-modify", "read before"]];
    fault(
        format!("data sieving writes {times} times what is given, under locks"),
        vec![Right::words(&words)],
        move |job| {
            job.sieve = Sieve::Writes(times);
        },
    )
}

pub(in super::super) fn late_rank(rank: u32, factor: f64) -> Fault {
    let words: [&[&str]; 1] = [&["late", "wait", "last", "arrive", "come", "comput", "behind"]];
    let right = Right::words(&words).never(&["slow"]).about("rank", &numbers(&[rank]));
    fault(format!("rank {rank} computes {factor} times as long"), vec![right], move |job| job.late.push((rank, factor)))
}

pub(in super::super) fn only_rank_0() -> Fault {
    let words: [&[&str]; 1] = [&[
        "rank 0",
        "one rank",
        "one process",
        "single rank",
        "only",
        "all of the i/o",
        "one posix call at a time",
        "alone",
        "funnel",
        "all the",
    ]];
    fault("rank 0 does all the I/O", vec![Right::words(&words).or_about("rank", &numbers(&[0]))], |job| {
        job.only_rank_0 = true;
    })
}

pub(in super::super) fn one_aggregator() -> Fault {
    let words: [&[&str]; 1] = [&["aggregator", "one rank", "one process", "at a time", "rank 0", "one of"]];
    fault("one aggregator", vec![Right::words(&words).or_about("rank", &numbers(&[0]))], |job| job.aggregators = 1)
}

pub(in super::super) fn open_storm() -> Fault {
    let right = Right::words(&[&["open", "metadata"]]);
    fault("the file is opened and closed for each access", vec![right], |job| job.open_each = true)
}

pub(in super::super) fn stat_storm(each: u32) -> Fault {
    let right = Right::words(&[&["stat", "metadata"]]).never(&["open"]);
    fault(format!("{each} stats before each access"), vec![right], move |job| job.stats_each = each)
}

pub(in super::super) fn sync_each() -> Fault {
    let right = Right::words(&[&["sync", "fsync", "flush"]]);
    fault("a sync after each write", vec![right], |job| job.sync_each = true)
}

pub(in super::super) fn flush_each() -> Fault {
    let mut right = is_small(&["write", "request", "call", "transfer", "access"], "read");
    right.push(Right::words(&[&["flush", "fflush", "sync", "buffer"]]));
    fault("a flush after each tiny write", right, |job| job.sync_each = true)
}

pub(in super::super) fn file_locks() -> Fault {
    let right = Right::words(&[&["lock"]]).never(&["stripe lock"]);
    let alone = Right::words(&[&["one posix call at a time", "serial", "one at a time", "one after", "one process"]]);
    fault("each access holds a lock on the file", vec![right, alone], |job| job.lock_each = true)
}

pub(in super::super) fn more_data(rank: u32, times: u64) -> Fault {
    let words: [&[&str]; 1] = [&[
        "imbalance",
        "balance",
        "uneven",
        "more data",
        "more bytes",
        "times as much",
        "times the",
        "twice",
        "most of",
        "more work",
        "share",
        "moves",
        "more than",
    ]];
    let right = Right::words(&words).never(&["slow"]).about("rank", &numbers(&[rank]));
    fault(format!("rank {rank} has {times} times the data"), vec![right], move |job| job.shares.push((rank, times)))
}

pub(in super::super) fn serial() -> Fault {
    let words: [&[&str]; 1] = [&[
        "one after",
        "serial",
        "at a time",
        "one by one",
        "turn",
        "in flight",
        "one rank",
        "one process",
        "concurren",
        "alone",
    ]];
    fault("ranks write one after another", vec![Right::words(&words)], |job| job.serial = true)
}

/// Returns the fault "hot block": all ranks read a block that only rank 0 reads in the fault-free twin.
pub(in super::super) fn hot_block(bulk_ranks: u32, ost_ns: f64) -> Fault {
    let words: [&[&str]; 1] =
        [&["same", "hot", "every rank", "all ranks", "each rank", "broadcast", "header", "one block", "ranks read"]];
    let right = Right::words(&words).never(&["write"]);
    fault("all ranks read the same block", vec![right], move |job| {
        job.header = Some(Header { by_all: true, bulk_ranks, ost_ns });
    })
}

pub(in super::super) fn reading_again(times: u32) -> Fault {
    let words: [&[&str]; 1] = [&[
        "again",
        "re-read",
        "reread",
        "repeat",
        "same bytes",
        "more than once",
        "several times",
        "times over",
        "twice",
        "read before",
    ]];
    fault(format!("everything is read {times} times"), vec![Right::words(&words)], move |job| {
        job.order = Order::Again(times);
    })
}

pub(in super::super) fn edges(shift: u64) -> Fault {
    let words: [&[&str]; 1] = [&[
        "align",
        "unalign",
        "misalign",
        "read-modify",
        "modify",
        "edge",
        "boundar",
        "begin or end inside",
        "small read",
    ]];
    fault("each write first reads the blocks of its ends", vec![Right::words(&words)], move |job| {
        (job.edges, job.shift) = (true, shift);
    })
}
