//! Fast mapping from segments to stripes and storage targets. The most common form of layout (one component, power-of-two stripe size,
//! known targets) is detected once per layout. Finding the stripe of a segment that lies within one stripe then takes a few shifts.

use super::spread::{Parts, spread};
use trace_format::layout::Layout;

/// Stripe layout prepared for many lookups of stripes and storage targets.
#[derive(Clone, Copy, Debug)]
pub struct Placed<'l> {
    layout: &'l Layout,
    plain: Option<Plain<'l>>,
}

/// Layout of the common form: a single active component with a power-of-two stripe size and a known target for each object.
#[derive(Clone, Copy, Debug)]
struct Plain<'l> {
    from: u64,
    until: u64,
    shift: u32,
    targets: &'l [u32],
}

/// Stripe that contains all bytes of one access, with its bounds in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stripe {
    /// File offset of the first byte of the stripe, clipped to the layout component.
    pub start: u64,
    /// End offset (exclusive) of the stripe, clipped to the layout component.
    pub end: u64,
    /// Stripe size of the layout component, in bytes.
    pub size: u64,
    /// Storage target that holds the stripe.
    pub target: u32,
}

impl<'l> Plain<'l> {
    fn of(layout: &'l Layout) -> Option<Self> {
        let [only] = layout.components.as_slice() else { return None };
        let known = !only.targets.is_empty() && only.targets.len() as u64 == u64::from(only.stripe_count);
        let is_plain = only.active && !only.on_metadata && only.stripe_size.is_power_of_two() && known;
        is_plain.then_some(Self {
            from: only.start,
            until: only.end,
            shift: only.stripe_size.trailing_zeros(),
            targets: &only.targets,
        })
    }

    #[inline]
    fn target(&self, stripe: u64) -> Option<u32> {
        let count = self.targets.len() as u64;
        let object = if count.is_power_of_two() { stripe & (count - 1) } else { stripe % count };
        self.targets.get(object as usize).copied()
    }

    /// Returns the numbers of the first and the last stripe that `length` bytes at `offset` touch; `None` if bytes lie outside the component.
    #[inline]
    fn ends(&self, offset: u64, length: u64) -> Option<(u64, u64)> {
        let last = offset.checked_add(length.checked_sub(1)?)?;
        (self.from <= offset && last < self.until).then_some((offset >> self.shift, last >> self.shift))
    }

    /// Returns number and storage target of the stripe that contains all of `length` bytes at `offset`; `None` if the bytes touch several stripes.
    #[inline]
    fn holds(&self, offset: u64, length: u64) -> Option<(u64, u32)> {
        let (stripe, last) = self.ends(offset, length)?;
        if last != stripe {
            return None;
        }
        Some((stripe, self.target(stripe)?))
    }

    #[inline]
    fn stripe(&self, stripe: u64) -> Option<Stripe> {
        let (start, size, target) = (stripe << self.shift, 1 << self.shift, self.target(stripe)?);
        Some(Stripe { start: start.max(self.from), end: start.saturating_add(size).min(self.until), size, target })
    }

    /// Calls `each` with storage target and size of each part of `length` bytes at `offset`, as [`spread`] does; the bytes touch stripes
    /// `first` to `last`.
    #[inline]
    fn spread(&self, (first, last): (u64, u64), offset: u64, length: u64, mut each: impl FnMut(Option<u32>, u64)) {
        if first == last {
            return each(self.target(first), length);
        }
        each(self.target(first), ((first + 1) << self.shift) - offset);
        each(self.target(last), offset + length - (last << self.shift));
        let (whole, count) = (last - first - 1, self.targets.len() as u64);
        for step in 0..whole.min(count) {
            // The targets of the first `whole % count` steps get one stripe more than the others.
            let stripes = whole / count + u64::from(step < whole % count);
            each(self.target(first + 1 + step), stripes << self.shift);
        }
    }
}

impl<'l> Placed<'l> {
    /// Prepares a stripe layout for many lookups.
    #[must_use]
    pub fn new(layout: &'l Layout) -> Self {
        Self { layout, plain: Plain::of(layout) }
    }

