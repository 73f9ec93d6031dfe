//! Orders findings by saving, each without the time that earlier ones explain. A finding about the same calls as an earlier one joins the
//! earlier one's card as a duplicate.

use crate::cube::Cube;
use crate::findings::{Code, Finding, Saving, Severity};
use crate::hypotheses::{Basis, Explained, Hypothesis, Least, Says};
use crate::model::{ProcessId, StreamIx};
use crate::replay::{Savings, Work};
use crate::thresholds::Thresholds;
use crate::topics::causes::claim::{Claim, excess};
use crate::topics::causes::price::{price, saving};
use crate::topics::causes::shape::cpu_wait;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// A card of the verdict: a finding, and the duplicates that explain the same calls (`also`).
#[derive(Clone, Debug)]
pub(crate) struct Card {
    pub(crate) finding: Finding,
    pub(crate) also: Vec<Finding>,
    /// Cells (indices into [`Cube::cells`]) in which the finding saves time, and how much, ns.
    pub(crate) savings: Vec<(u32, f64)>,
}

impl Card {
    /// Creates the card of a finding without duplicates and savings.
    pub(crate) const fn of(finding: Finding) -> Self {
        Self { finding, also: Vec::new(), savings: Vec::new() }
    }
}

/// Findings of a run, each as a card with its duplicates, and the time that they leave unexplained.
#[derive(Clone, Debug)]
pub(crate) struct Weighing {
    pub(crate) cards: Vec<Card>,
    /// By cell: time in calls that no finding explains, ns.
    pub(crate) left: Vec<f64>,
    /// Run time that all findings save together.
    pub(crate) together: Saving,
}

/// Orders claims (findings with their savings): takes the claim that saves most, removes its calls, and repeats.
pub(crate) fn weigh(cube: &Cube<'_>, mut claims: Vec<Claim>) -> Weighing {
    let thresholds = &cube.run.thresholds;
    let run_ns = cube.run.length_ns();
    claims.retain_mut(|claim| !is_once_each(cube, claim));
    let mut left: Vec<f64> = cube.cells.iter().map(|cell| cell.sums.time_ns as f64).collect();
    let (phases, slots) = (Work::of(cube, false), Work::of(cube, true));
    let mut cards: Vec<Card> = Vec::new();
    let mut explained: Vec<Vec<bool>> = Vec::new();
    let mut all = (Savings::new(), 0.0);
    claims.par_iter_mut().for_each(|claim| {
        price(cube, &phases, &slots, claim);
        claim.alone = Some((claim.finding.severity, claim.finding.saving));
    });
    while !claims.is_empty() {
        // Excess that a finding of its own will explain stays with that finding.
        let proven = excess(cube, claims.iter().filter(|claim| claim.is_worth(cube)));
        claims.par_iter_mut().for_each(|claim| {
            let mut has_changed = false;
            for (index, ns) in &mut claim.savings {
                let kept = proven.get(*index as usize).filter(|_| claim.basis == Basis::Form);
                let left = left.get(*index as usize).copied().unwrap_or(0.0) - kept.copied().unwrap_or_default();
                let rest = ns.min(left).max(0.0);
                has_changed |= rest.to_bits() != ns.to_bits();
                *ns = rest;
            }
            if has_changed {
                price(cube, &phases, &slots, claim);
            }
        });
        let most = claims.iter().map(saves).max().unwrap_or(0);
        if (most as f64) < run_ns as f64 * thresholds.least_run_share {
            break;
        }
        let Some(at) = first(cube, &claims) else { break };
        let best = claims.swap_remove(at);
        let mine = cells_of(cube, &best);
        for (index, ns) in &best.savings {
            if let Some(left) = left.get_mut(*index as usize) {
                *left -= ns;
            }
        }
        all.0.extend(best.savings.iter().copied());
        all.1 += best.waiting_ns;
        let (same, others): (Vec<Claim>, Vec<Claim>) =
            claims.into_iter().partition(|claim| is_explained(cube, claim, &best, &mine));
        claims = others;
        for claim in &mut claims {
            let both_ns = common_wait_ns(cube, claim, &best);
            if both_ns > 0.0 {
                claim.waiting_ns = (claim.waiting_ns - both_ns).max(0.0);
                price(cube, &phases, &slots, claim);
            }
        }
        let most = best.finding.severity;
        let also = same.into_iter().map(|claim| alone(claim, most)).collect();
        cards.push(Card { finding: best.finding, also, savings: best.savings });
        explained.push(mine);
    }
    // A remaining claim joins the card with most of its calls, or is dropped if it saves nothing. Its calls stay unexplained: it saves little.
    let mut unsaved = left.clone();
    for claim in claims {
        let whole: f64 = claim.savings.iter().map(|(index, _)| time(cube, *index)).sum();
        let of = |mine: &[bool]| {
            let shared =
                claim.savings.iter().filter(|(index, _)| mine.get(*index as usize).copied().unwrap_or_default());
            shared.map(|(index, _)| time(cube, *index)).sum::<f64>()
        };
        let same = explained.iter().position(|mine| whole > 0.0 && of(mine) >= whole * thresholds.half_share);
        match same.and_then(|at| cards.get_mut(at)) {
            Some(card) => card.also.push(alone(claim, card.finding.severity)),
            None if (saves(&claim) as f64) < run_ns as f64 * thresholds.negligible_share => {}
            None => {
                for (index, ns) in &claim.savings {
                    if let Some(left) = unsaved.get_mut(*index as usize) {
                        let ns = ns.min(*left).max(0.0);
                        *left -= ns;
                        all.0.push((*index, ns));
                    }
                }
                all.1 += claim.waiting_ns;
                cards.push(Card { finding: claim.finding, also: Vec::new(), savings: claim.savings });
            }
        }
    }
    let together = saving(cube, &phases, &slots, &all.0, all.1);
    Weighing { cards, left, together }
}

