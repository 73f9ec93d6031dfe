//! Notes in a trace on events that were not recorded. Only this module interprets the texts of notes that later analyses depend on.

/// Event that the tracer (or Darshan) noticed but did not record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// Segments of some processes of a Darshan log end before the processes' reads and writes do.
    EndsEarly,
    /// Some calls of the program were not recorded, so all sums are lower bounds; the text gives the reason.
    Lacks(String),
    /// Any other note, as text.
    Said(String),
}

/// Text of the note [`Note::EndsEarly`] in a converted log.
const ENDS_EARLY: &str = "processes whose DXT segments end before their reads and writes do";
/// Prefix of the text of a note [`Note::Lacks`].
const LACKS: &str = "sums are lower bounds: ";

impl Note {
    /// Parses the text of a note in a trace.
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

    /// Creates a note that some calls were not recorded, for the reason `why`.
    #[must_use]
    pub fn lacks(why: &str) -> Self {
        Self::Lacks(format!("{LACKS}{why}"))
    }

    /// Returns the text of the note as it appears in a trace.
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
