//! Tracks the byte ranges that each process wrote in files with several writers. If no byte has two writers, the bytes that a process reads
//! back are known to be its own. Memory: at most [`HELD_RANGES`] ranges over all files; beyond that, nothing is known about any file.

use super::ranges::Ranges;
use super::walked_file::WalkedFile;
use crate::limits::HELD_RANGES;
use crate::model::{FileId, Run};
use rustc_hash::{FxHashMap, FxHashSet};
use trace_format::op::OpClass;

/// Returns the files that several processes write, at least one of which also reads them.
pub(super) fn written_by_several(run: &Run) -> FxHashSet<FileId> {
    // Number of processes that write the file, at most 2, and true if one of these reads it.
    let mut all: FxHashMap<FileId, (u8, bool)> = FxHashMap::default();
    for process in &run.processes {
        let mut uses: FxHashMap<FileId, [bool; 2]> = FxHashMap::default();
        for stream in process.streams.iter().filter(|stream| stream.storage && !stream.failed) {
            if let Some(class @ (OpClass::Read | OpClass::Write)) = run.op(stream).class {
                uses.entry(stream.file).or_default()[usize::from(class == OpClass::Write)] = true;
            }
        }
        for (file, [reads, _]) in uses.into_iter().filter(|(_, [_, writes])| *writes) {
            let (writers, read) = all.entry(file).or_default();
            (*writers, *read) = ((*writers + 1).min(2), *read || reads);
        }
    }
    all.into_iter().filter(|(_, (writers, read))| *writers > 1 && *read).map(|(file, _)| file).collect()
}

/// Bytes written to files with several writers, by all processes read so far.
#[derive(Debug, Default)]
pub struct Writers {
    /// Written ranges per file; `None` if two processes wrote, or may have written, the same byte.
    files: FxHashMap<FileId, Option<Ranges>>,
    /// Number of ranges added. Above [`HELD_RANGES`], nothing is known about any file, so the result does not depend on the order of
    /// processes.
    given: usize,
}

impl Writers {
    /// True if each written byte of `file` is known to have exactly one writer.
    #[must_use]
    pub fn is_one(&self, file: FileId) -> bool {
        self.given <= HELD_RANGES && matches!(self.files.get(&file), Some(Some(_)))
    }

    /// Adds the bytes that one process wrote to a file.
    pub(super) fn add(&mut self, slot: &WalkedFile) {
        let all = !slot.replaced && slot.written.forgotten_bytes() == 0;
        let left = HELD_RANGES.saturating_sub(self.given);
        let ranges: Vec<(u64, u64)> = slot.written.iter().take(left + 1).collect();
        self.given = self.given.saturating_add(ranges.len());
        self.put(slot.file, all.then_some(ranges.into_iter()));
    }

    /// Adds the bytes written by processes that another thread of the analyzer read.
    pub(super) fn merge(&mut self, other: Self) {
        self.given = self.given.saturating_add(other.given);
        for (file, ranges) in other.files {
            self.put(file, ranges.as_ref().map(Ranges::iter));
        }
    }

    fn put(&mut self, file: FileId, ranges: Option<impl Iterator<Item = (u64, u64)>>) {
        if self.given > HELD_RANGES {
            self.files.clear();
            return;
        }
        let known = self.files.entry(file).or_insert_with(|| Some(Ranges::default()));
        let is_one = known
            .as_mut()
            .zip(ranges)
            .is_some_and(|(known, mut ranges)| ranges.all(|(start, end)| known.insert(start, end, 0) == 0));
        if !is_one {
            *known = None;
        }
    }
}
