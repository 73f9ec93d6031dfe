//! Helpers shared by the test programs: whole files from processes and segments, and a reader that returns all readable data.

use trace_format::columns::TickScale;
use trace_format::meta::{Job, Process};
use trace_format::read::{Columns, Decoder, Trace};
use trace_format::write::{Encoder, Region, ThreadSegments};
use trace_format::{Segment, StreamId};

/// Process block, and the segments of each thread in the order of thread indices.
#[derive(Clone, Debug)]
pub(crate) struct Rank {
    pub(crate) process: Process,
    pub(crate) threads: Vec<Vec<Segment>>,
}

pub(crate) fn regions(encoder: &mut Encoder, ranks: &mut [Rank]) -> Vec<Region> {
    let mut out = Vec::new();
    for (number, rank) in ranks.iter_mut().enumerate() {
        let threads: Vec<ThreadSegments<'_>> = (0..)
            .zip(&rank.threads)
            .map(|(thread, segments)| ThreadSegments { thread, pieces: segments.chunks(90).map(Into::into).collect() })
            .collect();
        let region = encoder.region(number as u32, &mut rank.process, &threads, &TickScale::IDENTITY);
        out.push(region.expect("memory is there"));
    }
    out
}

/// Encodes a trace file from `job` and `ranks`, and sets the counts of segments in the process blocks.
pub(crate) fn file(job: &Job, ranks: &mut [Rank]) -> Vec<u8> {
    let mut encoder = Encoder::new().expect("memory is there");
    let regions = regions(&mut encoder, ranks);
    trace_format::write::file(&mut encoder, job, regions).expect("memory is there")
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    /// File offsets of the start and the end of the segment frame.
    pub(crate) at: (u64, u64),
    pub(crate) thread: u32,
    pub(crate) segments: Vec<Segment>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SeenRegion {
    pub(crate) number: u32,
    pub(crate) process: Option<Process>,
    pub(crate) blocks: Vec<Block>,
    /// Number of segments that could not be read; `None` if the expected number is unknown.
    pub(crate) lost: Option<i64>,
}

/// All data that could be read from a trace, with the number of problems.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Seen {
    pub(crate) job: Job,
    pub(crate) complete: bool,
    pub(crate) expected_regions: Option<u32>,
    pub(crate) regions: Vec<SeenRegion>,
    pub(crate) problems: usize,
}

pub(crate) fn read(bytes: &[u8]) -> trace_format::Result<Seen> {
    let trace = Trace::open(bytes)?;
    let mut seen = Seen {
        job: trace.job.clone(),
        complete: trace.complete,
        expected_regions: trace.expected_regions,
        regions: Vec::new(),
        problems: trace.problems.len(),
    };
    let mut decoder = Decoder::default();
    for region_ref in &trace.regions {
        let region = trace.region(region_ref);
        seen.problems += region.problems.len();
        let mut out = SeenRegion { number: region_ref.number, process: region.process, ..SeenRegion::default() };
        for block in &region.blocks {
            match decoder.block(trace.source(), block) {
                Ok(columns) => out.blocks.push(Block {
                    at: (block.offset, block.offset + block.frame.frame_bytes()),
                    thread: block.head.thread,
                    segments: rows(columns),
                }),
                Err(_) => seen.problems += 1,
            }
        }
        let there: usize = out.blocks.iter().map(|block| block.segments.len()).sum();
        out.lost = region.expected_segments.map(|expected| expected as i64 - there as i64);
        seen.regions.push(out);
    }
    Ok(seen)
}

fn rows(columns: &Columns) -> Vec<Segment> {
    (0..columns.len())
        .map(|i| {
            let stream = StreamId(columns.stream[i]);
            Segment::new(stream, columns.offset[i], columns.length[i], columns.start[i], columns.end[i])
        })
        .collect()
}
