//! Builds the stripe audit's result for each file from the results of the passes.

use super::audit::FileAudit;
use super::conflicts::Conflict;
use super::handover::Handovers;
pub use super::layout_part::{ComponentPart, LayoutPart};
pub use super::parts::{FilePart, SharingPart, StripePart, Stripes, TargetPart};
use super::sharing::{StripeKey, Writers};
use crate::model::{File, FileId, FileLayout, LayoutOrigin, ProcessId, Run};
use rustc_hash::FxHashMap;

/// Results of all passes of the stripe audit.
#[derive(Debug, Default)]
pub struct Found {
    /// Totals of the accesses to each file, from the first pass.
    pub files: FxHashMap<FileId, FileAudit>,
    /// Contested stripes (several processes wrote a part of them), with their writers.
    pub contested: Vec<(StripeKey, Writers)>,
    /// Contested stripes that were not examined because there were too many, with their writers.
    pub left_over: Vec<(StripeKey, Writers)>,
    /// Writes to contested stripes (partly written by several processes) that overlap in time.
    pub conflicts: Vec<Conflict>,
    /// Durations of writes to contested stripes (partly written by several processes), separately for writes whose preceding write came
    /// from another node.
    pub handovers: Handovers,
    /// Sampling factor n: one in n partly written stripes was tracked.
    pub followed_one_in: u64,
}

/// Builds the result of each file, with the `top` stripes that several processes wrote at overlapping times and with most write time.
#[must_use]
pub fn files(run: &Run, layouts: &[Option<FileLayout>], found: Found, top: usize) -> Vec<FilePart> {
    let mut sharing: FxHashMap<FileId, SharingPart> = FxHashMap::default();
    for (stripe, _) in &found.contested {
        sharing.entry(stripe.file).or_default().contested_stripes += 1;
    }
    for (stripe, writers) in &found.left_over {
        let part = sharing.entry(stripe.file).or_default();
        part.not_examined += 1;
        part.not_examined_ns = part.not_examined_ns.saturating_add(writers.time_ns);
    }
    let mut stripes: FxHashMap<FileId, Vec<StripePart>> = FxHashMap::default();
    let times = found.followed_one_in.max(1);
    for conflict in &found.conflicts {
        let file = conflict.stripe.file;
        let part = sharing.entry(file).or_default();
        part.shared_stripes += 1;
        part.writes = part.writes.saturating_add(conflict.writes);
        part.time_ns = part.time_ns.saturating_add(conflict.time_ns);
        if let Some(between) = &conflict.between_nodes {
            part.stripes_between_nodes += 1;
            part.writes_between_nodes = part.writes_between_nodes.saturating_add(between.writes);
            part.time_between_nodes_ns = part.time_between_nodes_ns.saturating_add(between.time_ns);
        }
        if let Some(Some(layout)) = layouts.get(file.index()) {
            stripes.entry(file).or_default().push(stripe_part(run, layout, conflict));
        }
    }
    for (file, part) in &mut sharing {
        part.time_passed_on_ns = found.handovers.time_ns(*file);
        part.scale(times);
    }
    let mut out: Vec<FilePart> = found
        .files
        .into_iter()
        .filter_map(|(file, audit)| {
            let (about, layout) = (run.file(file)?, layouts.get(file.index())?.as_ref()?);
            let mut stripes = stripes.remove(&file).unwrap_or_default();
            stripes.sort_by_key(|part| (std::cmp::Reverse(part.time_ns), part.start));
            stripes.truncate(top);
            stripes.sort_by_key(|part| part.start);
            let pace = audit.pace.clone();
            let mut part = file_part(about, layout, audit, sharing.remove(&file).unwrap_or_default(), stripes);
            part.alignment_cost = pace.comparisons(&run.thresholds);
            part.advice = super::advice::advice(&part, &run.thresholds);
            Some(part)
        })
        .collect();
    out.sort_by(|a, b| b.time_ns.cmp(&a.time_ns).then_with(|| a.file.cmp(&b.file)));
    out
}

fn stripe_part(run: &Run, layout: &FileLayout, conflict: &Conflict) -> StripePart {
    let place = layout.layout.locate(conflict.stripe.start);
    let name = |process: &ProcessId| match run.process(*process) {
        Some(process) if process.rank >= 0 => process.rank.to_string(),
        _ => run.process_name(*process),
    };
    let between = conflict.between_nodes.as_ref();
    let node = |node: &u32| run.nodes.get(*node as usize).cloned().unwrap_or_else(|| "?".into());
    StripePart {
        stripe: place.map_or(0, |place| place.stripe),
        start: conflict.stripe.start,
        ost: place.and_then(|place| place.target),
        writes: conflict.writes,
        time_ns: conflict.time_ns,
        wall_ns: conflict.wall_ns,
        process_count: conflict.process_count,
        ranks: conflict.processes.iter().map(name).collect(),
        writes_between_nodes: between.map_or(0, |between| between.writes),
        time_between_nodes_ns: between.map_or(0, |between| between.time_ns),
        wall_between_nodes_ns: between.map_or(0, |between| between.wall_ns),
        node_count: between.map_or(0, |between| between.node_count),
        nodes: between.map(|between| between.nodes.iter().map(node).collect()).unwrap_or_default(),
    }
}

fn file_part(
    about: &File,
    layout: &FileLayout,
    audit: FileAudit,
    sharing: SharingPart,
    stripes: Vec<StripePart>,
) -> FilePart {
    let targets: Vec<TargetPart> = audit
        .targets
        .iter()
        .map(|(ost, sum)| TargetPart { ost: *ost, operations: sum.operations, bytes: sum.bytes, time_ns: sum.time_ns })
        .collect();
    let imbalance = imbalance(layout, &targets);
    let layout = LayoutPart::of(layout);
    FilePart {
        file: about.name.clone(),
        layout_problem: about.layout_problem.clone().filter(|_| layout.origin == LayoutOrigin::Guess),
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
        alignment_cost: Vec::new(),
        sharing,
        stripes,
        advice: Vec::new(),
    }
}

/// Returns bytes on the busiest target / mean bytes over all targets of active components, whether used or not; `None` if no bytes are on a
/// known target.
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
