//! Parts of files: by the bytes between which the calls of a cell lie, as far as these are few.

use super::grid::Entry;
use super::members::Unit;
use crate::model::{FileId, ProcessId};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// Parts that a file is divided into.
const PARTS: u64 = 16;
/// Bytes of a file from which on it has parts.
const LEAST: u64 = 1 << 20;

/// The parts of the files of a run.
#[derive(Clone, Debug, Default)]
pub struct Regions {
    /// By file: length of a part, for files of which most parts are not told by who accesses them, or when.
    parts: FxHashMap<FileId, u64>,
}

impl Regions {
    /// Of what processes did.
    #[must_use]
    pub fn of(entries: &[Entry]) -> Self {
        let mut ends: FxHashMap<FileId, u64> = FxHashMap::default();
        for entry in entries.iter().filter(|entry| entry.leaf && entry.cell.range.0 < entry.cell.range.1) {
            let end = ends.entry(entry.file).or_default();
            *end = (*end).max(entry.cell.range.1);
        }
        ends.retain(|_, end| *end >= LEAST);
        let parts = ends.into_iter().map(|(file, end)| (file, end.div_ceil(PARTS))).collect();
        let mut regions = Self { parts };
        regions.keep_those_by_themselves(entries);
        regions
    }

    /// Drops files of which a part is all that one process has, or that it goes through once: its calls there tell of it, or of a moment.
    fn keep_those_by_themselves(&mut self, entries: &[Entry]) {
        let mut by: BTreeMap<(FileId, u64), (BTreeSet<ProcessId>, BTreeSet<u16>)> = BTreeMap::new();
        for entry in entries.iter().filter(|entry| entry.leaf) {
            if let Some(part) = self.part(entry) {
                let of = by.entry((entry.file, part)).or_default();
                of.0.insert(entry.process);
                of.1.insert(entry.slot);
            }
        }
        let mut count: BTreeMap<FileId, (u32, u32)> = BTreeMap::new();
        for ((file, _), (processes, slots)) in &by {
            let again = slots.iter().zip(slots.iter().skip(1)).any(|(one, next)| next - one > 1);
            let of = count.entry(*file).or_default();
            *of = (of.0 + 1, of.1 + u32::from(processes.len() > 1 || again));
        }
        self.parts.retain(|file, _| count.get(file).is_some_and(|(all, told)| told * 2 > *all));
    }

    /// The part that all calls of a cell lie in, if it is one.
    #[must_use]
    pub fn part(&self, entry: &Entry) -> Option<u64> {
        let length = *self.parts.get(&entry.file)?;
        let (from, until) = entry.cell.range;
        let part = from / length;
        (from < until && (until - 1) / length == part).then_some(part)
    }

    /// Bytes of a unit that is a region.
    #[must_use]
    pub fn range(&self, unit: Unit) -> Option<(u64, u64)> {
        let Unit::Region(file, from, until) = unit else { return None };
        let length = *self.parts.get(&file)?;
        Some((u64::from(from) * length, (u64::from(until) + 1) * length))
    }
}
