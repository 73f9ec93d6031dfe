//! Faults of the program: its requests, its additional calls, and the coordination of its ranks.

use super::codes::{
    AGGREGATORS, ASKED_AGAIN, ASKED_AGGREGATORS, BYTE_IMBALANCE, COMMON_READS, CROSSING, FALSE_SHARING,
    FEW_AGGREGATORS, HDF5_FLUSHED, INDEPENDENT, LATE_RANKS, LATE_TO_MEET, LOCAL_SHARING, LOCK_TIME, LOCK_WAITS,
    METADATA_RATE, METADATA_SHARE, METADATA_TIME, NO_COLLECTIVE_READS, NO_COLLECTIVE_WRITES, ONE_CALL, ONE_RANK,
    OPEN_PER_ACCESS, POLLED, RANDOM_READS, READ_AHEAD, READ_BEFORE, READ_MODIFY_WRITE, READ_RUNS, REPEATED_OPENS,
    REREAD, SAME_BYTES, SERIAL, SERIALISED, SHARED_INDEPENDENT, SHARED_READ_IMBALANCE, SHARED_WRITE_IMBALANCE, SIEVING,
    SIEVING_BLOCK, SLOW_SMALL_WRITES, SMALL_READS, SMALL_SHARED_READS, SMALL_SHARED_WRITES, SMALL_WRITES,
    STREAM_BUFFER, STRIDED_READS, STRIDED_WRITES, SYNC_PER_WRITE, SYNC_TIME, TIME_IMBALANCE, UNALIGNED, UNASKED,
    WRITE_RUNS,
};
use super::{Fault, fault, numbers};
use crate::faults::job::{Header, Interface, Order, Placement, Sieve};
use crate::faults::truth::Right;

/// Returns the fault "shared stripes": ranks on several nodes access the same stripe.
pub(in super::super) fn shared_stripes() -> Fault {
    let right = Right::codes(&[FALSE_SHARING, LOCAL_SHARING, CROSSING]);
    fault("nodes take stripes' locks from each other", vec![right], |job| job.place = Placement::Turns)
}

pub(in super::super) fn misaligned(shift: u64) -> Fault {
    let right = Right::codes(&[FALSE_SHARING, CROSSING, LOCAL_SHARING]);
    fault(format!("writes begin {shift} bytes behind stripes"), vec![right], move |job| job.shift = shift)
}

/// Returns the criterion for right findings that accepts any finding on small writes.
fn small_writing() -> Right {
    Right::codes(&[
        WRITE_RUNS,
        SMALL_WRITES,
        SMALL_SHARED_WRITES,
        SLOW_SMALL_WRITES,
        INDEPENDENT,
        ONE_CALL,
        STRIDED_WRITES,
        STREAM_BUFFER,
    ])
    .of("write")
}

/// Returns the criterion for right findings that accepts any finding on small reads.
fn small_reading() -> Right {
    Right::codes(&[READ_RUNS, SMALL_READS, SMALL_SHARED_READS, INDEPENDENT, READ_AHEAD, ONE_CALL, STRIDED_READS])
        .of("read")
}

pub(in super::super) fn small_writes(transfer: u64) -> Fault {
    fault(format!("writes of {transfer} bytes"), vec![small_writing()], move |job| job.transfer = transfer)
}

pub(in super::super) fn small_reads(transfer: u64) -> Fault {
    fault(format!("reads of {transfer} bytes"), vec![small_reading()], move |job| job.transfer = transfer)
}

pub(in super::super) fn random_reads(transfer: u64) -> Fault {
    let right = vec![Right::codes(&[RANDOM_READS]), small_reading()];
    fault(format!("random reads of {transfer} bytes"), right, move |job| {
        (job.transfer, job.order) = (transfer, Order::Random);
        job.read_ns *= 3.0; // no read-ahead
    })
}

/// Returns the fault "strided": independent requests instead of the collective calls of the job without the fault.
pub(in super::super) fn strided(transfer: u64) -> Fault {
    let apart = Right::codes(&[SHARED_INDEPENDENT, NO_COLLECTIVE_WRITES, NO_COLLECTIVE_READS, FALSE_SHARING]);
    let right = vec![Right::codes(&[INDEPENDENT]), small_writing(), small_reading(), apart];
    fault(format!("independent strided requests of {transfer} bytes"), right, move |job| {
        (job.transfer, job.interface) = (transfer, Interface::Independent);
    })
}

pub(in super::super) fn sieved_reads(times: u64) -> Fault {
    let right = Right::codes(&[SIEVING, SIEVING_BLOCK, UNASKED]);
    fault(format!("data sieving reads {times} times what is asked"), vec![right], move |job| {
        job.sieve = Sieve::Reads(times);
    })
}