/// Returns the position of the claim (finding with its saving) that stands first: of the one that saves most and those that say more about
/// the same calls, the most specific.
fn first(cube: &Cube<'_>, claims: &[Claim]) -> Option<usize> {
    let saving_most = |all: &[usize]| {
        all.iter().copied().max_by(|a, b| {
            let of = |at: usize| claims.get(at);
            let about = |at: usize| of(at).map(|claim| &claim.finding.about);
            of(*a).map(saves).cmp(&of(*b).map(saves)).then_with(|| about(*b).cmp(&about(*a)))
        })
    };
    let before = |top: usize| -> Vec<usize> {
        let Some(top) = claims.get(top) else { return Vec::new() };
        let cells = cells_of(cube, top);
        let all = claims.iter().enumerate().filter(|(_, claim)| stands_before(cube, claim, top, &cells));
        all.map(|(at, _)| at).collect()
    };
    let mut top = saving_most(&(0..claims.len()).collect::<Vec<usize>>())?;
    let level = |at: usize| claims.get(at).map(says);
    // A finding that says more about a part of a sum need not save nearly as much as the sum.
    if matches!(level(top), Some(Says::Sum | Says::All)) {
        top = saving_most(&before(top)).unwrap_or(top);
    }
    let all = before(top);
    let most_specific = all.iter().filter_map(|at| level(*at)).min();
    let best: Vec<usize> = all.into_iter().filter(|at| level(*at) == most_specific).collect();
    saving_most(&best).or(Some(top))
}

/// Returns what a claim says about its calls. That processes without ranks read the same bytes is no contrast, and some claims of other
/// forms of I/O know the mechanism by which calls take long.
fn says(claim: &Claim) -> Says {
    let says = Hypothesis::of(claim.finding.code).says;
    match says {
        Says::Slower if claim.finding.code == Code::COMMON_READS && claim.basis == Basis::Form => Says::Again,
        _ if claim.says_why => says.min(Says::Mechanism),
        _ => says,
    }
}

