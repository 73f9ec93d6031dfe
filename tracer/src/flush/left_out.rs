//! Counters of segments (records of calls) that a trace omits because of filters or the job's byte budget.

use crate::{config, registry};
use std::collections::{BTreeMap, BTreeSet};
use trace_format::Segment;
use trace_format::counters::{Counters, Previous};
use trace_format::op::Layer;

/// Counters of segments (records of calls) that the trace omits, per stream (file and operation). Times are in ns since the epoch.
#[derive(Default)]
pub(super) struct LeftOut(BTreeMap<u32, (Counters, Previous)>);

impl LeftOut {
    /// Adds a segment (record of a call) that the trace omits, with times in ns since the epoch, to the counters of its stream.
    pub(super) fn fold(&mut self, segment: &Segment) {
        let stream = segment.stream();
        let before = || registry::stream_by_id(stream).map_or_else(Previous::default, registry::Stream::previous);
        let (counters, previous) = self.0.entry(stream.0).or_insert_with(|| (Counters::default(), before()));
        counters.fold(previous, segment.offset, segment.length(), segment.start, segment.end);
    }

    /// Returns the counters of the segments (records of calls) of `stream` that the trace omits, if there are any.
    pub(super) fn of(&self, stream: u32) -> Option<&Counters> {
        self.0.get(&stream).map(|(counters, _)| counters)
    }

    /// Returns the number of files of which the trace has only counters, since a trigger (condition of the user for recording single calls) left
    /// their calls out.
    pub(super) fn files(&self) -> u64 {
        if config::triggers().is_none() {
            return 0;
        }
        // Triggers omit whole files including their opens; DXT_MIN_SIZE omits only reads and writes.
        let streams = self.0.keys().filter_map(|id| registry::stream_by_id(trace_format::StreamId(*id)));
        let files: BTreeSet<_> = streams
            .filter(|stream| !stream.moves_data() && stream.layer != Layer::Mpi)
            .filter(|stream| registry::other_files_record().is_none_or(|others| !std::ptr::eq(stream.file, others)))
            .map(|stream| std::ptr::from_ref(stream.file))
            .collect();
        files.len() as u64
    }
}
