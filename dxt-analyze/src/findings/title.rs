//! Sentence of a finding.

use crate::text::units;
use serde::{Deserialize, Serialize, Serializer};
use std::fmt;

/// Sentence that states a finding, for people. Programs read the finding's facts: a title can be shown, but not compared, searched or cut.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(from = "String")]
pub struct Title {
    sentence: String,
    additions: Vec<Addition>,
}

/// Part of a title that a later step of the analysis adds. Parts behind the sentence appear in the order in which they were added.
#[derive(Clone, Debug)]
pub(crate) enum Addition {
    /// Number of further files to which the sentence applies.
    OtherFiles(u64),
    /// Ranks do this one after another.
    Serialized,
    /// Activity of the same rank for the same reason, for instance "gathers data".
    Also(&'static str),
    /// Other finding of the same calls.
    SameCalls(Title),
    /// Finding that the data, which the sentence says are overwritten, are read back before: together, they are scratch data.
    ReadBack(Title),
}

impl Title {
    /// Appends a part.
    pub(crate) fn add(&mut self, addition: Addition) {
        self.additions.push(addition);
    }

    /// Memory use of the text, in bytes.
    pub(crate) fn held(&self) -> usize {
        let of = |addition: &Addition| match addition {
            Addition::SameCalls(title) | Addition::ReadBack(title) => title.held(),
            Addition::OtherFiles(_) | Addition::Serialized | Addition::Also(_) => 0,
        };
        self.sentence.len() + self.additions.iter().map(of).sum::<usize>()
    }
}

impl<T: Into<String>> From<T> for Title {
    fn from(sentence: T) -> Self {
        Self { sentence: sentence.into(), additions: Vec::new() }
    }
}

impl fmt::Display for Title {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for addition in self.additions.iter().rev() {
            match addition {
                Addition::Serialized => out.write_str("ranks are serialized: ")?,
                Addition::ReadBack(_) => out.write_str("scratch data: ")?,
                Addition::OtherFiles(_) | Addition::Also(_) | Addition::SameCalls(_) => {}
            }
        }
        out.write_str(&self.sentence)?;
        for addition in &self.additions {
            match addition {
                Addition::OtherFiles(count) => write!(out, " (and {})", units::counted(*count, "other file"))?,
                Addition::Serialized => {}
                Addition::Also(does) => write!(out, "; the rank also {does}")?,
                Addition::SameCalls(title) => write!(out, "; {title}")?,
                Addition::ReadBack(title) => write!(out, ", and {title}")?,
            }
        }
        Ok(())
    }
}

impl Serialize for Title {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_follow_the_sentence_in_their_order() {
        let mut title = Title::from("the file f is overwritten");
        title.add(Addition::ReadBack("f is read again".into()));
        title.add(Addition::OtherFiles(2));
        title.add(Addition::SameCalls("2 stripes of f".into()));
        title.add(Addition::Also("gathers data"));
        let said = "scratch data: the file f is overwritten, and f is read again (and 2 other files); 2 stripes of f; \
                    the rank also gathers data";
        assert_eq!(title.to_string(), said);
    }

    #[test]
    fn turns_come_first() {
        let mut title = Title::from("4 ranks write");
        title.add(Addition::Serialized);
        assert_eq!(title.to_string(), "ranks are serialized: 4 ranks write");
    }
}
