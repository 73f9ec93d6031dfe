//! Number of ranks that used a file. A reduced record stands for several ranks of a job and covers files that all of these ranks used and
//! files that only some used; its statistics contain the number of ranks for each file.

use super::FileId;
use super::ProcessId;
use super::{Process, Run};
use std::collections::BTreeSet;
use trace_format::meta::SpreadDef;
use trace_format::op::Layer;

/// Number of ranks by file and layer, from one reduced record; sorted by file and layer.
#[derive(Clone, Debug, Default)]
pub struct FileRanks(Vec<((FileId, Layer), u32)>);

impl FileRanks {
    /// Reads the numbers of ranks from the statistics of a reduced record. Call before a selection drops some of the statistics.
    #[must_use]
    pub fn of(spreads: &[SpreadDef]) -> Self {
        let mut all: Vec<_> = spreads.iter().map(|def| ((FileId(def.file), def.layer), def.spread.ranks)).collect();
        all.sort_unstable();
        Self(all)
    }

    /// Returns the number of ranks that used `file` through `layer`; for `None`, the maximum over all layers. `None` if unknown.
    fn get(&self, file: FileId, layer: Option<Layer>) -> Option<u32> {
        let first = self.0.partition_point(|((of, _), _)| *of < file);
        let of_file = self.0.iter().skip(first).take_while(|((of, _), _)| *of == file);
        of_file.filter(|((_, of), _)| layer.is_none_or(|layer| layer == *of)).map(|(_, ranks)| *ranks).max()
    }
}

impl Run {
    /// Returns the number of processes that make any calls on each file, by [`FileId`].
    #[must_use]
    pub fn users(&self) -> Vec<u32> {
        let mut count = vec![0_u32; self.files.len()];
        let mut files: Vec<FileId> = Vec::new();
        for process in &self.processes {
            files.clear();
            files.extend(process.streams.iter().map(|stream| stream.file));
            files.sort_unstable();
            files.dedup();
            for file in &files {
                if let Some(of) = count.get_mut(file.index()) {
                    *of += 1;
                }
            }
        }
        count
    }

    /// Returns the number of ranks that `process` stands for on `file`, through `layer`: 1 for a single process. If a reduced record has no
    /// number, as in some Darshan logs, the result is all of its ranks. With `None` for any layer, the result is a lower bound: ranks that
    /// used one layer may differ from those that used another.
    #[must_use]
    pub fn ranks_of(&self, process: &Process, file: FileId, layer: Option<Layer>) -> u64 {
        // A reduced record contains only files that several ranks used.
        let least = if layer.is_none() { 2 } else { 1 };
        match process.reduction.ranks {
            0 => 1,
            all => u64::from(process.file_ranks.get(file, layer).map_or(all, |ranks| ranks.max(least).min(all))),
        }
    }

    /// Returns the name of the process for a statement on one file: [`Run::process_name`], but `8 of 64 ranks together` for a reduced record.
    #[must_use]
    pub fn name_on(&self, number: ProcessId, file: FileId) -> String {
        match self.process(number).filter(|process| !process.reduction.is_none()) {
            Some(process) => format!("{} together", self.some_ranks(self.ranks_of(process, file, None))),
            None => self.process_name(number),
        }
    }

    /// Formats a number of ranks as `8 of 64 ranks`, or as `64 ranks` if `ranks` is their total.
    #[must_use]
    pub fn some_ranks(&self, ranks: u64) -> String {
        match self.ranks() {
            all if all > ranks => {
                format!("{} of {}", crate::text::units::count(ranks), crate::text::units::counted(all, "rank"))
            }
            _ => crate::text::units::counted(ranks, "rank"),
        }
    }
}

/// Counts the processes that made a set of calls. A reduced record gives only the number of its ranks, not which ranks, so the count is a
/// lower bound if different ranks share different files. Ranks with a record of their own are assumed to be among the record's ranks.
#[derive(Clone, Debug, Default)]
pub struct Users {
    single: BTreeSet<ProcessId>,
    together: u64,
}

impl Users {
    /// Adds a process that uses `file` through `layer` (`None`: through any layer).
    pub fn add(&mut self, run: &Run, number: ProcessId, file: FileId, layer: Option<Layer>) {
        match run.process(number) {
            Some(process) if process.reduction.is_none() => {
                self.single.insert(number);
            }
            Some(process) => self.together = self.together.max(run.ranks_of(process, file, layer)),
            None => {}
        }
    }

    /// Counts the processes among `numbers` that use `file` through `layer` (`None`: through any layer).
    #[must_use]
    pub fn of(run: &Run, numbers: impl IntoIterator<Item = ProcessId>, file: FileId, layer: Option<Layer>) -> Self {
        let mut users = Self::default();
        numbers.into_iter().for_each(|number| users.add(run, number, file, layer));
        users
    }

    /// Returns the number of processes that made the calls; a lower bound with reduced records.
    #[must_use]
    pub fn count(&self) -> u64 {
        (self.single.len() as u64).max(self.together)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::spread::Spread;

    #[test]
    fn every_file_has_its_ranks() {
        let def = |file, layer, ranks| SpreadDef { file, layer, spread: Spread { ranks, ..Spread::default() } };
        let ranks = FileRanks::of(&[def(7, Layer::Posix, 1), def(2, Layer::Posix, 8), def(7, Layer::Mpiio, 64)]);
        assert_eq!([ranks.get(FileId(7), None), ranks.get(FileId(7), Some(Layer::Posix))], [Some(64), Some(1)]);
        assert_eq!(
            [ranks.get(FileId(2), None), ranks.get(FileId(2), Some(Layer::Mpiio)), ranks.get(FileId(3), None)],
            [Some(8), None, None]
        );
    }
}
