//! Time and bytes in each stage of the flush, in which the tracer encodes, compresses and writes a trace file (FORMAT.md §5.4).

use crate::render::{Cell, Table};
use serde::Serialize;
use std::collections::BTreeMap;
use trace_format::Segment;
use trace_format::frame::FlushStage;
use trace_format::read::{Region, RegionRef};

/// Flush times and bytes, summed over the processes that recorded their flush times.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Flushed {
    /// Number of processes that recorded flush times.
    pub processes: u64,
    /// Size of the segments in memory, in bytes: 32 per segment.
    pub raw_bytes: u64,
    /// Size of the segments encoded as columns, before compression, in bytes.
    pub column_bytes: u64,
    /// Size of the segments after compression, in bytes.
    pub compressed_bytes: u64,
    /// All bytes written by the processes that recorded flush times, including metadata, block heads and checksums.
    pub written_bytes: u64,
    /// `raw_bytes` / `written_bytes`; `None` without segments.
    pub compression_ratio: Option<f64>,
    /// Number of segments that were encoded and compressed while the program was running; the time for that is in no stage.
    pub packed_segments: u64,
    /// Time of each stage of the flush (writing of a trace file), in order.
    pub stages: Vec<StageTime>,
    /// Time of all stages together: sum and maximum over processes.
    pub whole: Times,
}

/// Time that one stage of the flush took.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StageTime {
    /// Stage of the flush (writing of a trace file) that took the time.
    pub stage: FlushStage,
    /// Time of the stage: sum and maximum over processes.
    #[serde(flatten)]
    pub times: Times,
}

/// Sum and maximum of a time over processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Times {
    /// Sum of the time over processes, ns.
    pub sum_ns: u64,
    /// Time of the process that took longest, ns.
    pub longest_ns: u64,
    /// Rank of the slowest process, if it has a rank; the lowest of several equally slow ranks.
    pub longest_rank: Option<i32>,
}

impl Times {
    fn merge(&mut self, other: Self) {
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        let key = |times: &Self| (times.longest_ns, std::cmp::Reverse(times.longest_rank.unwrap_or(i32::MAX)));
        if key(&other) > key(self) {
            (self.longest_ns, self.longest_rank) = (other.longest_ns, other.longest_rank);
        }
    }
}

impl Flushed {
    /// Returns the flush statistics of one process's region in a trace file; `None` if the region has no flush frame.
    #[must_use]
    pub fn of(place: &RegionRef, region: &Region) -> Option<Self> {
        let times = region.flush?;
        let process = region.process.as_ref();
        let rank = process.and_then(|process| match process.reduction.ranks {
            0 => (process.info.rank >= 0).then_some(process.info.rank),
            _ => Some(0),
        });
        let sum = |bytes: fn(&trace_format::read::BlockRef) -> u32| {
            region.blocks.iter().map(|block| u64::from(bytes(block))).sum::<u64>()
        };
        let one = |ns: u64| Times { sum_ns: ns, longest_ns: ns, longest_rank: rank };
        let stages = FlushStage::ALL.map(|stage| StageTime { stage, times: one(times.of(stage)) });
        let mut all = Self {
            processes: 1,
            raw_bytes: sum(|block| block.head.segments) * size_of::<Segment>() as u64,
            column_bytes: sum(|block| block.frame.raw),
            compressed_bytes: sum(|block| block.frame.stored),
            written_bytes: place.length,
            compression_ratio: None,
            packed_segments: times.packed_segments,
            stages: stages.to_vec(),
            whole: one(times.total_ns()),
        };
        all.set_ratio();
        Some(all)
    }

    /// Adds the flush statistics of another region or file.
    pub fn merge(&mut self, other: &Self) {
        let sums = [
            (&mut self.processes, other.processes),
            (&mut self.raw_bytes, other.raw_bytes),
            (&mut self.column_bytes, other.column_bytes),
            (&mut self.compressed_bytes, other.compressed_bytes),
            (&mut self.written_bytes, other.written_bytes),
            (&mut self.packed_segments, other.packed_segments),
        ];
        sums.into_iter().for_each(|(sum, more)| *sum = sum.saturating_add(more));
        if self.stages.is_empty() {
            self.stages.clone_from(&other.stages);
        } else {
            self.stages.iter_mut().zip(&other.stages).for_each(|(own, other)| own.times.merge(other.times));
        }
        self.whole.merge(other.whole);
        self.set_ratio();
    }

