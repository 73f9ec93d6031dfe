//! The faults: each turns a knob of a job, and says which findings name it. The words are those of the cause, not of a
//! particular analyzer.

use super::job::{Header, Interface, Job, Order, Place, Sieve, Stall, Window};
use super::truth::Right;

/// A fault.
pub(super) struct Fault {
    /// What it is, in words.
    pub(super) cause: String,
    /// Puts it into a job.
    pub(super) inject: Box<dyn Fn(&mut Job)>,
    /// What would be right to say of it.
    pub(super) right: Vec<Right>,
}

/// Words that a finding about slow service of one unit does not have.
const OTHER_THAN_SLOW: [&str; 4] = ["stall", "one call", "comput", "late "];

fn fault(cause: impl Into<String>, right: Vec<Right>, inject: impl Fn(&mut Job) + 'static) -> Fault {
    Fault { cause: cause.into(), inject: Box::new(inject), right }
}

fn numbers(of: &[u32]) -> Vec<String> {
    of.iter().map(u32::to_string).collect()
}

pub(super) fn slow_rank(rank: u32, factor: f64) -> Fault {
    let right = Right::words(&[]).never(&OTHER_THAN_SLOW).about("rank", &numbers(&[rank]));
    fault(format!("rank {rank} is {factor} times slower"), vec![right], move |job| job.slow_ranks.push((rank, factor)))
}

pub(super) fn slow_node(node: u32, factor: f64) -> Fault {
    let right = Right::words(&[]).never(&OTHER_THAN_SLOW).about("node", &[Job::node_name(node)]);
    fault(format!("node {node} is {factor} times slower"), vec![right], move |job| job.slow_nodes.push((node, factor)))
}

pub(super) fn slow_osts(osts: &'static [u32], factor: f64) -> Fault {
    let right = Right::words(&[]).never(&OTHER_THAN_SLOW).about("ost", &numbers(osts));
    fault(format!("OSTs {osts:?} are {factor} times slower"), vec![right], move |job| {
        job.slow_osts.extend(osts.iter().map(|&ost| (ost, factor)));
    })
}

/// All files have one stripe, and all of these lie on OST 0; in the twin they are spread.
pub(super) fn ost_queue() -> Fault {
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

pub(super) fn few_stripes() -> Fault {
    let right = Right::words(&[
        &["stripe", "ost", "target"],
        &["one", "1 ", "few", "count", "single", "only", "more", "queue", "same", "busy", "load"],
    ]);
    fault("the shared file has one stripe", vec![right.or_about("ost", &numbers(&[0]))], |job| job.stripe_count = 1)
}

pub(super) fn window(from: f64, to: f64, factor: f64) -> Fault {
    let words: [&[&str]; 2] = [
        &["window", "between", "during", "span", "period", "for a while", "moment", "from ", "time"],
        &["slow", "longer", "times as", "as long"],
    ];
    fault(
        format!("everything is {factor} times slower for {:.0} % of the time", (to - from) * 100.0),
        vec![Right::words(&words)],
        move |job| job.windows.push(Window { from, to, factor }),
    )
}

pub(super) fn tail(part: f64, factor: f64) -> Fault {
    let words: [&[&str]; 1] = [&["tail", "outlier", "slower", "longer", "slowest", "scatter", "times as long"]];
    fault(
        format!("{} % of the calls take {factor} times as long", part * 100.0),
        vec![Right::words(&words).never(&["small", "align", "window", "between", "during"])],
        move |job| job.tail = Some((part, factor)),
    )
}

pub(super) fn stall(rank: u32, phase: u32, seconds: f64) -> Fault {
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

/// Transfers of ranks on several nodes lie on one stripe.
pub(super) fn shared_stripes() -> Fault {
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
    ]];
    fault("nodes take stripes' locks from each other", vec![Right::words(&words)], |job| job.place = Place::Turns)
}

pub(super) fn misaligned(shift: u64) -> Fault {
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
        "cross",
    ]];
    fault(format!("writes begin {shift} bytes behind stripes"), vec![Right::words(&words)], move |job| {
        job.shift = shift;
    })
}

fn is_small(direction: &[&str], other: &str) -> Vec<Right> {
    vec![
        Right::words(&[&["small", "tiny", "short", "kib", "latency", "less than", "many"], direction])
            .never(&[other, "align"]),
    ]
}

pub(super) fn small_writes(transfer: u64) -> Fault {
    let right = is_small(&["write", "request", "call", "transfer", "access"], "read");
    fault(format!("writes of {transfer} bytes"), right, move |job| job.transfer = transfer)
}

pub(super) fn small_reads(transfer: u64) -> Fault {
    let right = is_small(&["read", "request", "call", "transfer", "access"], "write");
    fault(format!("reads of {transfer} bytes"), right, move |job| job.transfer = transfer)
}

pub(super) fn random_reads(transfer: u64) -> Fault {
    let mut right = is_small(&["read", "request", "call", "transfer", "access"], "write");
    right.push(
        Right::words(&[&["random", "scattered", "not sequential", "jump", "backward", "begin before"]])
            .never(&["write"]),
    );
    fault(format!("random reads of {transfer} bytes"), right, move |job| {
        (job.transfer, job.order) = (transfer, Order::Random);
        job.read_ns *= 3.0; // nothing is read ahead
    })
}

