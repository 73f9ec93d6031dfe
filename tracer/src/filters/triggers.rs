//! DXT_SMALL_IO_TRIGGER, DXT_UNALIGNED_IO_TRIGGER and Darshan's file of triggers: files whose accesses are of a kind, or that are named, keep their
//! segments, and so do all files of ranks that are. Decided when the trace is written, from all accesses of the file in this process.

use super::Expression;

/// Default of DXT_SMALL_IO_SIZE in bytes, as Darshan has it: an access of fewer is small.
const SMALL_BYTES: u64 = 10 << 10;

/// A share of all accesses, in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Share(u32);

impl Share {
    /// Of a decimal number from 0 to 1.
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let text =
            std::str::from_utf8(text).ok().filter(|text| text.bytes().all(|b| b == b'.' || b.is_ascii_digit()))?;
        let share = text.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share))?;
        Some(Self((share * 1e6).round() as u32))
    }

    /// Whether a number that is chosen among all 64-bit ones at random falls within it.
    pub(crate) fn contains(self, random: u64) -> bool {
        u128::from(random) * 1_000_000 < u128::from(self.0) << 64
    }

    /// Whether `part` of `whole` is as much; nothing is no share of nothing.
    fn is_reached(self, part: u64, whole: u64) -> bool {
        whole > 0 && u128::from(part) * 1_000_000 >= u128::from(self.0) * u128::from(whole)
    }
}

/// The triggers. Any of them keeps a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Triggers {
    /// Share of small accesses from which on a file's segments are kept.
    pub(crate) small: Option<Share>,
    /// An access of fewer bytes is small.
    pub(crate) small_bytes: u64,
    /// The same for accesses that begin beside a stripe's or block's boundary.
    pub(crate) unaligned: Option<Share>,
    /// Paths of files.
    pub(crate) files: Vec<Expression>,
    /// Ranks, as decimal numbers.
    pub(crate) ranks: Vec<Expression>,
}

impl Default for Triggers {
    fn default() -> Self {
        Self { small: None, small_bytes: SMALL_BYTES, unaligned: None, files: Vec::new(), ranks: Vec::new() }
    }
}

/// Accesses to a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Accesses {
    /// All.
    pub(crate) all: u64,
    /// Small ones.
    pub(crate) small: u64,
    /// Unaligned ones.
    pub(crate) unaligned: u64,
}

impl Triggers {
    /// Whether one is set.
    pub(crate) const fn are_set(&self) -> bool {
        self.small.is_some() || self.unaligned.is_some() || !self.files.is_empty() || !self.ranks.is_empty()
    }

    /// Whether all files of a rank are kept; one that has no number (-1) is rank 0, as in Darshan.
    pub(crate) fn keep_all_of(&self, rank: i32) -> bool {
        let rank = rank.max(0).to_string();
        self.ranks.iter().any(|ranks| ranks.is_in(rank.as_bytes()))
    }

    /// Whether the segments of the file at `path` with these accesses are kept.
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
