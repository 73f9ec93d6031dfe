//! Axes of the timeline's grids (rows by time bins): assignment of ranks, nodes, storage targets or files to rows. If there are many,
//! several share a row.

use super::slices::{Slices, files_by_time};
use crate::model::{FileId, FileLayout, Process, Run};
use crate::shared::totals::StreamTotal;
use rustc_hash::FxHashMap;
use serde::Serialize;

/// Maximum number of rows of a grid (rows by time bins).
pub const ROWS: usize = 256;
/// Maximum number of files with a row of their own in the grid of files.
const FILE_ROWS: usize = 63;
/// Maximum number of rows for the offsets of one file in its grid.
pub const OFFSET_ROWS: usize = 96;
/// Maximum number of files whose offsets over time are shown.
pub const OFFSET_FILES: usize = 6;

/// Row of a grid, which shows one or several ranks, nodes, targets or files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// Label of the grid's row, such as `ranks 0–7`.
    pub label: String,
    /// Number of processes (in grids of ranks and of nodes), targets or files that share the row.
    pub members: u64,
}

/// Rows of a grid, and the row of each unit (rank, node, target or file).
#[derive(Clone, Debug, Default)]
pub struct Axis {
    /// Rows of the grid, from top to bottom.
    pub rows: Vec<Row>,
    /// Index of the row of each unit (rank, node, target or file); `u32::MAX` if the unit is not shown.
    pub row_of: Vec<u32>,
    /// Index of the first rank, node, target or file shown.
    pub first: u32,
    /// Number of ranks, nodes, targets or files that share a row.
    pub per_row: u32,
    /// Number of ranks, nodes, targets or files in all rows together.
    pub units: u32,
}

impl Axis {
    /// Returns the row of a unit (rank, node, target or file); `None` if the unit is not shown.
    #[inline]
    #[must_use]
    pub fn row(&self, unit: u32) -> Option<usize> {
        self.row_of.get(unit as usize).filter(|&&row| row != u32::MAX).map(|&row| row as usize)
    }
}

/// Creates the axis of ranks (processes) for the indices `first..end` into [`Run::processes`].
///
/// Skips reduced records (each stands for several ranks), which come first and have no times of single calls.
#[must_use]
pub fn ranks(run: &Run, first: usize, end: usize) -> Axis {
    let end = end.min(run.processes.len());
    let records = run.processes.iter().take_while(|process| !process.reduction.is_none()).count();
    let first = first.max(records).min(end);
    let per_row = (end - first).div_ceil(ROWS).max(1).next_power_of_two();
    let mut row_of = vec![u32::MAX; run.processes.len()];
    let mut rows = Vec::new();
    for (number, chunk) in run.processes.get(first..end).unwrap_or_default().chunks(per_row).enumerate() {
        let name = |process: &Process| match process.rank {
            rank if rank >= 0 => rank.to_string(),
            _ => format!("pid {}", process.pid),
        };
        let label = match chunk {
            [one] if one.rank >= 0 => format!("rank {}", one.rank),
            [one] => name(one),
            [one, .., last] if one.rank >= 0 => format!("ranks {}–{}", one.rank, name(last)),
            [one, .., last] => format!("{} – {}", name(one), name(last)),
            [] => String::new(),
        };
        rows.push(Row { label, members: chunk.len() as u64 });
        let start = first + number * per_row;
        row_of.iter_mut().skip(start).take(chunk.len()).for_each(|row| *row = number as u32);
    }
    Axis { rows, row_of, first: first as u32, per_row: per_row as u32, units: (end - first) as u32 }
}

/// Creates the axis of nodes: `row_of` maps each process to the row of its node, while `per_row` and `units` count nodes.
#[must_use]
pub fn nodes(run: &Run) -> Axis {
    let per_row = run.nodes.len().div_ceil(ROWS).max(1).next_power_of_two();
    let mut rows: Vec<Row> = run
        .nodes
        .chunks(per_row)
        .map(|chunk| {
            let label = match chunk {
                [one, .., last] => format!("{one} – {last}"),
                [one] => one.clone(),
                [] => String::new(),
            };
            Row { label, members: 0 }
        })
        .collect();
    let row_of = |node: u32| if (node as usize) < run.nodes.len() { node / per_row as u32 } else { u32::MAX };
    let row_of: Vec<u32> = run.processes.iter().map(|process| row_of(process.node)).collect();
    for row in &row_of {
        if let Some(row) = rows.get_mut(*row as usize) {
            row.members += 1;
        }
    }
    Axis { rows, row_of, first: 0, per_row: per_row as u32, units: run.nodes.len() as u32 }
}

