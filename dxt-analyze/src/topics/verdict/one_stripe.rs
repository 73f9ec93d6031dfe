//! A file on one storage target that many processes share: if there is no other finding, more targets are the first thing to try. Durations alone
//! cannot always tell whether calls wait for the target.

use super::remedy::facts::{Facts, Storage};
use crate::cube::Cube;
use crate::model::{Class, FileId, ProcessId};
use crate::text::units;
use std::collections::{BTreeMap, BTreeSet};

/// Returns the sentence about a shared file on one storage target, if there is one.
pub(super) fn hint(cube: &Cube<'_>, facts: &Facts<'_, '_>) -> Option<String> {
    let (mut all, mut by) = (0.0, BTreeMap::<FileId, (f64, BTreeSet<ProcessId>)>::new());
    for cell in cube.cells.iter().filter(|cell| cell.leaf) {
        all += cell.sums.time_ns as f64;
        if matches!(cell.class, Class::Read | Class::Write) {
            let of = by.entry(cell.file).or_default();
            of.0 += cell.sums.time_ns as f64;
            of.1.insert(cell.process);
        }
    }
    let (file, (time, users)) = by.into_iter().max_by(|a, b| a.1.0.total_cmp(&b.1.0))?;
    let (_, stripes) = facts.stripes(file)?;
    let is = stripes == 1
        && users.len() >= (cube.run.thresholds.few_min as usize)
        && time >= all * cube.run.thresholds.half_share;
    (is && facts.storage(file) == Storage::Lustre).then(|| {
        let name = cube.run.file_name(file);
        let name = name.rsplit('/').next().unwrap_or(name);
        format!(
            " {name} has one stripe for {}: try more (`lfs setstripe -c 8` on its folder).",
            units::counted(users.len() as u64, "process")
        )
    })
}
