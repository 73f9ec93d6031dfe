//! Conversion of a pattern's class on IOSIG's five axes (operation, spatial order, size, repetition, intervals) to text.

use crate::render::{Cell, TableOf};
use iosig::classes::{Class, Operation, Repetition, Size, Spatial, Temporal};
use iosig::notation::pattern_signature;
use serde::Serialize;

/// Class of a pattern on the five axes of IOSIG, as text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Axes {
    /// Operation of the accesses: reads, writes, or both.
    pub operation: &'static str,
    /// Spatial order of the accesses, e.g. `contiguous`.
    pub spatial: String,
    /// Size class of the accesses, relative to a page of 4,096 bytes.
    pub size: &'static str,
    /// True if the accesses of the pattern differ in size.
    pub variable_size: bool,
    /// Repetition of the pattern: single or repeating.
    pub repetition: &'static str,
    /// Intervals between accesses: fixed or random; empty if there are none.
    pub temporal: &'static str,
    /// Pattern signature in the notation of IOSIG.
    pub pattern_signature: String,
}

impl Axes {
    /// Converts a pattern's class (its values on the five axes) to text.
    #[must_use]
    pub fn of(class: &Class) -> Self {
        let spatial = match class.spatial {
            Spatial::Contiguous => "contiguous".into(),
            Spatial::FixedStride => "fixed stride".into(),
            Spatial::Strided(dimensions) => format!("{dimensions}-d strided"),
            Spatial::Negative => "negative".into(),
            Spatial::Random => "random".into(),
            Spatial::Combination => "combination".into(),
        };
        Self {
            operation: operation(class.operation),
            spatial,
            size: size(class.size),
            variable_size: class.variable_size,
            repetition: repetition(class.repetition),
            temporal: temporal(class.temporal),
            pattern_signature: pattern_signature(class),
        }
    }

    /// Returns the text of the tables' visible column. Omits repetition and intervals, which the signature shows.
    fn shown(&self) -> String {
        let variable = if self.variable_size { ", sizes vary" } else { "" };
        format!("{}, {}, {}{variable}", self.operation, self.spatial, self.size)
    }
}

/// Adds the axes to a table: one visible column for all axes, and one CSV column for each.
pub(super) fn columns<'a, Row: 'a>(table: TableOf<'a, Row>, of: fn(&Row) -> &Axes) -> TableOf<'a, Row> {
    table
        .column("Kind", "kind", move |row| Cell::text(of(row).shown()))
        .csv("operation", move |row| Cell::text(of(row).operation))
        .csv("spatial", move |row| Cell::text(&of(row).spatial))
        .csv("size", move |row| Cell::text(of(row).size))
        .csv("variable_size", move |row| Cell::flag(of(row).variable_size))
        .csv("repetition", move |row| Cell::text(of(row).repetition))
        .csv("temporal", move |row| Cell::text(of(row).temporal))
        .csv("pattern_signature", move |row| Cell::text(&of(row).pattern_signature))
}

const fn operation(operation: Operation) -> &'static str {
    match operation {
        Operation::Read => "read",
        Operation::Write => "write",
        Operation::ReadWrite => "read/write",
    }
}

const fn size(size: Size) -> &'static str {
    match size {
        Size::Small => "small",
        Size::Medium => "medium",
        Size::Large => "large",
        Size::Mixed => "mixed",
    }
}

const fn repetition(repetition: Repetition) -> &'static str {
    match repetition {
        Repetition::Single => "single",
        Repetition::Repeating => "repeating",
    }
}

const fn temporal(temporal: Option<Temporal>) -> &'static str {
    match temporal {
        Some(Temporal::Fixed) => "fixed",
        Some(Temporal::Random) => "random",
        None => "",
    }
}
