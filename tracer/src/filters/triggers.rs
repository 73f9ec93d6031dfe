//! Triggers: conditions that decide which files keep their segments (DXT_SMALL_IO_TRIGGER, DXT_UNALIGNED_IO_TRIGGER, Darshan's trigger
//! file). A file keeps its segments if its accesses or its path match a trigger; if a rank matches, all files of the rank do. Decided when
//! the trace is written, from all accesses of this process to the file.

use super::Expression;

/// Default of DXT_SMALL_IO_SIZE, in bytes, as in Darshan. Accesses below this size count as small.
const SMALL_BYTES: u64 = 10 << 10;

/// Share (of jobs, or of a file's accesses) from 0 to 1, stored in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Share(u32);

impl Share {
    /// Parses a share, written as a decimal number from 0 to 1.
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let text =
            std::str::from_utf8(text).ok().filter(|text| text.bytes().all(|b| b == b'.' || b.is_ascii_digit()))?;
        let share = text.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share))?;
        Some(Self((share * 1e6).round() as u32))
    }

    /// True with a probability of this share, if `random` is a uniformly distributed 64-bit number.
    pub(crate) fn contains(self, random: u64) -> bool {
        u128::from(random) * 1_000_000 < u128::from(self.0) << 64
    }

    /// True if `part / whole` is at least this share; false if `whole` is 0.
    fn is_reached(self, part: u64, whole: u64) -> bool {
        whole > 0 && u128::from(part) * 1_000_000 >= u128::from(self.0) * u128::from(whole)
    }
}

/// Conditions under which a file keeps its segments (records of single calls) in the trace; other files have only counters there. One match
/// is enough.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Triggers {
    /// Minimum share of small accesses, among all accesses to a file, for the file to keep its segments.
    pub(crate) small: Option<Share>,
    /// Size below which accesses count as small, in bytes.
    pub(crate) small_bytes: u64,
    /// Minimum share of accesses not aligned to a stripe or block boundary, among all accesses to a file, for the file to keep its
    /// segments.
    pub(crate) unaligned: Option<Share>,
    /// Regular expressions for paths of files that keep their segments (records of single calls).
    pub(crate) files: Vec<Expression>,
    /// Regular expressions for ranks (decimal numbers) whose files all keep their segments (records of single calls).
    pub(crate) ranks: Vec<Expression>,
}

impl Default for Triggers {
    fn default() -> Self {
        Self { small: None, small_bytes: SMALL_BYTES, unaligned: None, files: Vec::new(), ranks: Vec::new() }
    }
}

/// Access counts of a file, by which triggers decide if its segments (records of single calls) are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Accesses {
    pub(crate) all: u64,
    /// Number of accesses to the file of fewer than [`Triggers::small_bytes`] bytes.
    pub(crate) small: u64,
    /// Number of accesses to the file not aligned to a stripe or block boundary.
    pub(crate) unaligned: u64,
}

impl Triggers {
    pub(crate) const fn are_set(&self) -> bool {
        self.small.is_some() || self.unaligned.is_some() || !self.files.is_empty() || !self.ranks.is_empty()
    }

    /// True if all files of `rank` keep their segments (records of single calls). A process without a rank (-1) counts as rank 0, as in
    /// Darshan.
    pub(crate) fn keep_all_of(&self, rank: i32) -> bool {
        let rank = rank.max(0).to_string();
        self.ranks.iter().any(|ranks| ranks.is_in(rank.as_bytes()))
    }

    /// True if the file at `path` with these access counts keeps its segments (records of single calls).
    pub(crate) fn keep(&self, path: &[u8], accesses: &Accesses) -> bool {
        let reached = |share: Option<Share>, part| share.is_some_and(|share| share.is_reached(part, accesses.all));
        reached(self.small, accesses.small)
            || reached(self.unaligned, accesses.unaligned)
            || self.files.iter().any(|files| files.is_in(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_from_nothing_to_all() {
        let share = |text: &str| Share::parse(text.as_bytes());
        assert_eq!(
            (share(".2"), share("1"), share("0.000001")),
            (Some(Share(200_000)), Some(Share(1_000_000)), Some(Share(1)))
        );
        for wrong in ["", ".", "1.1", "-0", "20%", "1e-1", "nan", "0.2.1"] {
            assert_eq!(share(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn either_trigger_keeps_a_file() {
        let triggers = Triggers { small: Share::parse(b"0.5"), unaligned: Share::parse(b"1"), ..Triggers::default() };
        let keep = |all, small, unaligned| triggers.keep(b"/x", &Accesses { all, small, unaligned });
        assert!(keep(4, 2, 0) && !keep(4, 1, 3) && keep(4, 0, 4) && !keep(0, 0, 0));
        assert!(!Triggers::default().keep(b"/x", &Accesses { all: 1, small: 1, unaligned: 1 }));
    }
}
