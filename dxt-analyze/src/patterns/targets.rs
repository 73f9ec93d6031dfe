//! Distribution of a job's bytes over storage targets, from the stripe layouts of its files.

use super::{Aspect, Kind, Pattern, pattern};
use crate::model::FileId;
use crate::sum::Sum;
use crate::topics::Whole;
use crate::topics::report::Job;
use crate::words::patterns as words;
use std::collections::{BTreeMap, BTreeSet};

/// Returns the pattern of the storage targets; `None` if they are unknown, or if only one process moves data.
pub(super) fn pattern_of(job: &Job<'_>, whole: &Whole<'_>) -> Option<Pattern> {
    let run = job.run;
    let mut files: BTreeMap<FileId, u64> = BTreeMap::new();
    for total in &whole.sums.all {
        let stream = run.process(total.process).and_then(|process| process.stream(total.stream));
        if let Some(stream) = stream.filter(|stream| stream.storage) {
            let bytes = files.entry(stream.file).or_default();
            *bytes = bytes.saturating_add(total.all.bytes);
        }
    }
    let mut targets: BTreeMap<u32, u64> = BTreeMap::new();
    let mut all = Sum::default();
    for (file, bytes) in files.into_iter().filter(|(_, bytes)| *bytes > 0) {
        let Some(layout) = job.certain.get(file.0 as usize).and_then(Option::as_ref) else { continue };
        // Without the offsets of single calls, a file's bytes are split evenly among its targets.
        let of: BTreeSet<u32> = layout.layout.components.iter().flat_map(|part| part.targets.iter().copied()).collect();
        all += if of.is_empty() { 0 } else { bytes };
        for target in &of {
            let sum = targets.entry(*target).or_default();
            *sum = sum.saturating_add(bytes / of.len() as u64);
        }
    }
    let busiest = targets.values().copied().max().filter(|bytes| *bytes > 0)?;
    let part = crate::shared::ratio::share(busiest, all.get());
    let is_one = part >= run.thresholds.most_share && run.process_count() > 1;
    let kind = if is_one { Kind::OneTarget } else { Kind::SeveralTargets };
    let sentence = words::targets(targets.len() as u64, part, all.get());
    Some(Pattern { amount: Some(targets.len() as u64), ..pattern(Aspect::Targets, None, kind, part, sentence) })
}
