//! Writes to contested stripes (partly written by several processes) that overlap in time with a write of another process or of another
//! node.

use super::handover::Handovers;
use super::overlap::Write;
use super::sharing::StripeKey;
use crate::limits::NAMED_PROCESSES;
use crate::model::ProcessId;
use crate::sum::Sum;
use rustc_hash::FxHashMap;
use std::cmp::Ordering;
use std::collections::hash_map::Entry;
use std::hash::Hash;

/// Minimum mean length of the sorted runs in a list of writes for which merging the runs is faster than sorting the list.
const FEWEST_IN_RUNS: usize = 4;

/// Stripe that several processes wrote at overlapping times, with totals over the overlapping writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// Stripe on which the writes of several processes overlap in time.
    pub stripe: StripeKey,
    /// Number of writes that overlap in time with a write of another process.
    pub writes: u64,
    /// Sum of the durations of the writes that overlap in time with a write of another process, ns.
    pub time_ns: u64,
    /// Wall-clock time during which at least two processes were writing to the stripe, ns.
    pub wall_ns: u64,
    /// Number of processes whose writes to the stripe overlap in time with a write of another process.
    pub process_count: u64,
    /// First few processes with overlapping writes, in ascending order.
    pub processes: Vec<ProcessId>,
    /// Totals over writes that overlap between nodes; `None` if all overlapping writes come from one node, whose file system client holds
    /// the lock for all its processes.
    pub between_nodes: Option<BetweenNodes>,
}

/// Totals over a [`Conflict`]'s writes that overlap between nodes, so that the file system passes locks between clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BetweenNodes {
    /// Number of writes that overlap in time with a write from another node.
    pub writes: u64,
    /// Sum of the durations of the writes that overlap with a write from another node, ns.
    pub time_ns: u64,
    /// Wall-clock time during which at least two nodes were writing to the stripe, ns.
    pub wall_ns: u64,
    /// Number of nodes whose writes overlap in time with a write from another node.
    pub node_count: u64,
    /// Node indices of the first few nodes with overlapping writes, in ascending order.
    pub nodes: Vec<u32>,
}

/// Returns the conflicts (writes of several processes that overlap in time) on each stripe of a batch, and adds the writes to `handovers`.
/// `nodes` is the node index of each process.
#[must_use]
pub fn conflicts(batch: &[StripeKey], writes: &[Write], nodes: &[u32], handovers: &mut Handovers) -> Vec<Conflict> {
    let mut out = Vec::new();
    let (mut of_stripe, mut room, mut rooms) = (Vec::new(), Vec::new(), Rooms::default());
    let (order, behind) = by_slot(batch.len(), writes);
    let mut from = 0;
    for (stripe, &until) in batch.iter().zip(&behind) {
        let places = order.get(std::mem::replace(&mut from, until)..until).unwrap_or_default();
        of_stripe.clear();
        of_stripe.extend(places.iter().filter_map(|place| writes.get(*place as usize)).copied());
        sort_runs(&mut of_stripe, &mut room);
        handovers.add(stripe.file, &of_stripe, nodes);
        out.extend(one(*stripe, &of_stripe, nodes, &mut rooms));
    }
    out
}

/// Groups `writes` by stripe: returns their indices, and the end of each stripe's group. Uses counting sort, which is cheaper than
/// comparisons: writes arrive process by process, mostly in order of stripes. `slots`: number of stripes.
fn by_slot(slots: usize, writes: &[Write]) -> (Vec<u32>, Vec<usize>) {
    let mut behind = vec![0_usize; slots];
    for write in writes {
        behind.get_mut(write.slot as usize).into_iter().for_each(|count| *count += 1);
    }
    // First the start of each stripe's group; once all writes are assigned, its end.
    let mut sum = 0;
    behind.iter_mut().for_each(|count| sum += std::mem::replace(count, sum));
    let mut order = vec![0; sum];
    for (place, write) in (0_u32..).zip(writes) {
        if let Some(next) = behind.get_mut(write.slot as usize)
            && let Some(at) = order.get_mut(*next)
        {
            *at = place;
            *next += 1;
        }
    }
    (order, behind)
}

