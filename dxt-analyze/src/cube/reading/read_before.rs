//! First pass over the trace: finds reads of blocks that the same thread overwrites completely before it can have used the data. Only files
//! that a process reads and writes by its own system calls. In a sequence of reads and then writes, only the last read and the first write
//! can be a pair, so no other calls are examined.

use crate::model::{FileId, Process, ProcessId, Run, Stream, Within};
use crate::scan::{Analysis, Block};
use rustc_hash::{FxHashMap, FxHashSet};
use trace_format::frame::BlockHead;
use trace_format::op::{Layer, OpClass, OpMode};

/// Least length of a block, bytes: using fewer bytes takes less time than the calls, so time does not show whether they were used.
const SHORTEST: u64 = 64 << 10;
/// Least length of a block in logs of other tools, whose times are in microseconds; bytes.
const SHORTEST_OF_LOGS: u64 = 256 << 10;
/// Largest number of bytes that a processor reads per ns, from its second-level cache (half a cache line); from memory, it reads fewer.
const LOOKED_AT: u64 = 32;

/// Pairs of a read and the next write, both of the same bytes of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pairs {
    /// Number of all pairs, however long the time between read and write.
    pub all: u64,
    /// Number of pairs in which too little time lies between the calls to use the bytes.
    pub at_once: u64,
    /// Number of bytes overwritten by the pairs counted in `at_once`.
    pub bytes: u64,
    /// Time from read to write, ns, summed over the pairs counted in `at_once`.
    pub between_ns: u64,
}

impl Pairs {
    /// Adds a pair: `bytes` are read, and overwritten `between_ns` ns later.
    fn add(&mut self, bytes: u64, between_ns: u64) {
        self.all = self.all.saturating_add(1);
        if between_ns < bytes / LOOKED_AT {
            self.at_once = self.at_once.saturating_add(1);
            self.bytes = self.bytes.saturating_add(bytes);
            self.between_ns = self.between_ns.saturating_add(between_ns);
        }
    }

    /// Adds the pairs that another analysis thread found.
    pub fn join(&mut self, other: &Self) {
        self.all = self.all.saturating_add(other.all);
        self.at_once = self.at_once.saturating_add(other.at_once);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.between_ns = self.between_ns.saturating_add(other.between_ns);
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Role {
    #[default]
    None,
    Read(FileId),
    Write(FileId),
}

/// Pairs of a read and the next write of the same bytes, by process and file.
pub type Partial = FxHashMap<(ProcessId, FileId), Pairs>;

/// Analysis (pass over all recorded calls) that finds blocks overwritten right after they were read.
#[derive(Debug)]
pub struct ReadBefore {
    /// By process and stream: role of its calls in pairs (read, write or none); empty for processes that write no file that they also read.
    roles: Vec<Vec<Role>>,
    /// Least length of a block for its pair to count, bytes.
    shortest: u64,
}

impl ReadBefore {
    /// Selects the streams of `run` whose reads and writes may form pairs.
    #[must_use]
    pub fn new(run: &Run) -> Self {
        let left_out: FxHashSet<FileId> = run
            .processes
            .iter()
            .flat_map(|process| &process.streams)
            .filter(|stream| is_of_others(run, stream))
            .map(|stream| stream.file)
            .collect();
        let of = |process: &Process| {
            let role = |stream: &Stream| {
                let op = run.op(stream);
                let own = stream.chosen && !stream.failed && !left_out.contains(&stream.file);
                match op.class.filter(|_| own && op.layer == Some(Layer::Posix) && op.mode == OpMode::Plain) {
                    Some(OpClass::Read) => Role::Read(stream.file),
                    Some(OpClass::Write) => Role::Write(stream.file),
                    _ => Role::None,
                }
            };
            let roles: Vec<Role> = process.streams.iter().map(role).collect();
            let written: FxHashSet<FileId> =
                roles.iter().filter_map(|role| if let Role::Write(file) = role { Some(*file) } else { None }).collect();
            let both = |role: &Role| matches!(role, Role::Read(file) if written.contains(file));
            if roles.iter().any(both) { roles } else { Vec::new() }
        };
        let shortest = if run.was_log() { SHORTEST_OF_LOGS } else { SHORTEST };
        Self { roles: run.processes.iter().map(of).collect(), shortest }
    }
}

/// True if calls of a stream show that its file is also used in other ways, by a library or mapped, so that pairs prove nothing.
fn is_of_others(run: &Run, stream: &Stream) -> bool {
    let op = run.op(stream);
    let library = matches!(op.layer, Some(Layer::Mpiio | Layer::Hdf5 | Layer::Pnetcdf | Layer::Stdio));
    library || stream.within() != Within::Nothing || op.class == Some(OpClass::Map)
}

impl Analysis for ReadBefore {
    type Partial = Partial;

    fn start(&self) -> Partial {
        Partial::default()
    }

    fn wants(&self, _run: &Run, process: ProcessId, _head: &BlockHead) -> bool {
        self.roles.get(process.index()).is_some_and(|roles| !roles.is_empty())
    }

    fn block(&self, partial: &mut Partial, block: &Block<'_>) {
        let Some(roles) = self.roles.get(block.number.index()).filter(|roles| !roles.is_empty()) else { return };
        let mut last = None;
        for stretch in block.stretches() {
            match roles.get(stretch.stream.index()).copied().unwrap_or_default() {
                Role::None => {}
                Role::Read(file) => {
                    let end = stretch.end.last().copied().unwrap_or_default();
                    let place = stretch.offset.last().copied().zip(stretch.length.last().copied());
                    last = place.map(|place| (file, place, end));
                }
                Role::Write(file) => {
                    let place = stretch.offset.first().copied().zip(stretch.length.first().copied());
                    let start = stretch.start.first().copied().unwrap_or_default();
                    if let (Some((read, of, end)), Some((offset, length))) = (last.take(), place)
                        && (read, of) == (file, (offset, length))
                        && offset >= 0
                        && length >= self.shortest
                    {
                        partial.entry((block.number, file)).or_default().add(length, start.saturating_sub(end));
                    }
                }
            }
        }
    }

    fn merge(&self, into: &mut Partial, other: Partial) {
        for (key, theirs) in other {
            into.entry(key).or_default().join(&theirs);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_writes_a_block_at_once_has_not_looked_at_it() {
        let mut pairs = Pairs::default();
        pairs.add(1 << 20, 5_000);
        assert_eq!(pairs, Pairs { all: 1, at_once: 1, bytes: 1 << 20, between_ns: 5_000 });
        pairs.add(1 << 20, 40_000);
        pairs.add(SHORTEST, 2_100);
        assert_eq!((pairs.all, pairs.at_once), (3, 1), "a core can have looked at these");
    }
}
