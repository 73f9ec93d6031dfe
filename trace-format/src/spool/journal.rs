//! Journal of a spool: definitions of ids (files, streams, threads), in the order in which ids were assigned.
//!
//! A record is a header of 16 bytes and a payload, padded to 8 bytes. Threads write records concurrently and may be killed at any time; a
//! reader that finds no complete record continues 8 bytes further.

use crate::frame::crc;
use crate::meta::{
    CommunicatorDef, CpuSample, FileDef, FrameDef, LayoutDef, Selection, StreamDef, StreamSite, ThreadDef,
};

/// Magic number in the first four bytes of a journal record; stored last.
pub const RECORD_MAGIC: u32 = u32::from_le_bytes(*b"dxtJ");
/// Size of a journal record's header, in bytes: magic, length of the payload, kind, CRC-32 of the payload.
pub const RECORD_BYTES: usize = 16;
/// Maximum size of a journal record's payload, in bytes.
pub const MOST_PAYLOAD: usize = 1 << 24;

/// Types of journal records.
pub mod kind {
    /// Job block, as in a trace file; of several records, the last is valid.
    pub const JOB: u32 = 1;
    /// Process block that contains only the description of the process; of several records, the last is valid.
    pub const PROCESS: u32 = 2;
    /// Thread; of several records with one thread index, the last is valid.
    pub const THREAD: u32 = 3;
    /// File; of several records with one file number, the last is valid.
    pub const FILE: u32 = 4;
    /// Stream: definition of one operation on one file.
    pub const STREAM: u32 = 5;
    /// Stripe layout of a file.
    pub const LAYOUT: u32 = 6;
    /// Texts that describe events that are not recorded, one per line.
    pub const NOTES: u32 = 7;
    /// MPI communicator, with its size and members.
    pub const COMMUNICATOR: u32 = 8;
    /// Data set; of several records with one data set number, the last is valid.
    pub const DATA_SET: u32 = 9;
    /// Assignment of a stream (operation on a file) to an HDF5 data set.
    pub const DATA_SET_STREAM: u32 = 10;
    /// Shape (extent) of a data set from the time when the data set was opened or created until the next shape record.
    pub const SHAPE: u32 = 11;
    /// Sample of a thread's use of the processors: times that the thread ran on a CPU or waited for one.
    pub const CPU_SAMPLE: u32 = 12;
    /// Module (executable or shared library) that call sites refer to.
    pub const MODULE: u32 = 13;
    /// Frame of the call stacks from which calls were made.
    pub const FRAME: u32 = 14;
    /// Call site of a stream (operation on a file).
    pub const STREAM_SITE: u32 = 15;
    /// Function of a script (source file that an interpreter runs) that frames refer to.
    pub const FUNCTION: u32 = 16;
}

/// Sample of a thread's use of the processors: times on a CPU and waiting for one, as sums since the thread's start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadSample {
    /// Thread id in the kernel.
    pub tid: u32,
    /// True if `sums.wait_ns` (time of waiting for a CPU) is known.
    pub knows_waits: bool,
    /// Time of the sample, in ticks of the process's clock.
    pub ticks: u64,
    /// Sums since the thread's start: time on a CPU, waiting time and context switches; `time_ns` is not recorded.
    pub sums: CpuSample,
}

/// Data set (array inside an HDF5 file), as defined in the journal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DataSet {
    /// Journal's number of the file that contains the data set.
    pub file: u32,
    /// Path of the data set inside the file; empty if unknown or if the data set has no path.
    pub path: Vec<u8>,
}

/// Assignment of a stream (operation on a file) to an HDF5 data set, with the form of the selections of the stream's transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataSetStream {
    /// Id of the stream (operation on a file) that is assigned to the data set.
    pub stream: u32,
    /// Number of the HDF5 data set that the stream (operation on a file) accesses.
    pub data_set: u32,
    /// Form of the selection in each transfer of the stream; `None` for operations that move no data.
    pub selection: Option<Selection>,
}

/// Shape (extent) of a data set from a certain time on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// Number of the data set that has the shape.
    pub data_set: u32,
    /// Number of dimensions of the data set; 0 for a scalar.
    pub dimensions: u32,
    /// Number of elements in the data set.
    pub elements: u64,
    /// Time when the call that opened or created the data set returned, in ticks; 0 if that return was not seen.
    pub since: u64,
}

