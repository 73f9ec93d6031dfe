//! First pass over the trace: finds synchronization points of ranks, and times without I/O, which end the phases of the run. The k-th call
//! of a collective operation is the same call on all ranks, and no rank leaves it before the last arrives: a phase ends when the last rank
//! begins this call. The same holds for the program's own synchronization calls on communicators of all ranks, including duplicates made by
//! libraries.

use super::met::{Begins, FIRST, SYNC_POINTS, SyncPoints, Waited};
use super::role::{Role, role};
use super::slots::Slots;
use super::who::{Key, Who, of_all, of_parts};
use crate::limits::FOLLOWED_GAPS;
use crate::model::{Process, ProcessId, Run};
use crate::scan::{Analysis, Block, Stretch};
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};
use std::hash::BuildHasher;
use trace_format::frame::BlockHead;

/// Number of parts of the run; each is checked for I/O.
const PARTS: usize = 1 << 14;
/// Largest number of groups of ranks per process whose collective calls are followed.
const GROUPS: usize = 8;
/// Least number of ranks in a group to look for stragglers (ranks that arrive last) in it.
const SEVERAL: u64 = 3;
/// Number of consecutive parts of the run without I/O that end a phase: 1/512 of the run.
const GAP: usize = PARTS / 512;

/// Analysis (pass over all recorded calls) that finds the phases of a run.
#[derive(Clone, Debug)]
pub struct Phases {
    roles: Vec<Vec<Role>>,
    /// By process: its communicators that contain all ranks, by their number in the trace.
    communicators: Vec<FxHashMap<i64, Who>>,
    /// By process: its communicators of at least [`SEVERAL`] ranks, but not of all ranks, by their number in the trace.
    of_parts: Vec<FxHashMap<i64, Who>>,
    /// Length of the run, ns.
    length: u64,
}

impl Phases {
    /// Decides for each stream of `run` whether its calls may be synchronization points.
    #[must_use]
    pub fn new(run: &Run) -> Self {
        let of = |process: &Process| process.streams.iter().map(|stream| role(run, stream)).collect();
        let mut roles: Vec<Vec<Role>> = run.processes.iter().map(of).collect();
        // Calls of all ranks synchronize all; calls of some ranks only show stragglers among these.
        let mut count: FxHashMap<Key, (u64, u64)> = FxHashMap::default();
        for (number, process) in (0_u64..).zip(&roles) {
            let met: FxHashSet<Key> = process.iter().filter_map(|role| role.collective()).collect();
            for key in met {
                let (callers, group) = count.entry(key).or_default();
                // Identifies a group by its members in any order.
                (*callers, *group) = (*callers + 1, group.wrapping_add(FxBuildHasher.hash_one(number)));
            }
        }
        let ranks = run.ranks();
        for role in roles.iter_mut().flatten() {
            let of = role.collective().and_then(|key| count.get(&key).copied());
            match (of, &mut *role) {
                (Some((callers, _)), _) if callers < ranks.min(SEVERAL) => *role = Role::Call,
                (Some((callers, who)), Role::Collective { sure, group, .. }) => {
                    *group = who;
                    // Groups of ranks may have opened the file separately.
                    *sure &= callers == ranks;
                }
                _ => {}
            }
        }
        let communicators = run.processes.iter().map(|process| of_all(process, ranks)).collect();
        let of_parts = run.processes.iter().map(|process| of_parts(process, ranks, SEVERAL)).collect();
        Self { roles, communicators, of_parts, length: run.length_ns() }
    }
}

/// Returns the number of parts of the run per ns, for a run of `length` ns.
fn parts_in_ns(length: u64) -> f64 {
    PARTS as f64 / length.max(1) as f64
}

/// Returns the number of the part of the run that contains the time `at`.
#[inline]
fn part_of(at: u64, parts_in_ns: f64) -> usize {
    // In floating point: 128-bit integers would take longer than all other work per call. Signed: converted by one instruction, and large enough.
    match i64::try_from(at) {
        Ok(at) => ((at as f64 * parts_in_ns) as i64).min(PARTS as i64 - 1) as usize,
        Err(_) => ((at as f64 * parts_in_ns) as usize).min(PARTS - 1),
    }
}

/// Returns the begin of a part of the run, ns since the job's start.
fn begin_of(part: usize, length: u64) -> u64 {
    u64::try_from(part as u128 * u128::from(length) / PARTS as u128).unwrap_or(length)
}

