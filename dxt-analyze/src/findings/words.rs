//! Sentences of a finding: title, evidence and advice.

use super::{About, Evidence, Title};

/// Sentences of a finding, as created by the functions of `crate::words`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Words {
    /// Sentence that names the finding's subject, place and amount.
    pub(crate) title: Title,
    /// Sentences that support the title, each with its machine-readable subject.
    pub(crate) evidence: Vec<Evidence>,
    /// Advice to the user on the finding's cause; empty if there is none.
    pub(crate) hint: String,
}

impl Words {
    /// Creates the sentences of a finding without evidence.
    pub(crate) fn new(title: impl Into<Title>, hint: impl Into<String>) -> Self {
        Self { title: title.into(), evidence: Vec::new(), hint: hint.into() }
    }

    pub(crate) fn of(
        title: impl Into<Title>,
        evidence: impl IntoIterator<Item = Evidence>,
        hint: impl Into<String>,
    ) -> Self {
        Self::new(title, hint).and(evidence)
    }

    /// Creates the sentences of a finding whose evidence has no machine-readable subjects.
    pub(crate) fn saying(
        title: impl Into<Title>,
        evidence: impl IntoIterator<Item = String>,
        hint: impl Into<String>,
    ) -> Self {
        Self::of(title, evidence.into_iter().map(Evidence::from), hint)
    }

    /// Appends a sentence of evidence and its subject.
    pub(crate) fn with(self, sentence: impl Into<String>, about: About) -> Self {
        self.and([Evidence::of(sentence.into(), about)])
    }

    pub(crate) fn and(mut self, more: impl IntoIterator<Item = Evidence>) -> Self {
        self.evidence.extend(more);
        self
    }
}