/// Returns the size of a journal record with header and padding, in bytes, for a payload of `payload` bytes.
#[must_use]
pub const fn record_bytes(payload: usize) -> usize {
    RECORD_BYTES + payload.next_multiple_of(8)
}

/// Encodes the header of a journal record of type `kind`.
#[must_use]
pub fn record_header(kind: u32, payload: &[u8]) -> [u8; RECORD_BYTES] {
    let mut out = [0; RECORD_BYTES];
    out[..4].copy_from_slice(&RECORD_MAGIC.to_le_bytes());
    out[4..8].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    out[8..12].copy_from_slice(&kind.to_le_bytes());
    out[12..].copy_from_slice(&crc(payload).to_le_bytes());
    out
}

/// Encodes the payload of a thread record. `counted` is true if the thread's segments only wait to be folded into counters, so that a
/// reader of the spool must fold them.
#[must_use]
pub fn thread(thread: ThreadDef, counted: bool) -> [u8; 12] {
    let mut out = [0; 12];
    out[..4].copy_from_slice(&thread.index.to_le_bytes());
    out[4..8].copy_from_slice(&thread.tid.to_le_bytes());
    out[8..].copy_from_slice(&u32::from(counted).to_le_bytes());
    out
}

/// Size of the part of a file record's payload before the path, in bytes.
pub const FILE_BYTES: usize = 40;

/// Encodes the part of a file record's payload before the path; the caller appends the path.
#[must_use]
pub fn file(number: u32, file: &FileDef) -> [u8; FILE_BYTES] {
    let mut out = [0; FILE_BYTES];
    out[..4].copy_from_slice(&number.to_le_bytes());
    out[4..8].copy_from_slice(&u32::from(file.kind).to_le_bytes());
    out[8..16].copy_from_slice(&file.hash.to_le_bytes());
    out[16..24].copy_from_slice(&file.device.to_le_bytes());
    out[24..32].copy_from_slice(&file.inode.to_le_bytes());
    out[32..36].copy_from_slice(&file.block_size.to_le_bytes());
    out
}

/// Encodes the payload of a stream record, which defines an operation on a file. In `stream`, `file` is the journal's number of the file.
#[must_use]
pub fn stream(stream: &StreamDef) -> [u8; 16] {
    let mut out = [0; 16];
    out[..4].copy_from_slice(&stream.id.to_le_bytes());
    out[4..8].copy_from_slice(&stream.file.to_le_bytes());
    out[8..10].copy_from_slice(&stream.op.to_le_bytes());
    out[10..12].copy_from_slice(&stream.errno.to_le_bytes());
    out[12] = stream.flags;
    out
}

/// Size of the part of a layout record's payload before the layout, in bytes.
pub const LAYOUT_BYTES: usize = 16;

/// Encodes the part of a layout record's payload before the layout bytes, which the caller appends. In `layout`, `file` is the journal's
/// number of the file.
#[must_use]
pub fn layout(layout: &LayoutDef) -> [u8; LAYOUT_BYTES] {
    let mut out = [0; LAYOUT_BYTES];
    out[..4].copy_from_slice(&layout.file.to_le_bytes());
    out[4..8].copy_from_slice(&u32::from(layout.moment).to_le_bytes());
    out[8..12].copy_from_slice(&u32::from(layout.source).to_le_bytes());
    out
}

/// Encodes the payload of a communicator record.
#[must_use]
pub fn communicator(communicator: &CommunicatorDef) -> [u8; 32] {
    let mut out = [0; 32];
    out[..4].copy_from_slice(&communicator.number.to_le_bytes());
    out[4..8].copy_from_slice(&communicator.size.to_le_bytes());
    out[8..12].copy_from_slice(&communicator.rank.to_le_bytes());
    out[12..16].copy_from_slice(&communicator.first.to_le_bytes());
    out[16..24].copy_from_slice(&communicator.members.to_le_bytes());
    out[24..28].copy_from_slice(&communicator.remote_size.to_le_bytes());
    out
}

/// Size of the part of a data set record's payload before the path, in bytes.
pub const DATA_SET_BYTES: usize = 8;

/// Encodes the part of a data set record's payload before the path, which the caller appends. `file` is the journal's number of the file.
#[must_use]
pub fn data_set(number: u32, file: u32) -> [u8; DATA_SET_BYTES] {
    let mut out = [0; DATA_SET_BYTES];
    out[..4].copy_from_slice(&number.to_le_bytes());
    out[4..].copy_from_slice(&file.to_le_bytes());
    out
}

