//! Lists that JSON truncates to the number of rows in tables; CSV contains all rows.

use serde::{Serialize, Serializer};
use std::ops::Deref;

/// Rows, most important first; tables and JSON contain only the first `most`.
#[derive(Clone, Debug)]
pub struct Listed<T> {
    rows: Vec<T>,
    most: usize,
}

impl<T> Listed<T> {
    /// Creates a list of which tables and JSON contain the first `most` rows.
    #[must_use]
    pub const fn new(rows: Vec<T>, most: usize) -> Self {
        Self { rows, most }
    }

    /// Returns the number of rows that JSON omits from this list.
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

/// Number of rows that JSON omits from each list; `--top` sets the number of rows that JSON contains.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct LeftOut {
    /// Number of omitted patterns of single processes.
    pub local: u64,
    /// Number of omitted patterns of all processes together.
    pub global: u64,
    /// Number of omitted loops of calls that could be one collective call.
    pub one_call: u64,
    /// Number of omitted rows on small calls at a fixed distance.
    pub strided: u64,
    /// Number of omitted rows on bytes that all ranks read.
    pub same_bytes: u64,
}
