//! Measures one of the two runs: totals and samples of its operations, ranks and files, in one pass.

use super::sums::{UnitSum, by_rank};
use crate::model::{FileId, Run, Users, Within};
use crate::scan::{Lost, Progress, scan};
use crate::shared::groups::Group;
use crate::shared::stats::Sample;
use crate::shared::totals::{self, StreamTotal, Totals};
use crate::topics::outliers::distribution::{Distribution, GroupSample, Metric};
use std::collections::BTreeMap;
use trace_format::op::OpClass;

/// Totals and samples of one operation in one run.
#[derive(Clone, Debug, Default)]
pub struct Operation {
    /// Number, bytes and time of successful calls, including calls that have only counters and no segment.
    pub sum: UnitSum,
    /// True if the operation moves bytes (reads and writes).
    pub is_data: bool,
    /// Sample of the durations of single calls, ns.
    pub durations: Sample,
    /// Sample of the bandwidths of single reads or writes, bytes per second.
    pub bandwidths: Sample,
    /// Totals of the operation's calls, by rank number.
    pub ranks: BTreeMap<u64, UnitSum>,
}

/// Totals of one file in one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileSum {
    /// All calls that the program itself made on the file.
    pub calls: UnitSum,
    /// Bytes that the program itself read from the file.
    pub read: u64,
    /// Bytes that the program itself wrote to the file.
    pub written: u64,
    /// Time in reads and writes of the file, ns.
    pub data_ns: u64,
}

impl FileSum {
    /// Adds the totals of another file of the same run.
    pub fn merge(&mut self, other: &Self) {
        self.calls.merge(&other.calls);
        self.read = self.read.saturating_add(other.read);
        self.written = self.written.saturating_add(other.written);
        self.data_ns = self.data_ns.saturating_add(other.data_ns);
    }

    /// Returns the sum of the bytes read from and written to the file.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.read.saturating_add(self.written)
    }
}

/// Measurements of one run: totals per operation, rank and file.
#[derive(Debug)]
pub struct Side {
    /// Totals and samples of each operation.
    pub operations: BTreeMap<Group, Operation>,
    /// Totals of the program's own reads and writes, by rank number.
    pub ranks: BTreeMap<u64, UnitSum>,
    /// Totals of the program's own calls on each file.
    pub files: BTreeMap<FileId, FileSum>,
    /// Processes that read or write on behalf of MPI-IO.
    pub aggregators: Users,
    /// Time in all I/O calls that the program itself made, summed over processes, ns.
    pub time_ns: u64,
    /// Number of segments and blocks of the trace that could not be decoded.
    pub lost: Lost,
}

/// Measures a run (totals per operation, rank and file) in one pass over its segments.
#[must_use]
pub fn measure(run: &Run, progress: &dyn Progress) -> Side {
    let all: Vec<Option<Group>> =
        run.ops.iter().flat_map(|op| [false, true].map(|nested| Some(Group::new(op, nested)))).collect();
    let data = crate::shared::groups::data_groups(run);
    let durations = Distribution { groups: &all, metric: Metric::Duration };
    let bandwidths = Distribution { groups: &data, metric: Metric::Bandwidth };
    let ((partial, (durations, bandwidths)), lost) = scan(run, &(Totals, (durations, bandwidths)), progress);
    let totals = totals::with_missing(run, partial);
    let by_rank = by_rank(run, &all, &totals);
    let operations = operations(run, &all, &totals, durations, bandwidths, by_rank);
    let mut side = Side {
        operations,
        ranks: BTreeMap::new(),
        files: BTreeMap::new(),
        aggregators: Users::default(),
        time_ns: 0,
        lost,
    };
    totals.iter().for_each(|total| side.add(run, total));
    side
}

fn operations(
    run: &Run,
    groups: &[Option<Group>],
    totals: &[StreamTotal],
    durations: Vec<GroupSample>,
    bandwidths: Vec<GroupSample>,
    mut by_rank: BTreeMap<Group, BTreeMap<u64, UnitSum>>,
) -> BTreeMap<Group, Operation> {
    let mut out: BTreeMap<Group, Operation> = BTreeMap::new();
    let samples = groups.iter().zip(durations.into_iter().zip(bandwidths)).enumerate();
    for (index, (group, (durations, bandwidths))) in samples {
        let Some(group) = group else { continue };
        let operation = out.entry(group.clone()).or_default();
        operation.is_data |= run.ops.get(index / 2).is_some_and(crate::model::Op::is_data);
        operation.durations.merge(durations.sample);
        operation.bandwidths.merge(bandwidths.sample);
    }
    for total in totals {
        let stream = run.process(total.process).and_then(|one| one.stream(total.stream));
        let Some(stream) = stream else { continue };
        let group = crate::shared::groups::group_of(groups, stream).and_then(|index| groups.get(index)?.as_ref());
        if let Some(operation) = group.and_then(|group| out.get_mut(group)) {
            operation.sum.merge(&sum_of(total));
        }
    }
    for (group, operation) in &mut out {
        operation.ranks = by_rank.remove(group).unwrap_or_default();
    }
    out.retain(|_, operation| operation.sum.operations > 0);
    out
}

fn sum_of(total: &StreamTotal) -> UnitSum {
    UnitSum { operations: total.all.segments, bytes: total.all.bytes, time_ns: total.all.duration }
}

impl Side {
    fn add(&mut self, run: &Run, total: &StreamTotal) {
        let Some(process) = run.process(total.process) else { return };
        let Some(stream) = process.stream(total.stream) else { return };
        if stream.within() == Within::Mpiio && !stream.failed && run.op(stream).is_data() {
            self.aggregators.add(run, total.process, stream.file, run.op(stream).layer);
        }
        if stream.failed || stream.within() != Within::Nothing {
            return;
        }
        let sum = sum_of(total);
        let class = run.op(stream).class;
        let file = self.files.entry(stream.file).or_default();
        file.calls.merge(&sum);
        self.time_ns = self.time_ns.saturating_add(sum.time_ns);
        let moved = match class {
            Some(OpClass::Read) => &mut file.read,
            Some(OpClass::Write) => &mut file.written,
            _ => return,
        };
        *moved = moved.saturating_add(sum.bytes);
        file.data_ns = file.data_ns.saturating_add(sum.time_ns);
        if let Some(rank) = u64::try_from(process.rank).ok().filter(|_| process.reduction.is_none()) {
            self.ranks.entry(rank).or_default().merge(&sum);
        }
    }
}
