//! Computes which stripes of a file a segment touches.

use crate::layouts::placed::Placed;
use trace_format::layout::Layout;

/// Stripes of a file that a segment touches, and the segment's alignment to stripes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StripesTouched {
    offset: u64,
    first_stripe: u64,
    last_stripe: u64,
    pub(super) stripe_size: u64,
    pub(super) start_aligned: bool,
    pub(super) end_aligned: bool,
    pub(super) crosses: bool,
    pub(super) on_metadata: bool,
    /// Storage target that holds the segment's first byte; `None` if unknown.
    pub(super) target: Option<u32>,
}

impl StripesTouched {
    /// Computes the stripes that `length` bytes at `offset` touch; `None` if the segment has no offset or bytes, or if no layout component
    /// covers it.
    #[inline]
    #[must_use]
    pub fn of(layout: &Layout, offset: i64, length: u64) -> Option<Self> {
        let offset = u64::try_from(offset).ok()?;
        let end = offset.checked_add(length)?;
        let component = layout.component(offset)?;
        let first = component.locate(offset);
        let last = if end <= first.stripe_end { first } else { layout.locate(end.checked_sub(1)?)? };
        (length > 0).then_some(Self {
            offset,
            first_stripe: first.stripe_start,
            last_stripe: last.stripe_start,
            stripe_size: component.stripe_size,
            start_aligned: offset == first.stripe_start,
            end_aligned: end == last.stripe_end,
            crosses: first.stripe_start != last.stripe_start,
            on_metadata: component.on_metadata,
            target: first.target,
        })
    }

    /// Computes the stripes that `length` bytes at `offset` touch, as [`Self::of`] does, but faster, from a layout prepared for many
    /// lookups.
    #[inline]
    #[must_use]
    pub fn on(placed: &Placed<'_>, offset: i64, length: u64) -> Option<Self> {
        let found = u64::try_from(offset).ok().and_then(|offset| Some((offset, placed.ends(offset, length)?)));
        let Some((offset, (first, last))) = found else { return Self::of(placed.layout(), offset, length) };
        Some(Self {
            offset,
            first_stripe: first.start,
            last_stripe: last.start,
            stripe_size: first.size,
            start_aligned: offset == first.start,
            end_aligned: offset + length == last.end,
            crosses: first.start != last.start,
            on_metadata: false,
            target: Some(first.target),
        })
    }

    /// True if the segment begins and ends at stripe boundaries.
    #[must_use]
    pub fn is_aligned(&self) -> bool {
        self.start_aligned && self.end_aligned
    }

    /// True if the segment touches more than one stripe.
    #[must_use]
    pub fn is_crossing(&self) -> bool {
        self.crosses
    }

    /// True if the segment's first byte is on the metadata target.
    #[must_use]
    pub fn is_on_metadata(&self) -> bool {
        self.on_metadata
    }

    /// Iterates over the file offsets of the stripes that the segment covers only partly: at most its first and its last stripe.
    #[inline]
    pub fn partly_covered(&self) -> impl Iterator<Item = u64> {
        let first = if self.crosses { !self.start_aligned } else { !(self.start_aligned && self.end_aligned) };
        let last = self.crosses && !self.end_aligned;
        let on_stripes = !self.on_metadata;
        let first = (first && on_stripes).then_some(self.first_stripe);
        let last = (last && on_stripes).then_some(self.last_stripe);
        first.into_iter().chain(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_tell_alignment_crossing_and_parts() {
        let layout = Layout::plain(100, 2, vec![0, 1]);
        let place = |offset, length| {
            let place = StripesTouched::of(&layout, offset, length).unwrap();
            assert_eq!(StripesTouched::on(&Placed::new(&layout), offset, length), Some(place));
            place
        };
        let parts = |place: StripesTouched| place.partly_covered().collect::<Vec<u64>>();
        let whole = place(100, 100);
        assert!(whole.start_aligned && whole.end_aligned && !whole.crosses && parts(whole).is_empty());
        let inside = place(110, 20);
        assert!(!inside.start_aligned && !inside.end_aligned && !inside.crosses);
        assert_eq!(parts(inside), [100]);
        let across = place(50, 200);
        assert!(across.crosses);
        assert_eq!(parts(across), [0, 200]);
        assert_eq!(parts(place(0, 150)), [100]);
        assert_eq!(parts(place(0, 50)), [0]);
        assert!(parts(place(0, 500)).is_empty());
        assert!(StripesTouched::of(&layout, -1, 5).is_none() && StripesTouched::of(&layout, 5, 0).is_none());
    }
}
