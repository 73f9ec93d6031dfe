//! The journal: what ids mean, in the order in which they were given. A record is a header of 16 bytes and a payload,
//! padded to eight bytes. Several threads write records side by side, and any of them may be killed at any moment: a
//! reader that meets something else than a whole record goes on eight bytes further.

use crate::frame::crc;
use crate::meta::{CommunicatorDef, FileDef, LayoutDef, Selection, StreamDef, ThreadDef};

/// First four bytes of a record; stored last.
pub const RECORD_MAGIC: u32 = u32::from_le_bytes(*b"dxtJ");
/// Bytes of a record's header: magic, length of the payload, kind, CRC-32 of the payload.
pub const RECORD_BYTES: usize = 16;
/// Longest payload, in bytes.
pub const MOST_PAYLOAD: usize = 1 << 24;

/// What a record is.
pub mod kind {
    /// The job block, as in a trace file; the last one counts.
    pub const JOB: u32 = 1;
    /// A process block with its description only; the last one counts.
    pub const PROCESS: u32 = 2;
    /// A thread; the last one of its index counts.
    pub const THREAD: u32 = 3;
    /// A file; the last one of its number counts.
    pub const FILE: u32 = 4;
    /// A stream.
    pub const STREAM: u32 = 5;
    /// A layout.
    pub const LAYOUT: u32 = 6;
    /// The texts of the notes, one line each.
    pub const NOTES: u32 = 7;
    /// A communicator.
    pub const COMMUNICATOR: u32 = 8;
    /// A data set; the last one of its number counts.
    pub const DATA_SET: u32 = 9;
    /// A stream that is about a data set.
    pub const DATA_SET_STREAM: u32 = 10;
    /// What a data set was when it was opened or made, from that moment to its next one.
    pub const SHAPE: u32 = 11;
}

/// A data set, as the journal has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DataSet {
    /// The file that holds it: its number in the journal.
    pub file: u32,
    /// Its path inside the file; empty if it has none, or it is not known.
    pub path: Vec<u8>,
}

/// A stream that is about a data set, and what each of its transfers selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataSetStream {
    /// Stream id.
    pub stream: u32,
    /// Number of the data set.
    pub data_set: u32,
    /// What is selected; `None` for operations that move no data.
    pub selection: Option<Selection>,
}

/// The size of a data set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// Number of the data set.
    pub data_set: u32,
    /// Dimensions; 0 for a scalar.
    pub dimensions: u32,
    /// Elements.
    pub elements: u64,
    /// When the call that opened or made it returned, in ticks; 0 if that was not seen.
    pub since: u64,
}

/// Size of a record with this payload, with its header and padding.
#[must_use]
pub const fn record_bytes(payload: usize) -> usize {
    RECORD_BYTES + payload.next_multiple_of(8)
}

/// The header of a record.
#[must_use]
pub fn record_header(kind: u32, payload: &[u8]) -> [u8; RECORD_BYTES] {
    let mut out = [0; RECORD_BYTES];
    out[..4].copy_from_slice(&RECORD_MAGIC.to_le_bytes());
    out[4..8].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    out[8..12].copy_from_slice(&kind.to_le_bytes());
    out[12..].copy_from_slice(&crc(payload).to_le_bytes());
    out
}

/// Payload of a thread; `counted`: its segments only wait to be folded, and are to be by whoever finds them.
#[must_use]
pub fn thread(thread: ThreadDef, counted: bool) -> [u8; 12] {
    let mut out = [0; 12];
    out[..4].copy_from_slice(&thread.index.to_le_bytes());
    out[4..8].copy_from_slice(&thread.tid.to_le_bytes());
    out[8..].copy_from_slice(&u32::from(counted).to_le_bytes());
    out
}

/// Bytes of a file's payload before its path.
pub const FILE_BYTES: usize = 40;

/// Payload of a file up to its path, which follows.
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

/// Payload of a stream; its file is a journal number.
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

