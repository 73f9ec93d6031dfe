//! Streams of MPI collective calls. The calls belong to no file, so their streams are on one pseudo-file, which exists only after the first call.

use super::file;
use super::records::{File, Identity};
use super::stream::{Within, failed_id_of, find_or_add};
use crate::errno;
use crate::ops::{COLLECTIVES, Op, collective_place};
use std::sync::atomic::{AtomicU32, Ordering};
use trace_format::segment::StreamId;

/// Stream ID + 1 of each collective MPI operation; 0 before its first call.
static STREAMS: [AtomicU32; COLLECTIVES] = [const { AtomicU32::new(0) }; COLLECTIVES];

fn file() -> Option<&'static File> {
    file::find_or_add(file::MPI_PATH, Identity::default())
}

/// Returns the ID of the stream (group of calls) of the collective MPI operation `op`; `None` if a table is full or DXT_LAYERS excludes the
/// MPI layer.
#[inline(always)]
pub(crate) fn id_of(op: &'static Op) -> Option<StreamId> {
    let place = STREAMS.get(collective_place(op))?;
    match place.load(Ordering::Relaxed).checked_sub(1) {
        Some(id) => Some(StreamId(id)),
        None => make(op, place),
    }
}

/// Creates the stream of `op`, whose ID `place` then holds. Preserves errno.
#[cold]
fn make(op: &'static Op, place: &AtomicU32) -> Option<StreamId> {
    let errno = errno::save();
    let id = file().and_then(|file| find_or_add(file, op, 0, 0, 0));
    if let Some(id) = id {
        place.store(id.0 + 1, Ordering::Relaxed);
    }
    errno.restore();
    id
}

/// Returns the ID of the stream (group of calls) of failed calls of the collective MPI operation `op`. `errno`: equivalent of the MPI
/// error. `None` as for [`id_of`].
#[cold]
pub(crate) fn failed_id_of_sync_point(op: &'static Op, errno: i32) -> Option<StreamId> {
    failed_id_of(file()?, op, Within::NOTHING, u16::try_from(errno).unwrap_or(u16::MAX), 0)
}
