//! First pass over the trace: new names that processes give to files with rename(2).

use crate::model::{FileId, Process, ProcessId, Run, Stream, StreamIx};
use crate::scan::{Analysis, Block};
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;
use trace_format::frame::BlockHead;
use trace_format::op::Layer;
use trace_format::segment::{NO_OFFSET, renamed_to};

/// Name of a file, as renames record it: [`renamed_to`] of the path's hash.
pub type Name = i64;

/// New name by process and file; `None` if the process gives a file several names.
pub type Partial = FxHashMap<(ProcessId, FileId), Option<Name>>;

/// Returns the name of a file that has this path.
#[must_use]
pub fn name(path: &str) -> Name {
    renamed_to(trace_format::meta::path_hash(path.as_bytes()))
}

/// Analysis (pass over all recorded calls) that finds the new names of renamed files.
#[derive(Debug)]
pub struct Renamed {
    /// By process: file of each stream of renames.
    files: Vec<FxHashMap<StreamIx, FileId>>,
}

impl Renamed {
    /// Selects the streams of `run` that are renames.
    #[must_use]
    pub fn new(run: &Run) -> Self {
        let is = |stream: &Stream| {
            let op = run.op(stream);
            op.layer == Some(Layer::Posix) && op.name == "rename" && stream.chosen && !stream.failed
        };
        let of = |process: &Process| {
            let streams = process.streams.iter().enumerate().filter(|(_, stream)| is(stream));
            streams.map(|(index, stream)| (StreamIx::at(index), stream.file)).collect()
        };
        Self { files: run.processes.iter().map(of).collect() }
    }
}

fn add(to: &mut Partial, of: (ProcessId, FileId), name: Option<Name>) {
    match to.entry(of) {
        Entry::Occupied(mut known) if *known.get() != name => _ = known.insert(None),
        Entry::Occupied(_) => {}
        Entry::Vacant(place) => _ = place.insert(name),
    }
}

impl Analysis for Renamed {
    type Partial = Partial;

    fn start(&self) -> Partial {
        Partial::default()
    }

    fn wants(&self, _run: &Run, process: ProcessId, _head: &BlockHead) -> bool {
        self.files.get(process.index()).is_some_and(|files| !files.is_empty())
    }

    fn block(&self, partial: &mut Partial, block: &Block<'_>) {
        let Some(files) = self.files.get(block.number.index()).filter(|files| !files.is_empty()) else { return };
        for stretch in block.stretches() {
            let Some(file) = files.get(&stretch.stream) else { continue };
            // Traces of earlier versions, and of other tools, have no new names.
            for name in stretch.offset.iter().filter(|name| **name < NO_OFFSET) {
                add(partial, (block.number, *file), Some(*name));
            }
        }
    }

    fn merge(&self, into: &mut Partial, other: Partial) {
        other.into_iter().for_each(|(of, name)| add(into, of, name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_several_names_has_none() {
        let (mut names, of) = (Partial::default(), (ProcessId(0), FileId(0)));
        add(&mut names, of, Some(name("/a")));
        add(&mut names, of, Some(name("/a")));
        assert_eq!(names.get(&of), Some(&Some(name("/a"))));
        add(&mut names, of, Some(name("/b")));
        add(&mut names, of, Some(name("/a")));
        assert_eq!(names.get(&of), Some(&None));
        assert!(name("/a") < NO_OFFSET);
    }
}