/// Compares two writes to one stripe by start; ties are broken by the other fields.
#[inline]
fn order(one: &Write, other: &Write) -> Ordering {
    one.start.cmp(&other.start).then_with(|| one.cmp(other))
}

/// Sorts writes by merging sorted runs in pairs: writes arrive process by process, in order of time within each process. `room` is a
/// reusable buffer.
fn sort_runs(writes: &mut Vec<Write>, room: &mut Vec<Write>) {
    let in_order = |one: &Write, next: &Write| order(one, next).is_le();
    if writes.chunk_by(in_order).count() * FEWEST_IN_RUNS > writes.len() {
        return writes.sort_unstable_by(order);
    }
    let mut runs: Vec<usize> = writes.chunk_by(in_order).map(<[Write]>::len).collect();
    while runs.len() > 1 {
        room.clear();
        let mut rest = writes.as_slice();
        let mut merged = Vec::with_capacity(runs.len().div_ceil(2));
        for two in runs.chunks(2) {
            let (first, second) = (two.first().copied().unwrap_or(0), two.get(1).copied().unwrap_or(0));
            let (both, behind) = rest.split_at(first + second);
            let (one, other) = both.split_at(first);
            merge(one, other, room);
            merged.push(both.len());
            rest = behind;
        }
        std::mem::swap(writes, room);
        runs = merged;
    }
}

/// Merges two sorted lists of writes and appends the result to `into`.
fn merge(mut one: &[Write], mut other: &[Write], into: &mut Vec<Write>) {
    while let (Some((a, later)), Some((b, others))) = (one.split_first(), other.split_first()) {
        if order(a, b).is_le() {
            into.push(*a);
            one = later;
        } else {
            into.push(*b);
            other = others;
        }
    }
    into.extend_from_slice(one);
    into.extend_from_slice(other);
}

/// Buffers, for processes and for nodes, that are reused for each stripe.
#[derive(Default)]
struct Rooms {
    processes: Room<ProcessId>,
    nodes: Room<u32>,
}

/// Reusable buffers for one kind of owner of writes (processes or nodes).
struct Room<T> {
    in_conflict: Vec<bool>,
    /// For each owner (process or node): end of the latest time span in which it is writing, ns.
    until: FxHashMap<T, u64>,
    /// Starts of the time spans in which owners (processes or nodes) are writing, ascending, ns.
    starts: Vec<u64>,
    /// Ends of the time spans in which owners (processes or nodes) are writing, ns; sorted before use.
    ends: Vec<u64>,
}

impl<T> Default for Room<T> {
    fn default() -> Self {
        Self { in_conflict: Vec::new(), until: FxHashMap::default(), starts: Vec::new(), ends: Vec::new() }
    }
}

/// Returns the conflict (writes of several processes that overlap in time) on one stripe; `None` if there is none. `writes` must be sorted
/// by start; `nodes` is the node index of each process.
fn one(stripe: StripeKey, writes: &[Write], nodes: &[u32], rooms: &mut Rooms) -> Option<Conflict> {
    let processes = among(writes, |write| write.process, &mut rooms.processes)?;
    let node = |write: &Write| nodes.get(write.process.index()).copied().unwrap_or(u32::MAX);
    let between_nodes = among(writes, node, &mut rooms.nodes).map(|found| BetweenNodes {
        writes: found.writes,
        time_ns: found.time_ns,
        wall_ns: found.wall_ns,
        node_count: found.count,
        nodes: found.first,
    });
    Some(Conflict {
        stripe,
        writes: processes.writes,
        time_ns: processes.time_ns,
        wall_ns: processes.wall_ns,
        process_count: processes.count,
        processes: processes.first,
        between_nodes,
    })
}

/// Totals over the writes of different owners (processes or nodes) that overlap in time.
struct Among<T> {
    writes: u64,
    time_ns: u64,
    wall_ns: u64,
    count: u64,
    first: Vec<T>,
}

