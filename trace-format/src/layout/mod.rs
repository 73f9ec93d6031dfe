//! Stripe layouts: the mapping of a file's bytes to storage targets.

mod ceph;
mod lustre;
mod standing;

use crate::meta::LayoutSource;
pub use ceph::parse_ceph;
pub use lustre::parse_lustre;
pub use standing::{Standing, flag, pattern};

/// Returns the stripe size, in bytes, of the first part of the file that is on storage targets; `None` if the attribute states none. Does
/// not allocate.
#[must_use]
pub fn stripe_size(source: LayoutSource, bytes: &[u8]) -> Option<u64> {
    match source {
        LayoutSource::Lustre => lustre::stripe_size(bytes),
        LayoutSource::Ceph => ceph::stripe_size(bytes),
        LayoutSource::Other => None,
    }
}

/// Stripe and storage target of one byte of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// Stripe number: the byte's file offset divided by the stripe size, rounded down, as in Lustre's own arithmetic.
    pub stripe: u64,
    /// File offset of the first byte of the stripe, but not before the component's start.
    pub stripe_start: u64,
    /// File offset after the last byte of the stripe, but not after the component's end.
    pub stripe_end: u64,
    /// Storage target, the OST index on Lustre; `None` if the layout does not state the target (not yet allocated, no objects listed).
    pub target: Option<u32>,
}

/// Component of a layout: extent of a file with one stripe size and one list of targets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Component {
    /// File offset of the first byte of the component's extent.
    pub start: u64,
    /// File offset after the last byte of the extent; `u64::MAX` if the extent reaches to the end of the file.
    pub end: u64,
    /// Stripe size of the component, in bytes; never 0.
    pub stripe_size: u64,
    /// Number of stripes (objects) of the component; at least 1.
    pub stripe_count: u32,
    /// Storage target of each of the `stripe_count` objects; empty if unknown.
    pub targets: Vec<u32>,
    /// Name of the storage pool; empty without a pool.
    pub pool: String,
    /// Id of the mirror that the component belongs to; 0 for files without mirrors.
    pub mirror: u16,
    /// True if the component's bytes are on the metadata target (data on MDT) and therefore on no OST.
    pub on_metadata: bool,
    /// True if the component's objects exist and contain the file's current bytes. Otherwise [`Component::standing`] returns the reason,
    /// and [`Layout::locate`] ignores the component.
    pub active: bool,
    /// Lustre's flag bits of the component, see [`flag`]; [`flag::INIT`] in a non-composite layout.
    pub flags: u32,
    /// Lustre's pattern bits of the component, see [`pattern`].
    pub pattern: u32,
}

/// Stripe layout of a file: one component, or several components if the layout is composite.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Components of the layout, in the order in which the file system lists them.
    pub components: Vec<Component>,
}

impl Layout {
    /// Creates a non-composite layout: one component that covers the whole file.
    #[must_use]
    pub fn plain(stripe_size: u64, stripe_count: u32, targets: Vec<u32>) -> Self {
        Self {
            components: vec![Component {
                start: 0,
                end: u64::MAX,
                stripe_size: stripe_size.max(1),
                stripe_count: stripe_count.max(1),
                targets,
                pool: String::new(),
                mirror: 0,
                on_metadata: false,
                active: true,
                flags: flag::INIT,
                pattern: pattern::RAID0,
            }],
        }
    }

    /// Returns the component that contains the byte at `offset`. Of several mirrors with that byte, a mirror preferred for reads is chosen,
    /// then the mirror with the lowest id; no interface reports from which mirror a client really reads. After a write, only one mirror is
    /// not stale.
    #[inline]
    #[must_use]
    pub fn component(&self, offset: u64) -> Option<&Component> {
        if let [only] = self.components.as_slice() {
            return Some(only).filter(|only| only.active && only.start <= offset && offset < only.end);
        }
        self.components
            .iter()
            .filter(|component| component.active && component.start <= offset && offset < component.end)
            .min_by_key(|component| (component.flags & flag::PREFERRED_FOR_READING == 0, component.mirror))
    }

    /// Returns the sorted ids of the mirrors with data that is not stale. Reads may have gone to any of these mirrors.
    #[must_use]
    pub fn mirrors_in_use(&self) -> Vec<u16> {
        let mut mirrors: Vec<u16> =
            self.components.iter().filter(|component| component.active).map(|component| component.mirror).collect();
        mirrors.sort_unstable();
        mirrors.dedup();
        mirrors
    }

    /// Returns the location of the byte at `offset`; `None` if no active component contains the byte.
    #[inline]
    #[must_use]
    pub fn locate(&self, offset: u64) -> Option<Location> {
        self.component(offset).map(|component| component.locate(offset))
    }
}

impl Component {
    /// Returns the number of the stripe that contains the byte at `offset`. Stripe sizes are mostly powers of two, for which a shift costs
    /// a tenth of a division.
    #[inline]
    #[must_use]
    pub fn stripe_of(&self, offset: u64) -> u64 {
        let size = self.stripe_size;
        if size.is_power_of_two() { offset >> size.trailing_zeros() } else { offset / size.max(1) }
    }

    /// Returns the number of the object that contains stripe `stripe`: an index into `targets`.
    #[inline]
    #[must_use]
    pub fn object_of(&self, stripe: u64) -> usize {
        let count = u64::from(self.stripe_count);
        (if count.is_power_of_two() { stripe & (count - 1) } else { stripe % count.max(1) }) as usize
    }

    /// Returns the location of the byte at `offset`, which must be within the component.
    #[inline]
    #[must_use]
    pub fn locate(&self, offset: u64) -> Location {
        let stripe = self.stripe_of(offset);
        let object = self.object_of(stripe);
        Location {
            stripe,
            stripe_start: (stripe * self.stripe_size).max(self.start),
            stripe_end: (stripe * self.stripe_size).saturating_add(self.stripe_size).min(self.end),
            target: if self.on_metadata { None } else { self.targets.get(object).copied() },
        }
    }
}
