//! What a finding rests on.

use serde::{Serialize, Serializer};
use std::fmt;

/// A sentence, and what it is about: so that a program need not read English to learn which rank, target or place is meant.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence {
    words: String,
    /// What it is about.
    pub about: About,
    /// Files that it counts and does not name, and what the same costs on each, ns, where that can be told.
    others: Vec<(String, Option<u64>)>,
}

/// What has a name or a number. Times are ns since the job's start, amounts ns and bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct About {
    /// Rank.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<i32>,
    /// Host name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Storage target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ost: Option<u32>,
    /// File.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Byte of the file where it begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// Beginning and end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub span_ns: Option<(u64, u64)>,
    /// How many calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<u64>,
    /// How many bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// How long they took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_ns: Option<u64>,
}

impl Evidence {
    /// A sentence and what it is about.
    #[must_use]
    pub fn of(words: String, about: About) -> Self {
        Self { words, about, others: Vec::new() }
    }

    /// A sentence that counts what is said of other files besides.
    pub(super) fn counting(words: String, others: Vec<(String, Option<u64>)>) -> Self {
        Self { words, about: About::default(), others }
    }

    /// Files that it counts and does not name, and what the same costs on each, ns, where that can be told.
    #[must_use]
    pub fn others(&self) -> &[(String, Option<u64>)] {
        &self.others
    }

    /// Changes the sentence.
    pub(crate) fn reword(&mut self, change: impl FnOnce(&str) -> String) {
        self.words = change(&self.words);
    }

    /// The sentence.
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

/// Evidence of sentences alone.
pub fn said<T: Into<Evidence>>(sentences: impl IntoIterator<Item = T>) -> Vec<Evidence> {
    sentences.into_iter().map(Into::into).collect()
}
