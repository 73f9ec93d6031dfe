//! Simulation pass: applies every layout of the plan to the segments of each file.

use super::finest::{Finest, add_to, add_to_all};
use super::plan::{Plan, with_targets};
use super::stripes::{Divisor, OnStripes};
use crate::layouts::placed::Placed;
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

/// Alignment of a file's segments (reads and writes) with stripes of one size.
#[derive(Clone, Debug)]
pub struct Fit {
    /// Number of segments (reads and writes) of the file.
    pub operations: Sum,
    /// Number of the file's segments that do not begin and end at stripe boundaries.
    pub unaligned: Sum,
    /// Number of the file's segments that touch more than one stripe.
    pub crossing: Sum,
    /// Bytes of the file's segments that touch only one stripe.
    within_bytes: Sum,
    /// Partly written stripes, with the processes that wrote them.
    pub followed: Followed,
}

impl Default for Fit {
    fn default() -> Self {
        let (operations, unaligned, crossing, within_bytes) = Default::default();
        Self { operations, unaligned, crossing, within_bytes, followed: Followed::with_limit(TRIAL_STRIPES) }
    }
}

impl Fit {
    fn merge(&mut self, other: Self) {
        self.operations += other.operations;
        self.unaligned += other.unaligned;
        self.crossing += other.crossing;
        self.within_bytes += other.within_bytes;
        self.followed.merge(other.followed);
    }
}

/// Bytes and requests on the objects of one layout, and sums over segments.
#[derive(Clone, Debug, Default)]
pub struct Work {
    /// Number of objects that a segment touches, summed over segments.
    pub touched: Sum,
    /// Sum over segments of the bytes on the object that gets most of the segment's bytes.
    pub longest: Sum,
    /// `[bytes, requests]` by time window and object, at index `window * objects + object`; empty if all are 0.
    pub cells: Vec<[u64; 2]>,
    /// `[bytes, requests]` of segments that lie within one stripe, indexed as in `cells`. Counted only for layouts with most objects
    /// ([`Finest::asked`]); [`Replay::settled`] adds them to all layouts derived from these.
    within: Vec<[u64; 2]>,
    /// `[bytes, requests]` per time window that every object got equally; [`Replay::settled`] adds them to `cells`.
    even: Vec<[u64; 2]>,
}

impl Work {
    fn merge(&mut self, other: Self) {
        self.touched += other.touched;
        self.longest += other.longest;
        let all = [(&mut self.cells, other.cells), (&mut self.within, other.within), (&mut self.even, other.even)];
        for (mine, theirs) in all {
            if mine.is_empty() {
                *mine = theirs;
                continue;
            }
            for (mine, theirs) in mine.iter_mut().zip(theirs) {
                *mine = [mine[0].saturating_add(theirs[0]), mine[1].saturating_add(theirs[1])];
            }
        }
    }
}

/// Returns the `[bytes, requests]` of all objects in time window `bin`, one of `bins`; allocates `cells` if empty.
#[inline]
fn moment(cells: &mut Vec<[u64; 2]>, objects: usize, bins: usize, bin: usize) -> &mut [[u64; 2]] {
    if cells.is_empty() {
        *cells = vec![[0; 2]; objects * bins];
    }
    cells.get_mut(bin * objects..(bin + 1) * objects).unwrap_or_default()
}

#[inline]
fn add(moment: &mut [[u64; 2]], object: usize, bytes: u64) {
    if let Some([sum, requests]) = moment.get_mut(object) {
        *sum = sum.saturating_add(bytes);
        *requests += 1;
    }
}

/// Results of the simulation for one file.
#[derive(Clone, Debug, Default)]
pub struct FileTally {
    /// Alignment of the file's accesses, and load of the objects, on the current layout.
    pub today: (Fit, Work),
    /// Alignment of the file's accesses for each stripe size, in the order of [`Plan::sizes`].
    pub fits: Vec<Fit>,
    /// Load of the objects by the file's accesses for each layout, in the order of [`Plan::candidates`].
    pub works: Vec<Work>,
}

/// File for which other layouts are to be simulated.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// File, as an index into the run's files.
    pub file: FileId,
    /// Approximate number of reads and writes to the file.
    pub operations: u64,
    /// Time span (inclusive), ns since the job's start: only segments that begin in it are included. `None` includes all.
    pub span: Option<(u64, u64)>,
}

/// File for which layouts are simulated, and its current layout.
#[derive(Clone, Debug)]
pub struct Tried {
    /// File whose accesses are simulated, as an index into the run's files.
    pub file: FileId,
    /// Current layout of the file, with a storage target for every object.
    pub today: Layout,
    /// Storage targets of the current layout, in ascending order.
    pub targets: Vec<u32>,
    /// Time windows in which the load of the storage targets is added up.
    pub timeline: Timeline,
    /// Time span (inclusive), ns since the job's start: only segments that begin in it are simulated. `None` for all segments.
    pub span: Option<(u64, u64)>,
}

