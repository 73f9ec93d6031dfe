//! Finds time ranges in which a process made calls but has no segments: its trace buffer was full, or Darshan's DXT ran out of memory.
//! Charts show these ranges hatched, to distinguish unrecorded calls from no calls.

use super::axes::Axis;
use crate::model::{FileId, Process, ProcessId, Run};
use crate::shared::completeness::{cut_files, heat_goes_on};
use serde::Serialize;
use std::collections::BTreeMap;

/// Time range in which a process made calls but has no segments, of one file if known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unseen {
    /// Process that made the calls, as an index into [`Run::processes`].
    pub process: ProcessId,
    /// File that the calls are on, as an index into [`Run::files`]; `None` if the files are unknown.
    pub file: Option<FileId>,
    /// Start of the time range without segments, ns since the job's start.
    pub from_ns: u64,
    /// End of the time range without segments, ns since the job's start.
    pub until_ns: u64,
}

/// Time ranges with calls but without segments in one row of a chart, merged from the first start to the last end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct UnseenRow {
    /// Index of the row in its chart.
    pub row: u32,
    /// Start of the row's first time range without segments, ns since the job's start.
    pub from_ns: u64,
    /// End of the row's last time range without segments, ns since the job's start.
    pub until_ns: u64,
    /// Number of processes with calls but without segments in the row.
    pub processes: u64,
}

/// Kind of the rows in a chart, by which time ranges are assigned to rows.
#[derive(Clone, Copy, Debug)]
pub enum By<'a> {
    /// Rows show ranks or nodes; time ranges are assigned by process.
    Process(&'a Axis),
    /// Rows show files; time ranges are assigned by file.
    File(&'a Axis),
    /// Rows show storage targets; the value is their number. Calls without segments may belong to any target.
    Any(usize),
}

/// Returns all time ranges of a run with calls but without segments.
#[must_use]
pub fn unseen(run: &Run) -> Vec<Unseen> {
    let mut out = Vec::new();
    for (number, process) in run.numbered_processes() {
        if process.data_only {
            of_dxt(run, number, process, &mut out);
        } else {
            of_full_buffer(run, number, process, &mut out);
        }
    }
    out
}

/// Adds the time ranges of a process from Darshan's DXT, which keeps only the first segments: from the last segment to the end of the run.
fn of_dxt(run: &Run, number: ProcessId, process: &Process, out: &mut Vec<Unseen>) {
    let ends = process.blocks.iter().map(|block| block.head.max_end.saturating_add(process.shift_ns));
    let Some(from_ns) = ends.max() else { return };
    let until_ns = process.end_ns.max(run.span().1);
    let one = |file| Unseen { process: number, file, from_ns, until_ns };
    let before = out.len();
    out.extend(cut_files(run, process, from_ns).into_iter().map(|(file, _)| one(Some(file))));
    if out.len() == before && heat_goes_on(run, process) {
        out.push(one(None));
    }
}

/// Adds the time ranges of a process whose trace buffer was full: further calls have only counters, with their first start and last end.
fn of_full_buffer(run: &Run, number: ProcessId, process: &Process, out: &mut Vec<Unseen>) {
    let mut files: BTreeMap<FileId, (u64, u64)> = BTreeMap::new();
    for (stream, counters) in run.missing_of(process).filter(|(_, counters)| counters.segments > 0) {
        let place = |time: u64| time.saturating_add(process.shift_ns);
        let (from, until) = files.entry(stream.file).or_insert((u64::MAX, 0));
        *from = (*from).min(place(counters.first_start));
        *until = (*until).max(place(counters.last_end));
    }
    let files = files.into_iter().filter(|(_, (from, until))| from < until);
    out.extend(files.map(|(file, (from_ns, until_ns))| Unseen {
        process: number,
        file: Some(file),
        from_ns,
        until_ns,
    }));
}

/// Merges the time ranges of each row of a chart; omits rows without time ranges.
#[must_use]
pub fn by_row(all: &[Unseen], by: By<'_>) -> Vec<UnseenRow> {
    let mut rows: BTreeMap<u32, (UnseenRow, Option<ProcessId>)> = BTreeMap::new();
    let mut add = |row: u32, one: &Unseen| {
        let none = UnseenRow { row, from_ns: u64::MAX, until_ns: 0, processes: 0 };
        let (sum, last) = rows.entry(row).or_insert((none, None));
        sum.from_ns = sum.from_ns.min(one.from_ns);
        sum.until_ns = sum.until_ns.max(one.until_ns);
        // Time ranges of one process are adjacent.
        sum.processes += u64::from(*last != Some(one.process));
        *last = Some(one.process);
    };
    for one in all {
        match by {
            By::Process(axis) => axis.row(one.process.0).into_iter().for_each(|row| add(row as u32, one)),
            By::File(axis) => {
                one.file.and_then(|file| axis.row(file.0)).into_iter().for_each(|row| add(row as u32, one));
            }
            By::Any(rows) => (0..rows as u32).for_each(|row| add(row, one)),
        }
    }
    rows.into_values().map(|(row, _)| row).collect()
}

/// Merges all time ranges of one file; `None` if the file has none.
#[must_use]
pub fn of_file(all: &[Unseen], file: FileId) -> Option<UnseenRow> {
    let its: Vec<Unseen> = all.iter().filter(|one| one.file == Some(file)).copied().collect();
    by_row(&its, By::Any(1)).into_iter().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(process: u32, file: u32, from_ns: u64, until_ns: u64) -> Unseen {
        Unseen { process: ProcessId(process), file: Some(FileId(file)), from_ns, until_ns }
    }

    #[test]
    fn a_row_lacks_what_its_members_lack_and_each_process_counts_once() {
        let all = [one(0, 0, 5, 9), one(0, 1, 7, 20), one(1, 0, 4, 6), one(3, 1, 1, 2)];
        let axis = Axis { row_of: vec![0, 0, 1, u32::MAX], ..Axis::default() };
        let row = |row, from_ns, until_ns, processes| UnseenRow { row, from_ns, until_ns, processes };
        assert_eq!(by_row(&all, By::Process(&axis)), [row(0, 4, 20, 2)]);
        assert_eq!(by_row(&all, By::File(&axis)), [row(0, 1, 20, 3)]);
        assert_eq!(by_row(&all, By::Any(2)), [row(0, 1, 20, 3), row(1, 1, 20, 3)]);
        assert_eq!(of_file(&all, FileId(0)), Some(row(0, 4, 9, 2)));
        assert_eq!(of_file(&all, FileId(7)), None);
    }
}
