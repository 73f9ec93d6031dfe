//! Events that a trace mentions but did not record. Texts that have consequences are recognized on input, here and nowhere else.

/// Event that was seen but not recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// Segments of some processes of a Darshan log end before their I/O does.
    EndsEarly,
    /// Calls of the program are on no record: all sums are lower bounds.
    Lacks(String),
    /// Any other text of the trace.
    Said(String),
}

/// Text of [`Note::EndsEarly`] in a converted log.
const ENDS_EARLY: &str = "processes whose DXT segments end before their reads and writes do";
/// Prefix of [`Note::Lacks`].
const LACKS: &str = "sums are lower bounds: ";

impl Note {
    /// Recognizes a trace's text.
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

    /// Creates a note that calls are on no record, with the reason.
    #[must_use]
    pub fn lacks(why: &str) -> Self {
        Self::Lacks(format!("{LACKS}{why}"))
    }

    /// Returns the text as in a trace.
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
