//! The same said of several files: where each is another rank's, mending one saves nothing, since all wait for the others; mending all does.

use crate::findings::{Code, Evidence};
use crate::limits::NAMED_EXAMPLES;
use crate::topics::causes::claim::Claim;
use crate::topics::causes::grid::Grid;
use crate::topics::causes::replay::{Savings, Work};
use crate::words::verdict::and_other_files;
use std::collections::{BTreeMap, BTreeSet};

/// Times more that they save together than one at a time, from which they are one finding.
const MORE_TOGETHER: f64 = 1.2;

/// Part of what all save that one saves at most, if they are one finding though they save no more together.
const NONE_ALONE: f64 = 0.6;

/// Claims of one code as one where they save more together, or where none of them says most of it.
pub(crate) fn joined(grid: &Grid<'_>, phases: &Work, claims: Vec<Claim>) -> Vec<Claim> {
    let mut by: BTreeMap<Code, Vec<Claim>> = BTreeMap::new();
    for claim in claims {
        by.entry(claim.finding.code).or_default().push(claim);
    }
    by.into_values().flat_map(|similar| of_code(grid, phases, similar)).collect()
}

fn of_code(grid: &Grid<'_>, phases: &Work, mut similar: Vec<Claim>) -> Vec<Claim> {
    similar.retain(|claim| !claim.savings.is_empty() || claim.waiting_ns > 0.0);
    let each: f64 = similar.iter().map(|claim| phases.saved(grid, &claim.savings)).sum();
    let all = longest(similar.iter().flat_map(|claim| &claim.savings));
    let weight = |claim: &Claim| claim.savings.iter().map(|(_, ns)| ns).sum::<f64>() + claim.waiting_ns;
    let most = similar.iter().map(weight).fold(0.0, f64::max);
    let none_alone = most < similar.iter().map(weight).sum::<f64>() * NONE_ALONE;
    let waiting_ns: f64 = similar.iter().map(|claim| claim.waiting_ns).sum();
    let files: BTreeSet<String> = similar.iter().filter_map(|claim| claim.finding.about.file.clone()).collect();
    // What all ranks read is read by all of them in one file as in the other.
    let by_all = similar.iter().all(|claim| claim.finding.code == Code::SAME_BYTES);
    // What says the same of more files than are named is not of the named ones alone.
    let unnamed = similar.iter().flat_map(|claim| claim.finding.others()).count() as u64;
    let together =
        unnamed > 0 || by_all || none_alone || waiting_ns == 0.0 && phases.saved(grid, &all) > each * MORE_TOGETHER;
    if similar.len() < 2 || files.len() < similar.len() || !together {
        return similar;
    }
    similar.sort_by(|a, b| weight(b).total_cmp(&weight(a)).then_with(|| a.finding.about.cmp(&b.finding.about)));
    let others = similar.split_off(1);
    let Some(mut first) = similar.pop() else { return others };
    let more = (others.len() as u64).saturating_add(unnamed);
    first.finding.title = and_other_files(&first.finding.title, more);
    first.finding.cost_ns = others
        .iter()
        .map(|claim| claim.finding.cost_ns)
        .fold(first.finding.cost_ns, |sum, cost| Some(sum?.saturating_add(cost?)));
    let examples = others.iter().take(NAMED_EXAMPLES);
    first.finding.evidence.extend(examples.map(|claim| Evidence::from(claim.finding.title.to_string())));
    first.savings = all;
    first.waiting_ns = waiting_ns;
    vec![first]
}

/// Each call by the most that any says.
fn longest<'a>(all: impl Iterator<Item = &'a (u32, f64)>) -> Savings {
    let mut by: BTreeMap<u32, f64> = BTreeMap::new();
    for (index, ns) in all {
        let most = by.entry(*index).or_default();
        *most = most.max(*ns);
    }
    by.into_iter().collect()
}