/// True if `claim` says more than `top`, which saves time in `cells`, about the same calls, and saves enough to stand before it.
fn stands_before(cube: &Cube<'_>, claim: &Claim, top: &Claim, cells: &[bool]) -> bool {
    let thresholds = &cube.run.thresholds;
    let is_enough = |least: Least| match least {
        Least::Half => saves(claim) as f64 >= saves(top) as f64 * thresholds.half_share,
        Least::Most => saves(claim) as f64 >= saves(top) as f64 * thresholds.most_share,
        Least::Any => claim.is_worth(cube),
    };
    let least = says(claim).least(says(top));
    let explains = |one: &Claim, other: &Claim| Hypothesis::of(other.finding.code).explained_by.names(one.finding.code);
    // An explained finding does not stand before the one that explains it.
    if explains(top, claim) && !explains(claim, top) {
        return false;
    }
    let least = if explains(claim, top) { least.map(|_| Least::Half) } else { least };
    let only_waits = claim.savings.is_empty() || top.savings.is_empty();
    least.is_some_and(is_enough) && (only_waits || are_in(claim, cells, thresholds.half_share))
}

/// By cell (similar calls of a process): true if the claim (finding with its saving) saves time in it.
fn cells_of(cube: &Cube<'_>, claim: &Claim) -> Vec<bool> {
    let mut out = vec![false; cube.cells.len()];
    for (index, _) in claim.savings.iter().filter(|(_, ns)| *ns > 0.0) {
        if let Some(is) = out.get_mut(*index as usize) {
            *is = true;
        }
    }
    out
}

/// True if the claim (finding with its saving) saves at least the share `least` of its time in `cells`; false if it saves none in calls.
fn are_in(claim: &Claim, cells: &[bool], least: f64) -> bool {
    let all: f64 = claim.savings.iter().map(|(_, ns)| ns).sum();
    let theirs = claim.savings.iter().filter(|(index, _)| cells.get(*index as usize).copied().unwrap_or_default());
    all > 0.0 && theirs.map(|(_, ns)| ns).sum::<f64>() >= all * least
}

/// True if the claim mistakes calls that many ranks make once or twice each, summed in one record of a log, for repeated calls of one
/// process. Otherwise reduces its savings so that each rank of a record keeps one call.
fn is_once_each(cube: &Cube<'_>, claim: &mut Claim) -> bool {
    if !Hypothesis::of(claim.finding.code).is_repeated {
        return false;
    }
    // By process and stream: calls, and ranks that make them.
    let mut all: BTreeMap<(ProcessId, StreamIx), (u64, u64)> = BTreeMap::new();
    let key = |index: u32| cube.cells.get(index as usize).map(|cell| (cell, (cell.process, cell.stream)));
    for (cell, key) in claim.savings.iter().filter_map(|(index, _)| key(*index)) {
        let ranks = cube.run.process(cell.process).map_or(1, |process| cube.run.ranks_of(process, cell.file, None));
        let of = all.entry(key).or_insert((0, ranks));
        of.0 = of.0.saturating_add(cell.sums.calls);
    }
    for (index, ns) in &mut claim.savings {
        if let Some((calls, ranks)) = key(*index).and_then(|(_, key)| all.get(&key)).filter(|(_, ranks)| *ranks > 1) {
            *ns *= 1.0 - *ranks as f64 / (*calls).max(*ranks) as f64;
        }
    }
    !all.is_empty()
        && all
            .values()
            .all(|(calls, ranks)| *ranks > 1 && *calls <= ranks.saturating_mul(cube.run.thresholds.repeated_min))
}

/// Returns the finding of a claim with the saving that it has without other findings, at most as severe as the finding that explains its
/// calls (`most`).
fn alone(claim: Claim, most: Severity) -> Finding {
    let (severity, saving) = claim.alone.unwrap_or((Severity::Info, None));
    Finding { severity: severity.min(most), saving, ..claim.finding }
}

fn time(cube: &Cube<'_>, index: u32) -> f64 {
    cube.cells.get(index as usize).map_or(0.0, |cell| cell.sums.time_ns as f64)
}

