//! Sums of calls per interval of time and group (ranks, file system, operation): calls, bytes, time, longest call, histograms of sizes and
//! durations.

use super::about::{Process, Target};
use dxt_base::text::signed::signed;
use rustc_hash::FxBuildHasher;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use trace_format::Segment;
use trace_format::counters::Counters;
use trace_format::op::{Layer, OpClass};

/// Number of buckets of a histogram. Bucket bounds are powers of two; the last bucket has no upper bound.
pub const BUCKETS: usize = 48;

/// Maximum number of groups (calls of one job, operation, file system, ...) with their own sums, of all users together.
const MOST_GROUPS: usize = 4096;
/// Maximum number of groups with their own sums of each user other than the agent's own.
const MOST_OF_USER: usize = 120;
/// Maximum number of sums (one per group and interval) in memory; each takes some 850 bytes.
const MOST_SUMS: usize = 20_000;
/// Name of the group that collects a user's calls in groups beyond the user's maximum number.
pub const OTHERS: &str = "others";

/// Key by which calls are summed: calls that agree in all fields form a group.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Group {
    /// Key of the job that made the calls.
    pub job: String,
    /// Host name of the node on which the calls were made.
    pub node: String,
    /// First and last rank whose calls are summed together, e.g. `0-31`; `-` without MPI.
    pub ranks: String,
    /// Mount point and type of the file system that the calls accessed.
    pub file_system: Arc<str>,
    /// I/O interface of the calls, e.g. POSIX or MPI-IO.
    pub layer: &'static str,
    /// Name of the operation, e.g. `pwrite`.
    pub op: String,
    /// Class of the operation: read, write, open, close, ...
    #[serde(skip)]
    pub class: OpClass,
    /// True if the calls were made inside MPI-IO calls; sums over the program's own calls exclude nested calls.
    pub nested: bool,
}

impl Group {
    /// Returns the group of a process's calls on `target`. `ranks` is the number of consecutive ranks per group.
    #[must_use]
    pub fn of(process: &Process, target: &Target, ranks: u32) -> Self {
        let first = u32::try_from(process.rank).ok().map(|rank| rank / ranks.max(1) * ranks.max(1));
        Self {
            job: process.job.clone(),
            node: process.node.clone(),
            ranks: first.map_or("-".into(), |first| format!("{first}-{}", first + ranks.max(1) - 1)),
            file_system: target.file_system.clone(),
            layer: target.layer.name(),
            op: target.op.clone(),
            class: target.class,
            nested: target.nested,
        }
    }

    /// Returns the group that replaces this group beyond a user's maximum number of groups: all calls of one node, interface and operation class.
    fn others(self) -> Self {
        let others = || OTHERS.to_owned();
        Self { job: others(), ranks: "-".into(), file_system: "-".into(), op: others(), ..self }
    }

    /// True if the group's calls are I/O that the program itself asked for: neither calls made inside MPI-IO nor MPI collective calls.
    #[must_use]
    pub fn is_io_of_program(&self) -> bool {
        !self.nested && self.layer != Layer::Mpi.name()
    }
}

/// Sums over the calls of one group in one interval of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sums {
    /// Number of the group's calls in the interval.
    pub calls: u64,
    /// Bytes that the calls read and wrote.
    pub bytes: u64,
    /// Total time in the group's calls, summed over its processes, in ns.
    pub time_ns: u64,
    /// Duration of the group's longest call, in ns; only calls with their own record (segment) count.
    pub longest_ns: u64,
    /// Number of calls known only from counters; histograms exclude them. They are added to the interval in which the counters were read,
    /// and subtracted from the interval in which they returned if their records (segments) are read later. So the value may be < 0, while
    /// the sum over all intervals is exact.
    pub counted: i64,
    /// Bytes moved by the calls known only from counters.
    pub counted_bytes: i64,
    /// Total time in the calls known only from counters, in ns.
    pub counted_time_ns: i64,
    /// Histogram of calls by bytes moved: bucket 0 counts size 0, bucket `b` sizes from 2^(b-1) on.
    pub sizes: [u64; BUCKETS],
    /// Histogram of calls by duration in ns: bucket 0 counts duration 0, bucket `b` durations from 2^(b-1) on.
    pub durations: [u64; BUCKETS],
}

impl Default for Sums {
    fn default() -> Self {
        Self {
            calls: 0,
            bytes: 0,
            time_ns: 0,
            longest_ns: 0,
            counted: 0,
            counted_bytes: 0,
            counted_time_ns: 0,
            sizes: [0; BUCKETS],
            durations: [0; BUCKETS],
        }
    }
}

