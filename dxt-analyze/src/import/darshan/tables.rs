//! Tables of one process under construction: files, streams, stripe layouts, data sets.

use super::layouts::Layouts;
use super::ops::Code;
use darshan_log::counters::{DaosPlace, uuid};
use darshan_log::{Names, Text};
use rustc_hash::FxHashMap;
use trace_format::counters::Counters;
use trace_format::meta::{
    DataSetAccess, DataSetDef, FileDef, LayoutDef, LayoutMoment, LayoutSource, Missing, Process, StreamDef, path_hash,
    stream_flags,
};

#[derive(Debug)]
pub(crate) struct Tables<'a> {
    pub(crate) process: Process,
    names: &'a Names,
    files: FxHashMap<u64, u32>,
    /// File numbers by record id, for records of the DAOS modules.
    on_daos: FxHashMap<u64, u32>,
    streams: FxHashMap<(u32, Code, u8, Option<u32>), u32>,
    data_sets: FxHashMap<(u32, Vec<u8>), u32>,
}

impl<'a> Tables<'a> {
    pub(crate) fn new(process: Process, names: &'a Names) -> Self {
        Self {
            process,
            names,
            files: FxHashMap::default(),
            on_daos: FxHashMap::default(),
            streams: FxHashMap::default(),
            data_sets: FxHashMap::default(),
        }
    }

    /// Returns the number of the file with record id `id`; adds a new file, with its stripe layout unless another process already has it.
    pub(crate) fn file(&mut self, id: u64, layouts: &mut Layouts) -> u32 {
        let (process, names) = (&mut self.process, self.names);
        *self.files.entry(id).or_insert_with(|| {
            let path = match names.get(id) {
                Some(name) => name.as_bytes().to_vec(),
                None => format!("Darshan record {id}").into_bytes(),
            };
            let file = process.files.len() as u32;
            process.files.push(FileDef { hash: path_hash(&path), path: Some(path), ..FileDef::default() });
            if let Some(bytes) = layouts.take(id) {
                let (moment, source) = (LayoutMoment::Open, LayoutSource::Lustre);
                process.layouts.push(LayoutDef { file, moment, source, bytes });
            }
            file
        })
    }

    /// Returns the number of a DAOS record's file or object, named as by DAOS tools: `daos://pool/container/path`, or with the object id as path.
    pub(crate) fn on_daos(&mut self, id: u64, place: DaosPlace) -> u32 {
        let (process, names) = (&mut self.process, self.names);
        *self.on_daos.entry(id).or_insert_with(|| {
            let path = match (place.object, names.get(id)) {
                (Some((high, low)), _) => format!("{high}.{low}").into_bytes(),
                (None, Some(name)) => name.as_bytes().to_vec(),
                (None, None) => format!("Darshan record {id}").into_bytes(),
            };
            let front = format!("daos://{}/{}/", uuid(&place.pool), uuid(&place.container));
            let path = [front.as_bytes(), path.strip_prefix(b"/").unwrap_or(&path)].concat();
            process.files.push(FileDef { hash: path_hash(&path), path: Some(path), ..FileDef::default() });
            process.files.len() as u32 - 1
        })
    }

    pub(crate) fn name(&self, id: u64) -> Option<&'a [u8]> {
        self.names.get(id).map(Text::as_bytes)
    }

    /// Returns the id of the call stream of operation `op` on `file`; adds the stream if it is new.
    pub(crate) fn stream(&mut self, file: u32, op: Code, flags: u8) -> u32 {
        self.stream_of(file, op, flags, None)
    }

    fn stream_of(&mut self, file: u32, op: Code, flags: u8, set: Option<u32>) -> u32 {
        let streams = &mut self.process.streams;
        *self.streams.entry((file, op, flags, set)).or_insert_with(|| {
            let id = streams.len() as u32;
            streams.push(StreamDef { id, file, op: op.0, flags, errno: 0 });
            id
        })
    }

    /// Adds calls of operation `op` on `file` that only counters contain, without a segment (record) each.
    pub(crate) fn missing(&mut self, file: u32, op: Code, counters: Counters, nested: bool) {
        if counters.segments > 0 {
            let stream = self.stream(file, op, if nested { stream_flags::NESTED } else { 0 });
            self.process.missing.push(Missing { stream, counters });
        }
    }

    /// Returns the number of the data set `path` in a file; adds the data set if it is new.
    pub(crate) fn data_set(&mut self, file: u32, path: Vec<u8>, element_bytes: u32) -> u32 {
        let sets = &mut self.process.data_sets;
        *self.data_sets.entry((file, path)).or_insert_with_key(|(file, path)| {
            sets.push(DataSetDef { file: *file, path: path.clone(), element_bytes, ..DataSetDef::default() });
            (sets.len() - 1) as u32
        })
    }

    /// Adds calls on a data set that only counters contain. Returns the id of their call stream; `None` if there are no calls.
    pub(crate) fn of_data_set(&mut self, file: u32, set: u32, op: Code, counters: Counters) -> Option<u32> {
        if counters.segments == 0 {
            return None;
        }
        let stream = self.stream_of(file, op, 0, Some(set));
        self.process.missing.push(Missing { stream, counters });
        let accesses = &mut self.process.data_sets.get_mut(set as usize)?.accesses;
        if !accesses.iter().any(|access| access.stream == stream) {
            accesses.push(DataSetAccess { stream, ..DataSetAccess::default() });
        }
        Some(stream)
    }

    /// Stores the types of selections (points, hyperslabs) of the calls on a data set.
    pub(crate) fn selected(&mut self, set: u32, selected: DataSetAccess) {
        let accesses = self.process.data_sets.get_mut(set as usize).map(|set| &mut set.accesses);
        let found = accesses.into_iter().flatten().find(|access| access.stream == selected.stream);
        if let Some(access) = found {
            *access = selected;
        }
    }
}
