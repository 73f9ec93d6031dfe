//! Open flags of a file, as recorded in its streams (FORMAT.md, 5.3).

use trace_format::meta::stream_flags;

/// Open flags that affect reads and writes: O_SYNC or O_DSYNC, O_DIRECT, O_APPEND. No flag is set for logs of other tools, which do not record them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Manner(u8);

impl Manner {
    /// Extracts the open flags from the flags of a stream (FORMAT.md, 5.3).
    #[must_use]
    pub const fn of(flags: u8) -> Self {
        Self(flags & (stream_flags::THROUGH | stream_flags::DIRECT | stream_flags::APPENDED))
    }

    /// True if each write returns only when the data is on storage (O_SYNC, O_DSYNC; open(2)).
    #[must_use]
    pub const fn is_through(self) -> bool {
        self.0 & stream_flags::THROUGH != 0
    }

    /// True if calls bypass the page cache (O_DIRECT).
    #[must_use]
    pub const fn is_direct(self) -> bool {
        self.0 & stream_flags::DIRECT != 0
    }

    /// True if each write goes to the end of the file (O_APPEND).
    #[must_use]
    pub const fn appends(self) -> bool {
        self.0 & stream_flags::APPENDED != 0
    }

    /// Returns the names of the flags as in open(2); empty if no flag is set.
    #[must_use]
    pub fn names(self) -> String {
        let names = [(self.is_through(), "O_SYNC"), (self.is_direct(), "O_DIRECT"), (self.appends(), "O_APPEND")];
        names.iter().filter(|(is, _)| *is).map(|(_, name)| *name).collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_concerns_the_opening() {
        let all = Manner::of(u8::MAX);
        assert_eq!(all.names(), "O_SYNC O_DIRECT O_APPEND");
        assert_eq!(Manner::of(stream_flags::NESTED | stream_flags::ESTIMATED), Manner::default());
        assert_eq!(Manner::of(stream_flags::THROUGH).names(), "O_SYNC");
    }
}