/// Each rank for itself what all do together in the twin.
pub(super) fn strided(transfer: u64) -> Fault {
    let mut right = is_small(&["write", "read", "request", "call", "transfer", "access"], "no such word");
    right.push(Right::words(&[&[
        "independent",
        "strided",
        "interleaved",
        "collective",
        "shared stripe",
        "same stripe",
        "lock",
    ]]));
    fault(format!("independent strided requests of {transfer} bytes"), right, move |job| {
        (job.transfer, job.interface) = (transfer, Interface::Independent);
    })
}

pub(super) fn sieved_reads(times: u64) -> Fault {
    let words: [&[&str]; 1] =
        [&["siev", "more than", "times the bytes", "times what", "amplif", "asked", "holes", "as much"]];
    fault(format!("data sieving reads {times} times what is asked"), vec![Right::words(&words)], move |job| {
        job.sieve = Sieve::Reads(times);
    })
}

pub(super) fn sieved_writes(times: u64) -> Fault {
    let words: [&[&str]; 1] = [&[
        "siev",
        "more than",
        "times the bytes",
        "times what",
        "amplif",
        "asked",
        "holes",
        "lock",
        "read-modify",
        "read before",
    ]];
    fault(
        format!("data sieving writes {times} times what is given, under locks"),
        vec![Right::words(&words)],
        move |job| {
            job.sieve = Sieve::Writes(times);
        },
    )
}

pub(super) fn late_rank(rank: u32, factor: f64) -> Fault {
    let words: [&[&str]; 1] = [&["late", "wait", "last", "arrive", "come", "comput", "behind"]];
    let right = Right::words(&words).never(&["slow"]).about("rank", &numbers(&[rank]));
    fault(format!("rank {rank} computes {factor} times as long"), vec![right], move |job| job.late.push((rank, factor)))
}

pub(super) fn only_rank_0() -> Fault {
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

pub(super) fn one_aggregator() -> Fault {
    let words: [&[&str]; 1] = [&["aggregator", "one rank", "one process", "at a time", "rank 0", "one of"]];
    fault("one aggregator", vec![Right::words(&words).or_about("rank", &numbers(&[0]))], |job| job.aggregators = 1)
}

pub(super) fn slow_open(rank: u32, seconds: f64) -> Fault {
    let right = Right::words(&[&["open", "metadata"]]).about("rank", &numbers(&[rank]));
    fault(format!("opens of rank {rank} take {seconds} s"), vec![right], move |job| {
        job.slow_opens.push((rank, seconds * 1e9));
    })
}

pub(super) fn slow_metadata(each_ns: f64) -> Fault {
    let right = Right::words(&[&["open", "metadata", "creat"]]);
    fault(format!("the metadata server takes {} ms for each request", each_ns / 1e6), vec![right], move |job| {
        job.metadata_ns = each_ns;
    })
}

pub(super) fn open_storm() -> Fault {
    let right = Right::words(&[&["open", "metadata"]]);
    fault("the file is opened and closed for each access", vec![right], |job| job.open_each = true)
}

pub(super) fn stat_storm(each: u32) -> Fault {
    let right = Right::words(&[&["stat", "metadata"]]);
    fault(format!("{each} stats before each access"), vec![right], move |job| job.stats_each = each)
}

pub(super) fn sync_each() -> Fault {
    let right = Right::words(&[&["sync", "flush"]]);
    fault("a sync after each write", vec![right], |job| job.sync_each = true)
}

pub(super) fn flush_each() -> Fault {
    let mut right = is_small(&["write", "request", "call", "transfer", "access"], "read");
    right.push(Right::words(&[&["flush", "sync", "buffer"]]));
    fault("a flush after each tiny write", right, |job| job.sync_each = true)
}

pub(super) fn file_locks() -> Fault {
    let right = Right::words(&[&["lock"]]).never(&["stripe lock"]);
    let alone = Right::words(&[&["one posix call at a time", "serial", "one at a time", "one after", "one process"]]);
    fault("each access holds a lock on the file", vec![right, alone], |job| job.lock_each = true)
}

pub(super) fn more_data(rank: u32, times: u64) -> Fault {
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

pub(super) fn serial() -> Fault {
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

/// All ranks read the block that rank 0 reads for all in the twin.
pub(super) fn hot_block(bulk_ranks: u32, ost_ns: f64) -> Fault {
    let words: [&[&str]; 1] =
        [&["same", "hot", "every rank", "all ranks", "each rank", "broadcast", "header", "one block", "ranks read"]];
    let right = Right::words(&words).never(&["write"]);
    fault("all ranks read the same block", vec![right], move |job| {
        job.header = Some(Header { by_all: true, bulk_ranks, ost_ns });
    })
}

pub(super) fn reading_again(times: u32) -> Fault {
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

pub(super) fn edges(shift: u64) -> Fault {
    let words: [&[&str]; 1] =
        [&["align", "read-modify", "modify", "edge", "boundar", "begin or end inside", "small read"]];
    fault("each write first reads the blocks of its ends", vec![Right::words(&words)], move |job| {
        (job.edges, job.shift) = (true, shift);
    })
}
