//! Orders findings by saving, each without the time that earlier ones explain. A finding about the same calls as an earlier one joins the
//! earlier one's card as a duplicate.

use crate::cube::Cube;
use crate::findings::{Code, Finding, Saving, Severity};
use crate::model::{ProcessId, StreamIx};
use crate::replay::{Savings, Work};
use crate::thresholds::Thresholds;
use crate::topics::causes::claim::{Basis, Claim, excess};
use crate::topics::causes::price::{price, saving};
use crate::topics::causes::shape::cpu_wait;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// Codes of findings that explain why calls are long or ranks arrive late.
const WHY: [Code; 3] = [Code::ASKED_AGAIN, Code::POLLED, Code::STANDARD_OUTPUT];

/// Codes of findings about small requests.
const SMALL: [Code; 4] = [Code::SMALL_READS, Code::SMALL_WRITES, Code::SMALL_SHARED_READS, Code::SMALL_SHARED_WRITES];
/// Codes of findings about requests out of order.
const RANDOM: [Code; 2] = [Code::RANDOM_READS, Code::RANDOM_WRITES];

/// A card of the verdict: a finding, and the duplicates that explain the same calls (`also`).
#[derive(Clone, Debug)]
pub(crate) struct Card {
    pub(crate) finding: Finding,
    pub(crate) also: Vec<Finding>,
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
        // General findings are reported only if no cause explains enough.
        let causes = claims.iter().any(|claim| claim.is_worth(cube) && !is_general(claim.finding.code));
        let counts = |claim: &Claim| !causes || !is_general(claim.finding.code);
        let most = claims.iter().filter(|claim| counts(claim)).map(saves).max().unwrap_or(0);
        if (most as f64) < run_ns as f64 * thresholds.least_run_share {
            break;
        }
        let of_time = |claim: &&Claim| claim.finding.code == Code::TIME_IMBALANCE && saves(claim) == most;
        let only_who = claims.iter().any(|claim| of_time(&claim));
        let of_size = |claim: &&Claim| SMALL.contains(&claim.finding.code) && saves(claim) == most;
        let only_small = claims.iter().any(|claim| of_size(&claim));
        let near = |claim: &&(usize, &Claim)| {
            // Repeated metadata queries explain slow metadata calls, and waiting for a file explains a straggler.
            let says_why = contrasts(claim.1) || WHY.contains(&claim.1.finding.code);
            // More bytes on a rank explain its longer time in calls.
            let says_why =
                says_why || only_who && [Code::BYTE_IMBALANCE, Code::ONE_RANK].contains(&claim.1.finding.code);
            // Random order explains why small requests are slow.
            let says_why = says_why || only_small && RANDOM.contains(&claim.1.finding.code);
            let least = if says_why { thresholds.half_share } else { thresholds.most_share };
            counts(claim.1) && saves(claim.1) as f64 >= most as f64 * least
        };
        let ranks: Vec<usize> = claims.iter().map(|claim| rank(thresholds, claim, most, &claims)).collect();
        let best = claims.iter().enumerate().filter(|claim| near(&claim)).max_by(|(at, a), (beside, b)| {
            ranks[*at]
                .cmp(&ranks[*beside])
                .reverse()
                .then(saves(a).cmp(&saves(b)))
                .then_with(|| b.finding.about.cmp(&a.finding.about))
        });
        let Some((at, best)) = best else { break };
        let best = claims.swap_remove(narrowest(cube, &claims, best).unwrap_or(at));
        let mut mine = vec![false; left.len()];
        for (index, ns) in &best.savings {
            if let Some(left) = left.get_mut(*index as usize) {
                *left -= ns;
                mine[*index as usize] |= *ns > 0.0;
            }
        }
        all.0.extend(&best.savings);
        all.1 += best.waiting_ns;
        // Claims about the same wait, found by another rule, save nothing more.
        let says_the_same = |claim: &Claim| {
            waits_similar(claim, &best)
                || same_wait(cube, claim, &best)
                || only_says_who(cube, claim, &mine)
                || says_few(thresholds, claim, &mine)
                || is_of_sieving(thresholds, claim, &best, &mine)
        };
        let (same, others): (Vec<Claim>, Vec<Claim>) = claims.into_iter().partition(says_the_same);
        claims = others;
        for claim in &mut claims {
            let both_ns = same_wait_ns(cube, claim, &best);
            if both_ns > 0.0 {
                claim.waiting_ns = (claim.waiting_ns - both_ns).max(0.0);
                price(cube, &phases, &slots, claim);
            }
        }
        let most = best.finding.severity;
        let also = same.into_iter().map(|claim| alone(claim, most)).collect();
        cards.push(Card { finding: best.finding, also });
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
                cards.push(Card { finding: claim.finding, also: Vec::new() });
            }
        }
    }
    let together = saving(cube, &phases, &slots, &all.0, all.1);
    Weighing { cards, left, together }
}