/// Bytes of a layout's payload before the layout.
pub const LAYOUT_BYTES: usize = 16;

/// Payload of a layout up to its bytes, which follow; its file is a journal number.
#[must_use]
pub fn layout(layout: &LayoutDef) -> [u8; LAYOUT_BYTES] {
    let mut out = [0; LAYOUT_BYTES];
    out[..4].copy_from_slice(&layout.file.to_le_bytes());
    out[4..8].copy_from_slice(&u32::from(layout.moment).to_le_bytes());
    out[8..12].copy_from_slice(&u32::from(layout.source).to_le_bytes());
    out
}

/// Payload of a communicator.
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

/// Bytes of a data set's payload before its path.
pub const DATA_SET_BYTES: usize = 8;

/// Payload of a data set up to its path, which follows; its file is a journal number.
#[must_use]
pub fn data_set(number: u32, file: u32) -> [u8; DATA_SET_BYTES] {
    let mut out = [0; DATA_SET_BYTES];
    out[..4].copy_from_slice(&number.to_le_bytes());
    out[4..].copy_from_slice(&file.to_le_bytes());
    out
}

/// Payload of a stream that is about a data set.
#[must_use]
pub fn data_set_stream(stream: DataSetStream) -> [u8; 12] {
    let mut out = [0; 12];
    out[..4].copy_from_slice(&stream.stream.to_le_bytes());
    out[4..8].copy_from_slice(&stream.data_set.to_le_bytes());
    let selection = stream.selection.map_or(NO_SELECTION, |selection| selection as u32);
    out[8..].copy_from_slice(&selection.to_le_bytes());
    out
}

/// Stands for the selection of operations that move no data.
const NO_SELECTION: u32 = u32::MAX;

/// Payload of a data set's size.
#[must_use]
pub fn shape(shape: Shape) -> [u8; 24] {
    let mut out = [0; 24];
    out[..4].copy_from_slice(&shape.data_set.to_le_bytes());
    out[4..8].copy_from_slice(&shape.dimensions.to_le_bytes());
    out[8..16].copy_from_slice(&shape.elements.to_le_bytes());
    out[16..].copy_from_slice(&shape.since.to_le_bytes());
    out
}

#[cfg(all(feature = "read", feature = "write"))]
pub(super) mod read {
    //! The way back.
    use super::{
        DATA_SET_BYTES, DataSet, DataSetStream, FILE_BYTES, LAYOUT_BYTES, MOST_PAYLOAD, RECORD_BYTES, RECORD_MAGIC,
        Shape, record_bytes,
    };
    use crate::frame::crc;
    use crate::meta::{CommunicatorDef, FileDef, LayoutDef, Selection, StreamDef, ThreadDef};
    use crate::spool::parts::{u16_at, u32_at, u64_at};

    /// Times the length of a journal that is checksummed for records that are none. A process that is killed leaves one for each of
    /// its threads at most; where there are more, somebody made them, and reading ends before it takes much longer than the journal.
    const IN_VAIN: usize = 16;

