//! The five axes of a pattern in words.

use super::engine::classes::{Class, Operation, Repetition, Size, Spatial, Temporal};
use super::engine::iosig::pattern_signature;
use crate::render::{Cell, TableOf};
use serde::Serialize;

/// Where, how much, how often, when and what, as IOSIG classes patterns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Axes {
    /// Reads, writes, or both.
    pub operation: &'static str,
    /// Where the accesses are.
    pub spatial: String,
    /// How large they are, by the page of 4,096 bytes.
    pub size: &'static str,
    /// Whether they differ in size.
    pub variable_size: bool,
    /// Whether the pattern comes again.
    pub repetition: &'static str,
    /// Whether calls come at regular times; empty: there is but one.
    pub temporal: &'static str,
    /// The pattern signature, as IOSIG writes it.
    pub pattern_signature: String,
}

impl Axes {
    /// Of a pattern.
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

    /// For people: what repeats and when stands in the signature itself.
    fn shown(&self) -> String {
        let variable = if self.variable_size { ", sizes vary" } else { "" };
        format!("{}, {}, {}{variable}", self.operation, self.spatial, self.size)
    }
}

/// Adds the axes as columns: one for people, each of them in CSV.
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
