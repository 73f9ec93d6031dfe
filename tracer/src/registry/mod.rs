//! What the ids in segments mean: files by path, streams by (file, operation, flags). Both are given once, when first
//! seen, and never go away; looking one up takes no lock. Works in signal handlers: nothing here allocates.

mod accesses;
mod file;
mod folded;
mod paths;
mod records;
mod stream;

pub(crate) use accesses::{ByLayer, Counting};
pub(crate) use file::{definition as file_definition, files, find as find_file, find_or_add, read_layout};
pub(crate) use paths::{Verdict, judge};
pub(crate) use records::{File, Identity, Stream};
pub(crate) use stream::{
    by_id as stream_by_id, failed_id_of as failed_stream_of, forget_counters, forget_counts, id_of as stream_of,
    streams,
};

/// Takes address space for the tables: room for `files` files and twice as many streams.
pub(crate) fn prepare(files: usize) {
    file::prepare(files);
    stream::prepare(files * 2);
}

/// Writes everything into the spool's journal, which has just been begun.
pub(crate) fn note_all() {
    file::note_all();
    stream::note_all();
}

/// From now on the counters lie in the spool.
pub(crate) fn lend_counters(part: crate::memory::Lent) {
    stream::lend_counters(part);
}
