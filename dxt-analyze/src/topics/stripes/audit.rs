//! First pass of the stripe audit: counts operations per file, and finds partly written stripes and the processes that wrote them.

use super::load::{LoadOverTime, Near, Rows, Share, Span};
use super::pace::{InARow, Pace};
use super::sharing::{Followed, StripeKey};
use super::stripes_touched::StripesTouched;
use crate::layouts::placed::{Placed, Stripe};
use crate::layouts::spread::Parts;
use crate::model::FileLayout;
use crate::model::{FileId, ProcessId};
use crate::scan::{Analysis, Block, Row, Stretch};
use crate::shared::sum_cache::InTurn;
use crate::shared::targets::share_ns;
use rustc_hash::FxHashMap;
use trace_format::op::OpClass;

/// Totals over the operations on one storage target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TargetSum {
    /// Number of operations that accessed the storage target.
    pub operations: u64,
    /// Bytes that operations read from and wrote to the storage target.
    pub bytes: u64,
    /// Time in the operations, ns; the time of an operation on several targets is divided in proportion to bytes.
    pub time_ns: u64,
}

impl TargetSum {
    #[inline]
    fn add(&mut self, other: &Self) {
        self.operations = self.operations.saturating_add(other.operations);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.time_ns = self.time_ns.saturating_add(other.time_ns);
    }

    #[inline]
    fn add_one(&mut self, bytes: u64, time_ns: u64) {
        self.operations += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        self.time_ns = self.time_ns.saturating_add(time_ns);
    }
}

/// Totals of one file over successful reads and writes of the I/O layer whose calls reach storage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileAudit {
    /// Number of reads of the file.
    pub reads: u64,
    /// Number of writes to the file.
    pub writes: u64,
    /// Bytes read from and written to the file.
    pub bytes: u64,
    /// Time in reads and writes of the file, summed over calls, ns.
    pub time_ns: u64,
    /// Size of the largest read or write of the file, in bytes.
    pub max_length: u64,
    /// Number of reads and writes of the file that do not begin at a stripe boundary.
    pub unaligned_start: u64,
    /// Number of reads and writes of the file that do not end at a stripe boundary.
    pub unaligned_end: u64,
    /// Number of reads and writes of the file that do not begin or do not end at a stripe boundary.
    pub unaligned: u64,
    /// Bytes of the reads and writes of the file that do not begin or do not end at a stripe boundary.
    pub unaligned_bytes: u64,
    /// Number of reads and writes of the file that touch more than one stripe.
    pub crossing: u64,
    /// Number of operations that touch more than one stripe although they are no longer than a stripe: aligned to stripes, they would touch
    /// one.
    pub crossing_needlessly: u64,
    /// Number of operations whose stripes are unknown: they have no offset or bytes, or access a part of the file for which no layout
    /// component has objects.
    pub not_placed: u64,
    /// Number of operations that begin in a layout component stored on the metadata target.
    pub on_metadata: u64,
    /// Totals by storage target, sorted; target `None` has the bytes whose target the layout does not name.
    pub targets: Vec<(Option<u32>, TargetSum)>,
    /// Durations of aligned and of unaligned operations on the file, by size.
    pub pace: Pace,
}

impl FileAudit {
    fn merge(&mut self, other: Self) {
        let pairs = [
            (&mut self.reads, other.reads),
            (&mut self.writes, other.writes),
            (&mut self.bytes, other.bytes),
            (&mut self.time_ns, other.time_ns),
            (&mut self.unaligned_start, other.unaligned_start),
            (&mut self.unaligned_end, other.unaligned_end),
            (&mut self.unaligned, other.unaligned),
            (&mut self.unaligned_bytes, other.unaligned_bytes),
            (&mut self.crossing, other.crossing),
            (&mut self.crossing_needlessly, other.crossing_needlessly),
            (&mut self.not_placed, other.not_placed),
            (&mut self.on_metadata, other.on_metadata),
        ];
        for (mine, theirs) in pairs {
            *mine = mine.saturating_add(theirs);
        }
        self.max_length = self.max_length.max(other.max_length);
        self.pace.merge(&other.pace);
        for (target, sum) in other.targets {
            self.target(target, &sum);
        }
    }

