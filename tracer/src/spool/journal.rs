//! The journal: definitions are written into the spool when they are made. Nothing happens while there is no spool; when
//! one is made, all that is known goes in first.
#![expect(unsafe_code, reason = "writes records into the mapped journal")]

use crate::memory::{Area, Lent};
use crate::notes::Note;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering, fence};
use trace_format::meta::{CommunicatorDef, FileDef, LayoutDef, StreamDef, ThreadDef};
use trace_format::spool::journal::{
    self, DataSetStream, RECORD_BYTES, RECORD_MAGIC, Shape, kind, record_bytes, record_header,
};

/// Those of the process's spool and of the one for calls that come after the trace: another thread may still be adding to the first
/// when the second is begun.
static AREAS: [Area; 2] = [Area::new(), Area::new()];
/// Which of them is kept, plus one; 0: none.
static KEPT: AtomicUsize = AtomicUsize::new(0);

/// From now on there is a journal, still empty.
pub(super) fn lend(part: Lent) {
    let next = KEPT.load(Ordering::Relaxed).min(AREAS.len() - 1);
    // SAFETY: nobody adds to an area that is not the kept one; a spool stays mapped.
    unsafe { AREAS[next].lend(part) };
    // Before all that is known is added: who makes something now either sees this, or is seen.
    KEPT.store(next + 1, Ordering::SeqCst);
    fence(Ordering::SeqCst);
    add(kind::NOTES, &[&super::header::note_texts()]);
}

/// Has room made for definitions when none can be made any more.
pub(crate) fn back_ahead() {
    if let Some(area) = KEPT.load(Ordering::SeqCst).checked_sub(1).and_then(|kept| AREAS.get(kept)) {
        area.back_ahead(1 << 20);
    }
}

/// There is none: for a forked child.
pub(super) fn forget() {
    KEPT.store(0, Ordering::Release);
    // SAFETY: in a forked child, which has this thread alone and holds nothing of it any more.
    AREAS.iter().for_each(|area| unsafe { area.forget() });
}

/// Bytes in it; 0 without one.
pub(super) fn bytes() -> usize {
    KEPT.load(Ordering::Relaxed).checked_sub(1).and_then(|kept| AREAS.get(kept)).map_or(0, Area::used)
}

/// Whether definitions are to be written down.
pub(crate) fn is_kept() -> bool {
    KEPT.load(Ordering::SeqCst) != 0
}

/// The part of the journal in which there is room for sizes of data sets. They are made again and again for one data set, by what the program
/// does; of what nothing can be recovered without, there is as much as the tables hold.
const SHAPES_PART: usize = 4;

/// Adds a record. One that finds no room is lost, as is what it defines should the process be killed, and counted.
fn add(kind: u32, parts: &[&[u8]]) {
    fence(Ordering::SeqCst);
    let kept = KEPT.load(Ordering::SeqCst).checked_sub(1).and_then(|kept| AREAS.get(kept));
    let Some(area) = kept else { return };
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let most = area.capacity() / if kind == kind::SHAPE { SHAPES_PART } else { 1 };
    let Some(at) = area.take(|_| (area.used() < most).then(|| record_bytes(length))) else {
        Note::Definition.count();
        return;
    };
    // SAFETY: inside the area.
    let record = unsafe { area.start().add(at) };
    // SAFETY: the record's bytes, which were given to this call alone.
    let record = unsafe { std::slice::from_raw_parts_mut(record, record_bytes(length)) };
    let (header, rest) = record.split_at_mut(RECORD_BYTES);
    let payload = &mut rest[..length];
    let mut room = &mut payload[..];
    for part in parts {
        let (here, behind) = room.split_at_mut(part.len());
        here.copy_from_slice(part);
        room = behind;
    }
    let (magic, about) = header.split_at_mut(4);
    about.copy_from_slice(&record_header(kind, payload)[4..]);
    // SAFETY: records begin at multiples of eight bytes.
    let magic = unsafe { &*magic.as_mut_ptr().cast::<AtomicU32>() };
    magic.store(RECORD_MAGIC, Ordering::Release);
}

/// The job block.
pub(crate) fn job(block: &[u8]) {
    add(kind::JOB, &[block]);
}

/// The process's description, as a process block.
pub(crate) fn process(block: &[u8]) {
    add(kind::PROCESS, &[block]);
}

/// A thread has recorded something; `counted`: what only waits to be counted.
pub(crate) fn thread(thread: ThreadDef, counted: bool) {
    add(kind::THREAD, &[&journal::thread(thread, counted)]);
}

/// A file, with its path beside it.
pub(crate) fn file(number: u32, def: &FileDef, path: &[u8]) {
    add(kind::FILE, &[&journal::file(number, def), path]);
}

/// A stream.
pub(crate) fn stream(def: &StreamDef) {
    add(kind::STREAM, &[&journal::stream(def)]);
}

/// A communicator.
pub(crate) fn communicator(def: &CommunicatorDef) {
    add(kind::COMMUNICATOR, &[&journal::communicator(def)]);
}

/// A layout, with its bytes beside it.
pub(crate) fn layout(def: &LayoutDef, bytes: &[u8]) {
    add(kind::LAYOUT, &[&journal::layout(def), bytes]);
}

/// A data set of the file of this number, with its path beside it.
pub(crate) fn data_set(number: u32, file: u32, path: &[u8]) {
    add(kind::DATA_SET, &[&journal::data_set(number, file), path]);
}

/// A stream is about a data set.
pub(crate) fn data_set_stream(stream: DataSetStream) {
    add(kind::DATA_SET_STREAM, &[&journal::data_set_stream(stream)]);
}

/// What a data set was when it was opened.
pub(crate) fn shape(shape: Shape) {
    add(kind::SHAPE, &[&journal::shape(shape)]);
}