/// Encodes the payload of a record that assigns a stream (operation on a file) to an HDF5 data set.
#[must_use]
pub fn data_set_stream(stream: DataSetStream) -> [u8; 12] {
    let mut out = [0; 12];
    out[..4].copy_from_slice(&stream.stream.to_le_bytes());
    out[4..8].copy_from_slice(&stream.data_set.to_le_bytes());
    let selection = stream.selection.map_or(NO_SELECTION, |selection| selection as u32);
    out[8..].copy_from_slice(&selection.to_le_bytes());
    out
}

/// Code stored instead of a selection's form for operations that move no data.
const NO_SELECTION: u32 = u32::MAX;

/// Encodes the payload of a shape record (extent of a data set).
#[must_use]
pub fn shape(shape: Shape) -> [u8; 24] {
    let mut out = [0; 24];
    out[..4].copy_from_slice(&shape.data_set.to_le_bytes());
    out[4..8].copy_from_slice(&shape.dimensions.to_le_bytes());
    out[8..16].copy_from_slice(&shape.elements.to_le_bytes());
    out[16..].copy_from_slice(&shape.since.to_le_bytes());
    out
}

/// Size of the part of a module record's payload before the build id, in bytes.
pub const MODULE_BYTES: usize = 8;

/// Encodes the part of a module record's payload before the build id of `build_id_bytes` bytes; the caller appends the build id and the path.
#[must_use]
pub fn module(number: u32, build_id_bytes: usize) -> [u8; MODULE_BYTES] {
    let mut out = [0; MODULE_BYTES];
    out[..4].copy_from_slice(&number.to_le_bytes());
    out[4..].copy_from_slice(&(build_id_bytes as u32).to_le_bytes());
    out
}

/// Size of the part of a function record's payload before the name, in bytes.
pub const FUNCTION_BYTES: usize = 8;

/// Encodes the part of a function record's payload before the name; the caller appends the name. `module`: index of the script plus one.
#[must_use]
pub fn function(number: u32, module: u32) -> [u8; FUNCTION_BYTES] {
    let mut out = [0; FUNCTION_BYTES];
    out[..4].copy_from_slice(&number.to_le_bytes());
    out[4..].copy_from_slice(&module.to_le_bytes());
    out
}

/// Encodes the payload of a frame record.
#[must_use]
pub fn frame(number: u32, frame: FrameDef) -> [u8; 24] {
    let mut out = [0; 24];
    out[..4].copy_from_slice(&number.to_le_bytes());
    out[4..8].copy_from_slice(&frame.caller.to_le_bytes());
    out[8..12].copy_from_slice(&frame.module.to_le_bytes());
    out[16..].copy_from_slice(&frame.address.to_le_bytes());
    out
}

/// Encodes the payload of a record of a stream's call site.
#[must_use]
pub fn stream_site(site: StreamSite) -> [u8; 8] {
    let mut out = [0; 8];
    out[..4].copy_from_slice(&site.stream.to_le_bytes());
    out[4..].copy_from_slice(&site.frame.to_le_bytes());
    out
}

/// Encodes the payload of a record of a thread's use of the processors.
#[must_use]
pub fn cpu_sample(sample: &ThreadSample) -> [u8; 48] {
    let ThreadSample { tid, knows_waits, ticks, sums } = sample;
    let mut out = [0; 48];
    out[..4].copy_from_slice(&tid.to_le_bytes());
    out[4..8].copy_from_slice(&u32::from(*knows_waits).to_le_bytes());
    let values = [*ticks, sums.run_ns, sums.wait_ns, sums.voluntary, sums.involuntary];
    for (place, value) in out[8..].chunks_exact_mut(8).zip(values) {
        place.copy_from_slice(&value.to_le_bytes());
    }
    out
}

#[cfg(all(feature = "read", feature = "write"))]
pub(super) mod read;

#[cfg(all(test, feature = "read", feature = "write"))]
mod tests {
    use super::*;
    use crate::meta::{FunctionDef, ModuleDef};

    fn put(journal: &mut Vec<u8>, kind: u32, payload: &[u8]) {
        journal.extend_from_slice(&record_header(kind, payload));
        journal.extend_from_slice(payload);
        journal.resize(journal.len().next_multiple_of(8), 0);
    }