    /// Adds the totals of calls that do not depend on the stripe layout. `is_write`: true for writes.
    fn all(&mut self, is_write: bool, calls: Stretch<'_>) {
        let count = calls.start.len() as u64;
        *(if is_write { &mut self.writes } else { &mut self.reads }) += count;
        for &length in calls.length {
            self.bytes = self.bytes.saturating_add(length);
            self.max_length = self.max_length.max(length);
        }
        for (start, end) in calls.start.iter().zip(calls.end) {
            self.time_ns = self.time_ns.saturating_add(end - start);
        }
    }

    fn target(&mut self, target: Option<u32>, sum: &TargetSum) {
        match self.targets.binary_search_by_key(&target, |(of, _)| *of) {
            Ok(at) => self.targets[at].1.add(sum),
            Err(at) => self.targets.insert(at, (target, *sum)),
        }
    }
}

/// File whose calls are being counted. Its totals are kept out of the map of files, since successive calls are mostly on one file.
struct Current {
    file: FileId,
    counts: FileAudit,
    open: InTurn<OnTarget, TargetSum>,
    /// Totals over calls that lie within one or two stripes and one time bin, by storage target and time bin (packed by [`of_bin`]).
    within: InTurn<u64, TargetSum>,
}

/// Storage target and time bin; the bin is `None` if the load over time already includes the totals.
type OnTarget = (Option<u32>, Option<usize>);

/// Packs a storage target and a time bin into one number, which is fast to compare.
#[inline]
fn of_bin(target: u32, bin: usize) -> u64 {
    (bin as u64) << u32::BITS | u64::from(target)
}

/// Unpacks the storage target and time bin that [`of_bin`] packed.
fn on_target(of_bin: u64) -> OnTarget {
    (Some(of_bin as u32), usize::try_from(of_bin >> u32::BITS).ok())
}

impl Current {
    fn put_back(mut self, files: &mut FxHashMap<FileId, FileAudit>, rows: &Rows, load: &mut LoadOverTime) {
        let within = self.within.rest().map(|(on, sum)| (on_target(on), sum));
        for (on, sum) in self.open.rest().chain(within) {
            settle(&mut self.counts, rows, load, on, &sum);
        }
        files.insert(self.file, self.counts);
    }
}

/// Adds totals to a file's storage targets and, if there is a time bin, to the load over time.
fn settle(counts: &mut FileAudit, rows: &Rows, load: &mut LoadOverTime, (target, bin): OnTarget, sum: &TargetSum) {
    counts.target(target, sum);
    if let (Some(target), Some(bin)) = (target, bin) {
        load.add_within(rows, bin, Share { target, bytes: sum.bytes, time_ns: sum.time_ns });
    }
}

/// First pass of the audit over the segments.
#[derive(Clone, Debug)]
pub struct Audit<'a> {
    /// Stripe layout of each file of the run; files without a layout are not audited.
    pub layouts: &'a [Option<FileLayout>],
    /// Storage targets (rows) and time bins of the load over time.
    pub rows: Rows,
}

/// Result of the first pass: totals per file, partly written stripes, and load over time.
#[derive(Clone, Debug, Default)]
pub struct Partial {
    /// Totals of the accesses to each file.
    pub files: FxHashMap<FileId, FileAudit>,
    /// Partly written stripes, with the processes that wrote them.
    pub followed: Followed,
    /// Bytes and time of calls per storage target and time bin.
    pub load: LoadOverTime,
}

