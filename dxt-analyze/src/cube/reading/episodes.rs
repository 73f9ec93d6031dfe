//! First pass over the trace: finds calls that a process repeats each time it opens a file: reads at the same offsets, seeks and queries
//! that it also made after one of its last opens of the file. With the file kept open, it would not need them. Also sums the pauses between
//! calls that follow reads of each file: the time for what the program makes of the data.

use crate::model::{FileId, Process, ProcessId, Run, Stream, StreamIx, Within};
use crate::scan::{Analysis, Block, Stretch};
use rustc_hash::FxHashMap;
use trace_format::frame::BlockHead;
use trace_format::op::{Layer, OpClass};

/// Operations that query a file without changing anything.
pub const ASK: [&str; 2] = ["stat", "access"];

/// Use of a stream (one operation on one file) in an episode: the calls from one open of a file to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Role {
    #[default]
    None,
    /// Begins an episode.
    Open(FileId),
    /// Reads data. Is unnecessary if the process made the same call in one of the last episodes.
    Read(FileId),
    /// Seek or query. Is unnecessary if the process made the same call in one of the last episodes.
    Query(FileId),
    /// Any other system call on the file.
    Other(FileId),
}

impl Role {
    const fn file(self) -> Option<FileId> {
        match self {
            Self::None => None,
            Self::Open(file) | Self::Read(file) | Self::Query(file) | Self::Other(file) => Some(file),
        }
    }
}

/// Pauses between the calls of a thread, ns, summed over the threads of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pauses {
    /// Pauses from the first read of a file on, up to the next call on the same file.
    pub between_ns: u64,
    /// Pauses after the last of several calls on a file with reads, up to its next open or a call on another file.
    pub behind_ns: u64,
    /// Number of reads at the beginning of the file.
    pub from_start: u64,
}

impl Pauses {
    fn add(&mut self, other: Self) {
        self.between_ns = self.between_ns.saturating_add(other.between_ns);
        self.behind_ns = self.behind_ns.saturating_add(other.behind_ns);
        self.from_start = self.from_start.saturating_add(other.from_start);
    }
}

/// By process and file: pauses after reads of the file; those of all files together under [`FileId::NONE`].
pub type AfterReads = FxHashMap<(ProcessId, FileId), Pauses>;
/// By process and stream (one operation on one file): time of calls that repeat a call of an earlier episode, ns.
pub type Repeated = FxHashMap<(ProcessId, StreamIx), u64>;

/// Sums over all episodes.
#[derive(Debug, Default)]
pub struct Partial {
    /// Time of repeated calls.
    pub repeated: Repeated,
    /// Pauses after reads.
    pub pauses: AfterReads,
}

/// Number of equal calls (of one stream, at one offset) in an episode, and in the latest episode before it that has any.
#[derive(Clone, Copy, Debug, Default)]
struct Equal {
    /// Number of the episode, and of calls.
    now: (u64, u32),
    /// Number of the episode before it, and of calls.
    before: (u64, u32),
}

impl Equal {
    /// Adds a call in an episode; true if one of the last `near` episodes has as many such calls.
    fn add(&mut self, episode: u64, near: u64) -> bool {
        if self.now.0 != episode {
            (self.before, self.now) = (self.now, (episode, 0));
        }
        self.now.1 = self.now.1.saturating_add(1);
        self.now.1 <= self.before.1 && episode - self.before.0 <= near
    }
}

/// Analysis (pass over all recorded calls) that sums the time of calls that are repeated after each open.
#[derive(Debug)]
pub struct Episodes {
    /// By process and stream: role of its calls; empty for a process without reads, seeks or queries of files that it opens.
    roles: Vec<Vec<Role>>,
    /// Number of episodes after which a call does not count as repeated.
    near: u64,
}

impl Episodes {
    /// Selects the streams of `run` that can be part of an episode.
    #[must_use]
    pub fn new(run: &Run) -> Self {
        let of = |process: &Process| {
            let roles: Vec<Role> = process.streams.iter().map(|stream| role(run, stream)).collect();
            let has = |is: fn(&Role) -> bool| roles.iter().any(is);
            let both =
                has(|role| matches!(role, Role::Open(_))) && has(|role| matches!(role, Role::Read(_) | Role::Query(_)));
            if both { roles } else { Vec::new() }
        };
        Self { roles: run.processes.iter().map(of).collect(), near: run.thresholds.calls_min }
    }

    fn roles(&self, process: ProcessId) -> Option<&[Role]> {
        self.roles.get(process.index()).map(Vec::as_slice).filter(|roles| !roles.is_empty())
    }
}

