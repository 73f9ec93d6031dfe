//! Units that may be slow, before their savings are compared.

use super::By;
use super::unit::Unit;
use crate::replay::Savings;

/// Slow units of one sort, before their savings are known.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    /// Units and their log slowdowns.
    pub(super) units: Vec<(Unit, f64)>,
    pub(super) by: Vec<By>,
    pub(super) grows: bool,
    /// Savings, if they are not those of the slowdowns.
    pub(super) savings: Option<Savings>,
}
