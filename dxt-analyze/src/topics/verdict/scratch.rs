//! Temporary data that processes write, read back and overwrite (scratch files): the findings about the writes and about the reads become
//! one.

use crate::cube::Cube;
use crate::findings::Code;
use crate::model::FileId;
use crate::topics::causes::claim::Claim;
use crate::words::verdict::scratch_data;
use std::collections::BTreeSet;

/// Merges the claims (findings with their savings) about overwritten and about reread data, if both are about the same files. Reads that
/// writes of parts of blocks need, according to the claims `causes`, are no sign of temporary data.
pub(crate) fn joined(cube: &Cube<'_>, mut claims: Vec<Claim>, causes: &[Claim]) -> Vec<Claim> {
    let at = |code: Code| {
        let mut all = claims.iter().enumerate().filter(|(_, claim)| claim.finding.code == code).map(|(at, _)| at);
        // With several claims of a code, it is unknown which belong together.
        all.next().filter(|_| all.next().is_none())
    };
    let (Some(over), Some(back)) = (at(Code::OVERWRITTEN), at(Code::READ_BACK)) else { return claims };
    let file = |index: u32| cube.cells.get(index as usize).map_or(FileId::NONE, |cell| cell.file);
    let is_on = |one: usize, other: usize| {
        let (Some(one), Some(other)) = (claims.get(one), claims.get(other)) else { return false };
        let theirs: BTreeSet<FileId> = other.savings.iter().map(|(index, _)| file(*index)).collect();
        let all: f64 = one.savings.iter().map(|(_, ns)| ns).sum();
        let both = one.savings.iter().filter(|(index, _)| theirs.contains(&file(*index)));
        both.map(|(_, ns)| ns).sum::<f64>() >= all * cube.run.thresholds.most_share
    };
    let needed = causes.iter().filter(|claim| claim.finding.code == Code::READ_MODIFY_WRITE);
    let needed: BTreeSet<u32> = needed.flat_map(|claim| &claim.savings).map(|(index, _)| *index).collect();
    let are_needed = claims.get(back).is_some_and(|claim| {
        let all: f64 = claim.savings.iter().map(|(_, ns)| ns).sum();
        let theirs = claim.savings.iter().filter(|(index, _)| needed.contains(index));
        theirs.map(|(_, ns)| ns).sum::<f64>() >= all * cube.run.thresholds.half_share
    });
    if are_needed || !is_on(over, back) || !is_on(back, over) {
        return claims;
    }
    let read = claims.remove(back);
    let over = if back < over { over - 1 } else { over };
    if let Some(claim) = claims.get_mut(over) {
        let finding = &mut claim.finding;
        let evidence = [std::mem::take(&mut finding.evidence), read.finding.evidence].concat();
        let words = scratch_data(&finding.title, &read.finding.title, evidence);
        (finding.title, finding.evidence, finding.hint) = (words.title, words.evidence, words.hint);
        finding.cost_ns = finding.cost_ns.zip(read.finding.cost_ns).map(|(a, b)| a.saturating_add(b));
        claim.savings.extend(read.savings);
    }
    claims
}