    /// The whole records of a journal: (kind, payload).
    pub(in crate::spool) fn records(journal: &[u8]) -> Records<'_> {
        let room = journal.len().saturating_mul(IN_VAIN).max(MOST_PAYLOAD);
        Records { rest: journal, room }
    }

    /// See [`records`].
    pub(in crate::spool) struct Records<'a> {
        rest: &'a [u8],
        /// Bytes that may still be checksummed in vain.
        pub(super) room: usize,
    }

    impl Records<'_> {
        /// Bytes behind the latest record.
        pub(in crate::spool) fn left(&self) -> usize {
            self.rest.len()
        }
    }

    /// Bytes that a record of this payload takes.
    pub(in crate::spool) fn length(payload: &[u8]) -> usize {
        record_bytes(payload.len())
    }

    impl<'a> Iterator for Records<'a> {
        type Item = (u32, &'a [u8]);

        fn next(&mut self) -> Option<Self::Item> {
            while self.rest.len() >= RECORD_BYTES {
                if let Some(payload) = claimed(self.rest) {
                    if crc(payload) == u32_at(self.rest, 12) {
                        let kind = u32_at(self.rest, 8);
                        self.rest = self.rest.get(record_bytes(payload.len())..).unwrap_or_default();
                        return Some((kind, payload));
                    }
                    self.room = self.room.checked_sub(payload.len())?;
                }
                self.rest = &self.rest[8..];
            }
            None
        }
    }

    /// The payload of what begins like a record.
    fn claimed(at: &[u8]) -> Option<&[u8]> {
        let length = u32_at(at, 4) as usize;
        // An empty payload has a checksum of zero; no record is of kind 0.
        if u32_at(at, 0) != RECORD_MAGIC || u32_at(at, 8) == 0 || length > MOST_PAYLOAD {
            return None;
        }
        at.get(RECORD_BYTES..RECORD_BYTES + length)
    }

    /// The thread, and whether its segments are to be folded.
    pub(in crate::spool) fn thread(payload: &[u8]) -> (ThreadDef, bool) {
        (ThreadDef { index: u32_at(payload, 0), tid: u32_at(payload, 4) }, u32_at(payload, 8) != 0)
    }

    /// The file's number, and the file.
    pub(in crate::spool) fn file(payload: &[u8]) -> (u32, FileDef) {
        let file = FileDef {
            kind: u32_at(payload, 4).into(),
            hash: u64_at(payload, 8),
            device: u64_at(payload, 16),
            inode: u64_at(payload, 24),
            block_size: u32_at(payload, 32),
            path: Some(payload.get(FILE_BYTES..).unwrap_or_default().to_vec()),
        };
        (u32_at(payload, 0), file)
    }

    pub(in crate::spool) fn stream(payload: &[u8]) -> StreamDef {
        StreamDef {
            id: u32_at(payload, 0),
            file: u32_at(payload, 4),
            op: u16_at(payload, 8),
            errno: u16_at(payload, 10),
            flags: payload.get(12).copied().unwrap_or(0),
        }
    }

    pub(in crate::spool) fn communicator(payload: &[u8]) -> CommunicatorDef {
        CommunicatorDef {
            number: u32_at(payload, 0),
            size: u32_at(payload, 4),
            rank: u32_at(payload, 8).cast_signed(),
            first: u32_at(payload, 12).cast_signed(),
            members: u64_at(payload, 16),
            remote_size: u32_at(payload, 24),
        }
    }

    /// The data set's number, and the data set.
    pub(in crate::spool) fn data_set(payload: &[u8]) -> (u32, DataSet) {
        let path = payload.get(DATA_SET_BYTES..).unwrap_or_default().to_vec();
        (u32_at(payload, 0), DataSet { file: u32_at(payload, 4), path })
    }

    pub(in crate::spool) fn data_set_stream(payload: &[u8]) -> DataSetStream {
        let selection = Selection::ALL.get(u32_at(payload, 8) as usize).copied();
        DataSetStream { stream: u32_at(payload, 0), data_set: u32_at(payload, 4), selection }
    }

    pub(in crate::spool) fn shape(payload: &[u8]) -> Shape {
        Shape {
            data_set: u32_at(payload, 0),
            dimensions: u32_at(payload, 4),
            elements: u64_at(payload, 8),
            since: u64_at(payload, 16),
        }
    }

    pub(in crate::spool) fn layout(payload: &[u8]) -> LayoutDef {
        LayoutDef {
            file: u32_at(payload, 0),
            moment: u32_at(payload, 4).into(),
            source: u32_at(payload, 8).into(),
            bytes: payload.get(LAYOUT_BYTES..).unwrap_or_default().to_vec(),
        }
    }
}

#[cfg(all(test, feature = "read", feature = "write"))]
mod tests {
    use super::*;

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

    /// Whatever a journal claims, no more is checksummed than some times its length, and what stands before is read.
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
    }
}
