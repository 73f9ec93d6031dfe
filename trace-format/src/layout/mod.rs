//! Stripe layouts: which storage target holds which bytes of a file.

mod ceph;
mod lustre;
mod standing;

use crate::meta::LayoutSource;
pub use ceph::parse_ceph;
pub use lustre::parse_lustre;
pub use standing::{Standing, flag, pattern};

/// The stripe size in bytes that an attribute's value gives to the first bytes on storage targets, without allocating;
/// `None` if it gives none.
#[must_use]
pub fn stripe_size(source: LayoutSource, bytes: &[u8]) -> Option<u64> {
    match source {
        LayoutSource::Lustre => lustre::stripe_size(bytes),
        LayoutSource::Ceph => ceph::stripe_size(bytes),
        LayoutSource::Other => None,
    }
}

/// Where one byte lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// Stripe number, counted from the start of the file (Lustre's own arithmetic).
    pub stripe: u64,
    /// First byte of the stripe.
    pub stripe_start: u64,
    /// One past the last byte of the stripe, cut at the component's end.
    pub stripe_end: u64,
    /// Storage target: OST index on Lustre. `None` where the layout does not say (not yet allocated, no objects given).
    pub target: Option<u32>,
}

/// A run of the file with one stripe size and one list of targets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Component {
    /// First byte.
    pub start: u64,
    /// One past the last byte; `u64::MAX` for the rest of the file.
    pub end: u64,
    /// Stripe size in bytes; never 0.
    pub stripe_size: u64,
    /// Number of stripes (objects); at least 1.
    pub stripe_count: u32,
    /// Storage target of each object, `stripe_count` of them, or empty if they are not known.
    pub targets: Vec<u32>,
    /// Pool name, empty without one.
    pub pool: String,
    /// Mirror the component belongs to; 0 for files without mirrors.
    pub mirror: u16,
    /// Whether the bytes lie with the metadata (DoM): no OST, nothing to audit.
    pub on_metadata: bool,
    /// Whether the component has its objects and they hold the file's bytes: [`Component::standing`] says why not. Others
    /// take no part in [`Layout::locate`].
    pub active: bool,
    /// Lustre's flags of the component, [`flag`]; [`flag::INIT`] for a plain file.
    pub flags: u32,
    /// Lustre's pattern bits, [`pattern`].
    pub pattern: u32,
}

/// A file's layout. One component for a plain file, several for a composite one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Components in the order of their file system's list.
    pub components: Vec<Component>,
}

impl Layout {
    /// A plain layout over the whole file.
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

    /// The component that holds the byte at `offset`. Of several mirrors that hold it, the one that reads shall prefer, and
    /// of these the lowest: which one a client really reads from, nobody says. A write leaves only one that is not stale.
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

    /// Mirrors that hold data which is not stale, in order. More than one: reads may have gone to any of them.
    #[must_use]
    pub fn mirrors_in_use(&self) -> Vec<u16> {
        let mut mirrors: Vec<u16> =
            self.components.iter().filter(|component| component.active).map(|component| component.mirror).collect();
        mirrors.sort_unstable();
        mirrors.dedup();
        mirrors
    }

    /// Where the byte at `offset` lies; `None` if no component holds it.
    #[inline]
    #[must_use]
    pub fn locate(&self, offset: u64) -> Option<Location> {
        self.component(offset).map(|component| component.locate(offset))
    }
}

impl Component {
    /// Number of the stripe that the byte at `offset` lies in. Sizes are powers of two, nearly always, and a shift costs a tenth of a division.
    #[inline]
    #[must_use]
    pub fn stripe_of(&self, offset: u64) -> u64 {
        let size = self.stripe_size;
        if size.is_power_of_two() { offset >> size.trailing_zeros() } else { offset / size.max(1) }
    }

    /// Number of the object, an index into `targets`, that a stripe lies in.
    #[inline]
    #[must_use]
    pub fn object_of(&self, stripe: u64) -> usize {
        let count = u64::from(self.stripe_count);
        (if count.is_power_of_two() { stripe & (count - 1) } else { stripe % count.max(1) }) as usize
    }

    /// Where the byte at `offset`, which must lie inside the component, lies.
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