fn among<T: Copy + Ord + Hash>(writes: &[Write], owner: impl Fn(&Write) -> T, room: &mut Room<T>) -> Option<Among<T>> {
    let in_conflict = &mut room.in_conflict;
    in_conflict.clear();
    in_conflict.resize(writes.len(), false);
    // Forward pass: finds writes that begin while an earlier write of another owner is running. The two latest ends of different owners suffice.
    let mut latest = TwoBest::default();
    for (write, mark) in writes.iter().zip(in_conflict.iter_mut()) {
        *mark |= latest.other_than(owner(write)).is_some_and(|end| end > write.start);
        latest.offer(owner(write), write.end);
    }
    // Backward pass: finds writes that end after a later write of another owner has begun.
    let mut earliest = TwoBest::default();
    for (write, mark) in writes.iter().zip(in_conflict.iter_mut()).rev() {
        *mark |= earliest.other_than(owner(write)).is_some_and(|start| u64::MAX - start < write.end);
        earliest.offer(owner(write), u64::MAX - write.start);
    }
    let hit = || writes.iter().zip(in_conflict.iter()).filter(|(_, mark)| **mark).map(|(write, _)| write);
    let mut first: Vec<T> = hit().map(&owner).collect();
    first.sort_unstable();
    first.dedup();
    if first.is_empty() {
        return None;
    }
    let count = first.len() as u64;
    first.truncate(NAMED_PROCESSES);
    let (hits, time_ns) = (hit().count() as u64, hit().map(|write| write.end - write.start).sum::<Sum>().get());
    Some(Among { writes: hits, time_ns, wall_ns: wall_ns(writes, owner, room), count, first })
}

/// The two largest values so far that belong to different owners (processes or nodes).
struct TwoBest<T> {
    first: Option<(u64, T)>,
    second: Option<(u64, T)>,
}

impl<T> Default for TwoBest<T> {
    fn default() -> Self {
        Self { first: None, second: None }
    }
}

impl<T: Copy + Eq> TwoBest<T> {
    fn offer(&mut self, by: T, value: u64) {
        match self.first {
            Some((best, owner)) if owner == by => self.first = Some((best.max(value), owner)),
            Some((best, _)) if value <= best => {
                if self.second.is_none_or(|(second, owner)| owner == by || value > second) {
                    let kept = self.second.filter(|(_, owner)| *owner == by).map_or(0, |(second, _)| second);
                    self.second = Some((value.max(kept), by));
                }
            }
            _ => {
                self.second = self.first;
                self.first = Some((value, by));
            }
        }
    }

    fn other_than(&self, by: T) -> Option<u64> {
        let other = |best: &Option<(u64, T)>| best.filter(|(_, owner)| *owner != by).map(|(value, _)| value);
        other(&self.first).or_else(|| other(&self.second))
    }
}

