//! The result of the stripe audit, per file, and how it is put together from the passes.

use super::audit::FileAudit;
use super::overlap::Conflict;
use super::sharing::{StripeKey, Writers};
use crate::analyses::completeness::Completeness;
use crate::findings::Finding;
use crate::load::{FileLayout, LayoutOrigin, Run};
use rustc_hash::FxHashMap;
use serde::Serialize;

/// One component of a layout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ComponentPart {
    /// First byte.
    pub start: u64,
    /// One past the last byte; `None` for the rest of the file.
    pub end: Option<u64>,
    /// Stripe size in bytes.
    pub stripe_size: u64,
    /// Stripes.
    pub stripe_count: u32,
    /// Storage targets, if known.
    pub osts: Vec<u32>,
    /// Pool.
    pub pool: String,
    /// Whether it has its objects.
    pub active: bool,
    /// Whether it lies with the metadata.
    pub on_metadata: bool,
}

/// A layout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LayoutPart {
    /// Where it comes from.
    pub origin: LayoutOrigin,
    /// Components; one for a plain file.
    pub components: Vec<ComponentPart>,
}

impl FilePart {
    /// Operations that have a place on stripes: what shares are shares of.
    #[must_use]
    pub fn placed(&self) -> u64 {
        (self.reads + self.writes).saturating_sub(self.not_placed).saturating_sub(self.on_metadata)
    }

    /// Whether the layout is a guess.
    #[must_use]
    pub fn is_guess(&self) -> bool {
        self.layout.origin == LayoutOrigin::Guess
    }
}

impl LayoutPart {
    fn of(layout: &FileLayout) -> Self {
        let components = layout.layout.components.iter().map(|component| ComponentPart {
            start: component.start,
            end: (component.end != u64::MAX).then_some(component.end),
            stripe_size: component.stripe_size,
            stripe_count: component.stripe_count,
            osts: component.targets.clone(),
            pool: component.pool.clone(),
            active: component.active,
            on_metadata: component.on_metadata,
        });
        Self { origin: layout.origin, components: components.collect() }
    }

    /// Stripe size of the last active component on storage targets: that of most bytes of a large file.
    #[must_use]
    pub fn main_stripe_size(&self) -> u64 {
        let on_targets = self.components.iter().rev().find(|component| component.active && !component.on_metadata);
        on_targets.or(self.components.last()).map_or(1, |component| component.stripe_size)
    }
}

/// What went to one storage target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TargetPart {
    /// OST index; `None` where the layout does not say.
    pub ost: Option<u32>,
    /// Operations that touched it.
    pub operations: u64,
    /// Bytes.
    pub bytes: u64,
    /// Time, shared out by bytes, ns.
    pub time_ns: u64,
}

/// A stripe written by several processes at overlapping times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StripePart {
    /// Its number, counted from the file's start.
    pub stripe: u64,
    /// Its first byte.
    pub start: u64,
    /// Storage target, if known.
    pub ost: Option<u32>,
    /// Writes that overlap in time with one of another process.
    pub writes: u64,
    /// Their durations together, ns.
    pub time_ns: u64,
    /// Wall-clock time during which at least two processes were writing, ns.
    pub wall_ns: u64,
    /// Number of processes in conflict.
    pub process_count: u64,
    /// The first of them, as ranks; a process without a rank as `pid N`.
    pub ranks: Vec<String>,
}

/// Sums over the shared stripes of a file. Estimates if not all stripes could be followed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SharingPart {
    /// Stripes of which several processes wrote a part, at any time.
    pub contested_stripes: u64,
    /// Those written at overlapping times.
    pub shared_stripes: u64,
    /// Writes in conflict.
    pub writes: u64,
    /// Their durations together, ns.
    pub time_ns: u64,
    /// Where only a sample of the stripes was followed: all numbers above are of the sample, times this.
    pub estimated_times: u64,
    /// Contested stripes that were too many to examine.
    pub not_examined: u64,
    /// Time of the writes to those, ns.
    pub not_examined_ns: u64,
}