    fn set_ratio(&mut self) {
        let known = self.raw_bytes > 0 && self.written_bytes > 0;
        self.compression_ratio = known.then(|| self.raw_bytes as f64 / self.written_bytes as f64);
    }

    /// Returns the number of bytes before and after a stage; (`None`, `None`) if the stage does not transform data.
    const fn bytes(&self, stage: FlushStage) -> (Option<u64>, Option<u64>) {
        match stage {
            // Without segments, the flush wrote only counters.
            _ if self.raw_bytes == 0 => (None, None),
            FlushStage::Gather => (None, Some(self.raw_bytes)),
            FlushStage::Encode => (Some(self.raw_bytes), Some(self.column_bytes)),
            FlushStage::Compress => (Some(self.column_bytes), Some(self.compressed_bytes)),
            FlushStage::Write => (Some(self.written_bytes), Some(self.written_bytes)),
            FlushStage::Agree | FlushStage::Open | FlushStage::Repair | FlushStage::Other => (None, None),
        }
    }
}

/// Table row: one stage of the flush, or the sum of all stages.
struct Row<'a> {
    job: &'a str,
    flushed: &'a Flushed,
    stage: &'static str,
    times: Times,
    bytes: (Option<u64>, Option<u64>),
}

/// Maximum rows of the table of flush times that people see: a few jobs, with a row per stage of the flush.
const SHOWN: usize = 36;

pub(super) fn table<'a>(files: impl Iterator<Item = (&'a str, &'a Flushed)>) -> Table {
    let mut jobs: BTreeMap<&str, Flushed> = BTreeMap::new();
    files.for_each(|(job, flushed)| jobs.entry(job).or_default().merge(flushed));
    let rows: Vec<Row<'_>> = jobs
        .iter()
        .flat_map(|(job, flushed)| {
            let stage = |one: &StageTime| Row {
                job,
                flushed,
                stage: one.stage.name(),
                times: one.times,
                bytes: flushed.bytes(one.stage),
            };
            let bytes = (Some(flushed.raw_bytes), Some(flushed.written_bytes));
            let whole = Row { job, flushed, stage: "all", times: flushed.whole, bytes };
            flushed.stages.iter().map(stage).chain([whole])
        })
        .collect();
    let bytes = |bytes: Option<u64>| bytes.map_or(Cell::None, Cell::Bytes);
    // The cell is empty if this kind of flush does not have the stage.
    let time = |row: &Row<'_>, ns: u64| if row.times.sum_ns == 0 { Cell::None } else { Cell::Duration(ns) };
    let ratio = |row: &Row<'_>| match row.bytes {
        (Some(from @ 1..), Some(to @ 1..)) if row.stage != FlushStage::Write.name() => {
            Cell::Times(from as f64 / to as f64)
        }
        _ => Cell::None,
    };
    Table::of("flush", "Time to write the trace, and bytes of its segments before and after each stage", rows)
        .column("Job", "job", |row: &Row<'_>| Cell::text(row.job))
        .column("Stage", "stage", |row| Cell::text(row.stage))
        .column("Processes", "processes", |row| Cell::Count(row.flushed.processes))
        .column("Mean", "mean_s", |row| time(row, row.times.sum_ns / row.flushed.processes.max(1)))
        .column("Longest", "longest_s", |row| time(row, row.times.longest_ns))
        .column("Rank", "longest_rank", |row| {
            let rank = row.times.longest_rank.filter(|_| row.times.sum_ns > 0);
            rank.map_or(Cell::None, |rank| Cell::Number(rank.into()))
        })
        .column("In", "bytes_in", move |row| bytes(row.bytes.0))
        .column("Out", "bytes_out", move |row| bytes(row.bytes.1))
        .column("Ratio", "ratio", ratio)
        .csv("packed_segments", |row| Cell::Count(row.flushed.packed_segments))
        .most(SHOWN)
        .done()
}
