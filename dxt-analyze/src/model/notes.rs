//! What a trace says it has seen and not recorded. A trace says it in words; which of them decide something is told here, where they come
//! in, and nowhere else.

/// Something that was seen and not recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// Segments of processes of a Darshan log end before their I/O does.
    EndsEarly,
    /// Calls of the program are on no record: all sums are lower bounds.
    Lacks(String),
    /// Anything else, in the trace's words.
    Said(String),
}

/// How a trace that was made of a log says [`Note::EndsEarly`].
const ENDS_EARLY: &str = "processes whose DXT segments end before their reads and writes do";
/// How it begins [`Note::Lacks`].
const LACKS: &str = "sums are lower bounds: ";

impl Note {
    /// What a trace's words stand for.
    #[must_use]
    pub fn of(what: String) -> Self {
        if what == ENDS_EARLY {
            Self::EndsEarly
        } else if what.starts_with(LACKS) {
            Self::Lacks(what)
        } else {
            Self::Said(what)
        }
    }

    /// That calls are on no record, and why.
    #[must_use]
    pub fn lacks(why: &str) -> Self {
        Self::Lacks(format!("{LACKS}{why}"))
    }

    /// In words, as a trace has it.
    #[must_use]
    pub fn words(&self) -> &str {
        match self {
            Self::EndsEarly => ENDS_EARLY,
            Self::Lacks(what) | Self::Said(what) => what,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_as_what_it_was() {
        for note in [Note::EndsEarly, Note::lacks("POSIX"), Note::Said("files of /usr".into())] {
            assert_eq!(Note::of(note.words().to_owned()), note);
        }
    }
}
