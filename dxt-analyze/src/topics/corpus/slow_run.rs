//! Slow run: since when, in which calls, by how much, and a sentence about it.

use super::pace::Does;
use crate::text::units;
use serde::{Deserialize, Serialize};

/// Slow calls of one type.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SlowCalls {
    /// Type of call.
    pub does: Does,
    /// Start of the first slow call, ns since the run's start.
    pub from_ns: u64,
    /// Time of these calls while the run is slow, summed over processes, ns.
    pub time_ns: u64,
    /// Median time of the same calls in the other runs, ns.
    pub usual_ns: u64,
    /// Slowdown: `time_ns` / `usual_ns`.
    pub slower: f64,
}

/// Slow run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SlowRun {
    /// Job key.
    pub job: String,
    /// First input file.
    pub source: String,
    /// Last part of the executable's path.
    pub program: String,
    /// Number of runs compared with.
    pub others: u64,
    /// True if the run was slow all the time.
    pub all_the_time: bool,
    /// Start of the slow span, ns since the run's start.
    pub from_ns: u64,
    /// Start of the slow span, ns since 1970-01-01 UTC.
    pub from_unix_ns: i64,
    /// End of the slow span, ns since the run's start; `None` for the end of its reads and writes.
    pub until_ns: Option<u64>,
    /// Slow calls, by start.
    pub calls: Vec<SlowCalls>,
    /// Excess time of the slow calls over those of the others, summed over processes, ns.
    pub longer_ns: u64,
    /// Excess length of the run over the others, ns; 0 if it was not longer.
    pub run_longer_ns: u64,
    /// Summary in a sentence.
    pub sentence: String,
}

/// Description of a run for reports.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Known {
    /// True if the run was read now: only new runs are judged.
    #[serde(skip)]
    pub(super) is_new: bool,
    /// True if the run was slow when it was read.
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
    let calls = slow.calls.iter().map(|one| format!("{} took {} times as long", one.does.plural(), times(one.slower)));
    let longer = match slow.run_longer_ns {
        0 => String::new(),
        ns => format!("; the run took {} longer", units::duration(ns)),
    };
    format!(
        "Of {} runs of {} that did the same, {} was slow {when}: {}{longer}.",
        slow.others + 1,
        slow.program,
        slow.job,
        calls.collect::<Vec<String>>().join(", ")
    )
}
