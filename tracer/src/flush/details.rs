//! Adds details to a process's record in the trace, beyond files and streams: data sets, hints, datatypes, views, memory alignment.

use super::counted;
use crate::record;
use crate::registry::memory::Costs;
use crate::registry::{self, DATATYPE_COUNTS, File, Hint, Use, View, Viewed};
use crate::sites;
use std::collections::BTreeMap;
use trace_format::StreamId;
use trace_format::columns::TickScale;
use trace_format::meta::{
    ChunkDef, DataSetAccess, DataSetDef, DatatypeExtents, DatatypeUse, DimensionDef, HintDef, MemoryCost, MemoryDef,
    MemoryUse, Process, StreamDef, ViewDef,
};
use trace_format::op::Layer;
use trace_format::profile::MEMORY_ALIGNMENT;

/// Returns, for each file that has streams (recorded or counted calls), the file's number in the process's record.
fn numbers(process: &Process) -> BTreeMap<*const File, u32> {
    let stream = |def: &StreamDef| Some((std::ptr::from_ref(registry::stream_by_id(StreamId(def.id))?.file), def.file));
    process.streams.iter().filter_map(stream).collect()
}

/// Adds the file views (MPI_File_set_view) to the record. Only in trace mode, since views describe recorded segments further.
pub(super) fn add_views(process: &mut Process) {
    let number_of = numbers(process);
    let of_view = |view: &'static View| Some(definition(*number_of.get(&std::ptr::from_ref(view.file))?, view));
    process.views = registry::views().filter_map(of_view).collect();
}

/// Adds to a process's record the details of all its files and streams: data sets, hints, datatypes, call sites.
pub(super) fn add(process: &mut Process) {
    add_data_sets(process);
    let number_of = numbers(process);
    let number = |file: &'static File| number_of.get(&std::ptr::from_ref(file)).copied();
    process.hints = hints(number);
    process.sites = sites::definitions(process.streams.iter().filter_map(|def| {
        let stream = registry::stream_by_id(StreamId(def.id))?;
        Some((def.id, stream.site))
    }));
    if process.streams.iter().any(is_meeting) {
        process.communicators = crate::mpi::communicators::definitions();
    }
    for details in registry::mpi_details() {
        let Some(file) = number(details.file) else { continue };
        add_datatypes(process, file, &details.datatype_counts());
    }
}

/// Returns the definition of an MPI file view for the trace. `file`: number of the view's file.
fn definition(file: u32, view: &View) -> ViewDef {
    let Viewed { etype_bytes, size, extent, strides } = view.viewed;
    let dimension = |&(count, stride): &(u64, u64)| DimensionDef { count, stride };
    let strides = strides.as_ref();
    let dimensions = strides.iter().flat_map(|strides| strides.dimensions()).map(dimension).collect();
    let (first, block) = strides.map_or((0, 0), |strides| (strides.first, strides.block));
    ViewDef { file, calls: view.calls(), etype_bytes, size, extent, first, block, dimensions }
}

pub(super) fn add_datatypes(process: &mut Process, file: u32, counts: &[u64; DATATYPE_COUNTS]) {
    let used = registry::datatypes(counts).map(|(role, combiner, count)| DatatypeUse { file, role, combiner, count });
    process.datatypes.extend(used);
    let extents = registry::extents(counts).map(|(role, extents)| DatatypeExtents { file, role, extents });
    process.datatype_extents.extend(extents);
}

/// Adds stripe layouts and hints of `files`, whose other data is in the common record of several ranks. Omits paths whose hash is in
/// `known`: the job block stores them once for all processes.
pub(super) fn add_alone(process: &mut Process, files: impl Iterator<Item = &'static File>, known: &[u64]) {
    let files: BTreeMap<*const File, &'static File> = files.map(|file| (std::ptr::from_ref(file), file)).collect();
    let mut numbers = counted::Files::default();
    for file in files.values().filter(|file| counted::layouts(file, 0).next().is_some()) {
        numbers.number(process, file, known);
    }
    let alone = |file: &'static File| {
        files.contains_key(&std::ptr::from_ref(file)).then(|| numbers.number(process, file, known))
    };
    let more = hints(alone);
    process.hints.extend(more);
}

