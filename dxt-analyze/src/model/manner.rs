//! How a file was opened, as far as its streams tell (FORMAT.md, 5.3).

use trace_format::meta::stream_flags;

/// What reads and writes wait for, and where writes go. Logs of other tools do not know it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Manner(u8);

impl Manner {
    /// From the bits of a stream.
    #[must_use]
    pub const fn of(flags: u8) -> Self {
        Self(flags & (stream_flags::THROUGH | stream_flags::DIRECT | stream_flags::APPENDED))
    }

    /// Each write returns when storage has the bytes (O_SYNC, O_DSYNC; open(2)).
    #[must_use]
    pub const fn is_through(self) -> bool {
        self.0 & stream_flags::THROUGH != 0
    }

    /// Calls go past the page cache (O_DIRECT).
    #[must_use]
    pub const fn is_direct(self) -> bool {
        self.0 & stream_flags::DIRECT != 0
    }

    /// Each write goes to where the file ends (O_APPEND).
    #[must_use]
    pub const fn appends(self) -> bool {
        self.0 & stream_flags::APPENDED != 0
    }

    /// As open(2) calls it; empty if there is nothing to say.
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
