//! Measures the time spent in each stage of writing a trace. Exactly one stage is active at any time, so that the times add up: entering a
//! stage ends the previous one. Only reads the clock and updates a few words.

use crate::clock;
use crate::say::say;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use trace_format::Segment;
use trace_format::frame::{FLUSH_FRAME_BYTES, FlushStage, FlushTimes, FrameHeader, kind};
use trace_format::write::{Encoder, Region};

const STAGES: usize = FlushStage::ALL.len();

/// Measurements of the current flush (writing of a trace). A process writes one trace at a time (`end_of_recording.rs`), on one thread.
struct Flush {
    stage: AtomicUsize,
    since: AtomicU64,
    ticks: [AtomicU64; STAGES],
    packed: AtomicU64,
    sizes: [AtomicU64; 4],
}

static FLUSH: Flush = Flush {
    stage: AtomicUsize::new(FlushStage::Other as usize),
    since: AtomicU64::new(0),
    ticks: [const { AtomicU64::new(0) }; STAGES],
    packed: AtomicU64::new(0),
    sizes: [const { AtomicU64::new(0) }; 4],
};

/// Begins a flush (writing of a trace): resets the times of all stages to zero.
pub(super) fn begin() {
    let words = FLUSH.ticks.iter().chain([&FLUSH.packed]).chain(&FLUSH.sizes);
    words.for_each(|word| word.store(0, Ordering::Relaxed));
    FLUSH.stage.store(FlushStage::Other as usize, Ordering::Relaxed);
    FLUSH.since.store(clock::now(), Ordering::Relaxed);
}

/// Runs `work` with its time counted for `stage`, then resumes the previous stage. If `work` is abandoned, `stage` stays active until the
/// enclosing stage ends.
pub(super) fn during<T>(stage: FlushStage, work: impl FnOnce() -> T) -> T {
    let before = enter(stage as usize);
    let result = work();
    enter(before);
    result
}

/// Ends the active stage and begins `stage`; returns the index of the stage that was active.
fn enter(stage: usize) -> usize {
    let now = clock::now();
    let before = FLUSH.stage.swap(stage, Ordering::Relaxed);
    let passed = now.saturating_sub(FLUSH.since.swap(now, Ordering::Relaxed));
    if let Some(ticks) = FLUSH.ticks.get(before) {
        ticks.fetch_add(passed, Ordering::Relaxed);
    }
    before
}

/// Runs `work` as stage [`FlushStage::Encode`]. The encoder's time for compression is counted as a separate stage.
pub(super) fn encoding<T>(work: impl FnOnce(&mut Encoder) -> trace_format::Result<T>) -> trace_format::Result<T> {
    during(FlushStage::Encode, || {
        let mut encoder = Encoder::new()?.timed_by(clock::now);
        let result = work(&mut encoder);
        enter(FlushStage::Encode as usize);
        let [_, encode, compress, ..] = &FLUSH.ticks;
        let ticks = encoder.compress_ticks().min(encode.load(Ordering::Relaxed));
        encode.fetch_sub(ticks, Ordering::Relaxed);
        compress.fetch_add(ticks, Ordering::Relaxed);
        result
    })
}

/// Resets the byte counts of the flush before the same records are encoded again. Times keep adding up.
pub(super) fn encode_again() {
    FLUSH.sizes.iter().for_each(|place| place.store(0, Ordering::Relaxed));
}

/// Stores the sizes of the encoded regions (parts of the file) and the number of segments packed before, and appends a frame with times and
/// sizes of this flush to the last region.
pub(super) fn describe(regions: &mut [Region], packed_segments: u64) {
    FLUSH.packed.store(packed_segments, Ordering::Relaxed);
    let [raw, columns, compressed, whole] = &FLUSH.sizes;
    for region in regions.iter() {
        let (column_bytes, compressed_bytes) = block_sizes(&region.bytes);
        raw.fetch_add(region.entry.segments * size_of::<Segment>() as u64, Ordering::Relaxed);
        columns.fetch_add(column_bytes, Ordering::Relaxed);
        compressed.fetch_add(compressed_bytes, Ordering::Relaxed);
        whole.fetch_add((region.bytes.len() + FLUSH_FRAME_BYTES) as u64, Ordering::Relaxed);
    }
    if let Some(last) = regions.last_mut() {
        last.add_flush(&times());
    }
}

/// Returns the total size of the segment blocks in a region (encoded data of one process) before and after compression, in bytes.
fn block_sizes(region: &[u8]) -> (u64, u64) {
    let (mut sizes, mut rest) = ((0, 0), region);
    while let Ok(frame) = FrameHeader::decode(rest, 0) {
        if frame.kind == kind::SEGMENTS {
            sizes = (sizes.0 + u64::from(frame.raw), sizes.1 + u64::from(frame.stored));
        }
        rest = rest.get(frame.frame_bytes() as usize..).unwrap_or_default();
    }
    sizes
}

/// True if this flush had records to write: they were encoded, even if writing them failed.
pub(super) fn has_written() -> bool {
    FLUSH.sizes.iter().any(|bytes| bytes.load(Ordering::Relaxed) > 0)
}

pub(super) fn times() -> FlushTimes {
    enter(FLUSH.stage.load(Ordering::Relaxed));
    let scale = clock::scale_now();
    let ns = |ticks: &AtomicU64| scale.nanoseconds(scale.base + ticks.load(Ordering::Relaxed));
    let stages_ns = std::array::from_fn(|stage| FLUSH.ticks.get(stage).map_or(0, ns));
    FlushTimes { stages_ns, packed_segments: FLUSH.packed.load(Ordering::Relaxed) }
}

/// Prints the time of each stage of writing the trace and the sizes of the data to standard error.
pub(super) fn tell() {
    let times = times();
    let mut text =
        format!("writing the trace of process {}: {:.3} ms", crate::job::process_ids().0, in_ms(times.total_ns()));
    for stage in FlushStage::ALL {
        text.push_str(&format!(", {} {:.3}", stage.name(), in_ms(times.of(stage))));
    }
    let [raw, columns, compressed, region] = [0, 1, 2, 3].map(|at| FLUSH.sizes[at].load(Ordering::Relaxed));
    text.push_str(&format!("; bytes: {raw} raw, {columns} as columns, {compressed} compressed, {region} in total"));
    say(&[text.as_bytes()]);
}

fn in_ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}