    #[test]
    fn a_record_that_was_never_finished_hides_no_other() {
        let mut journal = Vec::new();
        put(&mut journal, kind::NOTES, b"one");
        let hole = journal.len();
        put(&mut journal, kind::FILE, &[7; 50]);
        put(&mut journal, kind::THREAD, &thread(ThreadDef { index: 3, tid: 4 }, true));
        assert_eq!(read::records(&journal).count(), 3);
        for damage in hole..hole + RECORD_BYTES {
            let mut cut = journal.clone();
            cut[damage..hole + record_bytes(50)].fill(0);
            let kept: Vec<_> = read::records(&cut).collect();
            assert_eq!(kept.len(), 2, "{damage}");
            assert_eq!((kept[0], read::thread(kept[1].1).0.tid), ((kind::NOTES, b"one".as_slice()), 4));
            assert!(read::thread(kept[1].1).1);
        }
    }

    /// Checks that the number of bytes read for failing checksums is bounded by a multiple of the journal's length, and that records before
    /// them are read.
    #[test]
    fn records_that_are_none_take_time_in_proportion_to_the_journal() {
        let mut journal = Vec::new();
        put(&mut journal, kind::NOTES, b"one");
        let claims = 1 << 14;
        for _ in 0..claims {
            let mut header = record_header(kind::FILE, b"");
            header[4..8].copy_from_slice(&(1_u32 << 17).to_le_bytes());
            header[12] = 7;
            journal.extend_from_slice(&header);
        }
        journal.resize(journal.len() + (1 << 17), 0);
        let mut records = read::records(&journal);
        let room = records.room;
        assert!(room <= (journal.len() * 16).max(MOST_PAYLOAD) && room < claims << 16);
        assert_eq!(records.by_ref().collect::<Vec<_>>(), [(kind::NOTES, b"one".as_slice())]);
        assert!(records.room < 1 << 17);
    }

    #[test]
    fn definitions_come_back() {
        let def =
            FileDef { hash: 1, path: Some(b"/a".to_vec()), device: 2, inode: 3, block_size: 4, ..FileDef::default() };
        let mut payload = file(9, &def).to_vec();
        payload.extend_from_slice(b"/a");
        assert_eq!(read::file(&payload), (9, def));
        let def = StreamDef { id: 1, file: 2, op: 3, flags: 4, errno: 5 };
        assert_eq!(read::stream(&stream(&def)), def);
        let def = CommunicatorDef { number: 1, size: 2, rank: -3, first: -1, members: 1 << 40, remote_size: 4 };
        assert_eq!(read::communicator(&communicator(&def)), def);
        let mut payload = data_set(7, 2).to_vec();
        payload.extend_from_slice(b"/x");
        assert_eq!(read::data_set(&payload), (7, DataSet { file: 2, path: b"/x".to_vec() }));
        for selection in [None, Some(Selection::None), Some(Selection::Points)] {
            let def = DataSetStream { stream: 3, data_set: 7, selection };
            assert_eq!(read::data_set_stream(&data_set_stream(def)), def);
        }
        let def = Shape { data_set: 7, dimensions: 2, elements: 1 << 40, since: 1 << 50 };
        assert_eq!(read::shape(&shape(def)), def);
        let def = ModuleDef { path: b"/lib/a.so".to_vec(), build_id: vec![1, 2, 3] };
        let payload = [module(4, 3).as_slice(), &def.build_id, &def.path].concat();
        assert_eq!(read::module(&payload), (4, def));
        let def = FunctionDef { module: 3, name: b"save".to_vec() };
        assert_eq!(read::function(&[function(4, 3).as_slice(), b"save"].concat()), (4, def));
        let def = FrameDef { caller: 1, module: 2, address: 1 << 40 };
        assert_eq!(read::frame(&frame(5, def)), (5, def));
        let def = StreamSite { stream: 6, frame: 7 };
        assert_eq!(read::stream_site(&stream_site(def)), def);
        let sums = CpuSample { time_ns: 0, run_ns: 1 << 40, wait_ns: 3, voluntary: 4, involuntary: 5 };
        let def = ThreadSample { tid: 1, knows_waits: true, ticks: 2, sums };
        assert_eq!(read::cpu_sample(&cpu_sample(&def)), def);
    }
}
