//! Lists of which JSON has the first rows, as many as a table for people shows; CSV has all.

use serde::{Serialize, Serializer};
use std::ops::Deref;

/// Rows, those that matter most first.
#[derive(Clone, Debug)]
pub struct Listed<T> {
    rows: Vec<T>,
    most: usize,
}

impl<T> Listed<T> {
    /// The first `most` of these are shown.
    #[must_use]
    pub const fn new(rows: Vec<T>, most: usize) -> Self {
        Self { rows, most }
    }

    /// Rows that JSON leaves out.
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

/// Rows that JSON leaves out of each list; `--top` says how many it has.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct LeftOut {
    /// Signatures of processes.
    pub local: u64,
    /// Signatures of all together.
    pub global: u64,
    /// Loops that are one collective call.
    pub one_call: u64,
    /// What ranks all read.
    pub same_bytes: u64,
}
