//! The pass: what every layout would make of the segments of each file.

use super::plan::{Plan, with_targets};
use super::stripes::OnStripes;
use crate::layouts::spread::Parts;
use crate::limits::{LOAD_TARGETS, TRIAL_OPERATIONS, TRIAL_STRIPES};
use crate::model::{FileId, FileLayout, ProcessId, Run};
use crate::scan::{Analysis, Block};
use crate::sum::Sum;
use crate::topics::stripes::over_time::Timeline;
use crate::topics::stripes::sharing::{Followed, StripeKey};
use crate::topics::stripes::stripes_touched::StripesTouched;
use rustc_hash::FxHashMap;
use trace_format::frame::BlockHead;
use trace_format::layout::Layout;
use trace_format::op::OpClass;

/// How segments lie on stripes of one size.
#[derive(Clone, Debug)]
pub struct Fit {
    /// Segments.
    pub operations: Sum,
    /// Those that do not begin and end at boundaries.
    pub unaligned: Sum,
    /// Those that touch more than one stripe.
    pub crossing: Sum,
    /// Partly written stripes.
    pub followed: Followed,
}

impl Default for Fit {
    fn default() -> Self {
        Self { operations: Sum(0), unaligned: Sum(0), crossing: Sum(0), followed: Followed::with_limit(TRIAL_STRIPES) }
    }
}

impl Fit {
    fn merge(&mut self, other: Self) {
        self.operations += other.operations;
        self.unaligned += other.unaligned;
        self.crossing += other.crossing;
        self.followed.merge(other.followed);
    }
}

/// What the objects of one layout get.
#[derive(Clone, Debug, Default)]
pub struct Work {
    /// Objects touched, summed over segments.
    pub touched: Sum,
    /// Bytes on the object that gets most of a segment, summed over segments.
    pub longest: Sum,
    /// Bytes and requests by moment and object; empty while there are none.
    pub cells: Vec<[u64; 2]>,
}

impl Work {
    #[inline]
    fn add(&mut self, objects: usize, bins: usize, bin: usize, object: usize, bytes: u64) {
        if self.cells.is_empty() {
            self.cells = vec![[0; 2]; objects * bins];
        }
        self.touched += 1_u64;
        if let Some([sum, requests]) = self.cells.get_mut(bin * objects + object) {
            *sum = sum.saturating_add(bytes);
            *requests += 1;
        }
    }

    fn merge(&mut self, other: Self) {
        self.touched += other.touched;
        self.longest += other.longest;
        if self.cells.is_empty() {
            self.cells = other.cells;
            return;
        }
        for (mine, theirs) in self.cells.iter_mut().zip(other.cells) {
            *mine = [mine[0].saturating_add(theirs[0]), mine[1].saturating_add(theirs[1])];
        }
    }
}

/// One file.
#[derive(Clone, Debug, Default)]
pub struct FileTally {
    /// Today's layout.
    pub today: (Fit, Work),
    /// By size of the plan.
    pub fits: Vec<Fit>,
    /// By candidate of the plan.
    pub works: Vec<Work>,
}

/// A file that is to be tried.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Index into the run's files.
    pub file: FileId,
    /// Its reads and writes, about.
    pub operations: u64,
    /// Those that begin from here to there, ns since the job's start; `None`: all.
    pub span: Option<(u64, u64)>,
}

/// A file that is tried, and its layout today.
#[derive(Clone, Debug)]
pub struct Tried {
    /// Index into the run's files.
    pub file: FileId,
    /// Its layout, with a target for every object.
    pub today: Layout,
    /// The layout's targets, in order.
    pub targets: Vec<u32>,
    /// Moments.
    pub timeline: Timeline,
    /// As it was wanted.
    pub span: Option<(u64, u64)>,
}

/// The pass over `files`, of which one may be there several times, with other spans.
#[derive(Debug)]
pub struct Replay<'a> {
    /// What is tried.
    pub plan: &'a Plan,
    /// Files.
    pub files: Vec<Tried>,
    slots: FxHashMap<FileId, Vec<usize>>,
}

impl<'a> Replay<'a> {
    /// Of `plan` on `files`.
    #[must_use]
    pub fn new(run: &Run, layouts: &[Option<FileLayout>], plan: &'a Plan, files: &[Wanted]) -> Self {
        let most = plan.moments(files.len());
        let tried = |&Wanted { file, operations, span }: &Wanted| {
            let today = with_targets(&layouts.get(file.index())?.as_ref()?.layout);
            let components = today.components.iter().filter(|component| component.active && !component.on_metadata);
            let mut targets: Vec<u32> = components.flat_map(|component| component.targets.iter().copied()).collect();
            targets.sort_unstable();
            targets.dedup();
            // More than any file system has; what lies on others is left out.
            targets.truncate(LOAD_TARGETS);
            let objects = plan.candidates.iter().map(|candidate| candidate.osts.len()).max().unwrap_or(1) as u64;
            let moments = (operations / (objects * TRIAL_OPERATIONS).max(1)).clamp(1, most as u64);
            let bins = moments as usize;
            let timeline = span.map_or_else(|| Timeline::of(run, bins), |(from, to)| Timeline::between(from, to, bins));
            Some(Tried { file, today, targets, timeline, span })
        };
        let files: Vec<Tried> = files.iter().filter_map(tried).collect();
        let mut slots: FxHashMap<FileId, Vec<usize>> = FxHashMap::default();
        for (slot, tried) in files.iter().enumerate() {
            slots.entry(tried.file).or_default().push(slot);
        }
        Self { plan, files, slots }
    }
}

