//! Computes how long each file was open, and how much of that time passed in calls; the rest is idle (Carns et al., 2009, Figure 7b).

use super::steps::Handles;
use crate::model::{FileId, Process, ProcessId, Run, StreamIx, Users, Within};
use crate::shared::totals::StreamTotal;
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::collections::BTreeMap;
use trace_format::counters::Counters;
use trace_format::op::{Layer, OpClass};

/// Time for which one file was open, and time in calls on it, summed over processes, ns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OpenRow {
    /// Path of the opened file.
    pub file: String,
    /// Number of processes that opened the file.
    pub processes: u64,
    /// Time between open and close of the file, summed over processes, ns.
    pub open_ns: u64,
    /// Time in MPI-IO calls on the file, ns.
    pub mpiio_ns: u64,
    /// Time in POSIX calls on the file, including POSIX calls made inside MPI-IO, ns.
    pub posix_ns: u64,
    /// Time in calls on the file that the program itself made, at any layer, ns.
    pub called_ns: u64,
    /// Time in which the file was open while no call of the program on it was in progress, ns.
    pub idle_ns: u64,
    /// True if `open_ns` runs from each process's first open to its last close, because single opens and closes are not recorded.
    pub estimated: bool,
}

/// Opens and closes of a file made by one caller (program or library).
#[derive(Clone, Copy, Debug, Default)]
struct Level {
    opens: u64,
    closes: u64,
    /// Opens that have a segment: their number, and the sums of their start and end times.
    opened: Handles,
    /// Closes that have a segment: their number, and the sums of their start and end times.
    closed: Handles,
    /// Start of the caller's first open of the file, ns since the job's start; `None` without an open.
    first: Option<u64>,
    /// End of the caller's last close of the file, ns since the job's start.
    last: u64,
}

/// Use of one file by one process.
#[derive(Clone, Copy, Debug, Default)]
struct Use {
    /// Outermost caller (program or library) that opened the file; `None` until an open is seen.
    opener: Option<Within>,
    level: Level,
    mpiio_ns: u64,
    posix_ns: u64,
    called_ns: u64,
    last_call: u64,
    /// True if the program itself made calls on the file. Files used only inside MPI-IO (such as files for its lock test) are omitted.
    called: bool,
}

impl Use {
    fn add(
        &mut self,
        place: (Option<Layer>, Option<OpClass>, Within),
        handle: Option<Handles>,
        counters: &Counters,
        shift: u64,
    ) {
        let (layer, class, within) = place;
        let sums = [
            (layer == Some(Layer::Mpiio), &mut self.mpiio_ns),
            (layer == Some(Layer::Posix), &mut self.posix_ns),
            (within == Within::Nothing, &mut self.called_ns),
        ];
        for (_, sum) in sums.into_iter().filter(|(is, _)| *is) {
            *sum = sum.saturating_add(counters.duration);
        }
        self.called |= within == Within::Nothing;
        let last = counters.last_end.saturating_add(shift);
        self.last_call = self.last_call.max(last);
        let Some(handle) = handle.filter(|_| within != Within::Overview) else { return };
        match self.opener {
            // Opens and closes made inside another layer's open or close would be counted twice.
            Some(opener) if opener < within => return,
            Some(opener) if opener == within => {}
            _ => (self.opener, self.level) = (Some(within), Level::default()),
        }
        let level = &mut self.level;
        let (calls, sum) = match class {
            Some(OpClass::Open) => {
                let first = counters.first_start.saturating_add(shift);
                level.first = Some(level.first.map_or(first, |known| known.min(first)));
                (&mut level.opens, &mut level.opened)
            }
            _ => {
                level.last = level.last.max(last);
                (&mut level.closes, &mut level.closed)
            }
        };
        *calls = calls.saturating_add(counters.segments);
        sum.calls += handle.calls;
        sum.starts += handle.starts;
        sum.ends += handle.ends;
    }

    /// Returns the open time of the file in ns, and true if it is an estimate; `None` if the file was not opened. A file that is never
    /// closed counts as open until the process ends. Overlapping opens count at most from the first open to the end.
    fn open_ns(&self, process: &Process, was_log: bool) -> Option<(u64, bool)> {
        let level = Some(&self.level).filter(|level| level.opens > 0 && self.called)?;
        let until = match level.closes >= level.opens {
            true => level.last,
            // Darshan logs have no count of closes: the end of the last call (normally the last close) counts as the close.
            false if was_log => self.last_call,
            false => process.end_ns.max(self.last_call),
        };
        let span = until.saturating_sub(level.first.unwrap_or(until));
        let on_record = (level.opened.calls, level.closed.calls) == (level.opens, level.closes);
        let Some(left) = level.opens.checked_sub(level.closes).filter(|_| on_record && !was_log) else {
            return Some((span, level.opens > 1 || !on_record));
        };
        let ends = level.closed.ends + u128::from(left) * u128::from(until);
        let held = u64::try_from(ends.saturating_sub(level.opened.starts)).unwrap_or(u64::MAX);
        Some((held.min(span), false))
    }
}

/// Returns all files that were opened, longest open time first.
#[must_use]
pub fn rows(run: &Run, totals: &[StreamTotal], handles: &FxHashMap<(ProcessId, StreamIx), Handles>) -> Vec<OpenRow> {
    let mut files: BTreeMap<FileId, (OpenRow, Vec<ProcessId>)> = BTreeMap::new();
    for of_one in totals.chunk_by(|a, b| a.process == b.process) {
        let Some(number) = of_one.first().map(|total| total.process) else { continue };
        let Some(process) = run.process(number) else { continue };
        let mut uses: BTreeMap<FileId, Use> = BTreeMap::new();
        for total in of_one {
            let Some(stream) = process.stream(total.stream) else { continue };
            let op = run.op(stream);
            let is_handle =
                matches!(op.class, Some(OpClass::Open | OpClass::Close)) && stream.data_set.is_none() && !stream.failed;
            let handle = is_handle.then(|| handles.get(&(number, total.stream)).copied().unwrap_or_default());
            let place = (op.layer, op.class, stream.within());
            uses.entry(stream.file).or_default().add(place, handle, &total.all, process.shift_ns);
        }
        for (file, of_file) in uses {
            let Some((open_ns, estimated)) = of_file.open_ns(process, run.was_log()) else { continue };
            let (row, users) = files.entry(file).or_default();
            // A record that stands for several ranks has the sum of the ranks' calls, but only one first and one last time.
            let ranks = run.ranks_of(process, file, None);
            let open_ns = open_ns.saturating_mul(ranks);
            row.open_ns = row.open_ns.saturating_add(open_ns);
            row.mpiio_ns = row.mpiio_ns.saturating_add(of_file.mpiio_ns);
            row.posix_ns = row.posix_ns.saturating_add(of_file.posix_ns);
            row.called_ns = row.called_ns.saturating_add(of_file.called_ns);
            row.idle_ns = row.idle_ns.saturating_add(open_ns.saturating_sub(of_file.called_ns));
            row.estimated |= estimated || ranks > 1;
            users.push(number);
        }
    }
    let row = |(number, (row, users)): (FileId, (OpenRow, Vec<ProcessId>))| {
        let file = run.file(number)?.name.clone();
        Some(OpenRow { file, processes: Users::of(run, users, number, None).count(), ..row })
    };
    let mut out: Vec<OpenRow> = files.into_iter().filter_map(row).collect();
    out.sort_by(|a, b| b.open_ns.cmp(&a.open_ns).then_with(|| a.file.cmp(&b.file)));
    out
}
