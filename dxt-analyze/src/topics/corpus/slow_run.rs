//! Describes a slow run: since when, in which calls, by how much, and in a sentence.

use super::pace::Does;
use crate::text::units;
use serde::{Deserialize, Serialize};

/// Slow calls of one type (reads, writes or syncs) in a slow run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SlowCalls {
    /// Type of the calls: read, write or sync.
    pub does: Does,
    /// Start of the first slow call of this type, ns since the run's start.
    pub from_ns: u64,
    /// Time in calls of this type while the run is slow, summed over processes, ns.
    pub time_ns: u64,
    /// Usual time in the same calls, ns: sum over pieces of the run of the median over the other runs.
    pub usual_ns: u64,
    /// Slowdown factor of the calls: `time_ns` / `usual_ns`.
    pub slower: f64,
}

/// Run that was slow among repeated runs of the same program and work.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SlowRun {
    /// Key (identifier) of the slow run's job.
    pub job: String,
    /// Path of the slow run's first input file.
    pub source: String,
    /// Name of the program: last part of the executable's path.
    pub program: String,
    /// Number of other runs with which this one was compared.
    pub others: u64,
    /// True if the run was slow from its start to its end.
    pub all_the_time: bool,
    /// Start of the time in which the run was slow, ns since the run's start.
    pub from_ns: u64,
    /// Start of the time in which the run was slow, ns since 1970-01-01 UTC.
    pub from_unix_ns: i64,
    /// End of the slow span, ns since the run's start; `None` if it lasts until the run's last read or write.
    pub until_ns: Option<u64>,
    /// Slow calls by type (reads, writes, syncs), sorted by start.
    pub calls: Vec<SlowCalls>,
    /// Excess time over the other runs of all calls in the slow span, including types not in `calls`; summed over processes, ns.
    pub longer_ns: u64,
    /// Excess of the run's duration over that of the other runs, ns; 0 if it is not longer.
    pub run_longer_ns: u64,
    /// Summary of the slow run, as a sentence.
    pub sentence: String,
}

/// Properties of a run that reports about slow runs show.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Known {
    /// True if the run was newly read; earlier runs only serve for comparison.
    #[serde(skip)]
    pub(super) is_new: bool,
    /// True if the run was found to be slow when it was last read.
    pub(super) was_slow: bool,
    pub(super) job: String,
    pub(super) source: String,
    pub(super) program: String,
    pub(super) start_unix_ns: i64,
}

pub(super) fn sentence(slow: &SlowRun) -> String {
    let from = units::moment(slow.from_ns);
    let when = match (slow.all_the_time, slow.until_ns) {
        (true, _) => "all the time".to_owned(),
        (false, None) => format!("from {from} on"),
        (false, Some(until)) => format!("from {from} until {}", units::moment(until)),
    };
    let times = |slower: f64| if slower < 10.0 { format!("{slower:.1}") } else { units::count(slower.round() as u64) };
    let calls =
        slow.calls.iter().map(|one| format!("{} took {} times as long as usual", one.does.plural(), times(one.slower)));
    let longer = match slow.run_longer_ns {
        0 => String::new(),
        ns => format!("; the run took {} longer", units::duration(ns)),
    };
    format!(
        "Of {} runs of {} with the same I/O, {} was slow {when}: {}{longer}.",
        slow.others + 1,
        slow.program,
        slow.job,
        calls.collect::<Vec<String>>().join(", ")
    )
}