/// Codes of findings about calls that a process repeats on one file.
const REPEATED: [Code; 7] = [
    Code::REPEATED_OPENS,
    Code::OPEN_PER_ACCESS,
    Code::HDF5_REOPENED,
    Code::HDF5_FLUSHED,
    Code::SYNC_PER_WRITE,
    Code::REWRITTEN,
    Code::ASKED_AGAIN,
];

/// True if the claim mistakes calls that many ranks make once or twice each, summed in one record of a log, for repeated calls of one
/// process. Otherwise reduces its savings so that each rank of a record keeps one call.
fn is_once_each(cube: &Cube<'_>, claim: &mut Claim) -> bool {
    if !REPEATED.contains(&claim.finding.code) {
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

/// True if the claim (finding with its saving) is about shared stripes, and at least half of its calls are also in a claim about small
/// independent MPI-IO calls: it then ranks as that claim does, so that the larger saving decides.
fn is_of_independent(thresholds: &Thresholds, claim: &Claim, claims: &[Claim]) -> bool {
    let sharing = [Code::FALSE_SHARING, Code::LOCAL_SHARING].contains(&claim.finding.code);
    let indexes = |claim: &Claim| claim.savings.iter().map(|(index, _)| *index).collect::<BTreeSet<u32>>();
    sharing
        && claims.iter().filter(|other| other.finding.code == Code::INDEPENDENT).any(|other| {
            let theirs = indexes(other);
            let both = claim.savings.iter().filter(|(index, _)| theirs.contains(index)).count();
            both as f64 >= claim.savings.len() as f64 * thresholds.half_share
        })
}

/// True if the claim (finding with its saving) only names a process with longer calls, and an earlier finding explains these calls.
/// `explained`: by cell, true if the earlier finding has it.
fn only_says_who(cube: &Cube<'_>, claim: &Claim, explained: &[bool]) -> bool {
    let is = |index: u32| explained.get(index as usize).copied().unwrap_or_default();
    let all: f64 = claim.savings.iter().map(|(index, _)| time(cube, *index)).sum();
    let known: f64 = claim.savings.iter().filter(|(index, _)| is(*index)).map(|(index, _)| time(cube, *index)).sum();
    claim.finding.code == Code::TIME_IMBALANCE
        && !claim.savings.is_empty()
        && known >= all * cube.run.thresholds.half_share
}

/// True if the claim (finding with its saving) is about few aggregators, and an earlier finding explains its calls. `explained`: by cell,
/// true if the earlier finding has it.
fn says_few(thresholds: &Thresholds, claim: &Claim, explained: &[bool]) -> bool {
    const CODES: [Code; 2] = [Code::AGGREGATORS, Code::FEW_AGGREGATORS];
    let known = claim.savings.iter().filter(|(index, _)| explained.get(*index as usize).copied().unwrap_or_default());
    CODES.contains(&claim.finding.code) && known.count() as f64 >= claim.savings.len() as f64 * thresholds.half_share
}

/// True if the claim is about positions or rereads of requests that data sieving makes, and `before` (an earlier finding) is about data
/// sieving: the program does not control these requests.
fn is_of_sieving(thresholds: &Thresholds, claim: &Claim, before: &Claim, explained: &[bool]) -> bool {
    const CODES: [Code; 3] = [Code::REREAD, Code::CROSSING, Code::UNALIGNED];
    let known = claim.savings.iter().filter(|(index, _)| explained.get(*index as usize).copied().unwrap_or_default());
    before.finding.code == Code::SIEVING
        && CODES.contains(&claim.finding.code)
        && known.count() as f64 >= claim.savings.len() as f64 * thresholds.half_share
}

/// True if `rounds` is about a small buffer inside the library (collective or data sieving) and `outside` about time outside of system
/// calls, of which the rounds through this buffer are a part.
fn is_part_of(rounds: &Claim, outside: &Claim) -> bool {
    let codes = (rounds.finding.code, outside.finding.code);
    codes == (Code::BUFFER_SIZE, Code::COMMUNICATION) || codes == (Code::SIEVING_BLOCK, Code::OUTSIDE_POSIX)
}

/// True if the claim is about ranks that arrive late at synchronization points.
fn is_late(claim: &Claim) -> bool {
    [Code::LATE_RANKS, Code::LATE_TO_MEET].contains(&claim.finding.code)
}

/// Returns the waiting time of the claim that `before`, the earlier finding, explains although both are reported, ns: the cost of a buffer's
/// rounds, or the waits of late ranks for a processor.
fn same_wait_ns(cube: &Cube<'_>, claim: &Claim, before: &Claim) -> f64 {
    let of_late = |cpu: &Claim, late: &Claim| {
        let is = cpu.finding.code == Code::CPU_WAIT && is_late(late);
        if is { cpu_wait::of_unit(cube, &late.finding.accused()).min(cpu.waiting_ns) } else { 0.0 }
    };
    let of_rounds = if is_part_of(before, claim) { before.waiting_ns } else { 0.0 };
    of_rounds.max(of_late(before, claim)).max(of_late(claim, before)).min(before.waiting_ns)
}

/// True if `before`, the earlier finding, explains most of the waiting time that the claim is about.
fn same_wait(cube: &Cube<'_>, claim: &Claim, before: &Claim) -> bool {
    let thresholds = &cube.run.thresholds;
    let who = claim.finding.about.rank == before.finding.about.rank;
    // The straggler waits for a file, or arrives last in its group and thereby last of all.
    let why = [Code::POLLED, Code::LATE_TO_MEET].contains(&before.finding.code);
    if is_late(claim) && who && why && before.waiting_ns >= claim.waiting_ns * thresholds.half_share {
        return true;
    }
    let both_ns = same_wait_ns(cube, claim, before);
    is_part_of(claim, before)
        || (both_ns > 0.0 || is_part_of(before, claim)) && both_ns >= claim.waiting_ns * thresholds.half_share
}

/// True if two claims (findings with their savings) consist of the same waiting time of ranks and nothing else.
fn waits_similar(a: &Claim, b: &Claim) -> bool {
    let only_waits = |claim: &Claim| claim.savings.is_empty() && claim.waiting_ns > 0.0;
    only_waits(a) && only_waits(b) && a.waiting_ns.to_bits() == b.waiting_ns.to_bits()
}

fn saves(claim: &Claim) -> u64 {
    claim.finding.saving.map_or(0, |saving| saving.saves_ns)
}

/// True for findings about all calls of a kind, regardless of the cause.
pub(super) fn is_general(code: Code) -> bool {
    [Code::SLOW_SMALL_WRITES, Code::NO_MPIIO, Code::SHARED_INDEPENDENT].contains(&code)
}

/// True for findings that sum up all metadata calls, whatever the program makes them for.
fn sums_up_a_class(code: Code) -> bool {
    [Code::METADATA_SHARE, Code::METADATA_TIME].contains(&code)
}

/// If `best` only sums up calls of a class, returns the position of the claim that saves most of those that say more about some of the same
/// calls: they come first, and `best` gets what they leave. `None` if there are none.
fn narrowest(cube: &Cube<'_>, claims: &[Claim], best: &Claim) -> Option<usize> {
    if !sums_up_a_class(best.finding.code) {
        return None;
    }
    let mut mine = vec![false; cube.cells.len()];
    for (index, _) in best.savings.iter().filter(|(_, ns)| *ns > 0.0) {
        mine[*index as usize] = true;
    }
    let says_more = |claim: &Claim| {
        let all: f64 = claim.savings.iter().map(|(_, ns)| ns).sum();
        let both: f64 = claim.savings.iter().filter(|(index, _)| mine[*index as usize]).map(|(_, ns)| ns).sum();
        let code = claim.finding.code;
        let says_more = order(code) < order(best.finding.code) && !is_general(code);
        says_more && claim.is_worth(cube) && both > 0.0 && both >= all * cube.run.thresholds.half_share
    };
    let all = claims.iter().enumerate().filter(|(_, claim)| says_more(claim));
    all.max_by_key(|(_, claim)| saves(claim)).map(|(at, _)| at)
}

/// True for findings about calls that take longer than their peers.
pub(super) fn is_longer(code: Code) -> bool {
    const CODES: [Code; 6] =
        [Code::SLOW_TARGET, Code::SLOW_NODE, Code::SLOW_RANK, Code::SLOW_MOMENT, Code::SLOW_FILE, Code::STALL];
    CODES.contains(&code)
}

/// True for contrasts: findings that something is slower than its peers, which the run itself proves. All other findings say what another
/// form of the I/O would save.
pub(super) fn is_contrast(code: Code) -> bool {
    const CODES: [Code; 5] =
        [Code::LATE_RANKS, Code::LATE_TO_MEET, Code::COMMON_READS, Code::SLOW_THREAD, Code::CPU_WAIT];
    is_longer(code) || CODES.contains(&code)
}

/// True for claims of contrasts (see [`is_contrast`]). That processes without ranks read the same bytes is none.
fn contrasts(claim: &Claim) -> bool {
    let code = claim.finding.code;
    is_contrast(code) && (code != Code::COMMON_READS || claim.basis != Basis::Form)
}

/// True for findings that only sum up time outside of system calls: this time cannot be saved as a whole, and is not due to a number of
/// calls.
pub(super) fn is_sum(finding: &Finding) -> bool {
    [Code::COMMUNICATION, Code::OUTSIDE_POSIX, Code::HDF5_COLLECTIVE].contains(&finding.code)
        && finding.about.calls.is_none()
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

/// Order of findings that are not contrasts (slower than peers), most specific first. Codes in no list rank with the fifth list.
const ORDER: [&[Code]; 7] = [
    &[
        Code::LONG_COLLECTIVE,
        Code::BYTE_IMBALANCE,
        Code::SAME_BYTES,
        Code::SIEVING,
        Code::SYNC_PER_WRITE,
        Code::WRITTEN_THROUGH,
        Code::PAST_CACHE,
        Code::OPEN_PER_ACCESS,
        Code::LOCK_WAITS,
        Code::LOCK_TIME,
        Code::FEW_TARGETS,
        Code::ALIASING,
        Code::HDF5_METADATA,
        Code::HDF5_REOPENED,
        Code::HDF5_FLUSHED,
        Code::POLLED,
        Code::HEADER_REWRITTEN,
        Code::STREAM_BUFFER,
        Code::HDF5_AMPLIFIED,
        Code::SMALL_FILES,
        Code::TEMPORARY_FILES,
        Code::REWRITTEN,
        Code::FALSE_SHARING,
        Code::CROSSING,
        Code::AGGREGATORS,
        Code::ASKED_AGGREGATORS,
        Code::MANY_AGGREGATORS,
        Code::TINY_COLLECTIVE,
        Code::THREADS_BY_TURNS,
        Code::BUFFER_SIZE,
        Code::SIEVING_BLOCK,
        Code::SERIALISED,
        Code::READ_MODIFY_WRITE,
    ],
    &[
        Code::REREAD,
        Code::COMMON_READS,
        Code::REPEATED_OPENS,
        Code::LAUNCHED,
        Code::WRITE_RUNS,
        Code::READ_RUNS,
        Code::STRIDED_READS,
        Code::STRIDED_WRITES,
    ],
    &[
        Code::RANDOM_READS,
        Code::RANDOM_WRITES,
        Code::INDEPENDENT,
        Code::NO_BUFFERING,
        Code::ASKED_AGAIN,
        Code::UNASKED,
        Code::SERIAL,
        Code::READ_BEFORE,
    ],
    &[Code::SMALL_READS, Code::SMALL_WRITES, Code::ONE_RANK],
    &[Code::SMALL_SHARED_READS, Code::SMALL_SHARED_WRITES, Code::SLOW_SMALL_WRITES],
    &[Code::METADATA_SHARE, Code::METADATA_TIME, Code::LONG_TAIL, Code::READ_AHEAD, Code::ONE_CALL],
    &[Code::TIME_IMBALANCE],
];

/// Returns the place of a claim (finding with its saving) in the order of kinds of findings, 0 first; several claims may have the same
/// place. `most`: largest saving of any of `claims`, ns.
fn rank(thresholds: &Thresholds, claim: &Claim, most: u64, claims: &[Claim]) -> usize {
    let code = claim.finding.code;
    if WHY.contains(&code) && saves(claim) as f64 >= most as f64 * thresholds.most_share {
        // Unnecessary calls rank first, even if some of them are long for another reason.
        0
    } else if contrasts(claim) {
        1
    } else if claim.says_why {
        2
    } else if is_of_independent(thresholds, claim, claims) {
        order(Code::INDEPENDENT)
    } else {
        order(code)
    }
}

fn order(code: Code) -> usize {
    2 + ORDER.iter().position(|codes| codes.contains(&code)).unwrap_or(4)
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
