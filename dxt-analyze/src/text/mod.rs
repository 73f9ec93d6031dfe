//! Text output: durations, bytes, rates, shares and plurals; sparklines; names of layers; paths; names without hidden characters.

pub mod layers;
pub(crate) mod paths;
pub(crate) mod printable;
pub(crate) mod rate;
pub(crate) mod signed;
pub mod spark;
pub mod units;
