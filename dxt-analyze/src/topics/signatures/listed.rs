//! Lists that JSON cuts to as many rows as the tables have. CSV contains all rows.

use serde::{Serialize, Serializer};
use std::ops::Deref;

/// Rows, most important first; tables and JSON contain at most `most` of them.
#[derive(Clone, Debug)]
pub struct Listed<T> {
    rows: Vec<T>,
    most: usize,
}

impl<T> Listed<T> {
    /// Creates a list whose first `most` rows are shown.
    #[must_use]
    pub const fn new(rows: Vec<T>, most: usize) -> Self {
        Self { rows, most }
    }

    /// Returns the number of rows that JSON omits.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.rows.len().saturating_sub(self.most) as u64
    }
}

impl<T> Default for Listed<T> {
    fn default() -> Self {
        Self::new(Vec::new(), 0)
    }
}

impl<T> Deref for Listed<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.rows
    }
}

impl<T: Serialize> Serialize for Listed<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.rows.iter().take(self.most))
    }
}

/// Number of rows that JSON omits from each list; `--top` sets how many it contains.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct LeftOut {
    /// Omitted signatures of single processes.
    pub local: u64,
    /// Omitted signatures that stand for all processes together.
    pub global: u64,
    /// Omitted loops of calls that could be one collective call.
    pub one_call: u64,
    /// Omitted rows on small calls at a fixed distance.
    pub strided: u64,
    /// Omitted rows on bytes that all ranks read.
    pub same_bytes: u64,
}