impl SharingPart {
    /// From the sums over a sample of one in `times` stripes to an estimate for all.
    fn scale(&mut self, times: u64) {
        self.estimated_times = times;
        for sum in [
            &mut self.contested_stripes,
            &mut self.shared_stripes,
            &mut self.writes,
            &mut self.time_ns,
            &mut self.not_examined,
            &mut self.not_examined_ns,
        ] {
            *sum = sum.saturating_mul(times);
        }
    }
}

/// The audit of one file.
#[derive(Clone, Debug, Serialize)]
pub struct FilePart {
    /// Path.
    pub file: String,
    /// Layout.
    pub layout: LayoutPart,
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Bytes of both.
    pub bytes: u64,
    /// Time of both, ns.
    pub time_ns: u64,
    /// Longest operation in bytes.
    pub max_length: u64,
    /// Operations that do not begin or do not end at a stripe boundary.
    pub unaligned: u64,
    /// Their bytes.
    pub unaligned_bytes: u64,
    /// Operations that do not begin at one.
    pub unaligned_start: u64,
    /// Operations that do not end at one.
    pub unaligned_end: u64,
    /// Operations that touch more than one stripe.
    pub crossing: u64,
    /// Those of them that are no longer than a stripe.
    pub crossing_needlessly: u64,
    /// Operations that begin on the metadata target and are not audited.
    pub on_metadata: u64,
    /// Operations that have no place on the layout.
    pub not_placed: u64,
    /// Storage targets.
    pub targets: Vec<TargetPart>,
    /// Bytes of the busiest target against the mean over the layout's targets; `None` if there are none.
    pub imbalance: Option<f64>,
    /// Sums over shared stripes.
    pub sharing: SharingPart,
    /// Shared stripes with most time.
    pub stripes: Vec<StripePart>,
    /// What to change.
    pub advice: Vec<String>,
}

/// The result.
#[derive(Clone, Debug, Serialize)]
pub struct Stripes {
    /// Files, those with most time first.
    pub files: Vec<FilePart>,
    /// Files that were read or written and have no layout, not even a preferred size.
    pub without_layout: Vec<String>,
    /// Of the partly written stripes, one in this many was followed (1: all).
    pub followed_one_in: u64,
    /// What is missing.
    pub missing: Completeness,
    /// Findings.
    pub findings: Vec<Finding>,
}

/// What the passes found.
#[derive(Debug, Default)]
pub struct Found {
    /// First pass, by file.
    pub files: FxHashMap<u32, FileAudit>,
    /// Contested stripes.
    pub contested: Vec<(StripeKey, Writers)>,
    /// Those not examined.
    pub left_over: Vec<(StripeKey, Writers)>,
    /// Conflicts.
    pub conflicts: Vec<Conflict>,
    /// Of the partly written stripes, one in this many was followed.
    pub followed_one_in: u64,
}

