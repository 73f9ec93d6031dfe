//! Data for the views: the latest intervals, slowest processes, most expensive files, and durations of calls.

use super::interval::{BUCKETS, Interval, LeftOut, NotSeen, OTHERS, Sums};
use super::open_spool::Held;
use super::tally::{Files, Tally};
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use trace_format::op::OpClass;

/// Maximum number of intervals (the latest ones) whose totals are kept for the views.
const MOST_POINTS: usize = 300;
/// Maximum number of rows in each ranking (of processes, nodes and files).
const MOST_ROWS: usize = 20;
/// Maximum number of pairs (I/O interface, operation type) with totals of their own in an interval.
const MOST_RATES: usize = 64;

/// Totals over the calls of one I/O interface and operation type in one interval.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Rates {
    /// Number of calls of this interface and operation type in the interval.
    pub calls: u64,
    /// Bytes that the calls read and wrote.
    pub bytes: u64,
    /// Total time in the calls, summed over all processes, in ns.
    pub time_ns: u64,
    /// Duration of the longest call, in ns.
    pub longest_ns: u64,
}

/// Totals and durations of the calls in one interval of time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Point {
    /// Start of the interval, in ns since 1970-01-01 UTC.
    pub begin_unix_ns: i64,
    /// Totals by I/O interface and operation type, e.g. `POSIX write`.
    pub rates: BTreeMap<String, Rates>,
    /// Histogram of reads and writes by duration in ns: bucket `b` begins at 2^(b-1).
    pub durations: Vec<u64>,
}

/// Row of a ranking: a process, node or file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Row {
    /// Name of the ranked process (`rank 3`), node, or file (its path).
    pub name: String,
    /// Host name of the node of a ranked process; empty for a node or file.
    pub node: String,
    /// Key of the job of a ranked process; empty for a node or file.
    pub job: String,
    /// Totals over the row's calls in the latest interval.
    pub now: Tally,
    /// Totals over all the row's calls since the agent started.
    pub all: Tally,
}

/// Data for all views of `live` (terminal, web page).
#[derive(Clone, Debug, Default, Serialize)]
pub struct Board {
    /// Totals and durations of the calls in each of the latest intervals, oldest first.
    pub points: VecDeque<Point>,
    /// Length of the intervals, in ns.
    pub interval_ns: u64,
    /// Nodes, sorted by I/O time in the latest interval. Each row sums over the node's watched processes.
    pub nodes: Vec<Row>,
    /// Processes, sorted by I/O time in the latest interval.
    pub processes: Vec<Row>,
    /// Files, sorted by I/O time since the agent started.
    pub files: Vec<Row>,
    /// Number of processes being watched.
    pub watched: u64,
    /// Number of watched processes that have ended.
    pub ended: u64,
    /// Numbers of calls, spools and paths that the agent missed, lost or saw twice, by cause.
    pub not_seen: NotSeen,
    /// Data that tracers reported as not recorded: count by the tracers' description.
    pub left_out: Arc<LeftOut>,
}

impl Board {
    /// Adds the sums of an interval to the points of the views; intervals may arrive out of order.
    pub fn add(&mut self, interval: &Interval) {
        self.interval_ns = interval.length_ns;
        let at = match self.points.binary_search_by_key(&interval.begin_unix_ns, |point| point.begin_unix_ns) {
            Ok(at) => at,
            Err(at) => {
                let point = Point { begin_unix_ns: interval.begin_unix_ns, ..Point::default() };
                self.points.insert(at, point);
                at
            }
        };
        if let Some(point) = self.points.get_mut(at) {
            point.add(interval);
        }
        if self.points.len() > MOST_POINTS {
            self.points.pop_front();
        }
    }

    /// Ranks processes, nodes and files by their I/O time at the end of an interval.
    pub fn rank(&mut self, held: &mut [Held], files: &Files) {
        let processes: Vec<Row> = held
            .iter_mut()
            .map(|held| {
                let [all, now] = held.tallies;
                held.tallies[1] = Tally::default();
                let process = held.process();
                Row { name: process.label(), node: process.node.clone(), job: process.job.clone(), now, all }
            })
            .collect();
        self.set_rows(processes, files);
    }

    /// Sorts the rows of the processes by I/O time, sums them by node, and stores the rankings of processes, nodes and files.
    pub fn set_rows(&mut self, mut processes: Vec<Row>, files: &Files) {
        let slowest_first = |row: &Row| std::cmp::Reverse((row.now.time_ns, row.all.time_ns));
        let mut nodes: BTreeMap<&str, [Tally; 2]> = BTreeMap::new();
        for row in &processes {
            let sums = nodes.entry(&row.node).or_default();
            sums[0].merge(&row.now);
            sums[1].merge(&row.all);
        }
        let node = |(name, [now, all]): (&str, [Tally; 2])| Row { name: name.to_owned(), now, all, ..Row::default() };
        self.nodes = nodes.into_iter().map(node).collect();
        self.nodes.sort_by_key(slowest_first);
        self.nodes.truncate(MOST_ROWS);
        processes.sort_by_key(slowest_first);
        processes.truncate(MOST_ROWS);
        self.processes = processes;
        let mut files: Vec<Row> = files
            .iter()
            .map(|(name, all)| Row {
                name: name.to_string(),
                node: String::new(),
                job: String::new(),
                now: Tally::default(),
                all: *all,
            })
            .collect();
        files.sort_by_key(|row| std::cmp::Reverse(row.all.time_ns));
        files.truncate(MOST_ROWS);
        self.files = files;
    }
}

impl Point {
    fn add(&mut self, interval: &Interval) {
        self.durations.resize(BUCKETS, 0);
        for (group, sums) in interval.sums.iter().filter(|(group, _)| group.is_io_of_program()) {
            let Sums { calls, bytes, time_ns, longest_ns, durations, .. } = sums;
            let mut name = format!("{} {}", group.layer, kind(group.class, &group.op));
            if self.rates.len() >= MOST_RATES && !self.rates.contains_key(&name) {
                name = OTHERS.to_owned();
            }
            let rates = self.rates.entry(name).or_default();
            rates.calls = rates.calls.saturating_add(*calls);
            rates.bytes = rates.bytes.saturating_add(*bytes);
            rates.time_ns = rates.time_ns.saturating_add(*time_ns);
            rates.longest_ns = rates.longest_ns.max(*longest_ns);
            if group.class.is_data() {
                self.durations.iter_mut().zip(durations).for_each(|(sum, more)| *sum += more);
            }
        }
    }
}

/// Returns the operation type under which rates sum a call: all reads, all writes, all opens etc. have one type each.
fn kind(class: OpClass, op: &str) -> &str {
    match class {
        OpClass::Read => "read",
        OpClass::Write => "write",
        OpClass::Open => "open",
        OpClass::Close => "close",
        OpClass::Sync => "sync",
        OpClass::Metadata | OpClass::Seek => "metadata",
        _ => op,
    }
}
