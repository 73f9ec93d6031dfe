//! What the ids in segments mean: files by path, streams by (file, operation, flags). Both are given once, when first
//! seen, and never go away; looking one up takes no lock. Works in signal handlers: nothing here allocates.

mod accesses;
mod data_sets;
mod file;
mod folded;
mod mpi_details;
mod paths;
mod records;
mod stream;

pub(crate) use accesses::{ByLayer, Counting};
pub(crate) use data_sets::{DataSet, Transfer, Use, data_sets, find_or_add as data_set};
pub(crate) use file::{definition as file_definition, files, find as find_file, find_or_add, read_layout};
pub(crate) use mpi_details::{MpiDetails, hints, mpi_details, mpi_details_of};
pub(crate) use paths::{Verdict, judge};
pub(crate) use records::{File, Identity, Stream};
pub(crate) use stream::{Within, by_id as stream_by_id, failed_id_of as failed_stream_of, id_of as stream_of, streams};

/// Takes address space for the tables: room for `files` files and twice as many streams.
pub(crate) fn prepare(files: usize) {
    file::prepare(files);
    stream::prepare(files * 2);
    data_sets::prepare(files / 16);
    mpi_details::prepare(files / 64);
}

/// Empties the counters of every stream and data set: after a flush.
pub(crate) fn forget_counts() {
    stream::forget_counts();
    data_sets::forget_counts();
    mpi_details::forget_counts();
}

/// In a forked child: the counters are its parent's.
pub(crate) fn forget_counters() {
    stream::forget_counters();
    data_sets::forget_counts();
    mpi_details::forget_counts();
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
