//! DXT_RANKS: filter by MPI rank.

use super::pattern::items;

/// MPI ranks to record (DXT_RANKS), as inclusive ranges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ranks(Vec<(i32, i32)>);

impl Ranks {
    /// Parses numbers and ranges, such as `0:3,12,20:`; returns `None` if invalid. A range without a first rank begins at 0, a range
    /// without a last rank has no upper limit.
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let number = |text: &[u8], default: i32| match text {
            b"" => Some(default),
            digits if digits.iter().all(u8::is_ascii_digit) => std::str::from_utf8(digits).ok()?.parse().ok(),
            _ => None,
        };
        let range = |item: &[u8]| {
            let colon = item.iter().position(|&byte| byte == b':');
            let (first, last) = match colon {
                Some(at) => (number(&item[..at], 0)?, number(&item[at + 1..], i32::MAX)?),
                None => (number(item, 0)?, number(item, 0)?),
            };
            (first <= last).then_some((first, last))
        };
        let ranges: Option<Vec<(i32, i32)>> = items(text, b",").map(range).collect();
        ranges.filter(|ranges| !ranges.is_empty()).map(Self)
    }

    /// Returns all ranks not in `self`, as ranges that [`Self::parse`] accepts; empty if no rank is left.
    pub(crate) fn others(&self) -> Vec<String> {
        let mut ranges = self.0.clone();
        ranges.sort_unstable();
        let (mut next, mut others) = (0_i64, Vec::new());
        for (first, last) in ranges {
            if i64::from(first) > next {
                others.push(format!("{next}:{}", first - 1));
            }
            next = next.max(i64::from(last) + 1);
        }
        if next <= i64::from(i32::MAX) {
            others.push(format!("{next}:"));
        }
        others
    }

    pub(crate) fn contain(&self, rank: i32) -> bool {
        self.0.iter().any(|&(first, last)| (first..=last).contains(&rank))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_hold_both_ends() {
        let ranks = Ranks::parse(b"0:3, 12:15,20,30:").unwrap();
        let chosen: Vec<i32> = (0..32).filter(|&rank| ranks.contain(rank)).collect();
        assert_eq!(chosen, [0, 1, 2, 3, 12, 13, 14, 15, 20, 30, 31]);
        assert!(Ranks::parse(b":2").unwrap().contain(0) && Ranks::parse(b":").unwrap().contain(7));
        for wrong in ["", ",", "3:1", "a", "1-3", "-1", "1:2:3", "+1", "99999999999"] {
            assert_eq!(Ranks::parse(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
