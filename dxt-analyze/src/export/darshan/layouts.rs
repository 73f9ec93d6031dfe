//! Conversion of stripe layouts to Darshan's Lustre records.

use super::id;
use crate::model::{FileId, FileLayout, Run};
use darshan_log::LustreRecord;
use darshan_log::lustre::Component;
use rustc_hash::FxHashSet;
use trace_format::layout::Component as Part;

/// Returns the Lustre records of the layouts of `files`; guessed layouts are omitted.
pub(crate) fn records(run: &Run, layouts: &[Option<FileLayout>], files: &FxHashSet<FileId>) -> Vec<LustreRecord> {
    let known = layouts.iter().enumerate().filter(|(file, _)| files.contains(&FileId::at(*file)));
    let known = known
        .filter_map(|(file, layout)| Some((FileId::at(file), layout.as_ref().filter(|layout| !layout.is_guess())?)));
    known
        .map(|(file, layout)| {
            let components: Vec<Component> = layout.layout.components.iter().map(part).collect();
            let stripes = components.iter().map(|component| component.osts.len() as u64).sum();
            LustreRecord { id: id(run, file), rank: -1, components, stripes }
        })
        .collect()
}

fn part(part: &Part) -> Component {
    let pattern = match (part.on_metadata, part.is_overstriped()) {
        (true, _) => 2,
        (false, true) => 4,
        (false, false) => 0,
    };
    Component {
        stripe_size: i64::try_from(part.stripe_size).unwrap_or(i64::MAX),
        stripe_count: part.targets.len() as i64,
        pattern,
        flags: i64::from(part.flags),
        extent_start: i64::try_from(part.start).unwrap_or(i64::MAX),
        extent_end: i64::try_from(part.end).unwrap_or(-1),
        mirror_id: i64::from(part.mirror),
        pool: part.pool.as_str().into(),
        osts: part.targets.iter().map(|target| i64::from(*target)).collect(),
    }
}
