//! Reads and writes of each thread of a process, and the thread that takes longer than the other threads with the same work. Outliers are
//! left out: one stalled call makes no thread slow.

use super::parts::LOG_BITS;
use super::sums::Sums;
use crate::model::{Class, FileId};
use crate::shared::outlier_test::{FEWEST, odd};
use crate::shared::stats::median;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Least number of reads (or writes) of a thread for it to be compared with the process's other threads.
const CALLS: u64 = 16;
/// A thread that makes less than this part of an even share of all reads (or writes) is not one of those that do the work.
const COUNTS: f64 = 0.1;
/// Largest ratio, either way, of a thread's number of calls and mean call length to the median thread. Beyond it, the thread has other
/// work.
const SIMILAR: f64 = 1.25;
/// Assumed spread of log durations of single calls; for more regular calls, the test is conservative.
const SPREAD: f64 = 0.5;

/// Reads (or writes) of one thread. Times in ns.
#[derive(Clone, Debug)]
struct Calls {
    count: u64,
    bytes: u64,
    /// Sum over the thread's calls of log(duration / usual duration), times 2^16.
    above: i64,
    /// Time in the thread's calls without outliers, by phase.
    phases: FxHashMap<u32, u64>,
    /// File of the thread's first call.
    file: FileId,
    /// True if all of the thread's calls are on the file `file`.
    one_file: bool,
    /// Lowest and highest (exclusive) byte that the calls access in their files.
    range: (u64, u64),
}

impl Default for Calls {
    fn default() -> Self {
        Self {
            count: 0,
            bytes: 0,
            above: 0,
            phases: FxHashMap::default(),
            file: FileId::NONE,
            one_file: true,
            range: (u64::MAX, 0),
        }
    }
}

/// Reads (first) and writes (second) of one thread.
#[derive(Clone, Debug, Default)]
pub(super) struct OfThread([Calls; 2]);

/// Classes of calls by which threads are compared.
const CLASSES: [Class; 2] = [Class::Read, Class::Write];

impl OfThread {
    /// Adds the calls of a cell in `phase`. `usual_log`: log of the usual duration, times 2^16. The longest of several calls does not
    /// count.
    pub(super) fn add(&mut self, (class, file): (Class, FileId), phase: usize, sums: &Sums, usual_log: i64) {
        let near = sums.far_calls < sums.calls;
        let Some(at) = CLASSES.iter().position(|of| *of == class).filter(|_| near) else { return };
        let Some(of) = self.0.get_mut(at) else { return };
        of.one_file &= of.count == 0 || of.file == file;
        if of.count == 0 {
            of.file = file;
        }
        let logs = sums.typical_log() * f64::from(1 << LOG_BITS) - usual_log as f64;
        of.count = of.count.saturating_add(sums.calls);
        of.bytes = of.bytes.saturating_add(sums.bytes);
        of.above = of.above.saturating_add((logs * sums.calls as f64) as i64);
        let ns = of.phases.entry(u32::try_from(phase).unwrap_or(u32::MAX)).or_default();
        *ns = ns.saturating_add(sums.time_ns.saturating_sub(sums.far_ns));
        of.range = (of.range.0.min(sums.range.0), of.range.1.max(sums.range.1));
    }

    /// Adds calls of the same thread from another block of the trace.
    pub(super) fn join(&mut self, other: Self) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            if theirs.count == 0 {
                continue;
            }
            mine.one_file =
                mine.count == 0 && theirs.one_file || mine.one_file && theirs.one_file && mine.file == theirs.file;
            mine.file = if mine.count == 0 { theirs.file } else { mine.file };
            mine.count = mine.count.saturating_add(theirs.count);
            mine.bytes = mine.bytes.saturating_add(theirs.bytes);
            mine.above = mine.above.saturating_add(theirs.above);
            mine.range = (mine.range.0.min(theirs.range.0), mine.range.1.max(theirs.range.1));
            for (phase, ns) in theirs.phases {
                let of = mine.phases.entry(phase).or_default();
                *of = of.saturating_add(ns);
            }
        }
    }
}

/// File, or part of a file, that only the slow thread uses, and that may be slow instead of the thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Own {
    /// Nothing: all threads use the same bytes of the same files.
    Nothing,
    /// A whole file that only the slow thread uses.
    File(FileId),
    /// A range of bytes that only the slow thread uses, in the given file, which all threads use.
    Part(FileId),
}

