//! Signatures of all processes together.

use super::args::Options;
use super::pass::Signed;
use crate::model::Run;
use crate::render::{Cell, Table};
use serde::Serialize;

/// A pattern that processes have in common.
#[derive(Clone, Debug, Serialize)]
pub struct GlobalRow {
    /// Processes.
    pub processes: String,
}

pub(super) fn rows(_run: &Run, _signed: &[Signed], _options: &Options) -> Vec<GlobalRow> {
    Vec::new()
}

pub(super) fn table(rows: &[GlobalRow], top: usize) -> Table {
    Table::of("global", "Signatures", rows)
        .column("Processes", "processes", |row| Cell::text(&row.processes))
        .most(top)
        .done()
}
