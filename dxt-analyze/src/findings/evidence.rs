//! Evidence: sentences that support a finding.

use serde::{Deserialize, Serialize, Serializer};
use std::fmt;

/// Sentence that supports a finding, with a machine-readable subject: programs need not parse English to find the rank, target or offset.
/// The serialized form is the sentence alone.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(from = "String")]
pub struct Evidence {
    words: String,
    /// Machine-readable subject of the sentence: rank, file, time, ...
    pub about: About,
    /// Files that the sentence counts but does not name, each with its cost in ns if known.
    others: Vec<(String, Option<u64>)>,
}

/// Machine-readable subject of a finding or of its evidence. Times are ns since the job's start.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct About {
    /// MPI rank that the sentence is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<i32>,
    /// MPI ranks that the sentence is about, if these are several; else empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ranks: Vec<i32>,
    /// Number of processes that the sentence is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<u64>,
    /// Host name of the node that the sentence is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Index of the storage target (OST) that the sentence is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ost: Option<u32>,
    /// Path of the file that the sentence is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Offset in the file at which the bytes begin that the sentence is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// Start and end of the affected time span, ns since the job's start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub span_ns: Option<(u64, u64)>,
    /// Number of calls that the sentence is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<u64>,
    /// Number of bytes that the sentence is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Time in the calls that the sentence is about, ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_ns: Option<u64>,
    /// Kind of calls, as named by the finding's code: `write`, `MPI-IO writes`, `collective calls`; for a check without a kind, the check's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// Reason of the finding; `None` for codes with only one reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
}

/// Reason of a finding whose code has several reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Ranks use the shared file pointer, which MPI-IO protects with a lock.
    SharedFilePointer,
    /// MPI-IO locks the file around each read and write, because of atomic mode or NFS.
    AtomicMode,
}

impl About {
    /// Returns the memory that the names and lists of the subject take, in bytes.
    pub(crate) fn held(&self) -> usize {
        let names = [&self.node, &self.file, &self.operation].into_iter().flatten().map(String::len).sum::<usize>();
        names + size_of_val(self.ranks.as_slice())
    }

    /// Returns the machine-readable subject of the first sentence in `evidence` that has one.
    #[must_use]
    pub fn of_first(evidence: &[Evidence]) -> Self {
        let nothing = Self::default();
        let mut all = evidence.iter().map(|evidence| &evidence.about);
        all.find(|about| **about != nothing).cloned().unwrap_or_default()
    }
}

impl Evidence {
    /// Creates evidence from a sentence and its subject.
    #[must_use]
    pub fn of(words: String, about: About) -> Self {
        Self { words, about, others: Vec::new() }
    }

    /// Creates evidence with files that the sentence counts but does not name.
    pub(super) fn counting(words: String, others: Vec<(String, Option<u64>)>) -> Self {
        Self { words, about: About::default(), others }
    }

    /// Returns the files that the sentence counts but does not name, each with its cost in ns if known.
    #[must_use]
    pub fn others(&self) -> &[(String, Option<u64>)] {
        &self.others
    }

    pub(crate) fn reword(&mut self, change: impl FnOnce(&str) -> String) {
        self.words = change(&self.words);
    }

    /// Returns the sentence of the evidence as text.
    #[must_use]
    pub fn words(&self) -> &str {
        &self.words
    }
}

impl<T: Into<String>> From<T> for Evidence {
    fn from(words: T) -> Self {
        Self { words: words.into(), about: About::default(), others: Vec::new() }
    }
}

impl fmt::Display for Evidence {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.words)
    }
}

impl Serialize for Evidence {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.words)
    }
}

/// Creates evidence from sentences without a machine-readable subject.
pub fn said<T: Into<Evidence>>(sentences: impl IntoIterator<Item = T>) -> Vec<Evidence> {
    sentences.into_iter().map(Into::into).collect()
}