/// Returns the role of a stream's calls. Calls of MPI-IO and HDF5 are left out: the system calls inside them count.
fn role(run: &Run, stream: &Stream) -> Role {
    let op = run.op(stream);
    let system = matches!(op.layer, Some(Layer::Posix | Layer::Stdio)) && stream.within() != Within::Mpiio;
    match op.class.filter(|_| system && stream.chosen && !stream.failed) {
        Some(OpClass::Open) => Role::Open(stream.file),
        Some(OpClass::Read) => Role::Read(stream.file),
        Some(OpClass::Seek) => Role::Query(stream.file),
        Some(OpClass::Metadata) if ASK.contains(&op.name.as_str()) => Role::Query(stream.file),
        _ if matches!(op.layer, Some(Layer::Posix | Layer::Stdio)) => Role::Other(stream.file),
        _ => Role::None,
    }
}

/// Adds the pauses between the calls of one thread, given as a block, to `sums`.
fn add_pauses(sums: &mut AfterReads, block: &Block<'_>, role: impl Fn(&Stretch<'_>) -> Role) {
    // End of the last call, and the file with the last read, if no call on another file followed.
    let (mut ended, mut data) = (None::<u64>, FileId::NONE);
    let mut all = Pauses::default();
    for stretch in block.stretches() {
        let role = role(&stretch);
        let Some(file) = role.file() else { continue };
        let (mut mine, opens) = (Pauses::default(), matches!(role, Role::Open(_)));
        for row in stretch.rows() {
            let pause = row.start.saturating_sub(ended.unwrap_or(row.start));
            ended = Some(row.end.max(ended.unwrap_or(0)));
            all.between_ns = all.between_ns.saturating_add(pause);
            if data == file && !opens {
                mine.between_ns = mine.between_ns.saturating_add(pause);
            } else if data != FileId::NONE {
                let of = sums.entry((block.number, data)).or_default();
                of.behind_ns = of.behind_ns.saturating_add(pause);
                data = FileId::NONE;
            }
            if matches!(role, Role::Read(_)) {
                data = file;
                mine.from_start = mine.from_start.saturating_add(u64::from(row.offset == 0));
            }
        }
        if mine != Pauses::default() {
            sums.entry((block.number, file)).or_default().add(mine);
        }
    }
    sums.entry((block.number, FileId::NONE)).or_default().add(all);
}

impl Analysis for Episodes {
    type Partial = Partial;

    fn start(&self) -> Partial {
        Partial::default()
    }

    fn wants(&self, _run: &Run, process: ProcessId, _head: &BlockHead) -> bool {
        self.roles(process).is_some()
    }

    fn block(&self, partial: &mut Partial, block: &Block<'_>) {
        let Some(roles) = self.roles(block.number) else { return };
        let role = |stretch: &Stretch<'_>| roles.get(stretch.stream.index()).copied().unwrap_or_default();
        add_pauses(&mut partial.pauses, block, role);
        let mut opens: FxHashMap<FileId, u64> = FxHashMap::default();
        for stretch in block.stretches() {
            if let Role::Open(file) = role(&stretch) {
                *opens.entry(file).or_default() += stretch.start.len() as u64;
            }
        }
        opens.retain(|_, opens| *opens > 1);
        if opens.is_empty() {
            return;
        }
        // By stream and offset (-1 without one).
        let mut calls: FxHashMap<(StreamIx, i64), Equal> = FxHashMap::default();
        // By file: opens that follow, and thereby the number of the episode.
        for stretch in block.stretches() {
            match role(&stretch) {
                Role::Open(file) => {
                    if let Some(left) = opens.get_mut(&file) {
                        *left -= stretch.start.len() as u64;
                    }
                }
                Role::Read(file) | Role::Query(file) => {
                    let Some(left) = opens.get(&file) else { continue };
                    let episode = u64::MAX - left;
                    let repeated = partial.repeated.entry((block.number, stretch.stream)).or_default();
                    for row in stretch.rows() {
                        if calls.entry((stretch.stream, row.offset)).or_default().add(episode, self.near) {
                            *repeated = repeated.saturating_add(row.end.saturating_sub(row.start));
                        }
                    }
                }
                Role::Other(_) | Role::None => {}
            }
        }
    }

    fn merge(&self, into: &mut Partial, other: Partial) {
        for (key, ns) in other.repeated {
            let all = into.repeated.entry(key).or_default();
            *all = all.saturating_add(ns);
        }
        for (key, pauses) in other.pauses {
            into.pauses.entry(key).or_default().add(pauses);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_repeat_those_of_the_last_episodes() {
        let mut header = Equal::default();
        // First episode; twice in it; again in the next but one; too late.
        let calls = [(10, false), (10, false), (12, true), (12, true), (12, false), (20, false)];
        let found = calls.map(|(episode, _)| header.add(episode, 4));
        assert_eq!(found, calls.map(|(_, repeated)| repeated));
    }
}