/// Puts the files together; `top` shared stripes are listed per file.
#[must_use]
pub fn files(run: &Run, layouts: &[Option<FileLayout>], found: Found, top: usize) -> Vec<FilePart> {
    let mut sharing: FxHashMap<u32, SharingPart> = FxHashMap::default();
    for (stripe, _) in &found.contested {
        sharing.entry(stripe.file).or_default().contested_stripes += 1;
    }
    for (stripe, writers) in &found.left_over {
        let part = sharing.entry(stripe.file).or_default();
        part.not_examined += 1;
        part.not_examined_ns = part.not_examined_ns.saturating_add(writers.time_ns);
    }
    let mut stripes: FxHashMap<u32, Vec<StripePart>> = FxHashMap::default();
    let times = found.followed_one_in.max(1);
    for conflict in &found.conflicts {
        let file = conflict.stripe.file;
        let part = sharing.entry(file).or_default();
        part.shared_stripes += 1;
        part.writes = part.writes.saturating_add(conflict.writes);
        part.time_ns = part.time_ns.saturating_add(conflict.time_ns);
        if let Some(Some(layout)) = layouts.get(file as usize) {
            stripes.entry(file).or_default().push(stripe_part(run, layout, conflict));
        }
    }
    sharing.values_mut().for_each(|part| part.scale(times));
    let mut out: Vec<FilePart> = found
        .files
        .into_iter()
        .filter_map(|(file, audit)| {
            let (name, layout) = (&run.files.get(file as usize)?.name, layouts.get(file as usize)?.as_ref()?);
            let mut stripes = stripes.remove(&file).unwrap_or_default();
            stripes.sort_by_key(|part| (std::cmp::Reverse(part.time_ns), part.start));
            stripes.truncate(top);
            stripes.sort_by_key(|part| part.start);
            Some(file_part(name, layout, audit, sharing.remove(&file).unwrap_or_default(), stripes))
        })
        .collect();
    out.sort_by(|a, b| b.time_ns.cmp(&a.time_ns).then_with(|| a.file.cmp(&b.file)));
    out
}

fn stripe_part(run: &Run, layout: &FileLayout, conflict: &Conflict) -> StripePart {
    let place = layout.layout.locate(conflict.stripe.start);
    let name = |process: &u32| match run.processes.get(*process as usize) {
        Some(process) if process.rank >= 0 => process.rank.to_string(),
        _ => run.process_name(*process),
    };
    StripePart {
        stripe: place.map_or(0, |place| place.stripe),
        start: conflict.stripe.start,
        ost: place.and_then(|place| place.target),
        writes: conflict.writes,
        time_ns: conflict.time_ns,
        wall_ns: conflict.wall_ns,
        process_count: conflict.process_count,
        ranks: conflict.processes.iter().map(name).collect(),
    }
}

fn file_part(
    name: &str,
    layout: &FileLayout,
    audit: FileAudit,
    sharing: SharingPart,
    stripes: Vec<StripePart>,
) -> FilePart {
    let mut targets: Vec<TargetPart> = audit
        .targets
        .iter()
        .map(|(ost, sum)| TargetPart { ost: *ost, operations: sum.operations, bytes: sum.bytes, time_ns: sum.time_ns })
        .collect();
    targets.sort_by_key(|target| target.ost);
    let imbalance = imbalance(layout, &targets);
    let layout = LayoutPart::of(layout);
    let mut part = FilePart {
        file: name.to_owned(),
        layout,
        reads: audit.reads,
        writes: audit.writes,
        bytes: audit.bytes,
        time_ns: audit.time_ns,
        max_length: audit.max_length,
        unaligned: audit.unaligned,
        unaligned_bytes: audit.unaligned_bytes,
        unaligned_start: audit.unaligned_start,
        unaligned_end: audit.unaligned_end,
        crossing: audit.crossing,
        crossing_needlessly: audit.crossing_needlessly,
        on_metadata: audit.on_metadata,
        not_placed: audit.not_placed,
        targets,
        imbalance,
        sharing,
        stripes,
        advice: Vec::new(),
    };
    part.advice = super::advice::advice(&part);
    part
}

/// Bytes of the busiest target against the mean over all targets of active components, used or not.
fn imbalance(layout: &FileLayout, targets: &[TargetPart]) -> Option<f64> {
    let mut all: Vec<u32> = layout
        .layout
        .components
        .iter()
        .filter(|component| component.active && !component.on_metadata)
        .flat_map(|component| component.targets.iter().copied())
        .collect();
    all.sort_unstable();
    all.dedup();
    let known = || targets.iter().filter(|target| target.ost.is_some()).map(|target| target.bytes);
    let (sum, most) = (known().map(u128::from).sum::<u128>(), known().max()?);
    (sum > 0 && !all.is_empty()).then(|| most as f64 * all.len() as f64 / sum as f64)
}