/// Returns the index of the bucket that counts a size or duration.
#[must_use]
pub fn bucket(value: u64) -> usize {
    ((u64::BITS - value.leading_zeros()) as usize).min(BUCKETS - 1)
}

impl Sums {
    /// Adds one call, given by its record (segment), with times in ns.
    pub fn add(&mut self, segment: &Segment) {
        self.add_calls(segment.length(), segment.end.saturating_sub(segment.start), 1);
    }

    /// Adds `calls` calls, each of `length` bytes and a duration of `duration_ns`.
    pub fn add_calls(&mut self, length: u64, duration_ns: u64, calls: u64) {
        self.calls = self.calls.saturating_add(calls);
        self.bytes = self.bytes.saturating_add(length.saturating_mul(calls));
        self.time_ns = self.time_ns.saturating_add(duration_ns.saturating_mul(calls));
        self.longest_ns = self.longest_ns.max(duration_ns);
        self.sizes[bucket(length)] += calls;
        self.durations[bucket(duration_ns)] += calls;
    }

    /// Adds the growth of a call stream's counters from `before` to `now`.
    pub fn add_counted(&mut self, before: &Counters, now: &Counters) {
        let calls = now.segments.saturating_sub(before.segments);
        self.calls = self.calls.saturating_add(calls);
        self.counted = self.counted.saturating_add(signed(calls));
        let bytes = now.bytes.saturating_sub(before.bytes);
        let time_ns = now.duration.saturating_sub(before.duration);
        self.bytes = self.bytes.saturating_add(bytes);
        self.time_ns = self.time_ns.saturating_add(time_ns);
        self.counted_bytes = self.counted_bytes.saturating_add(signed(bytes));
        self.counted_time_ns = self.counted_time_ns.saturating_add(signed(time_ns));
    }

    /// Moves a call from the calls known only from counters to the histograms, since its own record (segment) was read.
    pub fn know_counted(&mut self, segment: &Segment) {
        let (length, duration_ns) = (segment.length(), segment.end.saturating_sub(segment.start));
        self.counted = self.counted.saturating_sub(1);
        self.counted_bytes = self.counted_bytes.saturating_sub_unsigned(length);
        self.counted_time_ns = self.counted_time_ns.saturating_sub_unsigned(duration_ns);
        self.longest_ns = self.longest_ns.max(duration_ns);
        self.sizes[bucket(length)] += 1;
        self.durations[bucket(duration_ns)] += 1;
    }

    /// Adds the sums of another interval or group.
    pub fn merge(&mut self, other: &Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.time_ns = self.time_ns.saturating_add(other.time_ns);
        self.longest_ns = self.longest_ns.max(other.longest_ns);
        self.counted = self.counted.saturating_add(other.counted);
        self.counted_bytes = self.counted_bytes.saturating_add(other.counted_bytes);
        self.counted_time_ns = self.counted_time_ns.saturating_add(other.counted_time_ns);
        self.sizes.iter_mut().zip(other.sizes).for_each(|(mine, theirs)| *mine += theirs);
        self.durations.iter_mut().zip(other.durations).for_each(|(mine, theirs)| *mine += theirs);
    }
}

/// Numbers of calls, spools and paths that an agent missed, lost or saw twice since it started, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotSeen {
    /// Number of calls known only from counters: sums include them, but no events are made of them.
    pub counted: u64,
    /// Number of spools (files with recorded calls) that were created and removed before the agent could open them.
    pub spools: u64,
    /// Number of calls delivered twice: they returned after the trace was written, so the process's next spool has them too.
    pub taken_back: u64,
    /// Number of blocks of call records that could not be read.
    pub damaged: u64,
    /// Number of events (data of single calls) that a destination did not accept.
    pub dropped: u64,
    /// Number of paths that the agent dropped because a process used too many. Later calls on these files have the path
    /// [`OTHER_FILES`](super::about::OTHER_FILES).
    #[serde(default)]
    pub names: u64,
    /// Number of spools (files with recorded calls) that the agent gave up because they take too much memory.
    #[serde(default)]
    pub too_large: u64,
    /// Number of events omitted in destinations of the LDMS-Darshan connector's format, which has no name for their operations.
    pub other_operations: u64,
}

