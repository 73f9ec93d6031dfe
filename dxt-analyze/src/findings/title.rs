//! Title of a finding: one sentence for people.

use serde::{Deserialize, Serialize, Serializer};
use std::fmt;

/// Sentence that states a finding, for people. Programs use the finding's facts instead: a title can be shown, but not compared, searched or cut.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(from = "String")]
pub struct Title(String);

impl Title {
    /// Returns the memory that the title's text takes, in bytes.
    pub(crate) fn held(&self) -> usize {
        self.0.len()
    }
}

impl<T: Into<String>> From<T> for Title {
    fn from(sentence: T) -> Self {
        Self(sentence.into())
    }
}

impl fmt::Display for Title {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl Serialize for Title {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
