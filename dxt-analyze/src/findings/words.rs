//! Sentences of a finding.

use super::{Evidence, Title};

/// Sentences of a finding, as `crate::words` makes them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Words {
    /// Sentence that names subject, place and amount.
    pub(crate) title: Title,
    /// Sentences that support it, with their subjects.
    pub(crate) evidence: Vec<Evidence>,
    /// What to change; empty if nothing is advised.
    pub(crate) hint: String,
}

impl Words {
    /// Creates sentences from a title, evidence and advice.
    pub(crate) fn new(title: impl Into<Title>, evidence: Vec<Evidence>, hint: &str) -> Self {
        Self { title: title.into(), evidence, hint: hint.into() }
    }

    /// Returns the words with further evidence.
    pub(crate) fn and(mut self, more: impl IntoIterator<Item = Evidence>) -> Self {
        self.evidence.extend(more);
        self
    }
}
