//! Stripe layouts of files as rows for JSON, one row per file.

use crate::model::{FileLayout, LayoutOrigin, Run};
use serde::Serialize;
use trace_format::layout::Component;

#[derive(Debug, Serialize)]
pub(super) struct Row<'a> {
    file: &'a str,
    origin: LayoutOrigin,
    components: Vec<Part<'a>>,
}

#[derive(Debug, Serialize)]
struct Part<'a> {
    start: u64,
    /// End (exclusive) of the component, in bytes; `None` for the rest of the file.
    end: Option<u64>,
    stripe_size: u64,
    stripe_count: u32,
    /// Storage target of each stripe object, in order; empty if unknown.
    osts: &'a [u32],
    pool: &'a str,
    mirror: u16,
    on_metadata: bool,
    active: bool,
}

impl<'a> From<&'a Component> for Part<'a> {
    fn from(component: &'a Component) -> Self {
        Self {
            start: component.start,
            end: (component.end < u64::MAX).then_some(component.end),
            stripe_size: component.stripe_size,
            stripe_count: component.stripe_count,
            osts: &component.targets,
            pool: &component.pool,
            mirror: component.mirror,
            on_metadata: component.on_metadata,
            active: component.active,
        }
    }
}

/// Returns one row per file with a known layout.
pub(super) fn rows<'a>(run: &'a Run, layouts: &'a [Option<FileLayout>]) -> Vec<Row<'a>> {
    let known = run.files.iter().zip(layouts).filter_map(|(file, layout)| Some((file, layout.as_ref()?)));
    known
        .map(|(file, layout)| Row {
            file: &file.name,
            origin: layout.origin,
            components: layout.layout.components.iter().map(Part::from).collect(),
        })
        .collect()
}
