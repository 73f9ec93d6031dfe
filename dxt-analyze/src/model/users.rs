//! How many processes are behind what a record says of a file. A record that stands for the ranks of a job has files that all of them used, and
//! files that some did: the spread of each says how many.

use super::FileId;
use super::ProcessId;
use super::{Process, Run};
use std::collections::BTreeSet;
use trace_format::meta::SpreadDef;
use trace_format::op::Layer;

/// Ranks by file and layer, of one record; sorted.
#[derive(Clone, Debug, Default)]
pub struct FileRanks(Vec<((FileId, Layer), u32)>);

impl FileRanks {
    /// As spreads tell it, which may be narrowed down later on.
    #[must_use]
    pub fn of(spreads: &[SpreadDef]) -> Self {
        let mut all: Vec<_> = spreads.iter().map(|def| ((FileId(def.file), def.layer), def.spread.ranks)).collect();
        all.sort_unstable();
        Self(all)
    }

    /// The most that used a file through `layer`, or through any; `None` if it is not told.
    fn get(&self, file: FileId, layer: Option<Layer>) -> Option<u32> {
        let first = self.0.partition_point(|((of, _), _)| *of < file);
        let of_file = self.0.iter().skip(first).take_while(|((of, _), _)| *of == file);
        of_file.filter(|((_, of), _)| layer.is_none_or(|layer| layer == *of)).map(|(_, ranks)| *ranks).max()
    }
}

impl Run {
    /// How many ranks did together what `process` says of a file, through `layer`: 1 in the record of a single process. Where the record of a
    /// job's ranks does not say it, as in some of Darshan's, they are all. Through any layer (`None`) they are at least so many: of two
    /// layers nobody knows which ranks used both.
    #[must_use]
    pub fn ranks_of(&self, process: &Process, file: FileId, layer: Option<Layer>) -> u64 {
        // What is in such a record several ranks used.
        let least = if layer.is_none() { 2 } else { 1 };
        match process.reduction.ranks {
            0 => 1,
            all => u64::from(process.file_ranks.get(file, layer).map_or(all, |ranks| ranks.max(least).min(all))),
        }
    }

    /// As [`Run::process_name`], of what a process did to one file: `8 of 64 ranks together`.
    #[must_use]
    pub fn name_on(&self, number: ProcessId, file: FileId) -> String {
        match self.process(number).filter(|process| !process.reduction.is_none()) {
            Some(process) => format!("{} together", self.some_ranks(self.ranks_of(process, file, None))),
            None => self.process_name(number),
        }
    }

    /// `8 of 64 ranks`, or `64 ranks` where they are all.
    #[must_use]
    pub fn some_ranks(&self, ranks: u64) -> String {
        match self.ranks() {
            all if all > ranks => {
                format!("{} of {} ranks", crate::text::units::count(ranks), crate::text::units::count(all))
            }
            _ => crate::text::units::counted(ranks, "rank"),
        }
    }
}

/// Who made some calls. Which ranks used a file of a reduced record is not known, only how many, so that it is a lower bound where different
/// ranks share different files. Ranks with a record of their own are taken for some of these.
#[derive(Clone, Debug, Default)]
pub struct Users {
    single: BTreeSet<ProcessId>,
    together: u64,
}

impl Users {
    /// Adds the process with this number, which uses `file` through `layer`, or any.
    pub fn add(&mut self, run: &Run, number: ProcessId, file: FileId, layer: Option<Layer>) {
        match run.process(number) {
            Some(process) if process.reduction.is_none() => {
                self.single.insert(number);
            }
            Some(process) => self.together = self.together.max(run.ranks_of(process, file, layer)),
            None => {}
        }
    }

    /// All of one file.
    #[must_use]
    pub fn of(run: &Run, numbers: impl IntoIterator<Item = ProcessId>, file: FileId, layer: Option<Layer>) -> Self {
        let mut users = Self::default();
        numbers.into_iter().for_each(|number| users.add(run, number, file, layer));
        users
    }

    /// How many they are.
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
