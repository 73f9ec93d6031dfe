//! Trace file with its job block, process regions and problems. Regions are located by the index at the end of the file or, if the index is
//! missing or damaged, by iterating over all frames.

use super::decoder::Decoder;
use super::frames::{BlockRef, Frames, Step};
use super::room::{Meter, Room};
use super::source::{Source, fill};
use crate::error::{Error, Result};
use crate::frame::{
    FILE_HEADER_BYTES, FileHeader, FlushTimes, INDEX_ENTRY_BYTES, IndexEntry, TRAILER_BYTES, Trailer, kind,
};
use crate::limits;
use crate::meta::{Job, Process};
use std::sync::Arc;

/// Part of a trace file that could not be read.
#[derive(Debug)]
pub struct Problem {
    /// Offset of the unreadable part in the file, in bytes.
    pub offset: u64,
    /// Reason why this part could not be read.
    pub error: Error,
}

/// Location of a process region (the data of one process) in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegionRef {
    /// Number of the process region, as stored in each of its frames.
    pub number: u32,
    /// File offset of the process region, in bytes.
    pub offset: u64,
    /// Length of the process region, in bytes.
    pub length: u64,
    /// Entry of the process's region (its part of the file) in the file's index; `None` if the index could not be read.
    pub entry: Option<IndexEntry>,
}

/// Contents of a process region: metadata, and the locations of its segment blocks.
#[derive(Debug, Default)]
pub struct Region {
    /// Process block (metadata); `None` if damaged or missing.
    pub process: Option<Process>,
    /// Time that the process took to write the region, by stage; `None` if the region has no flush frame.
    pub flush: Option<FlushTimes>,
    /// Segment blocks found in the process region, not yet decoded.
    pub blocks: Vec<BlockRef>,
    /// Number of segments in the process region according to the file's index; `None` if unknown.
    pub expected_segments: Option<u64>,
    /// Parts of the process region that could not be read.
    pub problems: Vec<Problem>,
}

/// Memory charged for each segment block found, in bytes: twice the element size, because lists grow by doubling.
const BLOCK_REF_BYTES: u64 = 2 * size_of::<BlockRef>() as u64;
/// Memory charged for each process region found, in bytes: twice the element size, because lists grow by doubling.
const REGION_REF_BYTES: u64 = 2 * size_of::<RegionRef>() as u64;

/// Maximum decompressed size of a job block whose memory does not count against the shared limit, in bytes.
const SMALL_JOB: u32 = 64 << 10;
/// Maximum memory for the tables of a job block of at most [`SMALL_JOB`] bytes, in bytes.
const SMALL_JOB_BYTES: u64 = 4 << 20;

/// Trace file that was opened for reading.
#[derive(Debug)]
pub struct Trace<S> {
    source: S,
    size: u64,
    room: Arc<Room>,
    /// Job block; empty if damaged or missing.
    pub job: Job,
    /// Process regions, in the order of the file.
    pub regions: Vec<RegionRef>,
    /// Parts of header, job block and index that could not be read.
    pub problems: Vec<Problem>,
    /// True if the file is complete, with a valid trailer and index.
    pub complete: bool,
    /// Number of process regions according to the file header; `None` if the header is damaged or was written before the number was known.
    pub expected_regions: Option<u32>,
}

impl<S: Source> Trace<S> {
    /// Opens a trace. Damage after the file header is not an error but reported in [`Self::problems`].
    ///
    /// # Errors
    /// Returns [`Error::NotATrace`], [`Error::Version`] or [`Error::Io`], and [`Error::Truncated`] if the file header is incomplete.
    pub fn open(source: S) -> Result<Self> {
        Self::open_within(source, Arc::default())
    }

