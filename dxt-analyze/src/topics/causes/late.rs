//! Ranks that come late to collective calls, so that all others wait. How late a rank comes is what lies between its last collective
//! call and this one, its other calls of I/O left out, against the median of all ranks: what it lost by waiting before is not its own.

use super::phases::{FIRST, Gaps};
use crate::model::ProcessId;
use crate::shared::stats::median;
use rustc_hash::FxHashMap;

/// Share of all that late ranks cost that one must cost to be the one who is late.
const MOSTLY: f64 = 0.5;
/// Fewest collective calls that it comes last to: once is an event.
const FEWEST: u64 = 2;

/// A rank that comes late.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Late {
    /// Index into [`crate::model::Run::processes`].
    pub process: ProcessId,
    /// Collective calls, and how many it came last to.
    pub calls: u64,
    /// See above.
    pub last: u64,
    /// Between collective calls: median over all ranks, and of this one, ns.
    pub usual_ns: f64,
    /// See above.
    pub own_ns: f64,
    /// What all others would not have waited, ns of the run time.
    pub saves_ns: f64,
}

/// The one that costs most.
#[must_use]
pub fn late(gaps: &[Gaps]) -> Option<Late> {
    let mut costs: FxHashMap<ProcessId, (f64, u64)> = FxHashMap::default();
    let mut calls = 0_u64;
    // Where each was last: its time since the call before, and the median of all.
    let mut own: FxHashMap<ProcessId, Vec<(f64, f64)>> = FxHashMap::default();
    for of in gaps {
        let count = of.by_process.iter().map(|(_, gaps)| gaps.len()).min().unwrap_or(0);
        let known = |number: &usize| of.by_process.iter().all(|(_, gaps)| gaps[*number] != FIRST);
        for number in (0..count).filter(known) {
            let (mut first, mut second) = ((0_u64, ProcessId::NONE), 0_u64);
            let mut all = Vec::with_capacity(of.by_process.len());
            for (process, gaps) in &of.by_process {
                let gap = gaps[number];
                all.push(gap as f64);
                if gap > first.0 {
                    (second, first) = (first.0, (gap, *process));
                } else {
                    second = second.max(gap);
                }
            }
            calls += 1;
            let Some(middle) = median(&mut all) else { continue };
            own.entry(first.1).or_default().push((first.0 as f64, middle));
            let cost = costs.entry(first.1).or_default();
            cost.0 += (first.0 - second) as f64;
            cost.1 += 1;
        }
    }
    let mut costs: Vec<(ProcessId, (f64, u64))> = costs.into_iter().collect();
    costs.sort_by(|a, b| b.1.0.total_cmp(&a.1.0).then(a.0.cmp(&b.0)));
    let &(process, (saves_ns, _)) = costs.first()?;
    let all: f64 = costs.iter().map(|(_, (ns, _))| ns).sum();
    // Of the calls that it was last to, those that cost most: between calls of one burst nobody is late.
    let late = own.get_mut(&process)?;
    late.sort_by(|a, b| (b.0 - b.1).total_cmp(&(a.0 - a.1)));
    let most = late.first().map_or(0.0, |(own, usual)| own - usual);
    late.retain(|(own, usual)| own - usual >= most * 0.1);
    let last = late.len() as u64;
    let own_ns = median(&mut late.iter().map(|(own, _)| *own).collect::<Vec<f64>>())?;
    let usual_ns = median(&mut late.iter().map(|(_, usual)| *usual).collect::<Vec<f64>>())?;
    (last >= FEWEST && saves_ns > all * MOSTLY).then_some(Late { process, calls, last, usual_ns, own_ns, saves_ns })
}