impl Analysis for Audit<'_> {
    type Partial = Partial;

    fn start(&self) -> Partial {
        Partial::default()
    }

    fn block(&self, partial: &mut Partial, block: &Block<'_>) {
        let mut current: Option<Current> = None;
        let mut parts = Parts::default();
        let (mut near, shift) = (Near::default(), block.process.shift_ns);
        for stretch in block.stretches() {
            let Some(stream) = block.process.stream(stretch.stream).filter(|stream| stream.storage) else {
                continue;
            };
            let Some(Some(layout)) = self.layouts.get(stream.file.index()) else { continue };
            let is_write = block.run.op(stream).class == Some(OpClass::Write);
            if let Some(other) = current.take_if(|current| current.file != stream.file) {
                other.put_back(&mut partial.files, &self.rows, &mut partial.load);
            }
            let current = current.get_or_insert_with(|| {
                let counts = partial.files.remove(&stream.file).unwrap_or_default();
                Current { file: stream.file, counts, open: InTurn::default(), within: InTurn::default() }
            });
            let placed = Placed::new(&layout.layout);
            let common = Common { placed, is_write, process: block.number, node: block.process.node };
            current.counts.all(is_write, stretch);
            let mut calm = Calm::new(is_write);
            for row in stretch.rows() {
                let (start, end) = (row.start.saturating_add(shift), row.end.saturating_add(shift));
                let span = Span::new(&self.rows, &mut near, start, end);
                let stripe = u64::try_from(row.offset).ok().and_then(|offset| placed.stripe(offset, row.length));
                let (Some(stripe), Some(bin)) = (stripe, span.only_bin()) else {
                    let over_time = (&self.rows, span, &mut partial.load);
                    one(current, row, &common, &mut parts, &mut partial.followed, over_time);
                    continue;
                };
                let Current { file, counts, within, .. } = &mut *current;
                if calm.add(&row, stripe, &mut counts.pace) && is_write {
                    let stripe = StripeKey { file: *file, start: stripe.start };
                    partial.followed.add(stripe, block.number, block.process.node, row.duration_ns());
                }
                let on = of_bin(stripe.target, bin);
                if let Some(sum) = within.find(stripe.target as usize, &on) {
                    sum.add_one(row.length, row.duration_ns());
                    continue;
                }
                let sum = TargetSum { operations: 1, bytes: row.length, time_ns: row.duration_ns() };
                if let Some((other, sum)) = within.put(stripe.target as usize, on, sum) {
                    settle(counts, &self.rows, &mut partial.load, on_target(other), &sum);
                }
            }
            calm.put(&mut current.counts);
        }
        if let Some(current) = current {
            current.put_back(&mut partial.files, &self.rows, &mut partial.load);
        }
    }

    fn merge(&self, into: &mut Partial, other: Partial) {
        for (file, counts) in other.files {
            into.files.entry(file).or_default().merge(counts);
        }
        into.followed.merge(other.followed);
        into.load.merge(other.load);
    }
}

/// Properties common to all segments of a stream (calls of one operation and caller on one file).
struct Common<'a> {
    placed: Placed<'a>,
    is_write: bool,
    process: ProcessId,
    node: u32,
}

/// Totals over successive segments of one operation on one file that each lie within one stripe (the usual case), before they are added to
/// the file's totals.
struct Calm {
    is_write: bool,
    unaligned_start: u64,
    unaligned_end: u64,
    unaligned: u64,
    unaligned_bytes: u64,
    pace: InARow,
}

impl Calm {
    fn new(is_write: bool) -> Self {
        let pace = InARow::default();
        Self { is_write, unaligned_start: 0, unaligned_end: 0, unaligned: 0, unaligned_bytes: 0, pace }
    }

    /// Adds a segment that lies within `stripe`; returns true if it covers only a part of the stripe.
    #[inline]
    fn add(&mut self, row: &Row, stripe: Stripe, pace: &mut Pace) -> bool {
        let begin = row.offset.cast_unsigned();
        let (starts_off, ends_off) = (begin != stripe.start, begin + row.length != stripe.end);
        let is_unaligned = starts_off | ends_off;
        self.unaligned_start += u64::from(starts_off);
        self.unaligned_end += u64::from(ends_off);
        self.unaligned += u64::from(is_unaligned);
        self.unaligned_bytes = self.unaligned_bytes.saturating_add(if is_unaligned { row.length } else { 0 });
        self.pace.add(pace, self.is_write, row.length, is_unaligned, row.duration_ns());
        is_unaligned
    }

    fn put(self, counts: &mut FileAudit) {
        counts.unaligned_start += self.unaligned_start;
        counts.unaligned_end += self.unaligned_end;
        counts.unaligned += self.unaligned;
        counts.unaligned_bytes = counts.unaligned_bytes.saturating_add(self.unaligned_bytes);
        self.pace.put(&mut counts.pace);
    }
}