    /// Opens a trace like [`Self::open`], charging the memory of its tables to `room`, which other traces may share.
    ///
    /// # Errors
    /// Returns the errors of [`Self::open`]. Too little memory in `room` is not an error but reported in [`Self::problems`].
    pub fn open_within(source: S, room: Arc<Room>) -> Result<Self> {
        let size = source.size().map_err(|source| Error::Io { offset: 0, length: 0, source })?;
        let mut bytes = [0; FILE_HEADER_BYTES];
        let there = FILE_HEADER_BYTES.min(usize::try_from(size).unwrap_or(FILE_HEADER_BYTES));
        fill(&source, 0, &mut bytes[..there])?;
        let mut problems = Vec::new();
        let expected_regions = match FileHeader::decode(&bytes[..there]) {
            Ok(header) => Some(header.regions).filter(|&regions| regions > 0),
            Err(error @ Error::Checksum { .. }) => {
                problems.push(Problem { offset: 0, error });
                None
            }
            Err(error) => return Err(error),
        };
        let (job, regions, complete) = (Job::default(), Vec::new(), false);
        let mut trace = Self { source, size, room, job, regions, problems, complete, expected_regions };
        let body_end = match trace.read_index() {
            Ok(end) => {
                trace.complete = true;
                end
            }
            Err(error) => {
                trace.problems.push(Problem { offset: size.saturating_sub(TRAILER_BYTES as u64), error });
                trace.regions = trace.find_regions();
                size
            }
        };
        trace.read_job(body_end);
        Ok(trace)
    }

    /// Returns the source of bytes that the trace is read from.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// Reads the trailer and the index; returns the file offset of the index.
    fn read_index(&mut self) -> Result<u64> {
        let at = self.size.saturating_sub(TRAILER_BYTES as u64);
        let mut bytes = [0; TRAILER_BYTES];
        let there = TRAILER_BYTES.min(usize::try_from(self.size).unwrap_or(TRAILER_BYTES));
        fill(&self.source, at, &mut bytes[..there])?;
        let trailer = Trailer::decode(&bytes[..there], at)?;
        limits::check("region count", u64::from(trailer.regions), u64::from(limits::REGIONS), at)?;
        let length = u64::from(trailer.regions) * INDEX_ENTRY_BYTES as u64;
        let needed = trailer.index_offset.saturating_add(length).saturating_add(TRAILER_BYTES as u64);
        if needed != self.size {
            let why = format!("it describes a file of {needed} bytes, but this file has {}", self.size);
            return Err(Error::Malformed { what: "the trailer", offset: at, why });
        }
        // Each index entry takes at most about three times its size on disk in memory.
        self.room.keep("the index", 3 * length, at)?;
        let mut index = vec![0; length as usize];
        fill(&self.source, trailer.index_offset, &mut index)?;
        let mut regions = Vec::with_capacity(trailer.regions as usize);
        for (number, bytes) in index.chunks_exact(INDEX_ENTRY_BYTES).enumerate() {
            let offset = trailer.index_offset + (number * INDEX_ENTRY_BYTES) as u64;
            let entry = IndexEntry::decode(bytes, offset)?;
            if entry.offset.saturating_add(entry.length) > trailer.index_offset {
                let why = format!("its region ends after the start of the index at {}", trailer.index_offset);
                return Err(Error::Malformed { what: "an index entry", offset, why });
            }
            regions.push(RegionRef {
                number: number as u32,
                offset: entry.offset,
                length: entry.length,
                entry: Some(entry),
            });
        }
        self.regions = regions;
        Ok(trailer.index_offset)
    }

    /// Finds the process regions without the index: a region is a sequence of frames with the same region number.
    fn find_regions(&self) -> Vec<RegionRef> {
        let mut regions: Vec<RegionRef> = Vec::new();
        for step in Frames::new(&self.source, FILE_HEADER_BYTES as u64, self.size) {
            let (offset, frame) = match step {
                Step::Block(block) => (block.offset, block.frame),
                Step::Other(offset, frame) if matches!(frame.kind, kind::PROCESS | kind::FLUSH) => (offset, frame),
                Step::Other(..) | Step::Lost(..) => continue,
            };
            let end = offset + frame.frame_bytes();
            match regions.last_mut() {
                Some(last) if last.number == frame.region => last.length = end - last.offset,
                _ if self.room.keep("the list of regions", REGION_REF_BYTES, offset).is_err() => break,
                _ => regions.push(RegionRef { number: frame.region, offset, length: end - offset, entry: None }),
            }
        }
        regions
    }

