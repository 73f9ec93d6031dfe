//! Writer of DXT records: a head with the numbers of segments, then the segments, which the caller passes in pieces of any size.

use super::error::{Result, check, expect};
use super::region::RegionWriter;
use crate::dxt::{DxtRecord, HEAD_BYTES, Segment};
use crate::module::Module;
use rustc_hash::FxHashSet;
use std::io::Write;

/// Maximum total size of a record's segments, in bytes, because libdarshan stores that size in a C int.
const RECORD_BYTES: u64 = i32::MAX as u64;
/// Size of the host name field including the NUL, in bytes.
const HOST_BYTES: usize = 64;

/// Version of the DXT records that are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DxtVersion {
    /// Records without thread ids (DXT_POSIX 1, DXT_MPIIO 2), which every Darshan release reads.
    Plain,
    /// Records with thread ids (DXT_POSIX 2, DXT_MPIIO 3), which Darshan's main branch after 3.5.0 writes and reads.
    WithThreads,
}

/// Writer of the DXT records of one API; needs one small buffer.
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

    /// Begins the record of one file and rank. Host names are truncated to 63 bytes.
    ///
    /// # Errors
    /// Returns [`super::Error::NoName`] if the record's id has no name, [`super::Error::TooLong`] for 2 GiB of segments or more (without
    /// threads, 67,108,863 segments fit), [`super::Error::Shape`] if the previous record lacks segments, and [`super::Error::Io`] if
    /// writing fails.
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

    /// Adds segments to the record: first all writes, then all reads, each in the order in which the calls began.
    /// [`super::DxtVersion::Plain`] omits thread ids; [`super::DxtVersion::WithThreads`] writes 0 for segments without a thread id.
    ///
    /// # Errors
    /// Returns [`super::Error::Shape`] if the record gets more segments than announced, and [`super::Error::Io`] if writing fails.
    pub fn segments(&mut self, segments: &[Segment]) -> Result<()> {
        let count = segments.len() as u64;
        if count > self.missing {
            expect(self.module, "segments left to write", self.missing, count)?;
        }
        self.missing -= count;
        // Segments are split into pieces, so that the buffer stays small for any number of segments.
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
