//! Selection of a part of a job: `--ranks`, `--files`, `--layer`, `--time`. A run is narrowed once, after loading: processes and blocks
//! that are not selected are dropped and never decoded; streams are only marked as selected or not.

use super::run::{Process, Run};
use super::{FileId, OverProcesses};
use crate::exit::UsageError;
use crate::pattern::Pattern;
use crate::text::units;
use trace_format::op::Layer;

/// Ranks, files, layers and time that the user selected; an empty or absent criterion selects everything.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// First and last rank of each selected range of ranks.
    pub ranks: Vec<(i32, i32)>,
    /// Patterns that select files by name.
    pub files: Vec<Pattern>,
    /// Selected I/O layers.
    pub layers: Vec<Layer>,
    /// Start and end of the selected time window, ns since the job's start; calls that overlap with it are selected. `None` selects all
    /// times.
    pub window: Option<(u64, u64)>,
    /// Selection options as the user wrote them: (option, value).
    pub words: Vec<(&'static str, String)>,
}

/// Parses the argument of `--ranks`: `0`, `4:7`, `:3`, `8:`, separated by commas; both ends of a range are inclusive.
///
/// # Errors
/// Fails with a description of the mistake.
pub fn ranks(text: &str) -> Result<Vec<(i32, i32)>, UsageError> {
    let number = |part: &str, absent: i32| match part.trim() {
        "" => Ok(absent),
        digits => digits.parse().map_err(|_| UsageError(format!("--ranks {text}: '{digits}' is not a rank"))),
    };
    let mut out = Vec::new();
    for item in text.split(',') {
        let (first, last) = item.split_once(':').unwrap_or((item, item));
        let range = (number(first, 0)?, number(last, i32::MAX)?);
        if item.trim().is_empty() || range.0 > range.1 {
            return Err(UsageError(format!("--ranks {text}: '{item}' is not a range of ranks (as in 0,4:7,12:)")));
        }
        out.push(range);
    }
    Ok(out)
}

/// Parses the argument of `--time`: `FROM:UNTIL` in seconds since the job's start, with up to nine decimals; either end may be absent.
///
/// # Errors
/// Fails with a description of the mistake.
pub fn window(text: &str) -> Result<(u64, u64), UsageError> {
    let wrong =
        || UsageError(format!("--time {text}: expected FROM:UNTIL in seconds since the job's start (as in 1.5:3)"));
    let (from, until) = text.split_once(':').ok_or_else(wrong)?;
    let number = |part: &str, absent: u64| match part.trim() {
        "" => Some(absent),
        part => nanoseconds(part),
    };
    let span = (number(from, 0).ok_or_else(wrong)?, number(until, u64::MAX).ok_or_else(wrong)?);
    if span.0 < span.1 { Ok(span) } else { Err(wrong()) }
}

/// Converts decimal seconds to ns, exactly; `None` if `text` is no such number.
fn nanoseconds(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(whole) || !is_number(part) || (whole.is_empty() && part.is_empty()) || part.len() > 9 {
        return None;
    }
    let seconds: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let rest: u64 = format!("{part:0<9}").parse().ok()?;
    seconds.checked_mul(1_000_000_000)?.checked_add(rest)
}

impl Selection {
    /// Returns true if everything is selected.
    #[must_use]
    pub fn is_all(&self) -> bool {
        self.ranks.is_empty() && self.files.is_empty() && self.layers.is_empty() && self.window.is_none()
    }

    pub(super) fn has_rank(&self, rank: i32) -> bool {
        self.ranks.is_empty() || self.ranks.iter().any(|&(first, last)| (first..=last).contains(&rank))
    }

    pub(super) fn has_file(&self, name: &str) -> bool {
        self.files.is_empty() || self.files.iter().any(|pattern| pattern.matches(name))
    }

    pub(super) fn has_layer(&self, layer: Option<Layer>) -> bool {
        self.layers.is_empty() || layer.is_some_and(|layer| self.layers.contains(&layer))
    }
}