/// True if the claim (finding with its saving) is explained by `before`, an earlier finding that saves time in `cells`, or has its code, and
/// `before` has at least half of its calls or waits.
fn is_explained(cube: &Cube<'_>, claim: &Claim, before: &Claim, cells: &[bool]) -> bool {
    let half = cube.run.thresholds.half_share;
    let (code, other) = (claim.finding.code, before.finding.code);
    let explains = code == other || Hypothesis::of(code).explained_by.has(other);
    let calls = explains && are_in(claim, cells, half);
    let same = claim.waiting_ns.to_bits() == before.waiting_ns.to_bits();
    let only_waits = claim.savings.is_empty() && claim.waiting_ns > 0.0;
    let waits = || common_wait_ns(cube, claim, before) >= claim.waiting_ns * half;
    calls || only_waits && (same || Hypothesis::of(code).explained_by.names(other)) && waits()
}

/// Returns the waiting time that two claims (findings with their savings) have in common, ns: they are the same waits, or one explains the
/// other, on the same rank.
fn common_wait_ns(cube: &Cube<'_>, one: &Claim, other: &Claim) -> f64 {
    let least = one.waiting_ns.min(other.waiting_ns);
    let only_waits = one.savings.is_empty() && other.savings.is_empty();
    if only_waits && one.waiting_ns.to_bits() == other.waiting_ns.to_bits() {
        return least;
    }
    let codes = (one.finding.code, other.finding.code);
    let is_explained = |one: Code, other: Code| Hypothesis::of(one).explained_by.names(other);
    if !is_explained(codes.0, codes.1) && !is_explained(codes.1, codes.0) {
        return 0.0;
    }
    // Waits of a late rank for a processor are waits of all.
    let late = [(one, other), (other, one)].into_iter().find(|(cpu, _)| cpu.finding.code == Code::CPU_WAIT);
    if let Some((_, late)) = late {
        return cpu_wait::of_unit(cube, &late.finding.accused()).min(least);
    }
    let (mine, theirs) = (&one.finding.about, &other.finding.about);
    let is_of_all = |claim: &Claim| Hypothesis::of(claim.finding.code).explains == Explained::Waits;
    let same = mine.rank == theirs.rank && mine.ranks == theirs.ranks;
    if same || is_of_all(one) || is_of_all(other) { least } else { 0.0 }
}

fn saves(claim: &Claim) -> u64 {
    claim.finding.saving.map_or(0, |saving| saving.saves_ns)
}

/// True for findings that only sum up time outside of system calls: this time cannot be saved as a whole, and is not due to a number of
/// calls.
pub(super) fn is_sum(finding: &Finding) -> bool {
    Hypothesis::of(finding.code).explains == Explained::Library && finding.about.calls.is_none()
}

/// Returns a finding's weight, ns: its saving, decreased for sums, and for waits for a processor, which other programs on the node may
/// cause: they come first only if they cost twice as much as the I/O.
pub(super) fn weight(thresholds: &Thresholds, finding: &Finding) -> u64 {
    let saves = finding.saving.map_or(0, |saving| saving.saves_ns);
    let part = if finding.code == Code::CPU_WAIT {
        thresholds.half_share
    } else if is_sum(finding) {
        thresholds.half_share / thresholds.most_share.max(thresholds.half_share)
    } else {
        1.0
    };
    (saves as f64 * part) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::{Explains, Words};

    #[test]
    fn waits_for_a_processor_come_first_only_if_they_cost_twice_as_much() {
        let weight = |code: Code, saves_ns: u64| {
            let saving = Saving { saves_ns, saves_low_ns: None, saves_high_ns: None, explains: Explains::default() };
            let finding = Finding { saving: Some(saving), ..Finding::new(code, Words::new("", "")) };
            super::weight(&Thresholds::default(), &finding)
        };
        assert!(weight(Code::CPU_WAIT, 190) < weight(Code::SMALL_WRITES, 100));
        assert!(weight(Code::CPU_WAIT, 210) > weight(Code::SMALL_WRITES, 100));
    }
}
