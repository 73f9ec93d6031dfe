//! Numbers as words: durations, bytes, rates, shares, plurals, and series of them in one line.

pub(crate) mod signed;
pub mod spark;
pub mod units;
