//! Collects call durations over a run, by which repeated runs are compared: totals of reads, writes and syncs, by size class, in equal time
//! windows.

use super::JobFile;
use crate::cube::reading::parts::LOG_BITS;
use crate::cube::reading::sums::log;
use crate::cube::reading::usual::size_class;
use crate::model::{Run, Within};
use crate::scan::{Analysis, Block};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use trace_format::op::OpClass;

/// Number of equal time windows into which a run is divided.
pub(super) const SLOTS: usize = 64;
/// Maximum number of kinds of calls (type and size class) stored for having most time, and as many for having most bytes. A bound is
/// needed, since corpora have very many jobs.
const KINDS: usize = 3;

/// Type of call: read, write or sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Does {
    /// Calls that read data from a file.
    Read,
    /// Calls that write data to a file.
    Write,
    /// Syncs: calls that wait until written data is on storage.
    Sync,
}

impl Does {
    const fn of(class: OpClass) -> Option<Self> {
        match class {
            OpClass::Read => Some(Self::Read),
            OpClass::Write => Some(Self::Write),
            OpClass::Sync => Some(Self::Sync),
            _ => None,
        }
    }

    /// Returns the name of the type of call: read, write or sync.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Sync => "sync",
        }
    }

    pub(super) const fn plural(self) -> &'static str {
        match self {
            Self::Read => "reads",
            Self::Write => "writes",
            Self::Sync => "syncs",
        }
    }
}

/// Kind of calls that are comparable: type, and size class (power of two of the length in bytes).
pub(super) type Kind = (Does, u8);

/// Totals over the calls of one kind (type and size class) that start in one time window of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Sum {
    pub(super) calls: u64,
    pub(super) bytes: u64,
    pub(super) time_ns: u64,
    /// Sum of the logarithms of the calls' durations, in the fixed-point format of `causes`.
    pub(super) logs: i64,
}

impl Sum {
    fn add(&mut self, other: &Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.time_ns = self.time_ns.saturating_add(other.time_ns);
        self.logs = self.logs.saturating_add(other.logs);
    }

    /// Returns the sum of the natural logarithms of the calls' durations.
    pub(super) fn logs(&self) -> f64 {
        self.logs as f64 / f64::from(1_u32 << LOG_BITS)
    }
}

/// Calls of one kind (type and size class) over a run: totals for each time window in which at least one call starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Course {
    pub(super) kind: Kind,
    pub(super) slots: Vec<(u8, Sum)>,
}

