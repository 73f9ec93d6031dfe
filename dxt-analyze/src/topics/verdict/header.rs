//! Small or unordered writes that turn out to be writes of a file header: the header has a finding of its own.

use crate::cube::Cube;
use crate::findings::Code;
use crate::model::{Class, FileId};
use crate::topics::causes::claim::Claim;
use std::collections::BTreeSet;

/// True if the claim (finding with its saving) is about writes out of order, and they are so because a header is written between them,
/// according to the claims `causes`.
pub(super) fn is_of_header(cube: &Cube<'_>, claim: &Claim, causes: &[Claim]) -> bool {
    let thresholds = &cube.run.thresholds;
    let Some(header) = causes.iter().find(|cause| cause.finding.code == Code::HEADER_REWRITTEN) else { return false };
    let file = |index: &u32| cube.cells.get(*index as usize).map(|cell| cell.file);
    let files: BTreeSet<FileId> = header.savings.iter().filter_map(|(index, _)| file(index)).collect();
    let writes = cube.cells.iter().filter(|cell| cell.leaf && cell.class == Class::Write && files.contains(&cell.file));
    let all = writes.fold(0_u64, |sum, cell| sum.saturating_add(cell.sums.calls));
    let calls = header.finding.about.calls.unwrap_or(0);
    let time = |counts: &dyn Fn(&u32) -> bool| {
        claim.savings.iter().filter(|(index, _)| counts(index)).map(|(_, ns)| ns).sum::<f64>()
    };
    let on_them =
        time(&|index| file(index).is_some_and(|file| files.contains(&file))) >= time(&|_| true) * thresholds.most_share;
    claim.finding.code == Code::RANDOM_WRITES && on_them && calls as f64 >= all as f64 * thresholds.third_share
}

/// Removes header writes, which have a finding of their own, from a claim (finding with its saving) about small writes; `None` if no writes
/// are left.
pub(super) fn without_header(mut claim: Claim, causes: &[Claim]) -> Option<Claim> {
    let header = causes.iter().find(|cause| cause.finding.code == Code::HEADER_REWRITTEN);
    if let Some(header) = header.filter(|_| claim.finding.code == Code::SMALL_WRITES) {
        let theirs: BTreeSet<u32> = header.savings.iter().map(|(index, _)| *index).collect();
        claim.savings.retain(|(index, _)| !theirs.contains(index));
    }
    (!claim.savings.is_empty() || claim.waiting_ns > 0.0).then_some(claim)
}
