//! Choice of the data for the figures: the file with most bytes, and the calls on it made by the outermost caller.

use super::super::places::is_data;
use crate::model::{FileId, Op, Process, ProcessId, Run, Stream, Within};
use crate::render::figure::COLOURS;
use crate::shared::totals::StreamTotal;
use crate::topics::timeline::span::Span;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use trace_format::op::{Layer, OpClass};

/// Maximum number of time bins of the figures.
pub const BINS: u32 = 240;
/// Maximum number of offset rows in the figure of offsets over time.
pub const ROWS: u64 = 96;
/// Colour index of a process without calls on the file.
pub const NO_INK: u8 = u8::MAX;

/// Data to draw: one file, its calls, and the figures' axes.
#[derive(Clone, Debug)]
pub struct Choice {
    /// File that is drawn, as an index into [`Run::files`].
    pub file: FileId,
    /// Caller of the calls drawn: the program, or a library that makes them inside its own calls.
    pub within: Within,
    /// Names of the interfaces of the calls, as in `POSIX`.
    pub layers: BTreeSet<&'static str>,
    /// Time from the first drawn call to the last, divided into time bins.
    pub span: Span,
    /// Base-2 logarithm of the number of bytes per row in the figure of offsets.
    pub row_shift: u32,
    /// Number of rows in the figure of offsets; 0 if no call has an offset.
    pub rows: u32,
    /// Colour index of each process; [`NO_INK`] for a process that is not drawn.
    pub inks: Vec<u8>,
    /// Label of each colour in the legend.
    pub legend: Vec<String>,
}

/// Calls of one operation, file and caller that may be drawn.
struct Candidate<'a> {
    total: &'a StreamTotal,
    file: FileId,
    within: Within,
    layer: Layer,
    shift_ns: u64,
}

/// Chooses the file with most bytes read and written. `None` if no bytes were moved, or if no calls were recorded individually.
#[must_use]
pub fn choose(run: &Run, totals: &[StreamTotal]) -> Option<Choice> {
    let all: Vec<Candidate<'_>> = totals.iter().filter_map(|total| candidate(run, total)).collect();
    let outermost = all.iter().map(|one| one.within == Within::Nothing).max()?;
    let mut bytes: FxHashMap<FileId, u64> = FxHashMap::default();
    for one in all.iter().filter(|one| !outermost || one.within == Within::Nothing) {
        let sum = bytes.entry(one.file).or_default();
        *sum = sum.saturating_add(one.total.all.bytes);
    }
    let file = bytes.into_iter().max_by_key(|&(file, bytes)| (bytes, std::cmp::Reverse(file)))?.0;
    // HDF5 calls have no offset, but the calls inside them do.
    let has_offset = |one: &&Candidate<'_>| one.total.all.max_end_offset > 0;
    let of_file = || all.iter().filter(|one| one.file == file);
    let within = of_file().filter(has_offset).map(|one| one.within).min();
    let within = within.or_else(|| of_file().map(|one| one.within).min())?;
    let drawn: Vec<&Candidate<'_>> = of_file().filter(|one| one.within == within).collect();
    let from_ns = drawn.iter().map(|one| one.total.all.first_start.saturating_add(one.shift_ns)).min()?;
    let until_ns = drawn.iter().map(|one| one.total.all.last_end.saturating_add(one.shift_ns)).max()?;
    // Same rule as for the time axes of the HTML report's charts.
    let from_ns = if from_ns < until_ns - until_ns / 2 { 0 } else { from_ns };
    let (from_ns, until_ns) =
        run.window.map_or((from_ns, until_ns), |window| (from_ns.max(window.0), until_ns.min(window.1)));
    let end = drawn.iter().map(|one| u64::try_from(one.total.all.max_end_offset).unwrap_or(0)).max()?;
    let row_shift = end.div_ceil(ROWS).max(1).checked_next_power_of_two().map_or(63, u64::trailing_zeros);
    let users: BTreeSet<ProcessId> = drawn.iter().map(|one| one.total.process).collect();
    let (inks, legend) = colours(run, &users);
    Some(Choice {
        file,
        within,
        layers: drawn.iter().map(|one| one.layer.name()).collect(),
        span: Span::new(from_ns, until_ns.max(from_ns), BINS),
        row_shift,
        rows: (end >> row_shift) as u32 + u32::from(end & ((1 << row_shift) - 1) != 0),
        inks,
        legend,
    })
}

fn candidate<'a>(run: &Run, total: &'a StreamTotal) -> Option<Candidate<'a>> {
    let process = run.process(total.process)?;
    let stream = process.stream(total.stream)?;
    let op = run.op(stream);
    let layer = op.layer.filter(|_| is_data(op, stream) && total.missing < total.all.segments)?;
    Some(Candidate { total, file: stream.file, within: stream.within(), layer, shift_ns: process.shift_ns })
}

/// Returns the colour index of each process of the run, and the label of each colour. `users`: processes to draw; if they are more than the
/// colours, consecutive ones share a colour.
fn colours(run: &Run, users: &BTreeSet<ProcessId>) -> (Vec<u8>, Vec<String>) {
    let mut inks = vec![NO_INK; run.processes.len()];
    let mut sorted: Vec<ProcessId> = users.iter().copied().collect();
    let rank = |process: ProcessId| run.process(process).map_or(-1, |process| process.rank);
    sorted.sort_by_key(|&process| (rank(process) < 0, rank(process), process));
    let each = sorted.len().div_ceil(COLOURS.len()).max(1);
    let mut legend = Vec::new();
    for (number, some) in sorted.chunks(each).enumerate() {
        for process in some {
            if let Some(ink) = inks.get_mut(process.index()) {
                *ink = number as u8;
            }
        }
        let name = |process: &ProcessId| run.process_name(*process);
        legend.extend(match some {
            [] => None,
            [one] => Some(name(one)),
            [one, .., last] if rank(*one) >= 0 && rank(*last) >= 0 => {
                Some(format!("ranks {}–{}", rank(*one), rank(*last)))
            }
            [one, .., last] => Some(format!("{} – {}", name(one), name(last))),
        });
    }
    (inks, legend)
}

impl Choice {
    /// Returns, for each stream (one operation, file and caller) of a process, true if its calls write and false if they read; `None` if
    /// they are not drawn.
    pub(super) fn kinds(&self, run: &Run, process: &Process) -> Vec<Option<bool>> {
        let kind = |stream: &Stream| {
            let op: &Op = run.op(stream);
            let drawn = stream.file == self.file && stream.within() == self.within && is_data(op, stream);
            (drawn && op.layer.is_some()).then_some(op.class == Some(OpClass::Write))
        };
        process.streams.iter().map(kind).collect()
    }

    /// Returns the colour index of a process; `None` if it has no calls on the file.
    #[inline]
    pub(super) fn ink(&self, process: ProcessId) -> Option<u8> {
        self.inks.get(process.index()).copied().filter(|&ink| ink != NO_INK)
    }
}
