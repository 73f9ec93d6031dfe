//! The tables of one process while it is made: its files, its streams, its layouts.

use super::layouts::Layouts;
use super::ops::Code;
use darshan_log::Names;
use rustc_hash::FxHashMap;
use trace_format::counters::Counters;
use trace_format::meta::{
    FileDef, LayoutDef, LayoutMoment, LayoutSource, Missing, Process, StreamDef, path_hash, stream_flags,
};

/// What is filled.
#[derive(Debug)]
pub(super) struct Tables<'a> {
    pub(super) process: Process,
    names: &'a Names,
    files: FxHashMap<u64, u32>,
    streams: FxHashMap<(u32, Code, u8), u32>,
}

impl<'a> Tables<'a> {
    pub(super) fn new(process: Process, names: &'a Names) -> Self {
        Self { process, names, files: FxHashMap::default(), streams: FxHashMap::default() }
    }

    /// The file of a record, with its layout if that has not been given yet.
    pub(super) fn file(&mut self, id: u64, layouts: &mut Layouts) -> u32 {
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

    /// The stream of calls on `file`.
    pub(super) fn stream(&mut self, file: u32, op: Code, flags: u8) -> u32 {
        let streams = &mut self.process.streams;
        *self.streams.entry((file, op, flags)).or_insert_with(|| {
            let id = streams.len() as u32;
            streams.push(StreamDef { id, file, op: op.0, flags, errno: 0 });
            id
        })
    }

    /// Adds calls that have no segments.
    pub(super) fn missing(&mut self, file: u32, op: Code, counters: Counters, nested: bool) {
        if counters.segments > 0 {
            let stream = self.stream(file, op, if nested { stream_flags::NESTED } else { 0 });
            self.process.missing.push(Missing { stream, counters });
        }
    }
}
