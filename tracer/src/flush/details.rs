//! What the process block says beyond files and streams: data sets.

use crate::registry::{self, Use};
use std::collections::BTreeMap;
use trace_format::meta::{DataSetAccess, DataSetDef, Process};

/// Adds the data sets whose streams the block describes.
pub(super) fn add_data_sets(process: &mut Process) {
    let file_of: BTreeMap<u32, u32> = process.streams.iter().map(|stream| (stream.id, stream.file)).collect();
    let access = |one: &'static Use| DataSetAccess {
        stream: one.stream(),
        selections: one.selections(),
        elements: one.elements(),
    };
    let mut sets = Vec::new();
    for set in registry::data_sets() {
        let mut accesses: Vec<DataSetAccess> =
            set.uses().filter(|one| file_of.contains_key(&one.stream())).map(access).collect();
        let Some(&file) = accesses.first().and_then(|first| file_of.get(&first.stream)) else { continue };
        accesses.sort_by_key(|access| access.stream);
        sets.push(DataSetDef {
            file,
            path: set.path.to_vec(),
            element_bytes: set.element_bytes(),
            extent: set.extent().collect(),
            accesses,
        });
    }
    process.data_sets = sets;
}
