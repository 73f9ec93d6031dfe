//! Serialized form of a stripe layout.

use crate::model::{FileLayout, LayoutOrigin};
use serde::Serialize;

/// One component of a layout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ComponentPart {
    /// First byte of the component.
    pub start: u64,
    /// End (exclusive) in bytes; `None` for the rest of the file.
    pub end: Option<u64>,
    /// Stripe size in bytes.
    pub stripe_size: u64,
    /// Number of stripes.
    pub stripe_count: u32,
    /// Storage targets, if known.
    pub osts: Vec<u32>,
    /// Name of the pool.
    pub pool: String,
    /// True if the component has its objects.
    pub active: bool,
    /// `in use`, or why the component takes no part: `not initialized`, `stale`, `offline`, `extension`, `parity`, `foreign`, `released`.
    pub standing: &'static str,
    /// True if the component is on the metadata target.
    pub on_metadata: bool,
    /// Mirror of the component; 0 without mirrors.
    pub mirror: u16,
    /// True if a target has several of its objects.
    pub overstriped: bool,
}

/// Stripe layout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LayoutPart {
    /// Origin of the layout.
    pub origin: LayoutOrigin,
    /// Components; one for a plain file.
    pub components: Vec<ComponentPart>,
    /// Mirrors with current data. Reads may have gone to any of them; they are assigned to the preferred mirror, or else the first.
    pub mirrors_in_use: Vec<u16>,
}

impl LayoutPart {
    pub(crate) fn of(layout: &FileLayout) -> Self {
        let components = layout.layout.components.iter().map(|component| ComponentPart {
            start: component.start,
            end: (component.end != u64::MAX).then_some(component.end),
            stripe_size: component.stripe_size,
            stripe_count: component.stripe_count,
            osts: component.targets.clone(),
            pool: component.pool.clone(),
            active: component.active,
            standing: component.standing().name(),
            on_metadata: component.on_metadata,
            mirror: component.mirror,
            overstriped: component.is_overstriped(),
        });
        Self { origin: layout.origin, components: components.collect(), mirrors_in_use: layout.layout.mirrors_in_use() }
    }

    /// Returns the stripe size of the last active component on storage targets, which holds most bytes of a large file.
    #[must_use]
    pub fn main_stripe_size(&self) -> u64 {
        let on_targets = self.components.iter().rev().find(|component| component.active && !component.on_metadata);
        on_targets.or(self.components.last()).map_or(1, |component| component.stripe_size)
    }
}
