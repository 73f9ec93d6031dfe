//! Words for the five axes of a pattern.

use super::engine::classes::{Class, Operation, Repetition, Size, Spatial, Temporal};
use super::engine::iosig::pattern_signature;
use crate::render::{Cell, TableOf};
use serde::Serialize;

/// Class of a pattern on the five axes of IOSIG.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Axes {
    /// Reads, writes, or both.
    pub operation: &'static str,
    /// Spatial order of the accesses.
    pub spatial: String,
    /// Size of the accesses, relative to a page of 4,096 bytes.
    pub size: &'static str,
    /// True if accesses differ in size.
    pub variable_size: bool,
    /// Single or repeating pattern.
    pub repetition: &'static str,
    /// Fixed or random intervals; empty without intervals.
    pub temporal: &'static str,
    /// Pattern signature in IOSIG's notation.
    pub pattern_signature: String,
}

impl Axes {
    /// Creates the words for a class.
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

    /// Returns the column for people. Repetition and intervals are left out: the signature shows them.
    fn shown(&self) -> String {
        let variable = if self.variable_size { ", sizes vary" } else { "" };
        format!("{}, {}, {}{variable}", self.operation, self.spatial, self.size)
    }
}

/// Adds the axes to a table: one visible column, and one CSV column each.
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
