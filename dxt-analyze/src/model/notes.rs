//! What a trace says it has seen and not recorded. A trace says it in words; which of them decide something is told here, where they come
//! in, and nowhere else.

/// Something that was seen and not recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// Segments of processes of a Darshan log end before their I/O does.
    EndsEarly,
    /// Anything else, in the trace's words.
    Said(String),
}

/// How a trace that was made of a log says [`Note::EndsEarly`].
const ENDS_EARLY: &str = "processes whose DXT segments end before their reads and writes do";

impl Note {
    /// What a trace's words stand for.
    #[must_use]
    pub fn of(what: String) -> Self {
        if what == ENDS_EARLY { Self::EndsEarly } else { Self::Said(what) }
    }

    /// In words, as a trace has it.
    #[must_use]
    pub fn words(&self) -> &str {
        match self {
            Self::EndsEarly => ENDS_EARLY,
            Self::Said(what) => what,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_as_what_it_was() {
        for note in [Note::EndsEarly, Note::Said("files of /usr".into())] {
            assert_eq!(Note::of(note.words().to_owned()), note);
        }
    }
}
