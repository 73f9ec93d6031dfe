//! Parts of files: a process's calls on one part are compared with its calls on the other parts, to find a part that is slow.

use crate::cube::reading::parts::{PARTS, Part, Parts};
use crate::model::{Class, FileId, ProcessId, Run, StreamIx};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Base-2 logarithm of the least length of a part in bytes (64 KiB).
const LEAST: u32 = 16;

/// Least number of calls per part, on average, for a file with more than [`FEW`] used parts; with fewer calls, parts are merged.
const CALLS: u64 = 4;
const FEW: u64 = 8;

/// Range of adjacent parts of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Region {
    /// File, as an index into [`Run::files`].
    pub file: FileId,
    /// Number of the region's first part in the file.
    pub from: u8,
    /// Number of the region's last part (inclusive) in the file.
    pub until: u8,
}

/// Calls of one process on one part of a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// Slowdown: mean log(duration / usual duration) of the calls on this part, less that of the process's calls on the file's other parts.
    pub above: f64,
    /// Number of the process's calls on the part.
    pub calls: u64,
}

/// Returns how often the length of parts must be doubled so that each has enough calls. `calls`: number of calls by part.
fn coarser(calls: &[u64]) -> u32 {
    let (mut calls, mut times) = (calls.to_vec(), 0);
    loop {
        let used = calls.iter().filter(|calls| **calls > 0).count() as u64;
        if used <= FEW || calls.iter().sum::<u64>() >= used * CALLS {
            return times;
        }
        calls = calls.chunks(2).map(|two| two.iter().sum()).collect();
        times += 1;
    }
}

/// Parts of all files of a run, with their calls.
#[derive(Clone, Debug, Default)]
pub struct Regions {
    /// By file: base-2 logarithm of the length of a part in bytes.
    shifts: FxHashMap<FileId, u32>,
    streams: Arc<FxHashMap<(ProcessId, StreamIx), Parts>>,
    /// Regions that a finding already names as slow, by class of calls.
    taken: Vec<(Region, Class)>,
}

impl Regions {
    /// Collects the parts of files from all streams (one operation of a process on one file).
    #[must_use]
    pub fn new(run: &Run, streams: FxHashMap<(ProcessId, StreamIx), Parts>) -> Self {
        let mut shifts: FxHashMap<FileId, u32> = FxHashMap::default();
        for ((process, stream), parts) in &streams {
            if let Some(stream) = run.process(*process).and_then(|of| of.stream(*stream)) {
                let shift = shifts.entry(stream.file).or_insert(LEAST);
                *shift = (*shift).max(parts.shift());
            }
        }
        // With several processes that write in steps, parts of one step cannot be merged: the part is the step.
        let alone = run.processes.len() == 1;
        let mut all: FxHashMap<FileId, [Part; PARTS]> = FxHashMap::default();
        for ((process, stream), parts) in streams.iter().filter(|_| alone) {
            if let Some(stream) = run.process(*process).and_then(|of| of.stream(*stream)) {
                let shift = shifts.get(&stream.file).copied().unwrap_or(LEAST);
                let of = all.entry(stream.file).or_default();
                of.iter_mut().zip(parts.with(shift)).for_each(|(mine, more)| mine.add(&more));
            }
        }
        for (file, parts) in all {
            if let Some(shift) = shifts.get_mut(&file) {
                *shift += coarser(&parts.map(|part| part.calls));
            }
        }
        Self { shifts, streams: Arc::new(streams), taken: Vec::new() }
    }

    /// Leaves out a region's calls of these classes from now on, as a finding explains them.
    pub fn take(&mut self, region: Region, classes: &[Class]) {
        self.taken.extend(classes.iter().map(|class| (region, *class)));
    }

    fn is_taken(&self, file: FileId, part: u8, class: Class) -> bool {
        let has =
            |(of, taken): &(Region, Class)| *taken == class && of.file == file && (of.from..=of.until).contains(&part);
        self.taken.iter().any(has)
    }

    /// Returns how slow calls of the class are, by file and part, for each process with such calls on several parts. Files that only one of
    /// several processes uses are left out: their parts cannot be distinguished from time windows.
    #[must_use]
    pub fn seen(&self, run: &Run, class: Class) -> BTreeMap<(FileId, u8), Vec<Seen>> {
        if !matches!(class, Class::Read | Class::Write) {
            return BTreeMap::new();
        }
        let of_class = self.streams.iter().filter_map(|((process, stream), parts)| {
            let stream = run.process(*process)?.stream(*stream)?;
            (Class::of(run.op(stream)) == class).then_some((stream.file, *process, parts))
        });
        let mut all: Vec<(FileId, ProcessId, &Parts)> = of_class.collect();
        all.sort_unstable_by_key(|(file, process, _)| (*file, *process));
        let mut out: BTreeMap<(FileId, u8), Vec<Seen>> = BTreeMap::new();
        let alone = run.processes.len() == 1;
        let by_file = all.chunk_by(|a, b| a.0 == b.0).map(|of_file| of_file.chunk_by(|a, b| a.1 == b.1));
        for of_process in by_file.filter(|users| alone || users.clone().nth(1).is_some()).flatten() {
            let Some(&(file, ..)) = of_process.first() else { continue };
            let shift = self.shifts.get(&file).copied().unwrap_or(LEAST);
            let mut parts = [Part::default(); PARTS];
            for (.., of) in of_process {
                parts.iter_mut().zip(of.with(shift)).for_each(|(mine, more)| mine.add(&more));
            }
            let (calls, logs) = parts.iter().fold((0, 0.0), |sum, part| (sum.0 + part.calls, sum.1 + part.log()));
            for (at, part) in (0_u8..).zip(&parts) {
                // A process in one part only cannot be compared.
                if part.calls > 0 && part.calls < calls && !self.is_taken(file, at, class) {
                    let others = (logs - part.log()) / (calls - part.calls) as f64;
                    let above = part.log() / part.calls as f64 - others;
                    out.entry((file, at)).or_default().push(Seen { above, calls: part.calls });
                }
            }
        }
        out
    }

    /// Returns the share (0 to 1) of a stream's time in calls that is in a region of its file.
    #[must_use]
    pub fn share(&self, region: Region, process: ProcessId, stream: StreamIx) -> f64 {
        let (Some(parts), Some(&shift)) = (self.streams.get(&(process, stream)), self.shifts.get(&region.file)) else {
            return 0.0;
        };
        let theirs = parts.with(shift);
        let inside = theirs.get(usize::from(region.from)..=usize::from(region.until)).unwrap_or_default();
        inside.iter().map(|part| part.time_ns as f64).sum::<f64>() / parts.time_ns().max(1) as f64
    }

    /// Returns first byte and end (exclusive) of a region in its file; `None` if the file's parts are not known.
    #[must_use]
    pub fn range(&self, region: Region) -> Option<(u64, u64)> {
        let shift = *self.shifts.get(&region.file)?;
        Some((u64::from(region.from) << shift, (u64::from(region.until) + 1).checked_shl(shift)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_with_few_calls_are_put_together() {
        assert_eq!(coarser(&[2; 32]), 1);
        assert_eq!(coarser(&[1; 32]), 2);
        assert_eq!((coarser(&[5; 32]), coarser(&[]), coarser(&[1; 8])), (0, 0, 0));
    }
}
