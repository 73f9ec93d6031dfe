//! Opens and other metadata calls that take longer than those of a server that is not busy.

use crate::findings::{About, Code};
use crate::model::{Class, ProcessId};
use crate::shared::totals::add;
use crate::topics::causes::claim::Claim;
use crate::topics::causes::grid::kind_of_file::dearest;
use crate::topics::causes::grid::{Entry, Grid};
use crate::topics::causes::replay::Savings;
use crate::words::shape as words;
use std::collections::BTreeMap;
use trace_format::op::{Layer, OpClass};

/// What a metadata call takes that a server answers at once, ns.
pub const QUICK_NS: f64 = 300_000.0;
/// Closes of C streams up to which they are no matter of metadata.
const FEW_CLOSES: u64 = 16;
/// Metadata calls of a process from which on they are many.
pub const MANY_METADATA: u64 = 200;

/// Part of the time from which an operation is named among others.
const A_GOOD_PART: f64 = 0.25;
/// Part of the time from which one operation is reported by itself.
const MOSTLY: f64 = 0.6;

/// Part of the time that one rank makes of it to make it alone; and ranks of which it is one, at least.
const ALONE: f64 = 0.8;
const SEVERAL: u64 = 3;

/// What they cost.
#[must_use]
pub fn claim(grid: &Grid<'_>) -> Option<Claim> {
    let found = slow_metadata(grid)?;
    let on = dearest(grid, &found.savings, is_metadata);
    let part = found.of_most.1 / found.time_ns.max(1.0);
    // A log has one time for all of them, and the importer puts it with the opens.
    let one_time = grid.run.was_log() && found.most == "open";
    let alone = found.alone.map(|process| grid.run.process_name(process));
    let what = match &alone {
        Some(name) => words::Slow::OfRank(name),
        None if part >= MOSTLY && one_time => words::Slow::OpensOfLog,
        None if part >= MOSTLY => words::Slow::Mostly,
        None => words::Slow::Several(&found.several),
    };
    let (calls, time_ns, most, of_most) = (found.calls, found.time_ns, found.most.as_str(), found.of_most);
    let of = words::SlowMetadata { what, calls, time_ns, most, of_most, on };
    let about = About { calls: Some(found.calls), ..About::default() };
    let words = |lost| words::slow_metadata(&of, about, lost);
    Some(Claim::on_files(grid, Code::METADATA_SHARE, found.savings, words))
}

/// Metadata calls that take longer than a server that is not busy.
#[derive(Clone, Debug)]
struct Slow {
    /// Calls, and their time, ns.
    calls: u64,
    /// See above.
    time_ns: f64,
    /// The operation that takes most of it.
    most: String,
    /// Its calls, and their time, ns.
    of_most: (u64, f64),
    /// All that take a good part of it, that first.
    several: Vec<String>,
    /// The rank that makes nearly all of them, if it is one of several and the others wait for it.
    alone: Option<ProcessId>,
    /// What quick answers would save, or fewer calls where they are many.
    savings: Savings,
}

/// Opens and other metadata calls that reach the system.
fn is_metadata(entry: &Entry) -> bool {
    entry.leaf && matches!(entry.class, Class::Open | Class::Metadata)
}

/// Those of all processes, of the operations that usually take long; `None` if there are none.
fn slow_metadata(grid: &Grid<'_>) -> Option<Slow> {
    let op = |entry: &Entry| grid.stream(entry).map_or(0, |stream| stream.op);
    let mut by: BTreeMap<u16, (u64, f64)> = BTreeMap::new();
    for entry in grid.entries.iter().filter(|entry| is_metadata(entry)) {
        let of = by.entry(op(entry)).or_default();
        *of = (of.0.saturating_add(entry.cell.calls), of.1 + entry.left_ns);
    }
    // Many quick ones of another operation make these no quicker. A C stream that is closed writes what it holds.
    let writes = |op: u16| {
        let op = grid.run.ops.get(usize::from(op));
        op.is_some_and(|op| op.layer == Some(Layer::Stdio) && op.class == Some(OpClass::Close))
    };
    by.retain(|op, (calls, time)| *time >= QUICK_NS * *calls as f64 && (*calls >= FEW_CLOSES || !writes(*op)));
    // Where a process makes many, it is their number that can be counterfactual; of few only how long each takes.
    let mut of_process: BTreeMap<ProcessId, u64> = BTreeMap::new();
    for entry in grid.entries.iter().filter(|entry| is_metadata(entry) && by.contains_key(&op(entry))) {
        add(of_process.entry(entry.process).or_default(), entry.cell.calls);
    }
    let many = |entry: &Entry| of_process.get(&entry.process).is_some_and(|calls| *calls >= MANY_METADATA);
    let mut savings = Savings::new();
    for (index, entry) in (0_u32..).zip(&grid.entries) {
        let stays = if many(entry) { 0.0 } else { QUICK_NS * entry.cell.calls as f64 };
        let less = entry.left_ns - stays;
        if is_metadata(entry) && less > 0.0 && by.contains_key(&op(entry)) {
            savings.push((index, less));
        }
    }
    let (calls, time_ns) = by.values().fold((0_u64, 0.0), |sum, of| (sum.0.saturating_add(of.0), sum.1 + of.1));
    // Layers have operations of the same name.
    let mut names: BTreeMap<&str, (u64, f64)> = BTreeMap::new();
    for (op, (calls, ns)) in by {
        let Some(op) = grid.run.ops.get(usize::from(op)) else { continue };
        let of = names.entry(&op.name).or_default();
        *of = (of.0.saturating_add(calls), of.1 + ns);
    }
    let mut several: Vec<(&str, f64)> = names.iter().map(|(name, of)| (*name, of.1)).collect();
    several.retain(|(_, ns)| *ns >= time_ns * A_GOOD_PART);
    several.sort_by(|a, b| b.1.total_cmp(&a.1));
    let several = several.into_iter().map(|(name, _)| name.to_owned()).collect();
    let (most, of_most) = names.into_iter().max_by(|a, b| a.1.1.total_cmp(&b.1.1))?;
    let most = most.to_owned();
    let alone = alone(grid, &savings);
    (!savings.is_empty()).then_some(Slow { calls, time_ns, most, of_most, several, alone, savings })
}

/// The rank that what is `savings` is nearly all of, where there are several and these wait for it.
fn alone(grid: &Grid<'_>, savings: &Savings) -> Option<ProcessId> {
    let (mut of, mut waited, mut all) = (BTreeMap::<ProcessId, f64>::new(), 0.0, 0.0);
    for (index, ns) in savings {
        let entry = grid.entries.get(*index as usize)?;
        *of.entry(entry.process).or_default() += ns;
        all += ns;
        waited += if grid.waited_for(entry.process, grid.phase(entry)) { *ns } else { 0.0 };
    }
    let (process, ns) = of.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    // One record of several ranks is of none.
    let is_rank = grid.run.process(process).is_some_and(|of| of.rank >= 0 && of.reduction.is_none());
    let is = grid.run.ranks() >= SEVERAL && ns >= all * ALONE && waited >= all * ALONE;
    (is && is_rank).then_some(process)
}
