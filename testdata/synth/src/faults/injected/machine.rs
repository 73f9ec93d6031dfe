//! Faults of the machine: a slow rank, node or OST, an overloaded OST, a slow period.

use super::{Fault, fault, numbers};
use crate::faults::job::{Job, Stall, Window};
use crate::faults::truth::Right;

/// Words that a finding on a slow rank, node or OST must not contain: they describe other faults.
const OTHER_THAN_SLOW: [&str; 4] = ["stall", "one call", "comput", "late "];

pub(in super::super) fn slow_rank(rank: u32, factor: f64) -> Fault {
    let right = Right::words(&[]).never(&OTHER_THAN_SLOW).about("rank", &numbers(&[rank]));
    fault(format!("rank {rank} is {factor} times slower"), vec![right], move |job| job.slow_ranks.push((rank, factor)))
}

pub(in super::super) fn slow_node(node: u32, factor: f64) -> Fault {
    let right = Right::words(&[]).never(&OTHER_THAN_SLOW).about("node", &[Job::node_name(node)]);
    fault(format!("node {node} is {factor} times slower"), vec![right], move |job| job.slow_nodes.push((node, factor)))
}

pub(in super::super) fn slow_osts(osts: &[u32], factor: f64) -> Fault {
    let right = Right::words(&[]).never(&OTHER_THAN_SLOW).about("ost", &numbers(osts));
    let slow: Vec<(u32, f64)> = osts.iter().map(|&ost| (ost, factor)).collect();
    fault(format!("OSTs {osts:?} are {factor} times slower"), vec![right], move |job| {
        job.slow_osts.extend(&slow);
    })
}

/// Returns the fault "overloaded OST": all files have one stripe, on OST 0. In the fault-free twin, files are spread over the OSTs.
pub(in super::super) fn ost_queue() -> Fault {
    let right = Right::words(&[
        &["ost", "target", "stripe"],
        &[
            "queue",
            "crowd",
            "uneven",
            "same",
            "load",
            "busy",
            "concentrat",
            "one ost",
            "all ",
            "most",
            "share",
            "count",
            "only",
        ],
    ]);
    fault("all files lie on one OST", vec![right.or_about("ost", &numbers(&[0]))], |job| job.crowded = true)
}

pub(in super::super) fn few_stripes() -> Fault {
    let right = Right::words(&[
        &["stripe", "ost", "target"],
        &["one", "1 ", "few", "count", "single", "only", "more", "queue", "same", "busy", "load"],
    ]);
    fault("the shared file has one stripe", vec![right.or_about("ost", &numbers(&[0]))], |job| job.stripe_count = 1)
}

pub(in super::super) fn window(from: f64, to: f64, factor: f64) -> Fault {
    let words: [&[&str]; 2] = [
        &["window", "between", "during", "span", "period", "for a while", "moment", "from ", "of the time"],
        &["slow", "longer", "times as", "as long"],
    ];
    fault(
        format!("everything is {factor} times slower for {:.0} % of the time", (to - from) * 100.0),
        vec![Right::words(&words)],
        move |job| job.windows.push(Window { from, to, factor }),
    )
}

pub(in super::super) fn tail(part: f64, factor: f64) -> Fault {
    let words: [&[&str]; 1] = [&["tail", "outlier", "slower", "longer", "slowest", "scatter", "times as long"]];
    fault(
        format!("{} % of the calls take {factor} times as long", part * 100.0),
        vec![Right::words(&words).never(&["small", "align", "unalign", "misalign", "window", "between", "during"])],
        move |job| job.tail = Some((part, factor)),
    )
}

pub(in super::super) fn stall(rank: u32, phase: u32, seconds: f64) -> Fault {
    let words: [&[&str]; 2] = [
        &[
            "stall",
            "hang",
            "hung",
            "one call",
            "one write",
            "one read",
            "single",
            "1 of ",
            "a call",
            "one posix",
            "1 posix",
            "one collective",
            "call took",
        ],
        &["slow", "stall", "hang", "hung", "held", "block", "wait", "took", "long", "last"],
    ];
    fault(
        format!("one call of rank {rank} hangs {seconds} s"),
        vec![Right::words(&words).never(&["comput"]).or_about("rank", &numbers(&[rank]))],
        move |job| job.stall = Some(Stall { rank, phase, ns: seconds * 1e9 }),
    )
}

pub(in super::super) fn slow_open(rank: u32, seconds: f64) -> Fault {
    let right = Right::words(&[&["open", "metadata"]]).about("rank", &numbers(&[rank]));
    fault(format!("opens of rank {rank} take {seconds} s"), vec![right], move |job| {
        job.slow_opens.push((rank, seconds * 1e9));
    })
}

pub(in super::super) fn slow_metadata(each_ns: f64) -> Fault {
    let right = Right::words(&[&["open", "metadata", "creat"]]);
    fault(format!("the metadata server takes {} ms for each request", each_ns / 1e6), vec![right], move |job| {
        job.metadata_ns = each_ns;
    })
}
