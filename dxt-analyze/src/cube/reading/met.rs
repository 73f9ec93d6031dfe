//! Arrival times of processes at calls that may be synchronization points, and evidence of whether they are.

/// Largest number of calls of one operation whose arrivals are kept.
pub(super) const SYNC_POINTS: usize = 1 << 16;
/// Calls of an operation are synchronization points if at least this part of them is not left by any process before the last one arrives.
const MET: f64 = 0.9;

/// Arrivals at the calls of one operation on one file (or on one communicator), of all processes. The k-th call of each process is the same
/// call.
#[derive(Clone, Debug, Default)]
pub(super) struct SyncPoints {
    /// Latest begin of the k-th call, ns since the job's start: arrival of the last process.
    pub(super) last: Vec<u64>,
    /// Earliest end of the k-th call, ns since the job's start; empty if the operation is known to synchronize.
    pub(super) first_out: Vec<u64>,
    /// Number of processes that make calls of the operation.
    pub(super) processes: u64,
    /// Fewest calls of any process that makes calls of the operation.
    pub(super) fewest: usize,
    /// Most calls of any process that makes calls of the operation.
    pub(super) most: usize,
}

impl SyncPoints {
    pub(super) fn add(&mut self, of: &Begins) {
        let (last, first_out) = (of.begins.clone(), of.ends.clone());
        self.join(&Self { last, first_out, processes: 1, fewest: of.begins.len(), most: of.begins.len() });
    }

    /// True if the calls are synchronization points: with few exceptions, no process leaves a call before all have arrived.
    pub(super) fn is_one(&self) -> bool {
        let met = self.last.iter().zip(&self.first_out).filter(|(last, out)| out >= last).count();
        self.first_out.is_empty() || met as f64 >= self.last.len() as f64 * MET
    }

    pub(super) fn join(&mut self, other: &Self) {
        if self.processes == 0 {
            self.clone_from(other);
            return;
        }
        if self.last.len() < other.last.len() {
            self.last.resize(other.last.len(), 0);
        }
        self.last.iter_mut().zip(&other.last).for_each(|(mine, theirs)| *mine = (*mine).max(*theirs));
        if self.first_out.len() < other.first_out.len() {
            self.first_out.resize(other.first_out.len(), u64::MAX);
        }
        self.first_out.iter_mut().zip(&other.first_out).for_each(|(mine, theirs)| *mine = (*mine).min(*theirs));
        self.processes += other.processes;
        (self.fewest, self.most) = (self.fewest.min(other.fewest), self.most.max(other.most));
    }
}

/// Calls of one operation by one process.
#[derive(Clone, Debug, Default)]
pub(super) struct Begins {
    pub(super) begins: Vec<u64>,
    /// Ends of the calls, ns since the job's start; empty if the operation is known to synchronize.
    pub(super) ends: Vec<u64>,
    /// Time from the end of the process's previous collective call to each call, less other calls in between, ns; [`FIRST`] for a first
    /// call.
    pub(super) gaps: Vec<u64>,
    /// End of the process's previous collective call before each call, ns since the job's start.
    pub(super) after: Vec<u64>,
}

/// Value in `gaps` for a process's first collective call: how late it is, is unknown.
pub const FIRST: u64 = u64::MAX;

impl Begins {
    pub(super) fn push(&mut self, begin: u64, end: Option<u64>, gap: Option<(u64, u64)>) {
        if self.begins.len() < SYNC_POINTS {
            self.begins.push(begin);
            self.ends.extend(end);
            self.gaps.extend(gap.map(|(gap, _)| gap));
            self.after.extend(gap.map(|(_, after)| after));
        }
    }

    /// Subtracts the process's waits in MPI calls from the gaps: a process that waited for others is not late by that time.
    pub(super) fn without(&mut self, waited: &Waited) {
        for ((gap, begin), after) in self.gaps.iter_mut().zip(&self.begins).zip(&self.after) {
            if *gap != FIRST {
                *gap = gap.saturating_sub(waited.until(*begin).saturating_sub(waited.until(*after)));
            }
        }
    }
}

/// Waits of a process in MPI's own calls: begin, sum of earlier waits, and end, ns; sorted by begin.
#[derive(Clone, Debug, Default)]
pub(super) struct Waited(Vec<(u64, u64, u64)>);

impl Waited {
    pub(super) fn of(mut spans: Vec<(u64, u64)>) -> Self {
        spans.sort_unstable();
        let mut before = 0_u64;
        let of = |(begin, end): (u64, u64)| {
            let mine = before;
            before = before.saturating_add(end.saturating_sub(begin));
            (begin, mine, end)
        };
        Self(spans.into_iter().map(of).collect())
    }

    /// Returns how long the process has waited in total until `at`, ns.
    pub(super) fn until(&self, at: u64) -> u64 {
        let last = self.0.partition_point(|(begin, ..)| *begin <= at).checked_sub(1).and_then(|last| self.0.get(last));
        last.map_or(0, |(begin, before, end)| before.saturating_add(at.min(*end).saturating_sub(*begin)))
    }
}
