//! Metadata calls that take longer than an idle server needs.

use crate::cube::kind_of_file::dearest;
use crate::cube::{Cell, Cube};
use crate::findings::{About, Code};
use crate::model::{Class, ProcessId};
use crate::replay::Savings;
use crate::shared::totals::add;
use crate::topics::causes::claim::Claim;
use crate::words::shape as words;
use std::collections::BTreeMap;
use trace_format::op::{Layer, OpClass};

/// Returns one claim (finding with its saving) about all slow metadata calls.
#[must_use]
pub fn claim(cube: &Cube<'_>) -> Option<Claim> {
    let thresholds = &cube.run.thresholds;
    let found = slow_metadata(cube)?;
    let on = dearest(cube, &found.savings, is_metadata);
    let part = found.of_most.1 / found.time_ns.max(1.0);
    // A log has one time for all metadata calls, which the importer attributes to opens.
    let one_time = cube.run.was_log() && found.most == "open";
    let alone = found.alone.map(|process| cube.run.process_name(process));
    let what = match &alone {
        Some(name) => words::Slow::OfRank(name),
        None if part >= thresholds.majority_share && one_time => words::Slow::OpensOfLog,
        None if part >= thresholds.majority_share => words::Slow::Mostly,
        None => words::Slow::Several(&found.several),
    };
    let (calls, time_ns, most, of_most) = (found.calls, found.time_ns, found.most.as_str(), found.of_most);
    let of = words::SlowMetadata { what, calls, time_ns, most, of_most, on, are_ranks: cube.run.ranks() > 1 };
    let about = About { calls: Some(found.calls), ..About::default() };
    let words = |lost| words::slow_metadata(&of, about, lost);
    Some(Claim::on_files(cube, Code::METADATA_SHARE, found.savings, words))
}

#[derive(Clone, Debug)]
struct Slow {
    calls: u64,
    time_ns: f64,
    most: String,
    of_most: (u64, f64),
    /// Names of operations with a large part of the time, largest first.
    several: Vec<String>,
    /// Rank with nearly all of the saving, if the run has several ranks and the others wait for it.
    alone: Option<ProcessId>,
    /// Time saved, ns by cell (group of similar calls): if calls took `server_ns` or, in processes with many, were not made.
    savings: Savings,
}

/// True for opens and other metadata calls that reach the kernel.
fn is_metadata(cell: &Cell) -> bool {
    cell.leaf && matches!(cell.class, Class::Open | Class::Metadata)
}

/// Returns the calls of operations whose mean time is long; `None` if there are none.
fn slow_metadata(cube: &Cube<'_>) -> Option<Slow> {
    let thresholds = &cube.run.thresholds;
    let op = |cell: &Cell| cube.stream(cell).map_or(0, |stream| stream.op);
    let mut by: BTreeMap<u16, (u64, f64)> = BTreeMap::new();
    for cell in cube.cells.iter().filter(|cell| is_metadata(cell)) {
        let of = by.entry(op(cell)).or_default();
        *of = (of.0.saturating_add(cell.sums.calls), of.1 + cell.time_ns());
    }
    // Fast calls of other operations do not hide slow ones. Closing a C stream writes its buffer.
    let writes = |op: u16| {
        let op = cube.run.ops.get(usize::from(op));
        op.is_some_and(|op| op.layer == Some(Layer::Stdio) && op.class == Some(OpClass::Close))
    };
    by.retain(|op, (calls, time)| {
        *time >= cube.run.thresholds.server_ns * *calls as f64 && (*calls >= thresholds.many_calls_min || !writes(*op))
    });
    // Many calls of a process can be fewer; few calls can only be faster.
    let mut of_process: BTreeMap<ProcessId, u64> = BTreeMap::new();
    for cell in cube.cells.iter().filter(|cell| is_metadata(cell) && by.contains_key(&op(cell))) {
        add(of_process.entry(cell.process).or_default(), cell.sums.calls);
    }
    let many = |cell: &Cell| of_process.get(&cell.process).is_some_and(|calls| *calls >= thresholds.hundred_calls_min);
    let mut savings = Savings::new();
    for (index, cell) in (0_u32..).zip(&cube.cells) {
        let stays = if many(cell) { 0.0 } else { cube.run.thresholds.server_ns * cell.sums.calls as f64 };
        let less = cell.time_ns() - stays;
        if is_metadata(cell) && less > 0.0 && by.contains_key(&op(cell)) {
            savings.push((index, less));
        }
    }
    let (calls, time_ns) = by.values().fold((0_u64, 0.0), |sum, of| (sum.0.saturating_add(of.0), sum.1 + of.1));
    // Several layers have operations of one name.
    let mut names: BTreeMap<&str, (u64, f64)> = BTreeMap::new();
    for (op, (calls, ns)) in by {
        let Some(op) = cube.run.ops.get(usize::from(op)) else { continue };
        let of = names.entry(&op.name).or_default();
        *of = (of.0.saturating_add(calls), of.1 + ns);
    }
    let mut several: Vec<(&str, f64)> = names.iter().map(|(name, of)| (*name, of.1)).collect();
    several.retain(|(_, ns)| *ns >= time_ns * thresholds.quarter_share);
    several.sort_by(|a, b| b.1.total_cmp(&a.1));
    let several = several.into_iter().map(|(name, _)| name.to_owned()).collect();
    let (most, of_most) = names.into_iter().max_by(|a, b| a.1.1.total_cmp(&b.1.1))?;
    let most = most.to_owned();
    let alone = alone(cube, &savings);
    (!savings.is_empty()).then_some(Slow { calls, time_ns, most, of_most, several, alone, savings })
}

/// Returns the rank with nearly all of the savings, if there are several ranks and the others wait for it; else `None`.
fn alone(cube: &Cube<'_>, savings: &Savings) -> Option<ProcessId> {
    let thresholds = &cube.run.thresholds;
    let (mut of, mut waited, mut all) = (BTreeMap::<ProcessId, f64>::new(), 0.0, 0.0);
    for (index, ns) in savings {
        let cell = cube.cells.get(*index as usize)?;
        *of.entry(cell.process).or_default() += ns;
        all += ns;
        waited += if cube.waited_for(cell.process, cube.phase(cell)) { *ns } else { 0.0 };
    }
    let (process, ns) = of.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    // A record of several ranks belongs to none of them.
    let is_rank = cube.run.process(process).is_some_and(|of| of.rank >= 0 && of.reduction.is_none());
    let is = cube.run.ranks() >= thresholds.several_min
        && ns >= all * thresholds.most_share
        && waited >= all * thresholds.most_share;
    (is && is_rank).then_some(process)
}
