//! File views of MPI-IO as traces tell of them: those that can be told apart, and their forms.

use crate::model::{Process, Shape, View};
use crate::sum::Sum;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use trace_format::meta::{self, DatatypeRole, ViewDef};

/// The views of a process's files of which all are told: calls are told by their number.
pub(super) fn whole_views(process: &meta::Process) -> Vec<ViewDef> {
    let mut calls: FxHashMap<u32, (Sum, Sum)> = FxHashMap::default();
    for def in &process.views {
        calls.entry(def.file).or_default().0 += def.calls;
    }
    for of in process.datatypes.iter().filter(|of| of.role == DatatypeRole::Filetype) {
        calls.entry(of.file).or_default().1 += of.count;
    }
    let whole = |def: &&ViewDef| calls.get(&def.file).is_some_and(|(told, set)| told == set);
    process.views.iter().filter(whole).cloned().collect()
}

/// The forms of all strided views, each once, in order.
pub(super) fn shapes(processes: &[Process]) -> Vec<Shape> {
    let strided = |def: &ViewDef| if let View::Strided(shape) = View::of(def) { Some(shape) } else { None };
    let all: BTreeSet<Shape> = processes.iter().flat_map(|process| &process.views).filter_map(strided).collect();
    all.into_iter().collect()
}
