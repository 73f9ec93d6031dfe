//! Time and log slowdown that no effect (slow unit) explains yet, by cell (similar calls of one process); the cube of cells itself never
//! changes.

use super::Effect;
use super::unit::Unit;
use crate::cube::regions::Regions;
use crate::cube::{Cell, Cube};
use crate::model::Class;
use std::ops::Deref;

/// A cube of cells, with the part of each cell's time and slowdown that no effect explains yet.
#[derive(Clone)]
pub struct Residuals<'c, 'a> {
    cube: &'c Cube<'a>,
    left: Vec<Left>,
    /// Times by part of each file, without the parts that are known to be slow.
    pub regions: Regions,
}

/// Unexplained part of a cell: its time in ns, and log slowdowns compared with peers ([`Cell::above`], [`Cell::above_kind`]).
#[derive(Clone, Copy)]
struct Left {
    ns: f64,
    above: f64,
    above_kind: f64,
}

/// A cell (similar calls of one process) and the part of its time and slowdown that no effect explains yet.
#[derive(Clone, Copy)]
pub struct LeftOf<'c> {
    cell: &'c Cell,
    /// Unexplained time, in ns.
    pub left_ns: f64,
    /// Unexplained part of [`Cell::above`].
    pub above: f64,
    /// Unexplained part of [`Cell::above_kind`].
    pub above_kind: f64,
}

impl<'a> Deref for Residuals<'_, 'a> {
    type Target = Cube<'a>;

    fn deref(&self) -> &Cube<'a> {
        self.cube
    }
}

impl Deref for LeftOf<'_> {
    type Target = Cell;

    fn deref(&self) -> &Cell {
        self.cell
    }
}

impl<'c> LeftOf<'c> {
    /// Returns the cell itself.
    #[must_use]
    pub fn cell(&self) -> &'c Cell {
        self.cell
    }

    /// Returns the time of the cell's outliers above `times` times the usual duration, ns, but at most the cell's unexplained time.
    #[must_use]
    pub fn beyond_ns(&self, times: f64) -> f64 {
        self.cell.beyond_ns(times).min(self.left_ns.max(0.0))
    }
}

impl<'c, 'a> Residuals<'c, 'a> {
    /// Creates the residuals of `cube` before any effect is found: all of its time is unexplained.
    #[must_use]
    pub fn new(cube: &'c Cube<'a>) -> Self {
        let left = |cell: &Cell| Left { ns: cell.time_ns(), above: cell.above, above_kind: cell.above_kind };
        Self { cube, left: cube.cells.iter().map(left).collect(), regions: cube.regions.clone() }
    }

    /// Returns all cells with their unexplained parts, in the cube's order.
    pub fn cells(&self) -> impl Iterator<Item = LeftOf<'c>> + Clone {
        let of = |(cell, left): (&'c Cell, &Left)| {
            let Left { ns, above, above_kind } = *left;
            LeftOf { cell, left_ns: ns, above, above_kind }
        };
        self.cube.cells.iter().zip(&self.left).map(of)
    }

    /// Removes the time and slowdown that `effect` (slow unit) explains.
    pub(super) fn take(&mut self, effect: &Effect) {
        for &(index, ns) in &effect.savings {
            let at = index as usize;
            let (Some(cell), Some(left)) = (self.cube.cells.get(at), self.left.get_mut(at)) else { continue };
            left.ns -= ns;
            let above = effect.slowdowns.of(self.cube, cell).map_or(0.0, |(above, share)| above * share);
            left.above_kind -= above;
            if !(cell.by_file && matches!(effect.unit, Unit::File(_) | Unit::Folder(_))) {
                left.above -= above;
            }
        }
        if let Unit::Region(region) = effect.unit {
            let classes: Vec<Class> = effect.by.iter().map(|(class, ..)| *class).collect();
            self.regions.take(region, &classes);
        }
    }
}
