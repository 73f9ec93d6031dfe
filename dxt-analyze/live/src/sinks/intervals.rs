//! Interval sums as JSON lines: one line per group, and one for the numbers of calls that the agent missed or lost.

use super::Sink;
use super::file::Output;
use crate::interval::{BUCKETS, Group, Interval, LeftOut, NotSeen};
use anyhow::Result;
use serde::Serialize;
use std::path::PathBuf;

pub(crate) struct Intervals(Output);

#[derive(Serialize)]
struct Line<'a> {
    begin_unix_ns: i64,
    length_ns: u64,
    #[serde(flatten)]
    group: &'a Group,
    calls: u64,
    bytes: u64,
    time_ns: u64,
    longest_ns: u64,
    counted: i64,
    /// Nonempty buckets of the size histogram, each as (smallest size in bytes, number of calls).
    sizes: Vec<(u64, u64)>,
    durations_ns: Vec<(u64, u64)>,
}

#[derive(Serialize)]
struct NotSeenLine<'a> {
    begin_unix_ns: i64,
    not_seen: NotSeen,
    left_out: &'a LeftOut,
}

/// Returns the nonempty buckets of a histogram, each as (smallest value, number of calls).
fn filled(buckets: &[u64; BUCKETS]) -> Vec<(u64, u64)> {
    let all = buckets.iter().enumerate().filter(|(_, count)| **count > 0);
    all.map(|(bucket, count)| (if bucket == 0 { 0 } else { 1 << (bucket - 1) }, *count)).collect()
}

impl Intervals {
    pub(crate) fn new(path: Option<PathBuf>) -> Self {
        Self(Output::new(path, "{\"begin_unix_ns\":"))
    }
}

impl Sink for Intervals {
    fn wants_events(&self) -> bool {
        false
    }

    fn begin(&mut self, position: Option<u64>) -> Result<()> {
        self.0.begin(position)
    }

    fn interval(&mut self, interval: &Interval) -> Result<()> {
        let mut text = Vec::new();
        for (group, sums) in &interval.sums {
            let line = Line {
                begin_unix_ns: interval.begin_unix_ns,
                length_ns: interval.length_ns,
                group,
                calls: sums.calls,
                bytes: sums.bytes,
                time_ns: sums.time_ns,
                longest_ns: sums.longest_ns,
                counted: sums.counted,
                sizes: filled(&sums.sizes),
                durations_ns: filled(&sums.durations),
            };
            serde_json::to_writer(&mut text, &line)?;
            text.push(b'\n');
        }
        let line = NotSeenLine {
            begin_unix_ns: interval.begin_unix_ns,
            not_seen: interval.not_seen,
            left_out: &interval.left_out,
        };
        serde_json::to_writer(&mut text, &line)?;
        text.push(b'\n');
        self.0.write(&text)
    }

    fn settle(&mut self) -> Result<Option<u64>> {
        self.0.settle()
    }
}
