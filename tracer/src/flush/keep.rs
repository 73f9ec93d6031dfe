//! Decides if a process without MPI gets a trace: DXT_PROCESSES, DXT_MIN_RUN_TIME, DXT_MIN_IO, DXT_MIN_CALLS. Evaluated just before the
//! trace is written, from the recorded calls, so that recording needs no extra counts.

use super::gather::{self, Held};
use super::unpack::Unpacker;
use crate::config::Site;
use crate::{buffer, clock, mpi, registry, spool};
use std::sync::atomic::{AtomicBool, Ordering};
use trace_format::meta::stream_flags;
use trace_format::op::Layer;
use trace_format::{Segment, StreamId};

/// True once a trace contains calls of this process; the remaining calls are then written too.
static KEPT: AtomicBool = AtomicBool::new(false);

/// Ends writing a trace. If `written`, records that a trace contains calls of this process.
pub(super) fn settle(written: bool) {
    if written {
        KEPT.store(true, Ordering::Relaxed);
    }
}

/// Forgets that calls are in a trace, in a forked child, which is judged by its own calls only.
pub(super) fn in_child() {
    KEPT.store(false, Ordering::Relaxed);
}

/// True if this process gets no trace, judged by all calls taken so far. Never true after MPI_Init, or in a child forked after MPI_Init. A
/// process that has spilled blocks to disk always gets a trace, unless only MPI processes are traced: without a trace, the blocks would
/// have to stay in the spill file, in case a following exec(3) fails.
pub(super) fn is_left_out(site: &Site) -> bool {
    if !site.judges_processes() || mpi::world().is_some() || KEPT.load(Ordering::Relaxed) {
        return false;
    }
    let calibration = gather::calibrate();
    let has_run = || site.least.has_run(calibration.scale.nanoseconds(clock::now()));
    site.mpi_only || spool::spill::taken().is_empty() && !(has_run() && has_done(site, &calibration.scale))
}

/// True if the process has done enough I/O to get a trace. Calls nested inside library calls do not count.
fn has_done(site: &Site, scale: &trace_format::columns::TickScale) -> bool {
    let mut sum = Sum::default();
    if site.least.has_done(0, 0) {
        return true;
    }
    registry::taken_counts().iter().for_each(|(_, stream, counters)| {
        sum.add(stream, counters.segments, counters.bytes);
    });
    let threads = gather::segments();
    // Packed blocks are checked last, since decoding them is slowest.
    for piece in threads.iter().flatten() {
        if let Held::Slots(slots) = &piece.piece {
            sum.see(slots.iter().filter(|slot| buffer::is_filled(slot)));
        }
    }
    let mut unpacker = Unpacker::new(scale);
    for piece in threads.iter().flatten() {
        if site.least.has_done(sum.bytes, sum.calls) {
            return true;
        }
        if let Held::Packed(block) = &piece.piece {
            sum.see(unpacker.segments(block).unwrap_or_default().iter());
        }
    }
    site.least.has_done(sum.bytes, sum.calls)
}

/// Number of calls of a process and bytes that they moved, except by calls nested inside library calls.
#[derive(Default)]
struct Sum {
    bytes: u64,
    calls: u64,
}

impl Sum {
    fn add(&mut self, stream: &registry::Stream, calls: u64, bytes: u64) {
        if stream.flags & stream_flags::NESTED == 0 && stream.layer != Layer::Mpi {
            self.calls += calls;
            self.bytes += if stream.moves_data() { bytes } else { 0 };
        }
    }

    fn see<'a>(&mut self, segments: impl Iterator<Item = &'a Segment>) {
        for segment in segments {
            if let Some(stream) = registry::stream_by_id(StreamId(segment.stream().0)) {
                self.add(stream, 1, segment.length());
            }
        }
    }
}