/// Returns memory alignment counts of the record's streams. `reported`: counts per stream, and the number and total time (in ticks) of
/// calls by size and alignment.
pub(super) fn memory(process: &Process, reported: &(Vec<[u64; 2]>, Costs), scale: &TickScale) -> MemoryDef {
    let (by_stream, costs) = reported;
    let of = |def: &StreamDef| {
        let [known, unaligned] = *by_stream.get(def.id as usize)?;
        (known > 0).then_some(MemoryUse { stream: def.id, known, unaligned })
    };
    let streams: Vec<MemoryUse> = process.streams.iter().filter_map(of).collect();
    let ns = |ticks: u64| scale.nanoseconds(scale.base.saturating_add(ticks));
    let cost =
        |(writes, size, [aligned, aligned_ticks, unaligned, unaligned_ticks]): (bool, usize, [u64; 4])| MemoryCost {
            layer: Layer::Posix,
            writes: u8::from(writes),
            size: size as u8,
            aligned,
            aligned_ns: ns(aligned_ticks),
            unaligned,
            unaligned_ns: ns(unaligned_ticks),
        };
    let costs = if streams.is_empty() { Vec::new() } else { costs.rows().map(cost).collect() };
    let alignment = if streams.is_empty() { 0 } else { record::memory_alignment() };
    MemoryDef { alignment, streams, costs }
}

/// Returns the record of memory buffer alignment for counters mode, in which alignment is not counted: only the alignment setting in bytes,
/// or 0 for the default.
pub(super) fn counted_memory() -> MemoryDef {
    let alignment = record::memory_alignment();
    let is_usual = alignment == MEMORY_ALIGNMENT as u64;
    MemoryDef { alignment: if is_usual { 0 } else { alignment }, ..MemoryDef::default() }
}

/// True if the offsets of the stream's segments are communicator IDs: the stream holds collective MPI calls.
fn is_meeting(def: &StreamDef) -> bool {
    registry::stream_by_id(StreamId(def.id)).is_some_and(|stream| stream.layer == Layer::Mpi)
}

/// Returns the MPI-IO hints of all files for which `number` returns a file number.
pub(super) fn hints(mut number: impl FnMut(&'static File) -> Option<u32>) -> Vec<HintDef> {
    let of_file = |hint: &'static Hint| {
        let (file, origin) = (number(hint.file)?, hint.origin);
        Some(HintDef { file, origin, key: hint.key.to_vec(), value: hint.value.to_vec() })
    };
    registry::hints().filter_map(of_file).collect()
}

/// Adds to a process's record the HDF5 data sets to which streams of the record belong.
fn add_data_sets(process: &mut Process) {
    let file_of: BTreeMap<u32, u32> = process.streams.iter().map(|stream| (stream.id, stream.file)).collect();
    let access = |one: &'static Use| DataSetAccess {
        stream: one.stream(),
        selections: one.selections(),
        elements: one.elements(),
    };
    let (mut sets, mut chunks) = (Vec::new(), Vec::new());
    for set in registry::data_sets() {
        let mut accesses: Vec<DataSetAccess> =
            set.uses().filter(|one| file_of.contains_key(&one.stream())).map(access).collect();
        let Some(&file) = accesses.first().and_then(|first| file_of.get(&first.stream)) else { continue };
        accesses.sort_by_key(|access| access.stream);
        let (shape, cache_bytes) = set.chunks();
        if !shape.is_empty() {
            chunks.push(ChunkDef { data_set: sets.len() as u32, shape, cache_bytes });
        }
        sets.push(DataSetDef {
            file,
            path: set.path.to_vec(),
            element_bytes: set.element_bytes(),
            extent: set.extent().collect(),
            accesses,
        });
    }
    (process.data_sets, process.chunks) = (sets, chunks);
}
