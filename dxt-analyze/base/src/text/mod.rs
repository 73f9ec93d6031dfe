//! Text output: formats durations, bytes, rates, shares and plurals; draws sparklines; makes names of layers, paths and hidden characters
//! readable.

pub mod layers;
pub(crate) mod paths;
pub(crate) mod printable;
pub(crate) mod rate;
pub(crate) mod signed;
pub mod spark;
pub mod units;
