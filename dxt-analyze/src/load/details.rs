//! Merges HDF5 data sets, MPI-IO hints and MPI datatypes over processes: counts are added up, and equal items of several processes become one.

use crate::model::{DataSet, DatatypeSum, ExtentSum, FileId, Hint, Op, Stream};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use trace_format::counters::SIZE_BINS;
use trace_format::meta::{self, Combiner, DatatypeRole};
use trace_format::op::OpClass;

#[derive(Debug, Default)]
pub(crate) struct Details {
    /// HDF5 data sets in order of appearance; their file ids are provisional until [`Self::finish`].
    data_sets: Vec<DataSet>,
    data_set_of: FxHashMap<(FileId, Vec<u8>), u32>,
    hints: Vec<Hint>,
    datatypes: BTreeMap<(FileId, DatatypeRole, Combiner), u64>,
    extents: BTreeMap<(FileId, DatatypeRole), [u64; SIZE_BINS]>,
}

/// Merged data sets, hints and datatypes, sorted, with final file ids.
pub(crate) struct Finished {
    pub(crate) data_sets: Vec<DataSet>,
    pub(crate) hints: Vec<Hint>,
    pub(crate) datatypes: Vec<DatatypeSum>,
    pub(crate) datatype_extents: Vec<ExtentSum>,
}

impl Details {
    /// Adds the details of one process; `files` maps its file indices to provisional ids, `streams` are its streams sorted by id.
    pub(crate) fn add(&mut self, process: &meta::Process, files: &[FileId], streams: &mut [Stream], ops: &[Op]) {
        let mut chunks = process.chunks.iter().peekable();
        for (index, def) in (0_u32..).zip(&process.data_sets) {
            let Some(&file) = files.get(def.file as usize) else { continue };
            let number = self.data_set(file, def);
            while let Some(chunk) = chunks.next_if(|chunk| chunk.data_set <= index) {
                let set = &mut self.data_sets[number as usize];
                let known = chunk.cache_bytes > 0 && (set.cache_bytes == 0 || chunk.cache_bytes < set.cache_bytes);
                if chunk.data_set == index && (set.chunk.is_empty() || known) {
                    (set.chunk, set.cache_bytes) = (chunk.shape.clone(), chunk.cache_bytes);
                }
            }
            for access in &def.accesses {
                let Ok(index) = streams.binary_search_by_key(&access.stream, |stream| stream.id) else { continue };
                streams[index].data_set = Some(number);
                let set = &mut self.data_sets[number as usize];
                let into = match ops.get(usize::from(streams[index].op)).and_then(|op| op.class) {
                    Some(OpClass::Read) => &mut set.reads,
                    Some(OpClass::Write) => &mut set.writes,
                    _ => continue,
                };
                for (sum, count) in into.selections.iter_mut().zip(access.selections) {
                    *sum = sum.saturating_add(count);
                }
                into.elements = into.elements.saturating_add(access.elements);
            }
        }
        for def in &process.hints {
            let Some(&file) = files.get(def.file as usize) else { continue };
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            self.hints.push(Hint { file, key: text(&def.key), origin: def.origin, value: text(&def.value) });
        }
        for def in &process.datatypes {
            let Some(&file) = files.get(def.file as usize) else { continue };
            let sum = self.datatypes.entry((file, def.role, def.combiner)).or_default();
            *sum = sum.saturating_add(def.count);
        }
        for def in &process.datatype_extents {
            let Some(&file) = files.get(def.file as usize) else { continue };
            let sums = self.extents.entry((file, def.role)).or_default();
            for (sum, count) in sums.iter_mut().zip(def.extents) {
                *sum = sum.saturating_add(count);
            }
        }
    }

    /// Returns the index of the HDF5 data set that `def` defines; adds the data set if it is new.
    fn data_set(&mut self, file: FileId, def: &meta::DataSetDef) -> u32 {
        let number = *self.data_set_of.entry((file, def.path.clone())).or_insert_with(|| {
            let path = if def.path.is_empty() { "?".into() } else { String::from_utf8_lossy(&def.path).into_owned() };
            self.data_sets.push(DataSet { file, path, ..DataSet::default() });
            self.data_sets.len() as u32 - 1
        });
        let set = &mut self.data_sets[number as usize];
        set.element_bytes = set.element_bytes.max(def.element_bytes);
        if set.extent.len() == def.extent.len() {
            set.extent.iter_mut().zip(&def.extent).for_each(|(most, size)| *most = (*most).max(*size));
        } else {
            set.extent.clone_from(&def.extent);
        }
        number
    }

    /// Sorts all items by final file id, and sets the final data set indices in `streams`; `place` maps provisional file ids to final ids.
    pub(crate) fn finish<'a>(self, place: &[FileId], streams: impl Iterator<Item = &'a mut Stream>) -> Finished {
        let mut sets: Vec<(u32, DataSet)> = (0..).zip(self.data_sets).collect();
        sets.iter_mut().for_each(|(_, set)| set.file = place[set.file.index()]);
        sets.sort_by(|(_, a), (_, b)| (a.file, &a.path).cmp(&(b.file, &b.path)));
        let mut number_of = vec![0_u32; sets.len()];
        for (new, (old, _)) in (0..).zip(&sets) {
            number_of[*old as usize] = new;
        }
        for stream in streams {
            stream.data_set = stream.data_set.map(|old| number_of[old as usize]);
        }
        let mut hints = self.hints;
        hints.iter_mut().for_each(|hint| hint.file = place[hint.file.index()]);
        hints.sort();
        hints.dedup();
        let mut datatypes: Vec<DatatypeSum> = self
            .datatypes
            .into_iter()
            .map(|((file, role, combiner), count)| DatatypeSum { file: place[file.index()], role, combiner, count })
            .collect();
        datatypes.sort();
        let extent = |((file, role), extents): ((FileId, _), _)| ExtentSum { file: place[file.index()], role, extents };
        let mut datatype_extents: Vec<ExtentSum> = self.extents.into_iter().map(extent).collect();
        datatype_extents.sort();
        Finished { data_sets: sets.into_iter().map(|(_, set)| set).collect(), hints, datatypes, datatype_extents }
    }
}