/// Fast path of [`one`] for a segment that spans two adjacent stripes on different targets within one time bin: the most frequent form
/// besides segments within one stripe. Returns false for any other segment.
#[inline]
fn two(
    current: &mut Current,
    row: &Row,
    common: &Common<'_>,
    followed: &mut Followed,
    (rows, span, load): (&Rows, Span, &mut LoadOverTime),
) -> bool {
    let Common { placed, is_write, process, node } = common;
    let Current { file, counts, within, .. } = current;
    let ends = u64::try_from(row.offset).ok().and_then(|offset| placed.ends(offset, row.length));
    let of_two = ends.filter(|(first, last)| first.end == last.start && first.target != last.target);
    let (Some((first, last)), Some(bin)) = (of_two, span.only_bin()) else { return false };
    let (begin, duration) = (row.offset.cast_unsigned(), row.duration_ns());
    let bytes = first.end - begin;
    for (target, bytes) in [(first.target, bytes), (last.target, row.length - bytes)] {
        let sum = TargetSum { operations: 1, bytes, time_ns: share_ns(duration, bytes, row.length) };
        let before = within.add(target as usize, of_bin(target, bin), sum, |sum, more| sum.add(&more));
        if let Some((other, sum)) = before {
            settle(counts, rows, load, on_target(other), &sum);
        }
    }
    let (starts_off, ends_off) = (begin != first.start, begin + row.length != last.end);
    let is_unaligned = starts_off | ends_off;
    counts.pace.add(*is_write, row.length, is_unaligned, duration);
    counts.unaligned_start += u64::from(starts_off);
    counts.unaligned_end += u64::from(ends_off);
    counts.unaligned += u64::from(is_unaligned);
    counts.unaligned_bytes = counts.unaligned_bytes.saturating_add(if is_unaligned { row.length } else { 0 });
    counts.crossing += 1;
    counts.crossing_needlessly += u64::from(row.length <= first.size);
    let in_part = [(starts_off, first), (ends_off, last)].into_iter().filter(|(is_in_part, _)| *is_in_part & is_write);
    for (_, stripe) in in_part {
        followed.add(StripeKey { file: *file, start: stripe.start }, *process, *node, duration);
    }
    true
}

/// Counts a segment with any offset and length, and adds its bytes to the load of each storage target over time.
#[inline(never)]
fn one(
    current: &mut Current,
    row: Row,
    common: &Common<'_>,
    parts: &mut Parts,
    followed: &mut Followed,
    (rows, span, load): (&Rows, Span, &mut LoadOverTime),
) {
    if two(current, &row, common, followed, (rows, span, &mut *load)) {
        return;
    }
    let Common { placed, is_write, process, node } = common;
    let Current { file, counts, open, .. } = current;
    let duration = row.duration_ns();
    // A reference is used, since copying a struct right after its fields were stored stalls the processor (failed store forwarding).
    let place = &StripesTouched::on(placed, row.offset, row.length);
    let on_targets = place.as_ref().filter(|place| !place.on_metadata);
    // An operation may begin outside of storage targets and still reach one; its other bytes belong to no target.
    let parts = match place.as_ref().filter(|place| !place.crosses) {
        Some(place) => parts.on(place.target, row.length),
        None => {
            let length = if row.offset < 0 { 0 } else { row.length };
            placed.parts(u64::try_from(row.offset).unwrap_or(0), length, parts)
        }
    };
    let bin = span.only_bin();
    for &(target, bytes) in parts.iter().filter(|(target, _)| target.is_some() || on_targets.is_some()) {
        let time_ns = share_ns(duration, bytes, row.length);
        let number = target.map_or(0, |target| target as usize);
        let sum = TargetSum { operations: 1, bytes, time_ns };
        if let Some((other, sum)) = open.add(number, (target, bin), sum, |sum, more| sum.add(&more)) {
            settle(counts, rows, load, other, &sum);
        }
        if let (Some(target), None) = (target, bin) {
            load.add(rows, span, Share { target, bytes, time_ns });
        }
    }
    let Some(place) = on_targets else {
        counts.on_metadata += u64::from(place.is_some());
        counts.not_placed += u64::from(place.is_none());
        return;
    };
    let is_unaligned = !(place.start_aligned && place.end_aligned);
    counts.pace.add(*is_write, row.length, is_unaligned, duration);
    counts.unaligned_start += u64::from(!place.start_aligned);
    counts.unaligned_end += u64::from(!place.end_aligned);
    if is_unaligned {
        counts.unaligned += 1;
        counts.unaligned_bytes = counts.unaligned_bytes.saturating_add(row.length);
    }
    if place.crosses {
        counts.crossing += 1;
        counts.crossing_needlessly += u64::from(row.length <= place.stripe_size);
    }
    if *is_write {
        for stripe in place.partly_covered() {
            followed.add(StripeKey { file: *file, start: stripe }, *process, *node, duration);
        }
    }
}