/// Returns the wall-clock time during which at least two owners (processes or nodes) are writing, ns; `writes` must be sorted by start.
fn wall_ns<T: Copy + Eq + Hash>(writes: &[Write], owner: impl Fn(&Write) -> T, room: &mut Room<T>) -> u64 {
    let Room { until, starts, ends, .. } = room;
    // Merges each owner's writes into disjoint time spans, so that concurrent writes of one owner do not count as two owners.
    starts.clear();
    ends.clear();
    for write in writes {
        match until.entry(owner(write)) {
            Entry::Occupied(mut last) if write.start <= *last.get() => {
                *last.get_mut() = write.end.max(*last.get());
                continue;
            }
            Entry::Occupied(mut last) => ends.push(last.insert(write.end)),
            Entry::Vacant(none) => _ = none.insert(write.end),
        }
        starts.push(write.start);
    }
    ends.extend(until.drain().map(|(_, end)| end));
    ends.sort_unstable();
    // If a write ends when another starts, the end is processed first, so that they do not overlap.
    let (mut active, mut since, mut total) = (0_u64, 0, 0_u64);
    let mut starts = starts.iter().copied().peekable();
    for &end in ends.iter() {
        while let Some(start) = starts.next_if(|start| *start < end) {
            if active >= 2 {
                total = total.saturating_add(start - since);
            }
            (active, since) = (active + 1, start);
        }
        if active >= 2 {
            total = total.saturating_add(end - since);
        }
        (active, since) = (active.saturating_sub(1), end);
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::FileId;

    /// Node index of each process from 0 to 3.
    const NODES: &[u32] = &[0, 0, 1, 2];
    const STRIPE: StripeKey = StripeKey { file: FileId(0), start: 0 };

    fn writes(of: &[(u32, u64, u64)]) -> Vec<Write> {
        let mut all: Vec<Write> = of
            .iter()
            .map(|&(process, start, end)| Write { slot: 0, start, end, process: ProcessId(process), size: 0 })
            .collect();
        all.sort();
        all
    }

    #[test]
    fn only_writes_that_overlap_with_another_process_are_in_conflict() {
        let all = writes(&[(1, 0, 10), (2, 5, 15), (1, 20, 30), (1, 25, 40), (3, 40, 50)]);
        let conflict = one(STRIPE, &all, NODES, &mut Rooms::default()).unwrap();
        assert_eq!((conflict.writes, conflict.time_ns, conflict.wall_ns), (2, 20, 5));
        assert_eq!(conflict.processes, [1, 2].map(ProcessId));
        assert!(one(STRIPE, &writes(&[(1, 0, 10), (1, 5, 15), (2, 15, 20)]), NODES, &mut Rooms::default()).is_none());
    }

    #[test]
    fn runs_are_put_in_order_whatever_they_are() {
        let mut state = 1_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % below
        };
        let mut room = Vec::new();
        for (processes, each) in [(0, 0), (1, 50), (7, 40), (16, 3), (33, 10), (100, 1)] {
            let mut all: Vec<Write> = Vec::new();
            for process in 0..processes {
                let mut at = 0;
                for size in 0..each {
                    at += random(4);
                    let end = at + random(3);
                    all.push(Write { slot: 0, start: at, end, process: ProcessId(process), size });
                }
            }
            let mut sorted = all.clone();
            sorted.sort();
            sort_runs(&mut all, &mut room);
            assert_eq!(all, sorted, "{processes} with {each}");
        }
    }

    #[test]
    fn writes_from_one_node_are_distinguished() {
        // Processes 0 and 1 share a node.
        let local = one(STRIPE, &writes(&[(0, 0, 10), (1, 5, 15), (2, 15, 20)]), NODES, &mut Rooms::default()).unwrap();
        assert_eq!((local.process_count, local.between_nodes), (2, None));
        let both = one(STRIPE, &writes(&[(0, 0, 10), (1, 5, 15), (2, 14, 20)]), NODES, &mut Rooms::default()).unwrap();
        let between = both.between_nodes.unwrap();
        assert_eq!((both.writes, both.wall_ns, between.writes, between.wall_ns), (3, 6, 2, 1));
        assert_eq!((between.nodes, between.node_count, between.time_ns), (vec![0, 1], 2, 16));
    }

    #[test]
    fn marks_agree_with_comparing_every_pair() {
        let mut state = 1_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % below
        };
        for _ in 0..300 {
            let count = random(12);
            let of: Vec<(u32, u64, u64)> = (0..count)
                .map(|_| {
                    let start = random(30);
                    (random(4) as u32, start, start + 1 + random(8))
                })
                .collect();
            let all = writes(&of);
            let expected = all
                .iter()
                .filter(|a| all.iter().any(|b| b.process != a.process && b.start < a.end && a.start < b.end))
                .count() as u64;
            let found = one(STRIPE, &all, NODES, &mut Rooms::default());
            assert_eq!(found.as_ref().map_or(0, |conflict| conflict.writes), expected, "{of:?}");
            let node = |write: &Write| NODES[write.process.index()];
            let between =
                all.iter().filter(|a| all.iter().any(|b| node(b) != node(a) && b.start < a.end && a.start < b.end));
            let reported = found.and_then(|conflict| conflict.between_nodes).map_or(0, |between| between.writes);
            assert_eq!(reported, between.count() as u64, "{of:?}");
        }
    }
}
