//! Numbers as words: durations, bytes, rates, shares, plurals, and series of them in one line; names of layers; paths; names
//! without what is not seen.

pub mod layers;
pub(crate) mod paths;
pub(crate) mod printable;
pub(crate) mod rate;
pub(crate) mod signed;
pub mod spark;
pub mod units;