/// Thread that takes longer for its reads (or writes) than the process's other threads with the same work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlowThread {
    /// Class of the slow calls: read or write.
    pub class: Class,
    /// Index of the slow thread among the threads that make calls of the class, in the order of thread ids.
    pub place: usize,
    /// Number of the process's threads that make calls of this class.
    pub of: usize,
    /// Kernel thread id of the slow thread.
    pub tid: u32,
    /// Slowdown: mean log(duration / usual duration) of the thread's calls, less that of the other threads.
    pub above: f64,
    /// Probability of at least this slowdown by chance, for any of the threads.
    pub p: f64,
    /// Number of the thread's calls of this class.
    pub calls: u64,
    /// Time that the thread's calls would save if they were as fast as those of the other threads, ns.
    pub beyond_ns: f64,
    /// File, or part of a file, that may be slow instead of the thread.
    pub own: Own,
}

/// Time of a process's threads in reads and writes, and the slow thread.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AtWork {
    /// The slow thread, if there is one.
    pub slow: Option<SlowThread>,
    /// For each phase: (its number, time in calls of the busiest thread, this time if the slow thread were as fast as the others). Times in
    /// ns.
    pub phases: Vec<(u32, u64, u64)>,
}

impl AtWork {
    /// Compares the threads of a process (key: thread id); `None` if there are too few.
    pub(super) fn of(threads: FxHashMap<u32, OfThread>) -> Option<Self> {
        let threads: BTreeMap<u32, OfThread> = threads.into_iter().collect();
        if threads.len() < FEWEST {
            return None;
        }
        let slow = CLASSES.iter().enumerate().filter_map(|(at, class)| {
            let of: Vec<(u32, &Calls)> = threads.iter().filter_map(|(tid, of)| Some((*tid, of.0.get(at)?))).collect();
            slow_one(*class, of)
        });
        let slow = slow.max_by(|a, b| a.above.total_cmp(&b.above));
        let mut phases: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        for (tid, of) in &threads {
            let mut mine: BTreeMap<u32, (u64, f64)> = BTreeMap::new();
            for (class, of) in CLASSES.iter().zip(&of.0) {
                let is = slow.is_some_and(|slow| (slow.tid, slow.class) == (*tid, *class));
                let times = slow.filter(|_| is).map_or(1.0, |slow| (-slow.above).exp());
                for (phase, ns) in &of.phases {
                    let sum = mine.entry(*phase).or_default();
                    *sum = (sum.0.saturating_add(*ns), sum.1 + *ns as f64 * times);
                }
            }
            for (phase, (now, then)) in mine {
                let most = phases.entry(phase).or_default();
                *most = (most.0.max(now), most.1.max(then as u64));
            }
        }
        let phases = phases.into_iter().map(|(phase, (now, then))| (phase, now, then)).collect();
        Some(Self { slow, phases })
    }
}

