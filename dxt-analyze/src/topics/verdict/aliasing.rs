//! Finds requests that reach few of a file's storage targets although they span several rows of stripes: distances between them are multiples of
//! a row (stripe size times stripe count). Calls queue on these targets, and more targets would not help.

use crate::cube::Cube;
use crate::findings::{Code, Evidence, Finding};
use crate::model::FileId;
use crate::topics::causes::claim::Claim;
use crate::topics::stripes::parts::FilePart;
use crate::words::verdict::{Aliased, few_targets_reached};
use std::collections::{BTreeMap, BTreeSet};

/// Replaces claims (findings with their savings) about queues on few targets by claims that name aliasing as their cause: blocks at
/// multiples of a row of stripes. `files`: results of the stripe audit.
pub(crate) fn reported(cube: &Cube<'_>, claims: &mut [Claim], files: &[FilePart]) {
    for claim in claims.iter_mut().filter(|claim| claim.finding.code == Code::FEW_TARGETS) {
        let mut of: BTreeMap<FileId, f64> = BTreeMap::new();
        for (index, ns) in &claim.savings {
            if let Some(cell) = cube.cells.get(*index as usize) {
                *of.entry(cell.file).or_default() += ns;
            }
        }
        let all: f64 = of.values().sum();
        let mut found: Vec<(f64, Aliased)> =
            of.iter().filter_map(|(file, ns)| Some((*ns, aliased(cube, *file, files)?))).collect();
        found.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.file.cmp(&b.1.file)));
        if found.iter().map(|(ns, _)| ns).sum::<f64>() >= all * cube.run.thresholds.most_share
            && let Some((_, first)) = found.first()
        {
            let queue = Evidence::from(claim.finding.title.to_string());
            let words = few_targets_reached(first, found.len() as u64 - 1);
            claim.finding = Finding::new(Code::ALIASING, words.and([queue]));
        }
    }
}

fn aliased(cube: &Cube<'_>, file: FileId, files: &[FilePart]) -> Option<Aliased> {
    let thresholds = &cube.run.thresholds;
    let name = &cube.run.file(file)?.name;
    let part = files.iter().find(|part| part.file == *name)?;
    let [component] = part.layout.components.as_slice() else { return None };
    let (stripe, targets) = (component.stripe_size, component.osts.iter().collect::<BTreeSet<_>>().len());
    let bytes = part.targets.iter().fold(0_u64, |sum, target| sum.saturating_add(target.bytes));
    let uses = part.targets.iter().filter(|target| target.bytes as f64 >= bytes as f64 * thresholds.barely_share);
    let on_used = uses.clone().fold(0_u64, |sum, target| sum.saturating_add(target.bytes));
    let used: BTreeSet<u32> = uses.filter_map(|target| target.ost).collect();
    let ranges = cube.cells.iter().filter(|cell| cell.leaf && cell.file == file).map(|cell| cell.sums.range);
    let known = ranges.filter(|(from, until)| from < until);
    let (from, until) = known.fold((u64::MAX, 0), |(from, until), range| (from.min(range.0), until.max(range.1)));
    let row = stripe.saturating_mul(targets as u64);
    let few = !used.is_empty() && used.len() as f64 <= targets as f64 * thresholds.half_share;
    let rows = until.saturating_sub(from.min(until)).checked_div(row)?;
    let share = on_used as f64 / bytes.max(1) as f64;
    (few && rows >= thresholds.repeated_min).then(|| Aliased {
        file: name.clone(),
        stripe_size: stripe,
        targets: targets as u64,
        used: used.into_iter().collect(),
        share,
        rows,
    })
}
