//! The journal: part of the spool that holds definitions (files, streams and so on), each written when created. A new spool first gets all
//! definitions known so far. Does nothing without a spool.
#![expect(unsafe_code, reason = "writes records into the mapped journal")]

use crate::memory::{Area, Lent};
use crate::notes::Note;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering, fence};
use trace_format::meta::{CommunicatorDef, FileDef, FrameDef, LayoutDef, StreamDef, StreamSite, ThreadDef};
use trace_format::spool::journal::{
    self, DataSetStream, RECORD_BYTES, RECORD_MAGIC, Shape, ThreadSample, kind, record_bytes, record_header,
};

/// Journals (files, streams and other definitions) of the process's spool, and of the spool for calls made after its trace: a thread may
/// still add to the first when the second begins.
static AREAS: [Area; 2] = [Area::new(), Area::new()];
/// Index in [`AREAS`] of the active journal (definitions of files, streams and so on), plus 1; 0 if there is none.
static KEPT: AtomicUsize = AtomicUsize::new(0);

/// Uses `part` of the spool, still empty, as the journal (definitions of files, streams and so on) from now on.
pub(super) fn lend(part: Lent) {
    let next = KEPT.load(Ordering::Relaxed).min(AREAS.len() - 1);
    // SAFETY: no thread adds to an inactive area; a spool stays mapped.
    unsafe { AREAS[next].lend(part) };
    SITES.store(0, Ordering::Relaxed);
    // Stored before all known definitions are added: a thread that creates a definition now sees the journal, or its definition is seen.
    KEPT.store(next + 1, Ordering::SeqCst);
    fence(Ordering::SeqCst);
    add(kind::NOTES, &[&super::header::note_texts()]);
}

/// Commits memory of the spool's journal now, because system calls are impossible later (seccomp).
pub(crate) fn back_ahead() {
    if let Some(area) = KEPT.load(Ordering::SeqCst).checked_sub(1).and_then(|kept| AREAS.get(kept)) {
        area.back_ahead(1 << 20);
    }
}

/// Deactivates the journal in a forked child, since it belongs to the parent.
pub(super) fn forget() {
    KEPT.store(0, Ordering::Release);
    SITES.store(0, Ordering::Relaxed);
    // SAFETY: a forked child has only this thread, which holds no reference into the areas.
    AREAS.iter().for_each(|area| unsafe { area.forget() });
}

/// Size of the records of call sites in the active journal, in bytes.
static SITES: AtomicUsize = AtomicUsize::new(0);

/// Returns the size of the journal's content (definitions of files, streams and so on) without call sites, in bytes; 0 without a journal.
pub(crate) fn bytes() -> usize {
    let used = KEPT.load(Ordering::Relaxed).checked_sub(1).and_then(|kept| AREAS.get(kept)).map_or(0, Area::used);
    used.saturating_sub(SITES.load(Ordering::Relaxed))
}

/// True if there is a journal in use, so that definitions (files, streams and so on) must be written.
pub(crate) fn is_kept() -> bool {
    KEPT.load(Ordering::SeqCst) != 0
}

/// Divisor of the journal's capacity: data set shapes and samples of threads are added only while less than 1/4 of the journal is used,
/// since a program may cause any number of shapes for one data set. The number of definitions required for recovery is limited by the sizes
/// of the tracer's tables, so they always fit.
const SHAPES_PART: usize = 4;