/// Returns the thread with the largest slowdown, if all threads (id and calls in `all`) have the same work; else `None`.
fn slow_one(class: Class, all: Vec<(u32, &Calls)>) -> Option<SlowThread> {
    let calls: u64 = all.iter().map(|(_, of)| of.count).sum();
    let counts = |of: &Calls| of.count as f64 * all.len() as f64 >= calls as f64 * COUNTS;
    let members: Vec<(u32, &Calls)> = all.iter().copied().filter(|(_, of)| of.count > 0 && counts(of)).collect();
    let middle =
        |value: &dyn Fn(&Calls) -> f64| median(&mut members.iter().map(|(_, of)| value(of)).collect::<Vec<f64>>());
    let count = |of: &Calls| of.count as f64;
    let length = |of: &Calls| of.bytes as f64 / of.count.max(1) as f64;
    let (usual_count, usual_length) = (middle(&count)?, middle(&length)?);
    let similar = |value: f64, usual: f64| value <= usual * SIMILAR && value * SIMILAR >= usual;
    let same = |of: &Calls| of.count >= CALLS && similar(count(of), usual_count) && similar(length(of), usual_length);
    if members.len() < FEWEST || !members.iter().all(|(_, of)| same(of)) {
        return None;
    }
    let above = |of: &Calls| of.above as f64 / f64::from(1 << LOG_BITS) / of.count.max(1) as f64;
    let values: Vec<f64> = members.iter().map(|(_, of)| above(of)).collect();
    let errors: Vec<f64> = members.iter().map(|(_, of)| SPREAD / (of.count as f64).sqrt()).collect();
    let found = odd(&values, &errors);
    let place = (0..values.len()).max_by(|a, b| values[*a].total_cmp(&values[*b]))?;
    let (&(tid, slow), of) = (members.get(place)?, found.get(place)?);
    let others = || members.iter().filter(|(other, _)| *other != tid).map(|(_, of)| *of);
    let files = || members.iter().map(|(_, of)| of.file);
    let one_each = members.iter().all(|(_, of)| of.one_file);
    let apart = |of: &Calls| of.range.0 >= slow.range.1 || of.range.1 <= slow.range.0;
    let own = if one_each && others().all(|of| of.file != slow.file) {
        // A thread that alone uses another file does other work; threads with a file each do the same work.
        let mut each: Vec<FileId> = files().collect();
        each.sort_unstable();
        each.dedup();
        if each.len() < members.len() {
            return None;
        }
        Own::File(slow.file)
    } else if one_each && slow.range.0 < slow.range.1 && files().all(|file| file == slow.file) && others().all(apart) {
        Own::Part(slow.file)
    } else {
        Own::Nothing
    };
    let (above, p) = (of.above, of.p * members.len() as f64);
    let beyond_ns = slow.phases.values().map(|ns| *ns as f64).sum::<f64>() * (1.0 - (-above).exp());
    Some(SlowThread { class, place, of: members.len(), tid, above, p, calls: slow.count, beyond_ns, own })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cube::reading::sums::log;

    /// Returns the sums of one call of `bytes` bytes that takes `ms` milliseconds.
    fn call(bytes: u64, ms: f64) -> Sums {
        Sums::counted(1, bytes, (1e6 * ms) as u64, 0)
    }

    /// Compares four threads. `of`: number of calls, bytes of each, file, and duration in ms of a thread's calls.
    fn threads(of: impl Fn(u32) -> (u64, u64, u32, f64)) -> Option<SlowThread> {
        let mut all: FxHashMap<u32, OfThread> = FxHashMap::default();
        for thread in 0..4_u32 {
            let (calls, bytes, file, times) = of(thread);
            for phase in 0..calls {
                let mut sums = call(bytes, times);
                sums.range = (phase * bytes, (phase + 1) * bytes);
                let of = (Class::Read, FileId(file));
                all.entry(100 + thread).or_default().add(of, phase as usize / 2, &sums, log(1_000_000));
            }
        }
        let found = AtWork::of(all)?;
        found.slow.filter(|slow| slow.p < 0.01 && slow.above > 0.2)
    }

    #[test]
    fn one_of_several_threads_that_do_the_same_is_slow() {
        let slow = |thread: u32| if thread == 2 { 1.8 } else { 1.0 };
        let found = threads(|thread| (40, 1 << 20, 0, slow(thread)));
        assert_eq!(found.map(|of| (of.place, of.of, of.tid, of.own)), Some((2, 4, 102, Own::Nothing)));
        let own = threads(|thread| (40, 1 << 20, thread, slow(thread)));
        assert_eq!(own.map(|of| of.own), Some(Own::File(FileId(2))), "thread or file");
        assert_eq!(threads(|thread| (40, 1 << 20, 0, 1.0 + f64::from(thread) * 0.2)), None, "they spread");
    }

    #[test]
    fn threads_with_other_work_are_not_compared() {
        let slow = |thread: u32| if thread == 2 { 1.8 } else { 1.0 };
        assert_eq!(threads(|thread| (if thread == 2 { 80 } else { 40 }, 1 << 20, 0, slow(thread))), None);
        assert_eq!(threads(|thread| (40, if thread == 2 { 1 << 21 } else { 1 << 20 }, 0, slow(thread))), None);
        assert_eq!(threads(|thread| (40, 1 << 20, u32::from(thread == 2), slow(thread))), None, "on another file");
        assert_eq!(threads(|thread| (8, 1 << 20, 0, slow(thread))), None, "too few calls");
    }

    #[test]
    fn what_a_slow_thread_costs_is_by_phase() {
        let mut all: FxHashMap<u32, OfThread> = FxHashMap::default();
        for thread in 0..4_u32 {
            for number in 0..40 {
                let sums = call(1 << 20, if thread == 3 { 2.0 } else { 1.0 });
                all.entry(thread).or_default().add((Class::Write, FileId(0)), number / 20, &sums, log(1_000_000));
            }
        }
        let found = AtWork::of(all).map(|of| of.phases).unwrap_or_default();
        let near = |ns: u64| (19_500_000..20_500_000).contains(&ns);
        assert!(
            matches!(found.as_slice(), [(0, 40_000_000, one), (1, 40_000_000, two)] if near(*one) && near(*two)),
            "{found:?}"
        );
    }
}
