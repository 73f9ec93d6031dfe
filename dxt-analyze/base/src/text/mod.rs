//! Text output: formats durations, bytes, rates, shares and plurals, draws sparklines, and makes names of layers, paths and hidden
//! characters readable.

pub mod layers;
pub mod paths;
pub mod printable;
pub mod rate;
pub mod signed;
pub mod spark;
pub mod units;