impl Course {
    pub(super) fn all(&self) -> Sum {
        let mut all = Sum::default();
        self.slots.iter().for_each(|(_, sum)| all.add(sum));
        all
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Paces {
    /// Length of the run (from its start to its end), ns.
    pub(super) length_ns: u64,
    /// Calls over the run, for the kinds (type and size class) with most time or most bytes; sorted by kind.
    pub(super) courses: Vec<Course>,
    /// Totals over all reads, all writes and all syncs of the run, including kinds not in `courses`.
    pub(super) work: Vec<(Does, Sum)>,
    /// Mount point and type of the file system with most bytes moved.
    pub(super) place: String,
}

impl Paces {
    /// Returns the approximate memory use of these call durations, bytes.
    pub(super) fn held(&self) -> usize {
        self.courses.iter().map(|course| course.slots.len() * size_of::<(u8, Sum)>()).sum()
    }

    pub(super) fn course(&self, kind: Kind) -> Option<&Course> {
        self.courses.iter().find(|course| course.kind == kind)
    }
}

pub(super) struct Pace {
    length_ns: u64,
    /// Type of call (read, write or sync) of each stream (one operation, file and caller) of each process; `None` for streams that are not
    /// compared, such as calls made inside libraries.
    does: Vec<Vec<Option<Does>>>,
}

impl Pace {
    pub(super) fn new(run: &Run) -> Self {
        let class = |op: u16| run.ops.get(usize::from(op)).and_then(|op| Does::of(op.class?));
        let does = run.processes.iter().map(|process| {
            let of_program = process.streams.iter().map(|stream| (stream.within() == Within::Nothing, stream.op));
            of_program.map(|(counts, op)| class(op).filter(|_| counts)).collect()
        });
        Self { length_ns: run.length_ns(), does: does.collect() }
    }

    /// Builds the call durations over a run from the result of a pass; `None` if times are unknown or there are no calls.
    pub(super) fn paces(&self, run: &Run, partial: Partial, files: &[JobFile]) -> Option<Paces> {
        if run.untimed() || partial.is_empty() {
            return None;
        }
        let mut work: Vec<(Does, Sum)> =
            [Does::Read, Does::Write, Does::Sync].map(|does| (does, Sum::default())).into();
        for ((does, _), slots) in &partial {
            let sum = work.iter_mut().find(|(of, _)| of == does);
            sum.into_iter().for_each(|(_, sum)| slots.iter().for_each(|more| sum.add(more)));
        }
        let course = |(kind, slots): (Kind, Box<[Sum; SLOTS]>)| {
            let used = (0_u8..).zip(slots.iter().copied()).filter(|(_, sum)| sum.calls > 0);
            Course { kind, slots: used.collect() }
        };
        let mut courses: Vec<Course> = partial.into_iter().map(course).collect();
        courses.sort_by_key(|course| (std::cmp::Reverse(course.all().bytes), course.kind));
        // Kinds with most bytes are kept as well: calls that are slow in another run may take hardly any time in this one.
        let mut most_bytes = courses.drain(..courses.len().min(KINDS)).collect();
        courses.sort_by_key(|course| (std::cmp::Reverse(course.all().time_ns), course.kind));
        courses.truncate(KINDS);
        courses.append(&mut most_bytes);
        courses.sort_by_key(|course| course.kind);
        Some(Paces { length_ns: self.length_ns, courses, work, place: place(files) })
    }
}

/// Returns the mount point and type of the file system on which most bytes were moved.
fn place(files: &[JobFile]) -> String {
    let mut places: BTreeMap<&str, u64> = BTreeMap::new();
    for file in files {
        let bytes = places.entry(&file.place).or_default();
        *bytes = bytes.saturating_add(file.called.bytes_read).saturating_add(file.called.bytes_written);
    }
    let most = places.into_iter().max_by_key(|(name, bytes)| (*bytes, std::cmp::Reverse(*name)));
    most.map_or(String::new(), |(name, _)| name.to_owned())
}

pub(super) type Partial = FxHashMap<Kind, Box<[Sum; SLOTS]>>;

impl Analysis for Pace {
    type Partial = Partial;

    fn start(&self) -> Partial {
        Partial::default()
    }

    fn block(&self, partial: &mut Partial, block: &Block<'_>) {
        let Some(streams) = self.does.get(block.number.index()) else { return };
        for row in block.rows() {
            let Some(does) = streams.get(row.stream.index()).copied().flatten() else { continue };
            let at = u128::from(row.start.saturating_add(block.process.shift_ns));
            let slot = (at * SLOTS as u128 / u128::from(self.length_ns)).min(SLOTS as u128 - 1) as usize;
            let duration = row.duration_ns();
            let call = Sum { calls: 1, bytes: row.length, time_ns: duration, logs: log(duration) };
            let slots =
                partial.entry((does, size_class(row.length))).or_insert_with(|| Box::new([Sum::default(); SLOTS]));
            slots[slot].add(&call);
        }
    }

    fn merge(&self, into: &mut Partial, other: Partial) {
        for (kind, theirs) in other {
            let mine = into.entry(kind).or_insert_with(|| Box::new([Sum::default(); SLOTS]));
            mine.iter_mut().zip(theirs.iter()).for_each(|(mine, theirs)| mine.add(theirs));
        }
    }
}