/// Adds to the journal a record of kind `kind`, with the concatenated `parts` as content. A record that does not fit is lost, and counted
/// in the notes if it is a definition, which is then missing if the process is killed.
fn add(kind: u32, parts: &[&[u8]]) {
    fence(Ordering::SeqCst);
    let kept = KEPT.load(Ordering::SeqCst).checked_sub(1).and_then(|kept| AREAS.get(kept));
    let Some(area) = kept else { return };
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let most = area.capacity() / if matches!(kind, kind::SHAPE | kind::CPU_SAMPLE) { SHAPES_PART } else { 1 };
    let Some(at) = area.take(|_| (area.used() < most).then(|| record_bytes(length))) else {
        if kind != kind::CPU_SAMPLE {
            Note::Definition.count();
        }
        return;
    };
    // SAFETY: `at` is inside the area.
    let record = unsafe { area.start().add(at) };
    // SAFETY: `take` gave the record's bytes to this call alone.
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
    // SAFETY: records begin at multiples of 8 bytes.
    let magic = unsafe { &*magic.as_mut_ptr().cast::<AtomicU32>() };
    magic.store(RECORD_MAGIC, Ordering::Release);
}

pub(crate) fn job(block: &[u8]) {
    add(kind::JOB, &[block]);
}

/// Adds to the journal the description of the process, encoded as a process block of the trace.
pub(crate) fn process(block: &[u8]) {
    add(kind::PROCESS, &[block]);
}

/// Adds to the journal a thread that has recorded a segment. `counted`: true if the thread's segments are only counted, not written to the
/// trace.
pub(crate) fn thread(thread: ThreadDef, counted: bool) {
    add(kind::THREAD, &[&journal::thread(thread, counted)]);
}

pub(crate) fn file(number: u32, def: &FileDef, path: &[u8]) {
    add(kind::FILE, &[&journal::file(number, def), path]);
}

pub(crate) fn stream(def: &StreamDef) {
    add(kind::STREAM, &[&journal::stream(def)]);
}

/// Adds to the journal a record of call sites, which takes no room from the names of files.
fn add_site(kind: u32, parts: &[&[u8]]) {
    let length = parts.iter().map(|part| part.len()).sum();
    SITES.fetch_add(record_bytes(length), Ordering::Relaxed);
    add(kind, parts);
}

/// Adds to the journal a module (executable or shared library) that call sites refer to.
pub(crate) fn module(number: u32, build_id: &[u8], path: &[u8]) {
    add_site(kind::MODULE, &[&journal::module(number, build_id.len()), build_id, path]);
}

/// Adds to the journal a function of a script. `module`: index of the script plus one.
pub(crate) fn function(number: u32, module: u32, name: &[u8]) {
    add_site(kind::FUNCTION, &[&journal::function(number, module), name]);
}

/// Adds to the journal a frame of the call stacks.
pub(crate) fn frame(number: u32, frame: FrameDef) {
    add_site(kind::FRAME, &[&journal::frame(number, frame)]);
}

/// Adds to the journal the call site of a stream (calls with the same operation and flags).
pub(crate) fn stream_site(site: StreamSite) {
    add_site(kind::STREAM_SITE, &[&journal::stream_site(site)]);
}

pub(crate) fn communicator(def: &CommunicatorDef) {
    add(kind::COMMUNICATOR, &[&journal::communicator(def)]);
}

/// Adds to the journal a file's stripe layout. `bytes`: value of the attribute that describes the layout.
pub(crate) fn layout(def: &LayoutDef, bytes: &[u8]) {
    add(kind::LAYOUT, &[&journal::layout(def), bytes]);
}

/// Adds to the journal the HDF5 data set `number`, at `path` in the file with number `file`.
pub(crate) fn data_set(number: u32, file: u32, path: &[u8]) {
    add(kind::DATA_SET, &[&journal::data_set(number, file), path]);
}

/// Adds to the journal the HDF5 data set to which a stream (calls with the same operation and flags) belongs.
pub(crate) fn data_set_stream(stream: DataSetStream) {
    add(kind::DATA_SET_STREAM, &[&journal::data_set_stream(stream)]);
}

/// Adds to the journal the shape that an HDF5 data set had when it was opened.
pub(crate) fn shape(shape: Shape) {
    add(kind::SHAPE, &[&journal::shape(shape)]);
}

/// Adds to the journal a sample of a thread's use of the processors.
pub(crate) fn cpu_sample(sample: &ThreadSample) {
    add(kind::CPU_SAMPLE, &[&journal::cpu_sample(sample)]);
}
