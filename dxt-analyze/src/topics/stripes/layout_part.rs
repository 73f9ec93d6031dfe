//! A stripe layout as it is listed.

use crate::model::{FileLayout, LayoutOrigin};
use serde::Serialize;

/// One component of a layout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ComponentPart {
    /// First byte.
    pub start: u64,
    /// One past the last byte; `None` for the rest of the file.
    pub end: Option<u64>,
    /// Stripe size in bytes.
    pub stripe_size: u64,
    /// Stripes.
    pub stripe_count: u32,
    /// Storage targets, if known.
    pub osts: Vec<u32>,
    /// Pool.
    pub pool: String,
    /// Whether it has its objects.
    pub active: bool,
    /// `in use`, or why it takes no part: `not initialized`, `stale`, `offline`, `extension`, `parity`, `foreign`, `released`.
    pub standing: &'static str,
    /// Whether it lies with the metadata.
    pub on_metadata: bool,
    /// Mirror that it belongs to; 0 without mirrors.
    pub mirror: u16,
    /// Whether a target has several of its objects.
    pub overstriped: bool,
}

/// A layout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LayoutPart {
    /// Where it comes from.
    pub origin: LayoutOrigin,
    /// Components; one for a plain file.
    pub components: Vec<ComponentPart>,
    /// Mirrors with current data. More than one: reads may have gone to any; they are put on the preferred or first one.
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

    /// Stripe size of the last active component on storage targets: that of most bytes of a large file.
    #[must_use]
    pub fn main_stripe_size(&self) -> u64 {
        let on_targets = self.components.iter().rev().find(|component| component.active && !component.on_metadata);
        on_targets.or(self.components.last()).map_or(1, |component| component.stripe_size)
    }
}
