//! Registry of the IDs that segments contain: files by path, and streams by (file, operation, flags). IDs are assigned at first use and
//! never removed; look-ups take no lock. Usable in signal handlers, since no function here allocates.

mod accesses;
mod data_sets;
mod file;
mod folded;
mod layouts;
pub(crate) mod memory;
mod mpi_details;
mod others;
mod paths;
mod profiles;
mod records;
mod stream;
mod strides;
mod sync_points;
mod views;

use crate::budget;
use crate::spool::journal;
pub(crate) use accesses::{ByLayer, Counting};
pub(crate) use data_sets::{DataSet, Transfer, Use, chunks_bytes, data_sets, find_or_add as data_set};
pub(crate) use file::{
    STANDARD_PATHS, condensed, definition as file_definition, files, find as find_file, find_by as find_file_by,
    find_or_add, uncertain as uncertain_file,
};
pub(crate) use folded::Adder;
pub(crate) use layouts::read_layout;
pub(crate) use mpi_details::{
    DATATYPE_COUNTS, Datatype, Hint, MpiDetails, datatypes, extents, hints, mpi_details, mpi_details_of,
};
pub(crate) use others::{condensed as other_files_record, estimate as other_files};
pub(crate) use paths::{Verdict, judge};
pub(crate) use records::{File, Identity, Plain, Stream};
pub(crate) use stream::{
    Within, by_id as stream_by_id, failed_id_of as failed_stream_of, id_of as stream_of, settle_counts, streams,
    take_counts, taken_counts,
};
pub(crate) use strides::Strides;
pub(crate) use sync_points::{failed_id_of_sync_point as failed_sync_stream_of, id_of as sync_stream_of};
pub(crate) use views::{View, Viewed, views};

/// Capacity for streams (calls with the same file, operation and flags) in counters mode, as an average number per file.
const COUNTED_STREAMS_PER_FILE: usize = 8;
/// Capacity for streams (calls with the same operation and flags) of the condensed record, which stands for all files without records of
/// their own.
const CONDENSED_STREAMS: usize = 1024;
/// Capacity for access profiles, as an average number per file: one per I/O layer that is commonly used.
const PROFILES_PER_FILE: usize = 3;

/// Reserves the tables like [`prepare`], for counters mode: at most `files` files have records, and all others share a condensed record.
pub(crate) fn prepare_counters(files: usize) {
    file::prepare_counters(files);
    stream::prepare_counters(files * COUNTED_STREAMS_PER_FILE, CONDENSED_STREAMS);
    profiles::prepare((files + 1) * PROFILES_PER_FILE);
    data_sets::prepare(files);
    mpi_details::prepare(files);
    views::prepare(files);
}

/// Returns the maximum number of streams (file, operation, flags) with counters. In counters mode all streams have counters.
pub(crate) fn counted_streams() -> usize {
    stream::capacity()
}

/// Discards all counts and access profiles in a forked child, which has only one thread.
pub(crate) fn start_empty() {
    forget_counters();
    memory::forget(stream::streams().map(|(_, stream)| stream));
    profiles::forget(files());
}

/// Reserves address space for the tables: for `files` files and twice as many streams.
pub(crate) fn prepare(files: usize) {
    file::prepare(files);
    stream::prepare(files * 2);
    data_sets::prepare(files / 16);
    mpi_details::prepare(files / 64);
    views::prepare(files / 16);
}

#[cfg(test)]
pub(crate) fn prepare_for_tests() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| prepare(1 << 12));
}

/// Returns the approximate size that all tables of the registry (files, streams, data sets) take in a trace, uncompressed, in bytes.
fn table_bytes() -> u64 {
    file::bytes() + stream::bytes() + data_sets::bytes()
}

/// True if the share of the job's byte budget for file names is exhausted: new files and data sets no longer get records of their own.
fn is_over_budget() -> bool {
    budget::is_spent_on_names(|| table_bytes().max(journal::bytes() as u64))
}

/// Resets the counts that files and data sets keep besides those of their streams (groups of calls), after a trace has been written.
pub(crate) fn forget_counts() {
    file::forget_gone();
    data_sets::forget_counts();
    mpi_details::forget_counts();
    views::forget_counts();
}

/// Discards the counters of all streams (file, operation, flags) in a forked child, since they belong to the parent process.
pub(crate) fn forget_counters() {
    stream::forget_counters();
    data_sets::forget_counts();
    mpi_details::forget_counts();
    views::forget_counts();
}

/// Writes the definitions of all files, streams and data sets known so far to the journal of the spool (the file that survives a kill),
/// which has just been created.
pub(crate) fn note_all() {
    file::note_all();
    stream::note_all();
    data_sets::note_all();
}

/// Moves the streams' counters into `part`, a part of the spool (the file that survives a kill).
pub(crate) fn lend_counters(part: crate::memory::Lent) {
    stream::lend_counters(part);
}

/// Makes memory for the streams' counters usable now, because the tracer is about to lose the right to make system calls (seccomp).
pub(crate) fn back_ahead() {
    stream::back_ahead();
}
