//! Faults of the machine: slow ranks, nodes and OSTs, an overloaded OST, a slow time period, slow single calls.

use super::codes::{
    CPU_WAIT, FEW_TARGETS, LONG_COLLECTIVE, LONG_TAIL, METADATA_RATE, METADATA_SHARE, METADATA_TIME, SLOW_MOMENT,
    SLOW_NODE, SLOW_OPERATIONS, SLOW_RANK, SLOW_TARGET, STALL, TIME_IMBALANCE,
};
use super::{Fault, fault, numbers};
use crate::faults::job::{Job, Stall, Window};
use crate::faults::truth::Right;

pub(in super::super) fn slow_rank(rank: u32, factor: f64) -> Fault {
    let right = Right::codes(&[SLOW_RANK, TIME_IMBALANCE]).about("rank", &numbers(&[rank]));
    fault(format!("rank {rank} is {factor} times slower"), vec![right], move |job| job.slow_ranks.push((rank, factor)))
}

pub(in super::super) fn slow_node(node: u32, factor: f64) -> Fault {
    let right = Right::codes(&[SLOW_NODE]).about("node", &[Job::node_name(node)]);
    fault(format!("node {node} is {factor} times slower"), vec![right], move |job| job.slow_nodes.push((node, factor)))
}

pub(in super::super) fn slow_osts(osts: &[u32], factor: f64) -> Fault {
    let right = Right::codes(&[SLOW_TARGET]).about("ost", &numbers(osts));
    let slow: Vec<(u32, f64)> = osts.iter().map(|&ost| (ost, factor)).collect();
    fault(format!("OSTs {osts:?} are {factor} times slower"), vec![right], move |job| {
        job.slow_osts.extend(&slow);
    })
}

/// Returns the fault "overloaded OST": all files have one stripe, on OST 0. In the same job without the fault, files are distributed over
/// the OSTs.
pub(in super::super) fn ost_queue() -> Fault {
    let right = Right::codes(&[FEW_TARGETS]).or_about("ost", &numbers(&[0]));
    fault("all files lie on one OST", vec![right], |job| job.crowded = true)
}

pub(in super::super) fn few_stripes() -> Fault {
    let right = Right::codes(&[FEW_TARGETS]).or_about("ost", &numbers(&[0]));
    fault("the shared file has one stripe", vec![right], |job| job.stripe_count = 1)
}

pub(in super::super) fn window(from: f64, to: f64, factor: f64) -> Fault {
    fault(
        format!("everything is {factor} times slower for {:.0} % of the time", (to - from) * 100.0),
        vec![Right::codes(&[SLOW_MOMENT]).with("span_ns")],
        move |job| job.windows.push(Window { from, to, factor }),
    )
}

pub(in super::super) fn tail(part: f64, factor: f64) -> Fault {
    // Accepts a slow-period finding only without a time span, because calls of most ranks are slow at several times.
    let moments = Right::codes(&[SLOW_MOMENT]).without("span_ns");
    fault(
        format!("{} % of the calls take {factor} times as long", part * 100.0),
        vec![Right::codes(&[LONG_TAIL, SLOW_OPERATIONS]), moments],
        move |job| job.tail = Some((part, factor)),
    )
}

pub(in super::super) fn stall(rank: u32, phase: u32, seconds: f64) -> Fault {
    fault(
        format!("one call of rank {rank} hangs {seconds} s"),
        vec![Right::codes(&[STALL, LONG_COLLECTIVE]).or_about("rank", &numbers(&[rank]))],
        move |job| job.stall = Some(Stall { rank, phase, ns: seconds * 1e9 }),
    )
}

pub(in super::super) fn slow_open(rank: u32, seconds: f64) -> Fault {
    let codes = [SLOW_RANK, STALL, METADATA_TIME, METADATA_SHARE, TIME_IMBALANCE];
    let right = Right::codes(&codes).of("open").about("rank", &numbers(&[rank]));
    fault(format!("opens of rank {rank} take {seconds} s"), vec![right], move |job| {
        job.slow_opens.push((rank, seconds * 1e9));
    })
}

pub(in super::super) fn slow_metadata(each_ns: f64) -> Fault {
    let right = Right::codes(&[METADATA_SHARE, METADATA_TIME, METADATA_RATE]);
    fault(format!("the metadata server takes {} ms for each request", each_ns / 1e6), vec![right], move |job| {
        job.metadata_ns = each_ns;
    })
}

pub(in super::super) fn few_cpus(share: f64) -> Fault {
    fault(
        format!("each process gets {:.0} % of a CPU and waits for it the rest of the time", share * 100.0),
        vec![Right::codes(&[CPU_WAIT]).with("processes")],
        move |job| job.cpu_share = Some(share),
    )
}