impl Run {
    /// Narrows the run to `selection`. Counters of operations without segments are kept only if all these operations lie in the time
    /// window; a remark gives the number of operations for which this is unknown.
    pub fn select(&mut self, selection: Selection) {
        if selection.is_all() {
            return;
        }
        let files: Vec<bool> = self.files.iter().map(|file| selection.has_file(&file.name)).collect();
        let ops: Vec<bool> = self.ops.iter().map(|op| selection.has_layer(op.layer)).collect();
        let has = |files: &[bool], file: FileId| files.get(file.index()).copied().unwrap_or(true);
        self.processes
            .retain(|process| selection.has_rank(process.rank) || (selection.ranks.is_empty() && process.rank < 0));
        let mut unsure = 0;
        for process in &mut self.processes {
            for stream in &mut process.streams {
                stream.chosen = has(&files, stream.file) && ops.get(usize::from(stream.op)).copied().unwrap_or(true);
                stream.storage &= stream.chosen;
            }
            process.profiles.retain(|def| has(&files, FileId(def.file)) && selection.has_layer(Some(def.layer)));
            process.whole.retain(|def| has(&files, FileId(def.file)) && selection.has_layer(Some(def.layer)));
            process
                .reduction
                .spreads
                .retain(|def| has(&files, FileId(def.file)) && selection.has_layer(Some(def.layer)));
            // A heat map covers all files together, so it cannot be narrowed to some files.
            process.heat.retain(|def| selection.files.is_empty() && selection.has_layer(Some(def.layer)));
            let mut memory = std::mem::take(&mut process.memory);
            memory.streams.retain(|used| process.stream_with_id(used.stream).is_some_and(|found| found.chosen));
            // Costs of unaligned memory cover all files together, so they cannot be narrowed to some files.
            memory.costs.retain(|cost| selection.files.is_empty() && selection.has_layer(Some(cost.layer)));
            process.memory = memory;
            if let Some(window) = selection.window {
                unsure += cut_to(process, window);
            }
            let mut missing = std::mem::take(&mut process.missing);
            missing.retain(|def| process.stream_with_id(def.stream).is_none_or(|found| found.chosen));
            process.missing = missing;
        }
        for set in self.data_sets.iter_mut().filter(|set| !has(&files, set.file)) {
            (set.reads, set.writes) = Default::default();
        }
        self.hints.retain(|hint| has(&files, hint.file));
        self.datatypes.retain(|sum| has(&files, sum.file));
        self.datatype_extents.retain(|sum| has(&files, sum.file));
        if unsure > 0 {
            self.remarks.push(format!(
                "{} {}",
                units::counted(unsure, "operation"),
                units::agree(
                    unsure,
                    "has no segment, so its time is not known: --time leaves this operation out",
                    "have no segments, so their time is not known: --time leaves these operations out"
                )
            ));
        }
        self.over_processes = OverProcesses::of(&self.processes);
        self.window = selection.window;
        self.selection = selection.words;
    }
}

/// Drops the data of `process` outside of `window`. Returns the number of dropped operations without segments that may lie in the window.
fn cut_to(process: &mut Process, window: (u64, u64)) -> u64 {
    let shift = process.shift_ns;
    let place = |start: u64, end: u64| (start.saturating_add(shift), end.saturating_add(shift));
    process.blocks.retain(|block| {
        let (start, end) = place(block.head.min_start, block.head.max_end);
        overlaps(start, end, window)
    });
    process.memory = trace_format::meta::MemoryDef::default();
    process.cpu = super::CpuWaits::default();
    process.profiles.clear();
    process.whole.clear();
    process.reduction.spreads.clear();
    let mut unsure = 0_u64;
    process.missing.retain(|missing| {
        let (start, end) = place(missing.counters.first_start, missing.counters.last_end);
        let inside = start >= window.0 && end <= window.1;
        if !inside && overlaps(start, end, window) {
            unsure = unsure.saturating_add(missing.counters.segments);
        }
        inside
    });
    unsure
}

/// True if the interval from `start` to `end` overlaps with `window`.
#[inline]
#[must_use]
pub fn overlaps(start: u64, end: u64, window: (u64, u64)) -> bool {
    start < window.1 && end >= window.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_ranks() {
        assert_eq!(ranks("0,4:7,12:").unwrap(), [(0, 0), (4, 7), (12, i32::MAX)]);
        assert_eq!(ranks(":3").unwrap(), [(0, 3)]);
        for wrong in ["", "a", "1,,2", "5:4", "1-3"] {
            assert!(ranks(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn spans_of_time_are_exact() {
        assert_eq!(window("1.5:3").unwrap(), (1_500_000_000, 3_000_000_000));
        assert_eq!(window(":0.000000001").unwrap(), (0, 1));
        assert_eq!(window("2:").unwrap(), (2_000_000_000, u64::MAX));
        for wrong in ["", "3", "3:2", "1:1", "-1:2", "1e3:", "0.0000000001:", ".:", "x:y"] {
            assert!(window(wrong).is_err(), "{wrong}");
        }
    }
}
