//! Sums per storage target (OST) and group of operations. Looks at the layer that reaches storage. An operation that spans
//! several targets counts as one on each; its time is shared out by bytes, which is what can be known from outside.

use super::groups::{Group, group_of};
use super::units::{UnitSum, UnitSums};
use crate::layouts::spread::Parts;
use crate::load::FileLayout;
use crate::scan::{Analysis, Block};
use rustc_hash::FxHashMap;

/// Sums per group and storage target.
#[derive(Clone, Debug)]
pub struct Targets<'a> {
    /// Groups, by [`super::groups::group_index`].
    pub groups: &'a [Option<Group>],
    /// Layout per file of the run.
    pub layouts: &'a [Option<FileLayout>],
}

/// Sums by group index and target.
pub type Partial = FxHashMap<(usize, u32), UnitSum>;

impl Analysis for Targets<'_> {
    type Partial = Partial;

    fn start(&self) -> Partial {
        Partial::default()
    }

    fn block(&self, partial: &mut Partial, block: &Block<'_>) {
        let mut parts = Parts::default();
        for row in block.rows() {
            let Some(stream) = block.process.streams.get(row.stream as usize) else { continue };
            let (Ok(offset), true) = (u64::try_from(row.offset), stream.storage && row.length > 0) else { continue };
            let Some(group) = group_of(self.groups, stream) else { continue };
            let Some(Some(layout)) = self.layouts.get(stream.file as usize) else { continue };
            let duration = row.duration_ns();
            for &(target, bytes) in parts.of(&layout.layout, offset, row.length) {
                let Some(target) = target else { continue };
                let sum = partial.entry((group, target)).or_default();
                sum.merge(&UnitSum { operations: 1, bytes, time_ns: share_ns(duration, bytes, row.length) });
            }
        }
    }

    fn merge(&self, into: &mut Partial, other: Partial) {
        for (key, sum) in other {
            into.entry(key).or_default().merge(&sum);
        }
    }
}

/// The part of `duration` that `bytes` of `length` stand for.
#[inline]
#[must_use]
pub fn share_ns(duration: u64, bytes: u64, length: u64) -> u64 {
    if bytes >= length {
        return duration;
    }
    u64::try_from(u128::from(duration) * u128::from(bytes) / u128::from(length.max(1))).unwrap_or(u64::MAX)
}

/// The sums by group and target, in order.
#[must_use]
pub fn sums(groups: &[Option<Group>], partial: Partial) -> UnitSums {
    let mut out = UnitSums::new();
    for ((group, target), sum) in partial {
        if let Some(Some(group)) = groups.get(group) {
            out.entry(group.clone()).or_default().entry(u64::from(target)).or_default().merge(&sum);
        }
    }
    out
}