/// Layouts of one stripe size, each as (index in the plan, number of objects).
#[derive(Debug)]
struct OfSize {
    size: Divisor,
    /// Finest layouts, which alone are simulated for segments that lie within one stripe.
    within: Vec<(usize, Divisor)>,
    /// All layouts of the stripe size, which are simulated for segments that cross stripes.
    crossing: Vec<(usize, Divisor)>,
}

/// Simulation pass over the segments of `files`. A file may occur several times with different time spans.
#[derive(Debug)]
pub struct Replay<'a> {
    /// Stripe layouts to simulate.
    pub plan: &'a Plan,
    /// Files for which the stripe layouts are simulated.
    pub files: Vec<Tried>,
    finest: Finest,
    /// Layouts grouped by stripe size, in the order of [`Plan::sizes`].
    sizes: Vec<OfSize>,
    /// By file: indices into `files` of its entries, one per time span.
    slots: FxHashMap<FileId, Vec<usize>>,
}

impl<'a> Replay<'a> {
    /// Prepares the simulation of `plan` for `files`; files without a layout are skipped.
    #[must_use]
    pub fn new(run: &Run, layouts: &[Option<FileLayout>], plan: &'a Plan, files: &[Wanted]) -> Self {
        let most = plan.moments(files.len());
        let tried = |&Wanted { file, operations, span }: &Wanted| {
            let today = with_targets(&layouts.get(file.index())?.as_ref()?.layout);
            let components = today.components.iter().filter(|component| component.active && !component.on_metadata);
            let mut targets: Vec<u32> = components.flat_map(|component| component.targets.iter().copied()).collect();
            targets.sort_unstable();
            targets.dedup();
            // Bounded by more targets than any file system has; bytes on further targets are ignored.
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
        let finest = Finest::new(plan);
        let objects = |number: &usize| {
            let objects = plan.candidates.get(*number)?.osts.len();
            Some((*number, Divisor::new(objects as u64)))
        };
        let of_size = |(place, (size, candidates)): (usize, &(u64, Vec<usize>))| OfSize {
            size: Divisor::new(*size),
            within: finest.asked(place).iter().filter_map(objects).collect(),
            crossing: candidates.iter().filter_map(objects).collect(),
        };
        let sizes = plan.sizes.iter().enumerate().map(of_size).collect();
        Self { plan, files, finest, sizes, slots }
    }

    /// Completes the results: adds segments within one stripe, and segments that load all objects equally, to all layouts.
    #[must_use]
    pub fn settled(&self, mut tallies: Vec<FileTally>) -> Vec<FileTally> {
        let objects = |number: usize| self.plan.candidates.get(number).map_or(0, |candidate| candidate.osts.len());
        for tally in &mut tallies {
            let within: Vec<_> = tally.works.iter_mut().map(|work| std::mem::take(&mut work.within)).collect();
            for ((_, numbers), fit) in self.plan.sizes.iter().zip(&tally.fits) {
                for &number in numbers {
                    let finest = self.finest.of(number);
                    let (Some(work), Some(within)) = (tally.works.get_mut(number), within.get(finest)) else {
                        continue;
                    };
                    let even = std::mem::take(&mut work.even);
                    add_to_all(&mut work.cells, objects(number), &even);
                    if within.is_empty() {
                        continue;
                    }
                    work.touched += fit.operations.get() - fit.crossing.get();
                    work.longest += fit.within_bytes;
                    add_to(&mut work.cells, objects(number), within, objects(finest));
                }
            }
        }
        tallies
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
                let in_block = head.stream_mask & stream.mask != 0;
                in_block && stream.storage && self.slots.contains_key(&stream.file)
            })
        })
    }

    fn block(&self, partial: &mut Vec<FileTally>, block: &Block<'_>) {
        let (mut parts, mut accesses) = (Parts::default(), Vec::new());
        for stretch in block.stretches() {
            let Some(stream) = block.process.stream(stretch.stream).filter(|stream| stream.storage) else {
                continue;
            };
            let writes = block.run.op(stream).class == Some(OpClass::Write);
            for &slot in self.slots.get(&stream.file).map(Vec::as_slice).unwrap_or_default() {
                let (Some(tally), Some(tried)) = (partial.get_mut(slot), self.files.get(slot)) else { continue };
                let placed = Placed::new(&tried.today);
                accesses.clear();
                for row in stretch.rows() {
                    let (Ok(offset), true) = (u64::try_from(row.offset), row.length > 0) else { continue };
                    let start = row.start.saturating_add(block.process.shift_ns);
                    if tried.span.is_some_and(|(from, to)| !(from..=to).contains(&start)) {
                        continue;
                    }
                    let access = Access {
                        offset,
                        length: row.length,
                        writer: writes.then_some((block.number, block.process.node, row.duration_ns())),
                        file: stream.file,
                        bin: tried.timeline.bin(start),
                    };
                    today(&mut tally.today, (tried, &placed), &access, &mut parts);
                    accesses.push(access);
                }
                self.candidates(tally, &accesses, tried.timeline.bins);
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

struct Access {
    offset: u64,
    length: u64,
    /// Process, node index and duration (ns) of a write; `None` for a read.
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
    /// Applies accesses to all layouts, one stripe size after another, so that the data of a stripe size is looked up once for all
    /// accesses. `bins`: number of time windows.
    fn candidates(&self, tally: &mut FileTally, accesses: &[Access], bins: usize) {
        for (OfSize { size, within, crossing }, fit) in self.sizes.iter().zip(&mut tally.fits) {
            fit.operations += accesses.len() as u64;
            let mut even: Option<Even> = None;
            for access in accesses {
                if let Some(even) = even.as_mut().filter(|even| even.takes(access, *size)) {
                    even.times += 1;
                    continue;
                }
                let there = OnStripes::new(access.offset, access.length, *size);
                fit.unaligned += u64::from(!there.is_aligned());
                if there.crosses() {
                    let next = Even { there, bin: access.bin, length: access.length, times: 1 };
                    if there.is_aligned() && crossing.iter().all(|(_, objects)| there.even(*objects).is_some()) {
                        even.replace(next)
                            .into_iter()
                            .for_each(|even| even.settle(fit, &mut tally.works, crossing, bins));
                        continue;
                    }
                    fit.crossing += 1;
                    access.follow(fit, there.partly_covered());
                    on_several(&mut tally.works, crossing, there, (bins, access.bin));
                    continue;
                }
                access.follow(fit, there.partly_covered());
                fit.within_bytes += access.length;
                for (number, objects) in within {
                    let Some(work) = tally.works.get_mut(*number) else { continue };
                    let moment = moment(&mut work.within, objects.get(), bins, access.bin);
                    there.objects(*objects, |object, bytes| add(moment, object as usize, bytes));
                }
            }
            even.into_iter().for_each(|even| even.settle(fit, &mut tally.works, crossing, bins));
        }
    }
}

/// Accesses of equal length in one time window that cover whole stripes and so load all objects of a layout equally.
struct Even {
    there: OnStripes,
    bin: usize,
    length: u64,
    times: u64,
}

impl Even {
    fn takes(&self, access: &Access, size: Divisor) -> bool {
        access.length == self.length && access.bin == self.bin && size.divides(access.offset)
    }

    fn settle(self, fit: &mut Fit, works: &mut [Work], candidates: &[(usize, Divisor)], bins: usize) {
        let Self { there, bin, times, .. } = self;
        fit.crossing += times;
        for (number, objects) in candidates {
            let (Some(work), Some(bytes)) = (works.get_mut(*number), there.even(*objects)) else { continue };
            if let Some([sum, requests]) = moment(&mut work.even, 1, bins, bin).first_mut() {
                *sum = sum.saturating_add(bytes.saturating_mul(times));
                *requests += times;
            }
            work.touched += times.saturating_mul(objects.get() as u64);
            work.longest += bytes.saturating_mul(times);
        }
    }
}

/// Applies an access that crosses stripes (`there`) to the load (`works`) of each layout in `candidates`; `bin` is its time window, one of
/// `bins`.
fn on_several(works: &mut [Work], candidates: &[(usize, Divisor)], there: OnStripes, (bins, bin): (usize, usize)) {
    for (number, objects) in candidates {
        let Some(work) = works.get_mut(*number) else { continue };
        if let Some(bytes) = there.even(*objects) {
            add(moment(&mut work.even, 1, bins, bin), 0, bytes);
            work.touched += objects.get() as u64;
            work.longest += bytes;
            continue;
        }
        let (mut touched, mut longest) = (0_u64, 0);
        let moment = moment(&mut work.cells, objects.get(), bins, bin);
        there.objects(*objects, |object, bytes| {
            longest = longest.max(bytes);
            touched += 1;
            add(moment, object as usize, bytes);
        });
        work.touched += touched;
        work.longest += longest;
    }
}

/// Adds an access to alignment and load (`fit`, `work`) under the file's current layout, which may be composite.
fn today((fit, work): &mut (Fit, Work), (tried, placed): (&Tried, &Placed<'_>), access: &Access, parts: &mut Parts) {
    let place = i64::try_from(access.offset).ok().and_then(|offset| StripesTouched::on(placed, offset, access.length));
    let Some(place) = place.filter(|place| !place.is_on_metadata()) else { return };
    fit.operations += 1;
    fit.unaligned += u64::from(!place.is_aligned());
    fit.crossing += u64::from(place.is_crossing());
    access.follow(fit, place.partly_covered());
    let (mut touched, mut longest) = (0_u64, 0);
    for &(target, bytes) in placed.parts(access.offset, access.length, parts) {
        let Some(object) = target.and_then(|target| tried.targets.binary_search(&target).ok()) else { continue };
        longest = longest.max(bytes);
        touched += 1;
        add(moment(&mut work.cells, tried.targets.len(), tried.timeline.bins, access.bin), object, bytes);
    }
    work.touched += touched;
    work.longest += longest;
}