pub(in super::super) fn sieved_writes(times: u64) -> Fault {
    let codes = [SIEVING, SIEVING_BLOCK, UNASKED, LOCK_TIME, LOCK_WAITS, READ_MODIFY_WRITE, READ_BEFORE];
    let cause = format!("data sieving writes {times} times what is given, under locks");
    fault(cause, vec![Right::codes(&codes)], move |job| job.sieve = Sieve::Writes(times))
}

pub(in super::super) fn late_rank(rank: u32, factor: f64) -> Fault {
    let right = Right::codes(&[LATE_RANKS, LATE_TO_MEET]).about("rank", &numbers(&[rank]));
    fault(format!("rank {rank} computes {factor} times as long"), vec![right], move |job| job.late.push((rank, factor)))
}

pub(in super::super) fn only_rank_0() -> Fault {
    let alone = Right::codes(&[ONE_RANK, SERIALISED]).or_about("rank", &numbers(&[0]));
    let more = Right::codes(&[BYTE_IMBALANCE, TIME_IMBALANCE]).about("rank", &numbers(&[0]));
    fault("rank 0 does all the I/O", vec![alone, more], |job| job.only_rank_0 = true)
}

pub(in super::super) fn one_aggregator() -> Fault {
    let codes = [AGGREGATORS, ASKED_AGGREGATORS, FEW_AGGREGATORS, SERIAL, ONE_RANK];
    let right = Right::codes(&codes).or_about("rank", &numbers(&[0]));
    fault("one aggregator", vec![right], |job| job.aggregators = 1)
}

pub(in super::super) fn open_storm() -> Fault {
    let codes = [OPEN_PER_ACCESS, REPEATED_OPENS, METADATA_TIME, METADATA_SHARE, METADATA_RATE];
    let right = Right::codes(&codes).of("open");
    fault("the file is opened and closed for each access", vec![right], |job| job.open_each = true)
}

pub(in super::super) fn stat_storm(each: u32) -> Fault {
    let metadata = Right::codes(&[METADATA_TIME, METADATA_SHARE, METADATA_RATE]).with("operation").of("stat");
    let right = vec![Right::codes(&[ASKED_AGAIN, POLLED]), metadata];
    fault(format!("{each} stats before each access"), right, move |job| job.stats_each = each)
}

pub(in super::super) fn sync_each() -> Fault {
    let right = Right::codes(&[SYNC_PER_WRITE, SYNC_TIME, HDF5_FLUSHED]);
    fault("a sync after each write", vec![right], |job| job.sync_each = true)
}

pub(in super::super) fn flush_each() -> Fault {
    let right = vec![Right::codes(&[SYNC_PER_WRITE, SYNC_TIME, HDF5_FLUSHED]), small_writing()];
    fault("a flush after each tiny write", right, |job| job.sync_each = true)
}

pub(in super::super) fn file_locks() -> Fault {
    let right = Right::codes(&[LOCK_WAITS, LOCK_TIME, SERIALISED, SERIAL]);
    fault("each access holds a lock on the file", vec![right], |job| job.lock_each = true)
}

pub(in super::super) fn more_data(rank: u32, times: u64) -> Fault {
    let codes = [BYTE_IMBALANCE, ONE_RANK, SHARED_READ_IMBALANCE, SHARED_WRITE_IMBALANCE];
    let right = Right::codes(&codes).about("rank", &numbers(&[rank]));
    fault(format!("rank {rank} has {times} times the data"), vec![right], move |job| job.shares.push((rank, times)))
}

pub(in super::super) fn serial() -> Fault {
    let right = Right::codes(&[SERIALISED, SERIAL]);
    fault("ranks write one after another", vec![right], |job| job.serial = true)
}

/// Returns the fault "hot block": all ranks read a block that only rank 0 reads in the job without the fault.
pub(in super::super) fn hot_block(bulk_ranks: u32, ost_ns: f64) -> Fault {
    fault("all ranks read the same block", vec![Right::codes(&[COMMON_READS, SAME_BYTES])], move |job| {
        job.header = Some(Header { by_all: true, bulk_ranks, ost_ns });
    })
}

pub(in super::super) fn reading_again(times: u32) -> Fault {
    fault(format!("everything is read {times} times"), vec![Right::codes(&[REREAD])], move |job| {
        job.order = Order::Again(times);
    })
}

pub(in super::super) fn edges(shift: u64) -> Fault {
    let right = Right::codes(&[READ_MODIFY_WRITE, READ_BEFORE, UNALIGNED, CROSSING, FALSE_SHARING]);
    fault("each write first reads the blocks of its ends", vec![right], move |job| {
        (job.edges, job.shift) = (true, shift);
    })
}
