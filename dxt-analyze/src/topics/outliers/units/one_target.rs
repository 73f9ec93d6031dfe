//! Finds the storage target of calls that have only counters: if one target holds all bytes between the lowest and highest offset accessed,
//! it served every call.

use crate::layouts::spread::spread;
use crate::model::FileLayout;
use trace_format::counters::Counters;

/// Returns the storage target that holds all bytes that the counted calls can have accessed; `None` if several targets do, or if a target
/// is unknown.
pub(crate) fn one_target(layout: &FileLayout, counted: &Counters) -> Option<u32> {
    // Offset 0 replaces an unknown lowest offset, and the largest possible offset an unknown highest one.
    let from = u64::try_from(counted.min_offset).ok().filter(|_| counted.min_offset != i64::MAX).unwrap_or(0);
    let until = u64::try_from(counted.max_end_offset).ok().filter(|until| *until > from).unwrap_or(u64::MAX);
    let mut targets: Option<Option<u32>> = None;
    let mut one = true;
    spread(&layout.layout, from, until - from, |target, bytes| {
        if bytes > 0 {
            one &= target.is_some() && targets.is_none_or(|known| known == target);
            targets = Some(target);
        }
    });
    targets.flatten().filter(|_| one)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::LayoutOrigin;
    use trace_format::layout::Layout;

    fn of(layout: Layout, min_offset: i64, max_end_offset: i64) -> Option<u32> {
        let layout = FileLayout { layout, origin: LayoutOrigin::Guess };
        one_target(&layout, &Counters { min_offset, max_end_offset, ..Counters::default() })
    }

    #[test]
    fn a_target_is_named_only_if_no_other_can_be_meant() {
        let one = || Layout::plain(1 << 20, 1, vec![14]);
        assert_eq!(of(one(), i64::MAX, 0), Some(14));
        assert_eq!(of(one(), 0, 5 << 30), Some(14));
        let four = || Layout::plain(1 << 20, 4, vec![3, 4, 5, 6]);
        assert_eq!(of(four(), i64::MAX, 0), None);
        assert_eq!(of(four(), i64::MAX, 1 << 20), Some(3));
        assert_eq!(of(four(), i64::MAX, (1 << 20) + 1), None);
        assert_eq!(of(four(), 2 << 20, 3 << 20), Some(5));
        assert_eq!(of(Layout::plain(1 << 20, 2, vec![7, 7]), i64::MAX, 0), Some(7));
        assert_eq!(of(Layout::plain(1 << 20, 2, Vec::new()), i64::MAX, 0), None);
        // The layout's first component is stored on the metadata target.
        let mut parts = one();
        parts.components[0].start = 1 << 16;
        let metadata = Layout::plain(1 << 16, 1, Vec::new()).components.remove(0);
        let metadata = trace_format::layout::Component { end: 1 << 16, on_metadata: true, ..metadata };
        parts.components.insert(0, metadata);
        assert_eq!(of(parts.clone(), i64::MAX, 9 << 20), None);
        assert_eq!(of(parts, 1 << 16, 9 << 20), Some(14));
    }
}
