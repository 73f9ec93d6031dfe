//! Tests of loop recognition with streams of known loops, and with random programs of nested loops.

mod across;
mod axes;
mod programs;
mod ranks;
mod recovered;
mod texts;

use super::verify::{Verified, verify};
use super::*;

/// Deterministic random number generator (xorshift).
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(super) fn below(&mut self, bound: u64) -> u64 {
        (self.next() >> 11) % bound
    }
}

/// Stream of accesses at regular times, as input of the recogniser.
#[derive(Default)]
pub(super) struct Stream {
    pub(super) accesses: Vec<Access>,
    clock_ns: u64,
}

impl Stream {
    pub(super) fn at(&mut self, op: u16, offset: u64, length: u64) {
        self.after(1000, op, offset, length);
    }

    pub(super) fn after(&mut self, ns: u64, op: u16, offset: u64, length: u64) {
        self.clock_ns += ns;
        self.accesses.push(Access { op, offset, length, start_ns: self.clock_ns, end_ns: self.clock_ns + 10 });
    }

    pub(super) fn signature(&self) -> Signature {
        signature_of(&self.accesses)
    }
}

pub(super) fn signature_of(accesses: &[Access]) -> Signature {
    let mut recogniser = Recogniser::default();
    recogniser.push_all(accesses);
    recogniser.finish()
}

/// Asserts that a signature regenerates the accesses exactly, and that its items follow one another without gaps; returns the verification.
pub(super) fn check(accesses: &[Access], signature: &Signature) -> Verified {
    let verified = verify(signature, accesses.iter().map(Access::untimed));
    assert!(verified.is_exact(), "{verified:?}\n{signature:#?}");
    let mut position = 0;
    for item in &signature.items {
        let (at, n) = match item {
            Item::Pattern(p) => (p.position, p.accesses),
            Item::Residue(r) => (r.position, r.accesses),
        };
        assert_eq!(at, position);
        position += n;
    }
    verified
}