/// Creates the axis of files: a row for each of the files with most time, and a last row for all others.
#[must_use]
pub fn files(run: &Run, totals: &[StreamTotal]) -> Axis {
    let ranked = files_by_time(run, totals);
    let mut row_of = vec![u32::MAX; run.files.len()];
    let mut rows = Vec::new();
    for (place, &file) in ranked.iter().enumerate() {
        let row = place.min(FILE_ROWS);
        if let Some(slot) = row_of.get_mut(file.index()) {
            *slot = row as u32;
        }
        let name = run.file_name(file).to_owned();
        match rows.get_mut(row) {
            None => rows.push(Row { label: name, members: 1 }),
            Some(Row { label, members }) => {
                *members += 1;
                *label = format!("{members} other files");
            }
        }
    }
    Axis { rows, row_of, first: 0, per_row: 1, units: ranked.len() as u32 }
}

/// Axis of the storage targets that layouts name; a unit is a position in the sorted list of targets.
#[derive(Clone, Debug, Default)]
pub struct Targets {
    /// Rows of the grid of storage targets.
    pub axis: Axis,
    /// Position in the sorted list of storage targets, by index of the target.
    pub place: FxHashMap<u32, u32>,
}

/// Creates the axis of storage targets from the layouts of a run, without guessed layouts.
#[must_use]
pub fn targets(layouts: &[Option<FileLayout>]) -> Targets {
    let known = layouts.iter().flatten().filter(|layout| !layout.is_guess());
    let components = known.flat_map(|layout| &layout.layout.components).filter(|component| component.active);
    let mut numbers: Vec<u32> = components.flat_map(|component| component.targets.iter().copied()).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let per_row = numbers.len().div_ceil(ROWS).max(1).next_power_of_two();
    let rows = numbers.chunks(per_row).map(|chunk| {
        let label = match chunk {
            [one, .., last] => format!("OST {one}–{last}"),
            [one] => format!("OST {one}"),
            [] => String::new(),
        };
        Row { label, members: chunk.len() as u64 }
    });
    let rows = rows.collect();
    let units = numbers.len() as u32;
    let row_of = (0..numbers.len()).map(|place| (place / per_row) as u32).collect();
    let place = numbers.into_iter().enumerate().map(|(place, number)| (number, place as u32)).collect();
    Targets { axis: Axis { rows, row_of, first: 0, per_row: per_row as u32, units }, place }
}

/// Axis of the offsets in one file: each row is an offset range of equal size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Offsets {
    /// File whose offsets are shown, as an index into [`Run::files`].
    pub file: FileId,
    /// Size of a row's offset range, bytes; a power of two.
    pub row_bytes: u64,
    /// Number of rows (offset ranges) of the axis.
    pub rows: u32,
}

impl Offsets {
    /// Returns the index of the row that contains an offset; computed by a shift, since a division for each call would be slow.
    #[inline]
    #[must_use]
    pub fn row(&self, offset: u64) -> u64 {
        let size = self.row_bytes;
        if size.is_power_of_two() { offset >> size.trailing_zeros() } else { offset / size.max(1) }
    }
}

/// Creates the offset axes of the files with most time whose offsets are known.
#[must_use]
pub fn offsets(run: &Run, slices: &Slices, totals: &[StreamTotal]) -> Vec<Offsets> {
    let mut ends: FxHashMap<FileId, u64> = FxHashMap::default();
    for total in totals {
        let process = run.process(total.process);
        let Some(stream) = process.and_then(|process| process.stream(total.stream)) else { continue };
        if stream.storage && !stream.failed {
            let end = ends.entry(stream.file).or_default();
            *end = (*end).max(u64::try_from(total.all.max_end_offset).unwrap_or(0));
        }
    }
    let sized = |&file: &FileId| {
        let end = *ends.get(&file)?;
        let row_bytes = end.div_ceil(OFFSET_ROWS as u64).max(1).checked_next_power_of_two().unwrap_or(1 << 63);
        (end > 0).then(|| Offsets { file, row_bytes, rows: end.div_ceil(row_bytes) as u32 })
    };
    slices.files.iter().filter_map(sized).take(OFFSET_FILES).collect()
}
