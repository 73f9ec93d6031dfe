//! Notes of a trace on events that were not recorded. Texts that affect later analyses are recognized when a trace is loaded, only in
//! this module.

/// Event that was seen but not recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// Segments of some processes of a Darshan log end before the processes' reads and writes do.
    EndsEarly,
    /// Some calls of the program were not recorded, so all sums are lower bounds; holds the reason.
    Lacks(String),
    /// Any other note, as text.
    Said(String),
}

/// Text that a converted log has for [`Note::EndsEarly`].
const ENDS_EARLY: &str = "processes whose DXT segments end before their reads and writes do";
/// Beginning of the text of [`Note::Lacks`].
const LACKS: &str = "sums are lower bounds: ";

impl Note {
    /// Converts the text of a note in a trace.
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

    /// Creates a note that some calls were not recorded; `why` is the reason.
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
