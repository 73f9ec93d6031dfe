//! MPI-IO file views from traces: selects files whose views are complete, and extracts the shapes of views.

use crate::model::{Process, Shape, View};
use crate::sum::Sum;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use trace_format::meta::{self, DatatypeRole, ViewDef};

/// Returns the MPI file views of files on which every file view was recorded: the views' `MPI_File_set_view` calls are as many as the
/// filetypes counted.
pub(super) fn whole_views(process: &meta::Process) -> Vec<ViewDef> {
    let mut calls: FxHashMap<u32, (Sum, Sum)> = FxHashMap::default();
    for def in &process.views {
        calls.entry(def.file).or_default().0 += def.calls;
    }
    for of in process.datatypes.iter().filter(|of| of.role == DatatypeRole::Filetype) {
        calls.entry(of.file).or_default().1 += of.count;
    }
    let whole = |def: &&ViewDef| calls.get(&def.file).is_some_and(|(reported, set)| reported == set);
    process.views.iter().filter(whole).cloned().collect()
}

/// Returns the distinct shapes (blocks and strides) of all strided MPI file views, sorted.
pub(super) fn shapes(processes: &[Process]) -> Vec<Shape> {
    let strided = |def: &ViewDef| if let View::Strided(shape) = View::of(def) { Some(shape) } else { None };
    let all: BTreeSet<Shape> = processes.iter().flat_map(|process| &process.views).filter_map(strided).collect();
    all.into_iter().collect()
}