impl Analysis for Replay<'_> {
    type Partial = Vec<FileTally>;

    fn start(&self) -> Vec<FileTally> {
        let empty = || FileTally {
            today: (Fit::default(), Work::default()),
            fits: vec![Fit::default(); self.plan.sizes.len()],
            works: vec![Work::default(); self.plan.candidates.len()],
        };
        self.files.iter().map(|_| empty()).collect()
    }

    fn wants(&self, run: &Run, process: ProcessId, head: &BlockHead) -> bool {
        run.process(process).is_some_and(|process| {
            process.streams.iter().any(|stream| {
                let in_block = head.stream_mask & 1 << (stream.id % 64) != 0;
                in_block && stream.storage && self.slots.contains_key(&stream.file)
            })
        })
    }

    fn block(&self, partial: &mut Vec<FileTally>, block: &Block<'_>) {
        let mut parts = Parts::default();
        for row in block.rows() {
            let Some(stream) = block.process.stream(row.stream).filter(|stream| stream.storage) else {
                continue;
            };
            let (Ok(offset), true) = (u64::try_from(row.offset), row.length > 0) else { continue };
            let start = row.start.saturating_add(block.process.shift_ns);
            for &slot in self.slots.get(&stream.file).map(Vec::as_slice).unwrap_or_default() {
                let (Some(tally), Some(tried)) = (partial.get_mut(slot), self.files.get(slot)) else { continue };
                if tried.span.is_some_and(|(from, to)| !(from..=to).contains(&start)) {
                    continue;
                }
                let access = Access {
                    offset,
                    length: row.length,
                    writer: (block.run.op(stream).class == Some(OpClass::Write)).then_some((
                        block.number,
                        block.process.node,
                        row.duration_ns(),
                    )),
                    file: stream.file,
                    bin: tried.timeline.bin(start),
                };
                today(&mut tally.today, tried, &access, &mut parts);
                self.candidates(tally, &access, tried.timeline.bins);
            }
        }
    }

    fn merge(&self, into: &mut Vec<FileTally>, other: Vec<FileTally>) {
        for (mine, theirs) in into.iter_mut().zip(other) {
            mine.today.0.merge(theirs.today.0);
            mine.today.1.merge(theirs.today.1);
            mine.fits.iter_mut().zip(theirs.fits).for_each(|(mine, theirs)| mine.merge(theirs));
            mine.works.iter_mut().zip(theirs.works).for_each(|(mine, theirs)| mine.merge(theirs));
        }
    }
}

/// A segment.
struct Access {
    offset: u64,
    length: u64,
    /// Process, node and duration, if it writes.
    writer: Option<(ProcessId, u32, u64)>,
    file: FileId,
    bin: usize,
}

impl Access {
    fn follow(&self, fit: &mut Fit, starts: impl Iterator<Item = u64>) {
        if let Some((process, node, duration_ns)) = self.writer {
            for start in starts {
                fit.followed.add(StripeKey { file: self.file, start }, process, node, duration_ns);
            }
        }
    }
}

impl Replay<'_> {
    fn candidates(&self, tally: &mut FileTally, access: &Access, bins: usize) {
        for ((size, candidates), fit) in self.plan.sizes.iter().zip(&mut tally.fits) {
            let there = OnStripes::new(access.offset, access.length, *size);
            fit.operations += 1;
            fit.unaligned += u64::from(!there.is_aligned());
            fit.crossing += u64::from(there.crosses());
            access.follow(fit, there.partly_covered());
            for &number in candidates {
                let (Some(candidate), Some(work)) = (self.plan.candidates.get(number), tally.works.get_mut(number))
                else {
                    continue;
                };
                let (objects, mut longest) = (candidate.osts.len(), 0);
                there.objects(objects as u64, |object, bytes| {
                    longest = longest.max(bytes);
                    work.add(objects, bins, access.bin, object as usize, bytes);
                });
                work.longest += longest;
            }
        }
    }
}

/// The same on today's layout, whatever its form.
fn today((fit, work): &mut (Fit, Work), tried: &Tried, access: &Access, parts: &mut Parts) {
    let place =
        i64::try_from(access.offset).ok().and_then(|offset| StripesTouched::of(&tried.today, offset, access.length));
    let Some(place) = place.filter(|place| !place.is_on_metadata()) else { return };
    fit.operations += 1;
    fit.unaligned += u64::from(!place.is_aligned());
    fit.crossing += u64::from(place.is_crossing());
    access.follow(fit, place.partly_covered());
    let mut longest = 0;
    for &(target, bytes) in parts.of(&tried.today, access.offset, access.length) {
        let Some(object) = target.and_then(|target| tried.targets.binary_search(&target).ok()) else { continue };
        longest = longest.max(bytes);
        work.add(tried.targets.len(), tried.timeline.bins, access.bin, object, bytes);
    }
    work.longest += longest;
}
