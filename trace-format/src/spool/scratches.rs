//! How far the fold of a scratch has come: [`scratch`].

use super::parts::{u32_at, u64_at};
use super::scratch;

/// A fold that is under way, or was when the process was killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fold {
    /// A bit for each slot that is in the counters already.
    pub(super) counted: u64,
    /// A bit for each slot that may be, where that is known: streams are counted one after another. Otherwise it is the run of one
    /// stream behind those that are counted.
    pub(super) counting: Option<u64>,
}

/// The fold of `scratch`, if one is under way.
pub(super) fn fold(scratch: &[u8]) -> Option<Fold> {
    let done = (u32_at(scratch, scratch::FOLDED) as usize).checked_sub(1)?;
    let [counted, counting] = [scratch::COUNTED, scratch::COUNTING].map(|at| u64_at(scratch, at));
    if counting != 0 {
        return Some(Fold { counted, counting: Some(counting & !counted) });
    }
    let counted = if done < scratch::SLOTS { (1 << done) - 1 } else { u64::MAX };
    Some(Fold { counted, counting: None })
}
