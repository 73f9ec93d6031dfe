//! Streams of MPI's collective calls. They are of no file, so all are of one that stands for MPI; who made none has none.

use super::file;
use super::records::{File, Identity};
use super::stream::{Within, failed_id_of, find_or_add};
use crate::ops::{COLLECTIVES, Op, collective_place};
use std::sync::atomic::{AtomicU32, Ordering};
use trace_format::segment::StreamId;

/// Path of the file that stands for MPI.
pub(super) const PATH: &[u8] = b"<MPI>";
/// One more than the id of each operation's stream, or 0.
static STREAMS: [AtomicU32; COLLECTIVES] = [const { AtomicU32::new(0) }; COLLECTIVES];

fn file() -> Option<&'static File> {
    file::find_or_add(PATH, Identity::default())
}

/// Id of the stream of calls of `op`; `None` when a table is full, or the layer is left out.
#[inline(always)]
pub(crate) fn id_of(op: &'static Op) -> Option<StreamId> {
    let place = STREAMS.get(collective_place(op))?;
    match place.load(Ordering::Relaxed).checked_sub(1) {
        Some(id) => Some(StreamId(id)),
        None => make(op, place),
    }
}

#[cold]
fn make(op: &'static Op, place: &AtomicU32) -> Option<StreamId> {
    let id = find_or_add(file()?, op, 0, 0)?;
    place.store(id.0 + 1, Ordering::Relaxed);
    Some(id)
}

/// Id of the stream of calls of `op` that failed with an error that `errno` stands for; `None` as above.
#[cold]
pub(crate) fn failed_id_of_meeting(op: &'static Op, errno: i32) -> Option<StreamId> {
    failed_id_of(file()?, op, Within::NOTHING, u16::try_from(errno).unwrap_or(u16::MAX))
}
