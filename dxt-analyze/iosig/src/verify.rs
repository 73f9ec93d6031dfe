//! Verification for tests: checks that a signature regenerates the accesses of its stream in order, and counts the accesses.

use crate::expand::{Expected, Untimed, expand};
use crate::signature::Signature;

/// First difference between a signature and its stream of accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mismatch {
    /// Index of the first differing access in the stream, from 0.
    pub(crate) position: u64,
    /// Access according to the signature; `None` if the signature has ended.
    pub(crate) expected: Option<Untimed>,
    /// Access of the stream; `None` if the stream has ended.
    pub(crate) found: Option<Untimed>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Verified {
    /// Number of accesses in the stream.
    pub(crate) accesses: u64,
    /// Number of bytes of all accesses in the stream.
    pub(crate) bytes: u128,
    /// Number of accesses that the signature regenerates at the correct position, excluding residue (accesses outside loops).
    pub(crate) covered: u64,
    /// Number of bytes of the regenerated accesses.
    pub(crate) covered_bytes: u128,
    /// First difference, after which no access counts as regenerated; `None` without a difference.
    pub(crate) mismatch: Option<Mismatch>,
    /// True if the signature's totals (accesses, bytes, covered accesses, bytes of each residue) equal the totals of the stream of
    /// accesses.
    pub(crate) sums_agree: bool,
}

impl Verified {
    /// True if the signature contradicts the stream in no access and no total.
    #[must_use]
    pub(crate) const fn is_exact(&self) -> bool {
        self.mismatch.is_none() && self.sums_agree
    }

    /// Returns the share of accesses that the signature regenerates; 1 for an empty stream.
    #[must_use]
    pub(crate) fn coverage(&self) -> f64 {
        if self.accesses == 0 { 1.0 } else { (self.covered as f64 / self.accesses as f64).min(1.0) }
    }
}

/// Compares a signature with the accesses of its stream, which are in the order of their starts.
pub(crate) fn verify(signature: &Signature, stream: impl IntoIterator<Item = Untimed>) -> Verified {
    let mut stream = stream.into_iter();
    let mut seen = Verified { sums_agree: true, ..Verified::default() };
    'all: for expected in expand(signature) {
        match expected {
            Expected::Access(expected) => {
                let found = stream.next();
                seen.count(found);
                if found != Some(expected) {
                    let position = seen.accesses.saturating_sub(u64::from(found.is_some()));
                    seen.mismatch = Some(Mismatch { position, expected: Some(expected), found });
                    break;
                }
                seen.covered = seen.covered.saturating_add(1);
                seen.covered_bytes = seen.covered_bytes.saturating_add(u128::from(expected.2));
            }
            Expected::Unknown { accesses, bytes } => {
                let before = seen.bytes;
                for _ in 0..accesses {
                    let found = stream.next();
                    seen.count(found);
                    if found.is_none() {
                        seen.mismatch = Some(Mismatch { position: seen.accesses, expected: None, found });
                        break 'all;
                    }
                }
                seen.sums_agree &= seen.bytes - before == bytes;
            }
        }
    }
    for found in stream {
        if seen.mismatch.is_none() {
            seen.mismatch = Some(Mismatch { position: seen.accesses, expected: None, found: Some(found) });
        }
        seen.count(Some(found));
    }
    let sums = (signature.accesses, signature.bytes, signature.covered, signature.covered_bytes);
    seen.sums_agree &= sums == (seen.accesses, seen.bytes, seen.covered, seen.covered_bytes);
    seen
}

impl Verified {
    fn count(&mut self, found: Option<Untimed>) {
        if let Some((_, _, length)) = found {
            self.accesses = self.accesses.saturating_add(1);
            self.bytes = self.bytes.saturating_add(u128::from(length));
        }
    }
}
