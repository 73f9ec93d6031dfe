//! Reads the records of a journal.

use super::{
    DATA_SET_BYTES, DataSet, DataSetStream, FILE_BYTES, FUNCTION_BYTES, LAYOUT_BYTES, MODULE_BYTES, MOST_PAYLOAD,
    RECORD_BYTES, RECORD_MAGIC, Shape, ThreadSample, record_bytes,
};
use crate::frame::crc;
use crate::meta::{
    CommunicatorDef, CpuSample, FileDef, FrameDef, FunctionDef, LayoutDef, ModuleDef, Selection, StreamDef, StreamSite,
    ThreadDef,
};
use crate::spool::parts::{u16_at, u32_at, u64_at};

/// Maximum number of bytes read for failing checksums, as a multiple of the journal's length. A killed process leaves at most one
/// unfinished record per thread; with more of them, the journal was made to keep the reader busy, and reading stops.
const IN_VAIN: usize = 16;

/// Returns an iterator over the complete records of a journal as (record type, payload).
pub(in crate::spool) fn records(journal: &[u8]) -> Records<'_> {
    let room = journal.len().saturating_mul(IN_VAIN).max(MOST_PAYLOAD);
    Records { rest: journal, room }
}

pub(in crate::spool) struct Records<'a> {
    rest: &'a [u8],
    /// Number of bytes that may still be read for failing checksums before reading stops.
    pub(super) room: usize,
}

impl Records<'_> {
    pub(in crate::spool) fn left(&self) -> usize {
        self.rest.len()
    }
}

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

/// Returns the payload of the record that seems to start at `at`; `None` if `at` does not start with a record header.
fn claimed(at: &[u8]) -> Option<&[u8]> {
    let length = u32_at(at, 4) as usize;
    // Kind 0 is rejected because no record has it: the checksum of an empty payload is 0, so that zeros after the magic would be valid.
    if u32_at(at, 0) != RECORD_MAGIC || u32_at(at, 8) == 0 || length > MOST_PAYLOAD {
        return None;
    }
    at.get(RECORD_BYTES..RECORD_BYTES + length)
}

/// Decodes a thread record; returns the thread, and true if the thread's segments must be folded into counters.
pub(in crate::spool) fn thread(payload: &[u8]) -> (ThreadDef, bool) {
    (ThreadDef { index: u32_at(payload, 0), tid: u32_at(payload, 4) }, u32_at(payload, 8) != 0)
}

/// Decodes a file record; returns the file's number and the file.
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

/// Decodes a data set record; returns the data set's number and the data set.
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

/// Decodes a module record; returns the module's number and the module.
pub(in crate::spool) fn module(payload: &[u8]) -> (u32, ModuleDef) {
    let rest = payload.get(MODULE_BYTES..).unwrap_or_default();
    let (build_id, path) = rest.split_at_checked(u32_at(payload, 4) as usize).unwrap_or((&[], rest));
    (u32_at(payload, 0), ModuleDef { path: path.to_vec(), build_id: build_id.to_vec() })
}

/// Decodes a function record; returns the function's number and the function.
pub(in crate::spool) fn function(payload: &[u8]) -> (u32, FunctionDef) {
    let name = payload.get(FUNCTION_BYTES..).unwrap_or_default().to_vec();
    (u32_at(payload, 0), FunctionDef { module: u32_at(payload, 4), name })
}

/// Decodes a frame record; returns the frame's number and the frame.
pub(in crate::spool) fn frame(payload: &[u8]) -> (u32, FrameDef) {
    let (caller, module, address) = (u32_at(payload, 4), u32_at(payload, 8), u64_at(payload, 16));
    (u32_at(payload, 0), FrameDef { caller, module, address })
}

pub(in crate::spool) fn stream_site(payload: &[u8]) -> StreamSite {
    StreamSite { stream: u32_at(payload, 0), frame: u32_at(payload, 4) }
}

pub(in crate::spool) fn cpu_sample(payload: &[u8]) -> ThreadSample {
    let sums = CpuSample {
        time_ns: 0,
        run_ns: u64_at(payload, 16),
        wait_ns: u64_at(payload, 24),
        voluntary: u64_at(payload, 32),
        involuntary: u64_at(payload, 40),
    };
    let (tid, ticks) = (u32_at(payload, 0), u64_at(payload, 8));
    ThreadSample { tid, knows_waits: u32_at(payload, 4) != 0, ticks, sums }
}

pub(in crate::spool) fn layout(payload: &[u8]) -> LayoutDef {
    LayoutDef {
        file: u32_at(payload, 0),
        moment: u32_at(payload, 4).into(),
        source: u32_at(payload, 8).into(),
        bytes: payload.get(LAYOUT_BYTES..).unwrap_or_default().to_vec(),
    }
}
