//! Units (ranks, nodes, storage targets and so on) that may be slow, before the time that each would save is compared.

use super::By;
use super::unit::Unit;
use crate::replay::Savings;

/// Slow units of one sort (ranks, nodes, storage targets and so on), before their savings are known.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    /// Units, each with its log slowdown (natural logarithm of duration / duration of peers).
    pub(super) units: Vec<(Unit, f64)>,
    pub(super) by: Vec<By>,
    pub(super) grows: bool,
    /// Time saved by cell, ns; `None` if it is to be computed later, from the log slowdowns in `units`.
    pub(super) savings: Option<Savings>,
}
