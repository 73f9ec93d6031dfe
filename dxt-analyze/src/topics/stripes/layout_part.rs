//! Stripe layout of a file, in the form for tables and JSON.

use crate::model::{FileLayout, LayoutOrigin};
use serde::Serialize;

/// Component of a stripe layout: a range of file offsets with its own striping.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ComponentPart {
    /// File offset of the first byte of the component's range.
    pub start: u64,
    /// End (exclusive) of the component's range, in bytes; `None` for the rest of the file.
    pub end: Option<u64>,
    /// Size of a stripe of the component, in bytes.
    pub stripe_size: u64,
    /// Number of stripes (objects) of the component.
    pub stripe_count: u32,
    /// Storage targets (OSTs) of the component's objects, in order; empty if unknown.
    pub osts: Vec<u32>,
    /// Name of the component's pool of OSTs; empty if there is none.
    pub pool: String,
    /// True if the component's objects exist, so that they can hold data.
    pub active: bool,
    /// State of the component: `in use`, or why it holds no data (`not initialized`, `stale`, `offline`, `extension`, `parity`, `foreign`,
    /// `released`).
    pub standing: &'static str,
    /// True if the component is stored on the metadata target.
    pub on_metadata: bool,
    /// Id of the mirror that the component belongs to; 0 without mirrors.
    pub mirror: u16,
    /// True if one storage target holds several of the component's objects.
    pub overstriped: bool,
}

/// Stripe layout of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LayoutPart {
    /// Source of the layout: the trace (Lustre, Ceph), a file given with `--layout`, or a guess.
    pub origin: LayoutOrigin,
    /// Components of the layout; a single one if the layout is not composite.
    pub components: Vec<ComponentPart>,
    /// Ids of the mirrors with current data. Reads may have used any of them; the audit assigns reads to the preferred mirror, else to the
    /// first.
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

    /// Returns the stripe size of the last active component on storage targets, in bytes; in a large file, it holds most bytes.
    #[must_use]
    pub fn main_stripe_size(&self) -> u64 {
        let on_targets = self.components.iter().rev().find(|component| component.active && !component.on_metadata);
        on_targets.or(self.components.last()).map_or(1, |component| component.stripe_size)
    }
}
