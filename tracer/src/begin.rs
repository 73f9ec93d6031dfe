//! Starts recording at the first recorded call: creates the spool, the file with all data that must survive this process.

use crate::config::{self, LEAST_BUFFER_MAX};
use crate::record::{ARENA, SYNC_POINTS, THREADS};
use crate::spool::{self, Sizes, journal};
use crate::{buffer, clock, cpu_times, describe, late_calls, memory, mpi, registry, sites};
use std::sync::atomic::Ordering;
use trace_format::meta::{Process, ProcessorDef, ThreadDef};

/// Returns the size of the arena (memory) for segments (records) of I/O calls, in bytes.
pub(crate) fn arena_bytes() -> usize {
    config::current().map_or(0, |config| (config.buffer_max / memory::scale()).max(LEAST_BUFFER_MAX))
}

/// Returns the size of the arena (memory) for segments (records) of collective MPI calls, in bytes; may be 0.
pub(crate) fn sync_points_bytes() -> usize {
    config::current().map_or(0, |config| config.mpi_buffer_max / memory::scale())
}

/// Minimum size of the arena (memory for segments) for calls made after the trace was written, in bytes. Pages are not committed before
/// use.
const LATE_BYTES: usize = 4 << 20;

/// Maximum number of streams (pairs of a file and an operation) that have counters in trace mode, where most calls are recorded as
/// segments.
const COUNTERS: usize = (1 << 18) + sites::MOST_STREAMS;

/// Size of the spool's journal (file names and other definitions) in trace mode, in bytes; the maximum size in counters mode.
const JOURNAL: usize = 256 << 20;
/// Minimum size of the spool's journal (file names and other definitions) in counters mode, in bytes.
const LEAST_JOURNAL: usize = 16 << 20;
/// Size of the spool's journal (file names and other definitions) in counters mode, for each file that may have counters, in bytes.
const JOURNAL_PER_FILE: usize = 8 << 10;

/// Returns the sizes to request for the parts of the spool: journal of names, arenas (memory) for segments, counters.
fn sizes() -> Sizes {
    let scale = memory::scale();
    let (late, counting) = (late_calls::has_begun(), buffer::counting::is_on());
    let arena = match (late, counting) {
        (true, _) => arena_bytes().max(LATE_BYTES / scale),
        (false, true) => 0,
        (false, false) => arena_bytes(),
    };
    let sync_points = if counting { 0 } else { sync_points_bytes() };
    let counters = if counting && !late { registry::counted_streams() } else { COUNTERS / scale };
    let files = config::current().filter(|_| counting && !late).map(|config| config.counters_files);
    let journal = files.map_or(JOURNAL, |files| (files * JOURNAL_PER_FILE).clamp(LEAST_JOURNAL, JOURNAL));
    Sizes { journal, arena, sync_points, counters, scale }
}

/// Creates the spool (file that survives a kill) if the settings ask for one and none exists. Returns false if there is no memory for
/// segments yet.
pub(crate) fn begin() -> bool {
    spool::make(sizes(), |parts| {
        if late_calls::has_begun() {
            late_calls::lend(parts.arena);
        } else {
            buffer::lend(&ARENA, &SYNC_POINTS, parts);
            registry::lend_counters(parts.folded);
        }
        say_who();
        sites::note_all();
        registry::note_all();
        mpi::communicators::note_all();
        cpu_times::note_all();
        for (index, thread) in THREADS.numbered() {
            let tid = thread.tid.load(Ordering::Relaxed);
            journal::thread(ThreadDef { index: index as u32, tid }, thread.counts.load(Ordering::Relaxed));
        }
    })
}

/// Writes identity and job of this process into the journal of the spool (the file that survives a kill): at process start, and again when
/// MPI_Init has added information.
pub(crate) fn say_who() {
    if !journal::is_kept() {
        return;
    }
    // Mounts are left out: reading them takes longer than the rest of the start, so only traces store them.
    journal::job(&describe::job(Vec::new(), Vec::new()).encode());
    let info = describe::process("", &clock::calibrate());
    let processor = ProcessorDef { cpus: cpu_times::cpus(), threads: Vec::new() };
    journal::process(&Process { info, processor, ..Process::default() }.encode());
    if let Some(ticks) = mpi::sync_ticks() {
        spool::set_sync(ticks);
    }
}
