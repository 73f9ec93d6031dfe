//! When a process came to calls in which ranks meet, and what that says of all of them.

/// SyncPoints of one operation that are followed.
pub(super) const SYNC_POINTS: usize = 1 << 16;
/// Part of calls that all ranks make in which nobody leaves before the last has come, from which they meet there.
const MET: f64 = 0.9;

/// SyncPoints of one operation on one file.
#[derive(Clone, Debug, Default)]
pub(super) struct SyncPoints {
    /// Latest beginning of each, ns since the job's start.
    pub(super) last: Vec<u64>,
    /// Earliest end of each, if that has to tell whether they are synchronization points.
    pub(super) first_out: Vec<u64>,
    /// Processes that took part, and in how many at least and at most.
    pub(super) processes: u64,
    pub(super) fewest: usize,
    pub(super) most: usize,
}

impl SyncPoints {
    pub(super) fn add(&mut self, of: &Begins) {
        let (last, first_out) = (of.begins.clone(), of.ends.clone());
        self.join(&Self { last, first_out, processes: 1, fewest: of.begins.len(), most: of.begins.len() });
    }

    /// Whether nobody leaves before all have come, but for few by chance.
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

/// SyncPoints of one process.
#[derive(Clone, Debug, Default)]
pub(super) struct Begins {
    pub(super) begins: Vec<u64>,
    /// Their ends, where these tell whether they are synchronization points.
    pub(super) ends: Vec<u64>,
    /// How long after the last one it came, its other calls left out, ns; [`FIRST`] if there was none.
    pub(super) gaps: Vec<u64>,
    /// When the last one had ended, for each of these.
    pub(super) after: Vec<u64>,
}

/// Nothing tells how late a process comes to its first collective call.
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

    /// Takes what the process waited for others out of its gaps: who waits does not come late by itself.
    pub(super) fn without(&mut self, waited: &Waited) {
        for ((gap, begin), after) in self.gaps.iter_mut().zip(&self.begins).zip(&self.after) {
            if *gap != FIRST {
                *gap = gap.saturating_sub(waited.until(*begin).saturating_sub(waited.until(*after)));
            }
        }
    }
}

/// When a process waited in MPI's own calls: beginnings in order, with how long it had waited before, ns, and ends.
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

    /// How long it had waited until a moment, ns.
    pub(super) fn until(&self, at: u64) -> u64 {
        let last = self.0.partition_point(|(begin, ..)| *begin <= at).checked_sub(1).and_then(|last| self.0.get(last));
        last.map_or(0, |(begin, before, end)| before.saturating_add(at.min(*end).saturating_sub(*begin)))
    }
}
