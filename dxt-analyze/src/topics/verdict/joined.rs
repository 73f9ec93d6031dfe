//! Merges claims (findings with their savings) that have one code and are about several files: if a different rank uses each file, fixing
//! one file saves nothing, since all ranks wait for the others.

use crate::cube::Cube;
use crate::findings::{Code, Evidence};
use crate::limits::NAMED_EXAMPLES;
use crate::replay::{Savings, Work};
use crate::topics::causes::claim::Claim;
use crate::words::verdict::and_other_files;
use std::collections::{BTreeMap, BTreeSet};

/// Merges claims (findings with their savings) that have one code, if they save more together or if none of them has most of the saving.
/// Also merges claims that cover more files than they name.
pub(crate) fn joined(cube: &Cube<'_>, phases: &Work, claims: Vec<Claim>) -> Vec<Claim> {
    let mut by: BTreeMap<Code, Vec<Claim>> = BTreeMap::new();
    for claim in claims {
        by.entry(claim.finding.code).or_default().push(claim);
    }
    by.into_values().flat_map(|similar| of_code(cube, phases, similar)).collect()
}

fn of_code(cube: &Cube<'_>, phases: &Work, mut similar: Vec<Claim>) -> Vec<Claim> {
    let thresholds = &cube.run.thresholds;
    similar.retain(|claim| !claim.savings.is_empty() || claim.waiting_ns > 0.0);
    let each: f64 = similar.iter().map(|claim| phases.saved(cube, &claim.savings)).sum();
    let all = longest(similar.iter().flat_map(|claim| &claim.savings));
    let weight = |claim: &Claim| claim.savings.iter().map(|(_, ns)| ns).sum::<f64>() + claim.waiting_ns;
    let most = similar.iter().map(weight).fold(0.0, f64::max);
    let none_alone = most < similar.iter().map(weight).sum::<f64>() * thresholds.majority_share;
    let waiting_ns: f64 = similar.iter().map(|claim| claim.waiting_ns).sum();
    let files: BTreeSet<String> = similar.iter().filter_map(|claim| claim.finding.about.file.clone()).collect();
    // Merge if findings cover more files than they name.
    let unnamed = similar.iter().flat_map(|claim| claim.finding.others()).count() as u64;
    let together =
        unnamed > 0 || none_alone || waiting_ns == 0.0 && phases.saved(cube, &all) > each * thresholds.similar_ratio;
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

/// Returns the largest saving of each cell (sum over similar calls), in ns. `all`: cell index and saving, from several claims (findings
/// with the time that they save in each cell).
fn longest<'a>(all: impl Iterator<Item = &'a (u32, f64)>) -> Savings {
    let mut by: BTreeMap<u32, f64> = BTreeMap::new();
    for (index, ns) in all {
        let most = by.entry(*index).or_default();
        *most = most.max(*ns);
    }
    by.into_iter().collect()
}
