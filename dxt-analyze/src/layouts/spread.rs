//! Distribution of a segment's bytes over storage targets, in a time that does not depend on the segment's length.

use trace_format::layout::{Component, Layout};

/// Divides `length` bytes at `offset` into parts that lie on one storage target each, and calls `each` with target and size of each part. A
/// target may occur more than once; `None` stands for an unknown target, or for bytes on no target.
#[inline]
pub fn spread(layout: &Layout, offset: u64, length: u64, mut each: impl FnMut(Option<u32>, u64)) {
    let end = offset.saturating_add(length);
    // Fast path: most layouts have one component that contains the whole file.
    if let [only] = layout.components.as_slice()
        && only.active
        && only.start <= offset
        && offset < end
        && end <= only.end
    {
        return within(only, offset, end, &mut each);
    }
    let mut at = offset;
    while at < end {
        // Another layout component may begin before this component ends.
        let starts = layout.components.iter().filter(|next| next.active && next.start > at).map(|next| next.start);
        let limit = starts.min().unwrap_or(u64::MAX).min(end);
        let until = match layout.component(at) {
            None => {
                each(None, limit - at);
                limit
            }
            Some(component) => {
                let until = limit.min(component.end);
                within(component, at, until, &mut each);
                until
            }
        };
        if until <= at {
            return;
        }
        at = until;
    }
}

/// Bytes of one segment per storage target, each target once. The buffer is reused for the next segment.
#[derive(Debug, Default)]
pub struct Parts(Vec<(Option<u32>, u64)>);

impl Parts {
    /// Divides `length` bytes at `offset` among storage targets; returns (target, bytes) pairs, sorted by target.
    pub fn of(&mut self, layout: &Layout, offset: u64, length: u64) -> &[(Option<u32>, u64)] {
        self.by(|parts| spread(layout, offset, length, |target, bytes| parts.push((target, bytes))))
    }

    /// Collects the (target, bytes) pairs that `fill` adds, and merges pairs with the same target.
    #[inline]
    pub(super) fn by(&mut self, fill: impl FnOnce(&mut Vec<(Option<u32>, u64)>)) -> &[(Option<u32>, u64)] {
        let parts = &mut self.0;
        parts.clear();
        fill(parts);
        match parts.as_mut_slice() {
            [] | [_] => {}
            // Most common case: a segment that crosses one stripe boundary.
            [one, other] if one.0 != other.0 => {
                if one.0 > other.0 {
                    std::mem::swap(one, other);
                }
            }
            _ => {
                parts.sort_unstable();
                parts.dedup_by(|next, kept| {
                    let same = next.0 == kept.0;
                    if same {
                        kept.1 = kept.1.saturating_add(next.1);
                    }
                    same
                });
            }
        }
        parts
    }
}

impl Parts {
    /// Assigns all of `length` bytes to one storage target; returns the single (target, bytes) pair.
    #[inline]
    pub fn on(&mut self, target: Option<u32>, length: u64) -> &[(Option<u32>, u64)] {
        self.0.clear();
        self.0.push((target, length));
        &self.0
    }
}

/// Distributes the bytes `at..end` of the file, which all lie in `component`, over the component's storage targets.
#[inline]
fn within(component: &Component, at: u64, end: u64, each: &mut impl FnMut(Option<u32>, u64)) {
    let (size, count) = (component.stripe_size, u64::from(component.stripe_count));
    if component.on_metadata || component.targets.is_empty() {
        return each(None, end - at);
    }
    let target = |stripe: u64| component.targets.get(component.object_of(stripe)).copied();
    let (first, last) = (component.stripe_of(at), component.stripe_of(end - 1));
    if first == last {
        return each(target(first), end - at);
    }
    each(target(first), (first + 1) * size - at);
    each(target(last), end - last * size);
    let whole = last - first - 1;
    let (rounds, rest) = (whole / count, whole % count);
    // The first `rest` objects get one stripe more than the others.
    for step in 0..whole.min(count) {
        each(target(first + 1 + step), (rounds + u64::from(step < rest)) * size);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn sums(layout: &Layout, offset: u64, length: u64) -> BTreeMap<Option<u32>, u64> {
        let mut out = BTreeMap::new();
        spread(layout, offset, length, |target, bytes| *out.entry(target).or_default() += bytes);
        out
    }

    #[test]
    fn the_short_way_gives_what_counting_byte_by_byte_gives() {
        let mut layout = Layout::plain(7, 3, vec![10, 11, 12]);
        layout.components[0].end = 100;
        layout.components.push(Component { start: 100, end: 150, on_metadata: true, ..layout.components[0].clone() });
        layout.components.push(Component {
            start: 160,
            end: u64::MAX,
            stripe_size: 5,
            stripe_count: 1,
            targets: vec![11],
            ..layout.components[0].clone()
        });
        for offset in 0..120 {
            for length in [0, 1, 6, 7, 8, 20, 21, 22, 60, 150] {
                let mut slow = BTreeMap::new();
                for byte in offset..offset + length {
                    *slow.entry(layout.locate(byte).and_then(|place| place.target)).or_insert(0) += 1;
                }
                assert_eq!(sums(&layout, offset, length), slow, "{length} at {offset}");
            }
        }
    }

    #[test]
    fn a_target_is_reported_once() {
        let mut parts = Parts::default();
        let layout = Layout::plain(10, 3, vec![7, 8, 7]);
        assert_eq!(parts.of(&layout, 5, 30), [(Some(7), 20), (Some(8), 10)]);
        assert_eq!(parts.of(&layout, 12, 3), [(Some(8), 3)]);
        assert!(parts.of(&layout, 12, 0).is_empty());
    }

    #[test]
    fn a_tebibyte_in_small_stripes_is_no_work() {
        let layout = Layout::plain(1, 2, vec![0, 1]);
        assert_eq!(sums(&layout, 1, 1 << 40), BTreeMap::from([(Some(0), 1 << 39), (Some(1), 1 << 39)]));
        assert_eq!(sums(&Layout::plain(1 << 20, 1, vec![4]), u64::MAX - 5, 100).len(), 1);
    }
}