/// State of one analysis thread during the pass over the trace.
#[derive(Debug)]
pub struct Partial {
    /// By part of the run: true if any process is in a call.
    busy: Vec<bool>,
    sync_points: FxHashMap<Key, SyncPoints>,
    now: ProcessId,
    /// Kernel id of the current process's first thread that makes calls; `None` before its first call.
    thread: Option<u32>,
    begins: FxHashMap<Key, Begins>,
    /// Previous collective call of the current process in each group of ranks, latest first.
    last: Vec<Last>,
    /// Begin and end of MPI's own calls on the current process's first thread, ns since the job's start.
    waited: Vec<(u64, u64)>,
    gaps: FxHashMap<Key, Vec<OfProcess>>,
    /// MPI operations that are synchronization points only if no rank leaves a call before the last arrives.
    unsure: FxHashSet<u16>,
    /// Largest number of gaps (times between collective calls) that are kept for a process and operation.
    room: usize,
}

/// Previous collective call of a process in one group of ranks: the group, the call's end, and time in other calls since then, ns. The
/// lateness of a rank is measured from the end of this call, which made up for earlier delays.
#[derive(Clone, Copy, Debug)]
struct Last {
    group: u64,
    end: u64,
    since_ns: u64,
}

/// A process, and for each of its calls the time since its previous collective call, ns.
type OfProcess = (ProcessId, Vec<u64>);

/// Times from each process's previous collective call to the calls of one operation, ns.
#[derive(Clone, Debug)]
pub struct Gaps {
    /// True for MPI's own calls of only some ranks: the times then include time in other calls.
    pub of_part: bool,
    /// Processes, each with its time before each call, ns.
    pub by_process: Vec<OfProcess>,
}

impl Partial {
    fn end_process(&mut self) {
        let waited = Waited::of(std::mem::take(&mut self.waited));
        for (key, mut begins) in self.begins.drain() {
            begins.without(&waited);
            self.sync_points.entry(key).or_default().add(&begins);
            if !begins.gaps.is_empty() && begins.gaps.len() <= self.room {
                self.gaps.entry(key).or_default().push((self.now, begins.gaps));
            }
        }
        self.last.clear();
    }

    /// Adds a call in which a `group` of processes may synchronize. `by_end`: true if only the ends of the calls show whether they do.
    fn meets(&mut self, key: Key, group: u64, (start, end): (u64, u64), by_end: bool) {
        // MPI's own calls are in blocks of their own: other calls before this one are not known yet.
        let in_lane = matches!(key.1, Who::Part { .. });
        let last = self.last.iter().find(|last| last.group == group).copied();
        let since_ns = last.filter(|_| !in_lane).map_or(0, |last| last.since_ns);
        let gap = last.map_or(FIRST, |last| start.saturating_sub(last.end).saturating_sub(since_ns));
        let gap = Some((gap, last.map_or(0, |last| last.end)));
        self.begins.entry(key).or_default().push(start, by_end.then_some(end), gap);
        self.last.retain(|last| last.group != group);
        // Waits in MPI's own calls are subtracted at the end.
        let took = if in_lane { 0 } else { end.saturating_sub(start) };
        self.last.iter_mut().for_each(|last| last.since_ns = last.since_ns.saturating_add(took));
        self.last.truncate(GROUPS - 1);
        self.last.insert(0, Last { group, end, since_ns: 0 });
    }

    /// Marks the parts of the run in which a process is in a call.
    #[inline]
    fn add_busy(&mut self, start: u64, end: u64, parts_in_ns: f64) {
        let (first, last) = (part_of(start, parts_in_ns), part_of(end, parts_in_ns));
        if last - first.min(last) > 1 || !self.busy[first] || !self.busy[last] {
            self.busy[first.min(last)..=last].fill(true);
        }
    }

    /// Returns the times before collective calls, for operations for which they are known of all participating processes.
    #[must_use]
    pub fn gaps(&mut self) -> Vec<Gaps> {
        self.end_process();
        let sync_points = &self.sync_points;
        let whole = |(key, by_process): &(Key, Vec<OfProcess>)| {
            let of = sync_points.get(key).filter(|of| of.is_one());
            of.is_some_and(|of| of.processes == by_process.len() as u64)
        };
        let mut of: Vec<(Key, Gaps)> = std::mem::take(&mut self.gaps)
            .into_iter()
            .filter(whole)
            .map(|(key, by_process)| (key, Gaps { of_part: matches!(key.1, Who::Part { .. }), by_process }))
            .collect();
        of.sort_by_key(|(key, _)| *key);
        of.iter_mut().for_each(|(_, gaps)| gaps.by_process.sort_by_key(|(process, _)| *process));
        of.into_iter().map(|(_, gaps)| gaps).collect()
    }