    /// Reads the job frame, the first frame of its type, which precedes all frames of processes.
    fn read_job(&mut self, end: u64) {
        let mut missing = (end, missing_job(end, "the file ends before it"));
        for step in Frames::new(&self.source, FILE_HEADER_BYTES as u64, end) {
            match step {
                Step::Other(offset, frame) if frame.kind == kind::JOB => {
                    let mut decoder = Decoder::default();
                    let decode = |raw: &[u8], meter: &Meter<'_>| Job::decode_within(raw, offset, meter);
                    // Small job blocks do not count against the shared memory limit, because a job may have thousands of trace files.
                    let own = Room::new(SMALL_JOB_BYTES);
                    let room = if frame.raw <= SMALL_JOB { &own } else { self.room.as_ref() };
                    match decoder.metadata(&self.source, offset, &frame, room, decode) {
                        Ok(job) => self.job = job,
                        Err(error) => self.problems.push(Problem { offset, error }),
                    }
                    return;
                }
                Step::Other(offset, frame) if frame.kind == kind::PROCESS => {
                    missing = (offset, missing_job(offset, "another frame is in its place"));
                    break;
                }
                Step::Block(BlockRef { offset, .. }) => {
                    missing = (offset, missing_job(offset, "another frame is in its place"));
                    break;
                }
                Step::Other(..) => {}
                Step::Lost(offset, error) if self.problems.len() < limits::PROBLEMS => {
                    self.problems.push(Problem { offset, error });
                }
                Step::Lost(..) => {}
            }
        }
        let (offset, error) = missing;
        self.problems.push(Problem { offset, error });
    }

    /// Reads the metadata of a process region and locates its segment blocks.
    #[must_use]
    pub fn region(&self, region: &RegionRef) -> Region {
        self.region_by(region, &mut Decoder::default())
    }

    /// Reads a process region like [`Self::region`], with a decoder that can be reused for many regions.
    #[must_use]
    pub fn region_by(&self, region: &RegionRef, decoder: &mut Decoder) -> Region {
        let mut out = Region { expected_segments: region.entry.map(|entry| entry.segments), ..Region::default() };
        for step in Frames::new(&self.source, region.offset, region.offset + region.length) {
            match step {
                Step::Block(block) => match self.room.keep("the list of blocks", BLOCK_REF_BYTES, block.offset) {
                    Ok(()) => out.blocks.push(block),
                    Err(error) => {
                        out.problems.push(Problem { offset: block.offset, error });
                        break;
                    }
                },
                Step::Other(offset, frame) if frame.kind == kind::PROCESS && out.process.is_none() => {
                    let decode = |raw: &[u8], meter: &Meter<'_>| Process::decode_within(raw, offset, meter);
                    match decoder.metadata(&self.source, offset, &frame, &self.room, decode) {
                        Ok(process) => {
                            out.expected_segments = Some(process.info.segments);
                            out.process = Some(process);
                        }
                        Err(error) => out.problems.push(Problem { offset, error }),
                    }
                }
                Step::Other(offset, frame) if frame.kind == kind::FLUSH && out.flush.is_none() => {
                    let decode = |raw: &[u8], _: &Meter<'_>| Ok(FlushTimes::decode(raw));
                    match decoder.metadata(&self.source, offset, &frame, &self.room, decode) {
                        Ok(times) => out.flush = Some(times),
                        Err(error) => out.problems.push(Problem { offset, error }),
                    }
                }
                Step::Other(..) => {}
                Step::Lost(offset, error) if out.problems.len() < limits::PROBLEMS => {
                    out.problems.push(Problem { offset, error });
                }
                Step::Lost(..) => {}
            }
        }
        out
    }
}

fn missing_job(offset: u64, why: &str) -> Error {
    Error::Malformed { what: "the job block", offset, why: why.into() }
}