/// Sums of calls in one interval of time, by group. If calls arrive late, an interval is delivered in several parts, which add up.
#[derive(Clone, Debug)]
pub struct Interval {
    /// Start of the interval, in ns since 1970-01-01 UTC.
    pub begin_unix_ns: i64,
    /// Length of the interval, in ns.
    pub length_ns: u64,
    /// Sums over the calls of the interval, by group (job, node, ranks, operation, ...).
    pub sums: BTreeMap<Arc<Group>, Sums>,
    /// Numbers of calls that the agent missed, lost or saw twice up to the end of the interval.
    pub not_seen: NotSeen,
    /// Data that tracers reported as not recorded, up to the end of the interval.
    pub left_out: Arc<LeftOut>,
}

/// Data that tracers reported as not recorded: count by the tracers' description.
pub type LeftOut = BTreeMap<String, u64>;

impl Interval {
    /// Creates an interval without calls that contains `unix_ns` (ns since 1970-01-01 UTC).
    #[must_use]
    pub fn empty(unix_ns: i64, length_ns: u64) -> Self {
        let length = i64::try_from(length_ns.max(1)).unwrap_or(i64::MAX);
        Self {
            begin_unix_ns: unix_ns.div_euclid(length).saturating_mul(length),
            length_ns,
            sums: BTreeMap::new(),
            not_seen: NotSeen::default(),
            left_out: Arc::default(),
        }
    }
}

/// Sums of calls in intervals that are not complete yet.
#[derive(Debug, Default)]
pub struct Open {
    length_ns: u64,
    groups: Vec<Arc<Group>>,
    numbers: HashMap<Group, usize>,
    /// Number of groups (keys by which calls are summed) of each user, by user id.
    of_users: HashMap<u32, usize>,
    /// Number of times that the group numbers were reset; each reset invalidates all earlier numbers.
    forgotten: u64,
    held: usize,
    /// Sums by interval number (start time divided by length), then by group number.
    sums: BTreeMap<i64, HashMap<usize, Box<Sums>, FxBuildHasher>>,
}

impl Open {
    /// Creates empty sums for intervals of `length_ns` ns.
    #[must_use]
    pub fn new(length_ns: u64) -> Self {
        Self { length_ns: length_ns.max(1), ..Self::default() }
    }

