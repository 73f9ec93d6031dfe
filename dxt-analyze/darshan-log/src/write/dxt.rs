//! DXT records: a head that says how many segments follow, then the segments, in pieces of any size.

use super::error::{Result, check, expect};
use super::region::RegionWriter;
use crate::dxt::{DxtRecord, HEAD_BYTES, Segment};
use crate::module::Module;
use rustc_hash::FxHashSet;
use std::io::Write;

/// libdarshan keeps the size of a record's segments in a C int.
const RECORD_BYTES: u64 = i32::MAX as u64;
/// Bytes of a host name, with its NUL.
const HOST_BYTES: usize = 64;

/// How DXT segments are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DxtVersion {
    /// DXT_POSIX 1, DXT_MPIIO 2: without threads; every release reads it.
    Plain,
    /// DXT_POSIX 2, DXT_MPIIO 3: with thread ids, as Darshan's main branch after 3.5.0 writes and reads it.
    WithThreads,
}

/// Writes the DXT records of one API. Nothing is held but a small buffer.
pub struct DxtWriter<'w, W> {
    pub(super) region: RegionWriter<'w, W>,
    pub(super) module: Module,
    pub(super) ids: &'w FxHashSet<u64>,
    with_threads: bool,
    missing: u64,
}

impl<'w, W: Write> DxtWriter<'w, W> {
    pub(super) fn new(
        region: RegionWriter<'w, W>,
        module: Module,
        ids: &'w FxHashSet<u64>,
        with_threads: bool,
    ) -> Self {
        Self { region, module, ids, with_threads, missing: 0 }
    }

    /// Begins a record. Its host name is cut to 63 bytes.
    ///
    /// # Errors
    /// [`super::Error::NoName`]; [`super::Error::TooLong`] for 2 GiB of segments, which are 67,108,863 without threads;
    /// [`super::Error::Shape`] if the record before lacks segments; [`super::Error::Io`].
    pub fn record(&mut self, record: &DxtRecord) -> Result<()> {
        self.complete()?;
        super::named(self.ids, self.module, record.id)?;
        let segments = record.write_count.saturating_add(record.read_count);
        let bytes = if self.with_threads { 40 } else { 32 };
        check("the segments of a DXT record", segments.saturating_mul(bytes), RECORD_BYTES)?;
        self.missing = segments;
        let mut head = [0; HEAD_BYTES];
        head[..8].copy_from_slice(&record.id.to_le_bytes());
        head[8..16].copy_from_slice(&record.rank.to_le_bytes());
        let host = record.hostname.as_bytes();
        let host = &host[..host.len().min(HOST_BYTES - 1)];
        head[24..24 + host.len()].copy_from_slice(host);
        head[88..96].copy_from_slice(&record.write_count.to_le_bytes());
        head[96..].copy_from_slice(&record.read_count.to_le_bytes());
        self.region.put(&head)
    }

    /// Adds segments to the record: first all writes, then all reads, each in the order in which they began. Threads are left
    /// out, or 0 where a segment has none, as [`super::DxtVersion`] says.
    ///
    /// # Errors
    /// [`super::Error::Shape`] if the record has no room for them, [`super::Error::Io`].
    pub fn segments(&mut self, segments: &[Segment]) -> Result<()> {
        let count = segments.len() as u64;
        if count > self.missing {
            expect(self.module, "segments left to write", self.missing, count)?;
        }
        self.missing -= count;
        // In pieces, so that the buffer stays small whatever is given.
        for piece in segments.chunks(1024) {
            self.region.put_with(|bytes| {
                for segment in piece {
                    bytes.extend_from_slice(&segment.offset.to_le_bytes());
                    bytes.extend_from_slice(&segment.length.to_le_bytes());
                    bytes.extend_from_slice(&segment.start.to_le_bytes());
                    bytes.extend_from_slice(&segment.end.to_le_bytes());
                    if self.with_threads {
                        bytes.extend_from_slice(&segment.thread.unwrap_or(0).to_le_bytes());
                    }
                }
            })?;
        }
        Ok(())
    }

    /// Fails if the last record lacks segments.
    pub(super) fn complete(&self) -> Result<()> {
        expect(self.module, "segments fewer than its head says", 0, self.missing)
    }
}