    /// Divides `run` into time windows and phases by the synchronization points and times without I/O that were found.
    #[must_use]
    pub fn slots(mut self, run: &Run) -> Slots {
        let (length, ranks) = (run.length_ns(), run.ranks());
        self.end_process();
        let all_met = |of: &SyncPoints| of.processes == ranks && of.fewest == of.most && ranks > 1 && of.is_one();
        let mut met: Vec<(&Key, &SyncPoints)> = self.sync_points.iter().filter(|(_, of)| all_met(of)).collect();
        // If calls that always synchronize end phases, the uncertain ones are not needed.
        if met.iter().any(|(key, _)| !self.unsure.contains(&key.0)) {
            met.retain(|(key, _)| !self.unsure.contains(&key.0));
        }
        let met_in: FxHashSet<Key> =
            met.iter().map(|(key, _)| **key).filter(|key| self.unsure.contains(&key.0)).collect();
        let mut ends: Vec<u64> = met.iter().flat_map(|(_, sync_points)| &sync_points.last).copied().collect();
        let ranks_met = !ends.is_empty();
        let mut idle = 0;
        for (part, &busy) in self.busy.iter().enumerate() {
            if busy && idle >= GAP {
                ends.push(begin_of(part, length));
            }
            idle = if busy { 0 } else { idle + 1 };
        }
        let mut slots = Slots::new(length, ends, ranks_met).with_met_in(met_in);
        for (part, _) in self.busy.iter().enumerate().filter(|(_, busy)| **busy) {
            let begin = begin_of(part, length);
            slots.add_busy(begin, begin_of(part + 1, length) - begin);
        }
        slots
    }
}

impl Phases {
    /// Adds calls that do not synchronize ranks, made by the thread `tid`.
    fn calls(&self, partial: &mut Partial, calls: Stretch<'_>, shift: u64, tid: u32) {
        let parts_in_ns = parts_in_ns(self.length);
        for (start, end) in calls.start.iter().zip(calls.end) {
            partial.add_busy(start.saturating_add(shift), end.saturating_add(shift), parts_in_ns);
        }
        if tid == *partial.thread.get_or_insert(tid) && !partial.last.is_empty() {
            let took = calls.rows().fold(0, |sum: u64, row| sum.saturating_add(row.duration_ns()));
            partial.last.iter_mut().for_each(|last| last.since_ns = last.since_ns.saturating_add(took));
        }
    }
}

impl Analysis for Phases {
    type Partial = Partial;

    fn start(&self) -> Partial {
        Partial {
            busy: vec![false; PARTS],
            sync_points: FxHashMap::default(),
            now: ProcessId::NONE,
            thread: None,
            begins: FxHashMap::default(),
            last: Vec::new(),
            waited: Vec::new(),
            gaps: FxHashMap::default(),
            unsure: FxHashSet::default(),
            room: FOLLOWED_GAPS / self.roles.len().max(1),
        }
    }

    fn wants(&self, _run: &Run, _process: ProcessId, _head: &BlockHead) -> bool {
        true
    }

    fn ordered(&self) -> bool {
        true
    }

    fn block(&self, partial: &mut Partial, block: &Block<'_>) {
        let of = block.number.index();
        let (Some(roles), Some(communicators), Some(of_parts)) =
            (self.roles.get(of), self.communicators.get(of), self.of_parts.get(of))
        else {
            return;
        };
        if partial.now != block.number {
            partial.end_process();
            (partial.now, partial.thread) = (block.number, None);
        }
        let (shift, tid) = (block.process.shift_ns, block.process.tid(block.thread));
        for stretch in block.stretches() {
            let role = roles.get(stretch.stream.any().index()).copied();
            let Some(role) = role.filter(|role| *role != Role::None) else { continue };
            if role == Role::Call {
                self.calls(partial, stretch, shift, tid);
                continue;
            }
            for row in stretch.rows() {
                let (start, end) = (row.start.saturating_add(shift), row.end.saturating_add(shift));
                let main = *partial.thread.get_or_insert(tid);
                if let Role::SyncPoint { op, sure } = role {
                    if tid == main && partial.waited.len() < SYNC_POINTS {
                        partial.waited.push((start, end));
                    }
                    if let Some(who) = communicators.get(&row.offset) {
                        let end = (!sure).then_some(end);
                        if !sure {
                            partial.unsure.insert(op);
                        }
                        partial.begins.entry((op, *who)).or_default().push(start, end, None);
                    } else if let Some(who) = of_parts.get(&row.offset).filter(|_| sure && tid == main) {
                        partial.meets((op, *who), FxBuildHasher.hash_one(who), (start, end), true);
                    }
                    continue;
                }
                partial.add_busy(start, end, parts_in_ns(self.length));
                let Role::Collective { op, file, sure, group } = role else { continue };
                partial.meets((op, Who::File(file)), group, (start, end), !sure);
            }
        }
    }

    fn merge(&self, into: &mut Partial, mut other: Partial) {
        into.end_process();
        other.end_process();
        into.busy.iter_mut().zip(other.busy).for_each(|(mine, theirs)| *mine |= theirs);
        for (key, gaps) in other.gaps {
            into.gaps.entry(key).or_default().extend(gaps);
        }
        into.unsure.extend(other.unsure);
        for (key, sync_points) in other.sync_points {
            into.sync_points.entry(key).or_default().join(&sync_points);
        }
    }
}