    /// True if memory is full: all sums must be delivered now, complete or not, and the group numbers [reset](Self::forget).
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.held > MOST_SUMS || self.groups.len() > MOST_GROUPS
    }

    /// Returns the generation of the group numbers: numbers of another generation are invalid.
    #[must_use]
    pub const fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// Resets the group numbers if no sums are in memory and there are many groups: more than `MOST_GROUPS`, or at least `MOST_OF_USER` of
    /// one user.
    pub fn forget(&mut self) {
        let is_crowded = self.groups.len() > MOST_GROUPS || self.of_users.values().any(|count| *count >= MOST_OF_USER);
        if self.sums.is_empty() && is_crowded {
            self.groups.clear();
            self.numbers.clear();
            self.of_users.clear();
            self.forgotten += 1;
        }
    }

    /// Returns the number of `group`, adding the group if new. `is_other` is true for users other than the agent's, whose groups are limited.
    pub fn number(&mut self, group: Group, user: u32, is_other: bool) -> usize {
        if let Some(number) = self.numbers.get(&group) {
            return *number;
        }
        let of_user = self.of_users.entry(user).or_default();
        if is_other && *of_user >= MOST_OF_USER && group.op != OTHERS {
            return self.number(group.others(), user, is_other);
        }
        *of_user += 1;
        self.groups.push(Arc::new(group.clone()));
        self.numbers.insert(group, self.groups.len() - 1);
        self.groups.len() - 1
    }

    /// Returns the sums of a group in the interval that contains `unix_ns` (ns since 1970-01-01 UTC).
    pub fn at(&mut self, unix_ns: i64, group: usize) -> &mut Sums {
        let length = i64::try_from(self.length_ns).unwrap_or(i64::MAX);
        let sums = self.sums.entry(unix_ns.div_euclid(length)).or_default();
        sums.entry(group).or_insert_with(|| {
            self.held += 1;
            Box::default()
        })
    }

    /// Removes and returns the earliest interval if it ended at or before `unix_ns`. Takes only one interval per call, because an
    /// [`Interval`] needs ten times the memory of the sums in this struct.
    pub fn take_ended(&mut self, unix_ns: i64) -> Option<Interval> {
        let length = i64::try_from(self.length_ns).unwrap_or(i64::MAX);
        let first = self.sums.first_entry().filter(|first| *first.key() < unix_ns.div_euclid(length))?;
        let (number, sums) = first.remove_entry();
        self.held -= sums.len();
        let named = sums.into_iter().filter_map(|(group, sums)| Some((self.groups.get(group)?.clone(), *sums)));
        Some(Interval {
            begin_unix_ns: number.saturating_mul(length),
            length_ns: self.length_ns,
            sums: named.collect(),
            not_seen: NotSeen::default(),
            left_out: Arc::default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use trace_format::segment::StreamId;

    fn ended(open: &mut Open, unix_ns: i64) -> Vec<Interval> {
        std::iter::from_fn(|| open.take_ended(unix_ns)).collect()
    }

    #[test]
    fn calls_are_in_the_interval_in_which_they_returned() {
        let mut open = Open::new(1_000);
        for (group, end) in [(0, 999), (0, 1_000), (1, 1_999), (0, 2_000)] {
            let segment = Segment::new(StreamId(0), 0, 5, end - 7, end);
            open.at(end as i64, group).add(&segment);
        }
        assert!(ended(&mut open, 999).is_empty());
        open.groups = vec![Arc::new(group("read")), Arc::new(group("write"))];
        let taken = ended(&mut open, 2_500);
        let calls = |at: usize| taken[at].sums.values().map(|sums| sums.calls).collect::<Vec<_>>();
        assert_eq!((taken.len(), calls(0), calls(1)), (2, vec![1], vec![1, 1]));
        assert_eq!(ended(&mut open, 9_000).len(), 1);
    }

    fn group(op: &str) -> Group {
        Group {
            job: "j".into(),
            node: "n".into(),
            ranks: "-".into(),
            file_system: "/".into(),
            layer: "POSIX",
            op: op.into(),
            class: OpClass::Read,
            nested: false,
        }
    }

    #[test]
    fn a_call_that_was_counted_and_is_known_later_is_in_all_sums_once() {
        let segment = Segment::new(StreamId(0), 0, 5, 100, 130);
        let mut counters = Counters::default();
        counters.fold_alone(0, 5, 100, 130);
        let (mut counted, mut known) = (Sums::default(), Sums::default());
        counted.add_counted(&Counters::default(), &counters);
        assert_eq!((counted.counted, counted.counted_bytes, counted.counted_time_ns), (1, 5, 30));
        let mut late = Sums::default();
        late.know_counted(&segment);
        assert_eq!(late.counted, -1);
        counted.merge(&late);
        known.add(&segment);
        assert_eq!(counted, known);
    }

    #[test]
    fn a_user_has_so_many_groups_and_the_rest_are_others() {
        let mut open = Open::new(1_000);
        let of = |number: usize| Group { job: number.to_string(), ..group("read") };
        let numbers: BTreeSet<usize> = (0..5_000).map(|job| open.number(of(job), 7, true)).collect();
        assert_eq!((numbers.len(), open.groups.len()), (MOST_OF_USER + 1, MOST_OF_USER + 1));
        let others = open.groups.last().unwrap();
        assert_eq!((&*others.job, &*others.op, others.class), (OTHERS, OTHERS, OpClass::Read));
        // Other users keep their limits; this user can add groups again once the sums are delivered.
        assert_eq!(open.number(of(6_000), 8, true), MOST_OF_USER + 1);
        open.at(5, 0).add_calls(1, 1, 1);
        open.forget();
        assert_eq!(open.forgotten(), 0, "sums are held of it");
        ended(&mut open, 1_000_000);
        open.forget();
        assert_eq!((open.forgotten(), open.number(of(7_000), 7, true)), (1, 0));
        // The agent's own user has no limit per user.
        for job in 0..MOST_GROUPS {
            open.number(of(job), 9, false);
        }
        assert!(open.groups.len() > MOST_GROUPS && open.is_full());
    }

    #[test]
    fn sums_of_many_moments_are_to_be_passed_on() {
        let mut open = Open::new(1_000);
        let group = open.number(group("read"), 7, true);
        for moment in 0..=MOST_SUMS as i64 {
            assert!(!open.is_full());
            open.at(moment * 1_000, group).add_calls(1, 1, 1);
        }
        assert!(open.is_full());
        assert_eq!(ended(&mut open, i64::MAX).len(), MOST_SUMS + 1);
        assert!(!open.is_full());
    }

    #[test]
    fn buckets_are_powers_of_two() {
        for (value, expected) in [(0, 0), (1, 1), (2, 2), (3, 2), (4, 3), (4096, 13), (u64::MAX, BUCKETS - 1)] {
            assert_eq!(bucket(value), expected, "{value}");
        }
    }
}
