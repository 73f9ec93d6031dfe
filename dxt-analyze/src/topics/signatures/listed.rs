//! Lists of which JSON has as many rows as a table for people; CSV has all.

use serde::{Serialize, Serializer};
use std::ops::Deref;

/// Rows, most important first.
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

    /// Returns the number of rows that JSON leaves out.
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

/// Rows that JSON leaves out of each list; see `--top`.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct LeftOut {
    /// Signatures of single processes.
    pub local: u64,
    /// Signatures of all processes together.
    pub global: u64,
    /// Loops that could be one collective call.
    pub one_call: u64,
    /// Small calls at a fixed distance.
    pub strided: u64,
    /// Bytes that all ranks read.
    pub same_bytes: u64,
}