    /// Returns the layout that was given to [`Self::new`].
    #[must_use]
    pub fn layout(&self) -> &'l Layout {
        self.layout
    }

    /// Returns the stripe number of the byte at `offset`, and its storage target if known; `None` if no component contains the byte.
    #[inline]
    #[must_use]
    pub fn locate(&self, offset: u64) -> Option<(u64, Option<u32>)> {
        match &self.plain {
            Some(plain) if plain.from <= offset && offset < plain.until => {
                let stripe = offset >> plain.shift;
                Some((stripe, plain.target(stripe)))
            }
            _ => self.locate_slowly(offset),
        }
    }

    #[inline(never)]
    fn locate_slowly(&self, offset: u64) -> Option<(u64, Option<u32>)> {
        self.layout.locate(offset).map(|place| (place.stripe, place.target))
    }

    /// Returns the stripe that contains all of `length` bytes at `offset`; `None` if no single stripe does, or the layout is not of the
    /// common form (one component, power-of-two stripe size).
    #[inline]
    #[must_use]
    pub fn stripe(&self, offset: u64, length: u64) -> Option<Stripe> {
        let plain = self.plain.as_ref()?;
        let (first, last) = plain.ends(offset, length)?;
        if first == last { plain.stripe(first) } else { None }
    }

    /// Returns the first and the last stripe that `length` bytes at `offset` touch; `None` if the layout is not of the common form (one
    /// component, power-of-two stripe size).
    #[inline]
    #[must_use]
    pub fn ends(&self, offset: u64, length: u64) -> Option<(Stripe, Stripe)> {
        let plain = self.plain.as_ref()?;
        let (first, last) = plain.ends(offset, length)?;
        Some((plain.stripe(first)?, plain.stripe(last)?))
    }

    /// Returns the storage target of all `length` bytes at `offset`; `None` if the bytes touch several stripes, or the layout is not of the
    /// common form (one component, power-of-two stripe size).
    #[inline]
    #[must_use]
    pub fn target(&self, offset: u64, length: u64) -> Option<u32> {
        self.plain.as_ref()?.holds(offset, length).map(|(_, target)| target)
    }

    /// Divides `length` bytes at `offset` among storage targets, as [`Parts::of`] does, but faster.
    #[inline]
    pub fn parts<'p>(&self, offset: u64, length: u64, parts: &'p mut Parts) -> &'p [(Option<u32>, u64)] {
        parts.by(|parts| self.spread(offset, length, |target, bytes| parts.push((target, bytes))))
    }

    /// Divides `length` bytes at `offset` into parts on one storage target each, as [`spread`] does, but faster.
    #[inline]
    pub fn spread(&self, offset: u64, length: u64, each: impl FnMut(Option<u32>, u64)) {
        match self.plain.as_ref().and_then(|plain| Some((plain, plain.ends(offset, length)?))) {
            Some((plain, ends)) => plain.spread(ends, offset, length, each),
            None => spread(self.layout, offset, length, each),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::layout::Component;

    #[test]
    fn the_short_way_gives_what_the_long_one_gives() {
        let plain = Layout::plain(8, 3, vec![7, 9, 7]);
        let with = |change: &dyn Fn(&mut Component)| {
            let mut layout = plain.clone();
            layout.components.iter_mut().for_each(change);
            layout
        };
        let layouts = [
            plain.clone(),
            Layout::plain(8, 4, vec![3, 2, 1, 0]),
            Layout::plain(6, 2, vec![0, 1]),
            Layout::plain(8, 2, Vec::new()),
            with(&|one| (one.start, one.end) = (12, 30)),
            with(&|one| one.on_metadata = true),
            with(&|one| one.active = false),
            Layout { components: [plain.components.clone(), plain.components.clone()].concat() },
        ];
        for layout in &layouts {
            let placed = Placed::new(layout);
            for (offset, length) in (0..50).flat_map(|offset| (0..20).map(move |length| (offset, length))) {
                let (mut short, mut long) = (Vec::new(), Vec::new());
                placed.spread(offset, length, |target, bytes| short.push((target, bytes)));
                spread(layout, offset, length, |target, bytes| long.push((target, bytes)));
                assert_eq!(short, long, "{length} at {offset} of {layout:?}");
                let located = layout.locate(offset);
                assert_eq!(placed.locate(offset), located.map(|place| (place.stripe, place.target)));
                let (mut few, mut all) = (Parts::default(), Parts::default());
                assert_eq!(placed.parts(offset, length, &mut few), all.of(layout, offset, length));
                if let (Some((first, last)), Some(place)) = (placed.ends(offset, length), located) {
                    assert_eq!((first.start, first.end), (place.stripe_start, place.stripe_end));
                    let place = layout.locate(offset + length - 1).unwrap();
                    assert_eq!((last.start, last.end), (place.stripe_start, place.stripe_end));
                }
                if let (Some(found), Some(place)) = (placed.stripe(offset, length), located) {
                    assert_eq!(Some(found.target), place.target);
                    assert_eq!((found.start, found.end), (place.stripe_start, place.stripe_end));
                    assert!(offset + length <= found.end && length > 0);
                }
            }
        }
        assert!(Placed::new(&plain).stripe(u64::MAX - 3, 4).is_none(), "its end is no number");
    }
}
