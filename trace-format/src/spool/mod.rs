//! Spool: the recordings of a process as a mapped file.
//!
//! A spool remains if its process is killed, and other processes can read it while its owner runs. `SPOOL.md` at the top of this crate is
//! its specification. Spools are not for archiving: a spool is read on the machine that wrote it, by the version that wrote it.
//!
//! This module defines the offsets by which the tracer arranges its memory, and the records of the [`journal`]. With features `read` and
//! `write` it also recovers the recordings ([`Spool`]) and [follows](follow) a spool while it grows.

mod blocks;
#[cfg(all(feature = "read", feature = "write"))]
mod counters;
#[cfg(all(feature = "read", feature = "write"))]
pub mod follow;
#[cfg(all(feature = "read", feature = "write"))]
mod head;
pub mod journal;
#[cfg(all(feature = "read", feature = "write"))]
mod names;
mod parts;
#[cfg(all(feature = "read", feature = "write"))]
mod place;
#[cfg(all(feature = "read", feature = "write"))]
mod read;
#[cfg(all(feature = "read", feature = "write"))]
mod scratches;
mod seen_elsewhere;
#[cfg(all(feature = "read", feature = "write"))]
mod sparse;

pub use blocks::{Block, blocks};
#[cfg(all(feature = "read", feature = "write"))]
pub use head::{Clock, Cut, Head};
#[cfg(all(feature = "read", feature = "write"))]
pub use names::Names;
#[cfg(all(feature = "read", feature = "write"))]
pub use read::{CUT_SHORT, ENDED_BY, MAY_BE_TWICE, Recovered, Spool};
pub use seen_elsewhere::is_seen_elsewhere;

/// Magic number of a spool, its first eight bytes; stored last when a spool is created.
pub const MAGIC: u64 = u64::from_le_bytes(*b"DXTSPOOL");
/// Version of the spool's layout that the tracer writes.
pub const VERSION: u32 = 5;
/// Oldest version of the spool's layout that can be read.
pub const OLDEST_VERSION: u32 = 4;
/// Size of a spool's header, in bytes.
pub const HEADER_BYTES: usize = 4096;
/// Returns the file name of a spool's spill file, which holds compressed segments: `<stem>.spill` for `<stem>-<number>.spool`, `None` for
/// other names.
#[must_use]
pub fn spill_name(spool: &str) -> Option<String> {
    let (stem, _) = spool.strip_suffix(".spool")?.rsplit_once('-')?;
    Some(format!("{stem}.spill"))
}

/// Maximum number of event counters in [`header::NOTES`].
pub const MOST_NOTES: usize = 64;

/// Byte offsets of the header's fields.
pub mod header {
    /// u64: magic of a spool, [`super::MAGIC`].
    pub const MAGIC: usize = 0;
    /// u32: version of the layout, [`super::VERSION`].
    pub const VERSION: usize = 8;
    /// u32: process id of the owner.
    pub const PID: usize = 12;
    /// 16 bytes: boot id of the machine (`/proc/sys/kernel/random/boot_id`), in binary.
    pub const BOOT_ID: usize = 16;
    /// u64: start time of the process, in clock ticks since boot (proc(5), stat, field 22).
    pub const STARTED: usize = 32;
    /// u32: unit of ticks: 1 for the processor's counter, 0 for nanoseconds of CLOCK_MONOTONIC.
    pub const COUNTER: usize = 40;
    /// u32: number of event counters in [`NOTES`].
    pub const NOTE_COUNT: usize = 44;
    /// u64: ticks at the process's time zero.
    pub const BASE_TICKS: usize = 48;
    /// u64: CLOCK_MONOTONIC at the process's time zero, in ns.
    pub const BASE_MONOTONIC: usize = 56;
    /// i64: wall clock at the process's time zero, in ns since 1970-01-01 UTC.
    pub const EPOCH_UNIX: usize = 64;
    /// u64: ticks when the clocks were last compared, or 0.
    pub const LATEST_TICKS: usize = 72;
    /// u64: CLOCK_MONOTONIC when the clocks were last compared, in ns.
    pub const LATEST_MONOTONIC: usize = 80;
    /// u32: state of the trace that data marked as taken (being written) belongs to. [`super::cut::UNDER_WAY`] if the trace is being
    /// written, [`super::cut::DONE`] if it is finished, 0 if no data is marked as taken.
    pub const CUT: usize = 88;
    /// u32: length of the path at [`CUT_PATH`], in bytes; stored last, 0 while there is none.
    pub const CUT_PATH_BYTES: usize = 92;
    /// u64: end of recording of this process according to the trace at [`CUT_PATH`], in ns; distinguishes that trace from others of the
    /// process.
    pub const CUT_END: usize = 96;
    /// u64: ticks when the rank left the barrier that aligns the clocks of the ranks, or 0.
    pub const SYNC_TICKS: usize = 104;
    /// u64: rank 0's [`EPOCH_UNIX`] if the trace at [`CUT_PATH`] is one file for all ranks. 0 if it is of this process only, or if the
    /// tracer predates this field. This is the only evidence that a trace contains a rank whose files were all reduced to the job's record.
    pub const CUT_JOB_EPOCH: usize = 112;
    /// Table of regions: three u64 per region (offset, capacity, used; all in bytes), in the order of [`super::Part`].
    pub const PARTS: usize = 128;
    /// u64: number of leading bytes of the spill file that are in a trace or belong to the one being written.
    pub const SPILL_TAKEN: usize = 288;
    /// u64: number of leading bytes of the spill file that are in a trace.
    pub const SPILL_WRITTEN: usize = 296;
    /// u64: device of the spill file (stat(2)), which identifies it together with [`SPILL_INODE`].
    pub const SPILL_DEVICE: usize = 304;
    /// u64: inode of the spill file; stored last, 0 while there is none.
    pub const SPILL_INODE: usize = 312;
    /// u64: number of the job whose byte budget includes this file once it is set aside; used only by the tracer.
    pub const BUDGET_JOB: usize = 320;
    /// u64: number of bytes of the job's budget ([`BUDGET_JOB`]) reserved for this file; stored last.
    pub const BUDGET_BYTES: usize = 328;
    /// u64 each: counts of events that were not recorded; their descriptions are in the journal.
    pub const NOTES: usize = 512;
    /// Path of the trace being written; absent if it does not fit.
    pub const CUT_PATH: usize = 2048;
    /// Maximum length of the path at [`CUT_PATH`], in bytes.
    pub const MOST_CUT_PATH: usize = super::HEADER_BYTES - CUT_PATH;
}

/// Values of [`header::CUT`].
pub mod cut {
    /// Trace that is being written. If it exists under its final name and is complete, it holds the data marked as taken.
    pub const UNDER_WAY: u32 = 1;
    /// Trace that is complete and exists under its final name.
    pub const DONE: u32 = 2;
}

/// Region of a spool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Part {
    /// Journal: definitions of ids ([`journal`]).
    Journal = 0,
    /// Chunks of segments or of packed blocks ([`chunk`]).
    Arena = 1,
    /// Scratch buffers of segments that wait to be folded into counters ([`scratch`]).
    Scratch = 2,
    /// Counters by stream ([`folded`]).
    Folded = 3,
    /// Staging slots, which hold packed blocks until they are copied to their destination ([`staging`]).
    Staging = 4,
    /// Chunks of segments of collective MPI calls ([`chunk`]).
    SyncPoints = 5,
}

/// Number of regions of a spool.
pub const PARTS: usize = 6;
/// Size of a region's entry in the header's table of regions, in bytes.
pub const PART_BYTES: usize = 24;

/// Layout of a chunk (buffer of segments of one thread): a header of 32 bytes, then segments or packed blocks.
pub mod chunk {
    /// Value of [`MAGIC`] in a chunk's header.
    pub const MAGIC_VALUE: u64 = u64::from_le_bytes(*b"DXTchunk");
    /// Size of a chunk's header, in bytes.
    pub const HEADER_BYTES: usize = 32;
    /// u64: magic of a chunk, [`MAGIC_VALUE`].
    pub const MAGIC: usize = 0;
    /// u32: index of the owning thread.
    pub const THREAD: usize = 8;
    /// u32: size of the chunk including its header, in bytes.
    pub const BYTES: usize = 12;
    /// u32: state, one of the values below.
    pub const STATE: usize = 16;
    /// u32: sequence number of the chunk among the chunks of its thread.
    pub const SEQUENCE: usize = 20;
    /// u32: number of bytes used by packed blocks.
    pub const PACKED: usize = 24;
    /// u32: nonzero if the chunk's last slot, a spare one, may still be written.
    pub const SPARE_AWAITED: usize = 28;

    /// State of a chunk that its thread is filling.
    pub const ACTIVE: u32 = 1;
    /// State of a chunk that its thread has filled.
    pub const FULL: u32 = 2;
    /// State of a chunk being packed (compressed). Its segments are valid unless a block of this thread and sequence number is found
    /// elsewhere.
    pub const PACKING: u32 = 3;
    /// State of a chunk that holds packed blocks.
    pub const HOLDS_BLOCKS: u32 = 4;
}

/// Layout of a packed block (the compressed segments of one chunk): a header of 32 bytes, then a segment frame, padded to 8 bytes.
pub mod block {
    /// Size of a packed block's header, in bytes.
    pub const HEADER_BYTES: usize = 32;
    /// u32: size of the frame, in bytes; stored last.
    pub const BYTES: usize = 0;
    /// u32: index of the thread that recorded the segments.
    pub const THREAD: usize = 4;
    /// u32: sequence number of the chunk that was packed.
    pub const SEQUENCE: usize = 8;
    /// u32: mark that indicates if the block is in a trace, one of [`mark`].
    pub const MARK: usize = 12;
    /// u64: nanoseconds per tick used for encoding, in the unit of `TickScale::mult`.
    pub const MULT: usize = 16;
    /// u32: slot number, in its chunk, of the block's first segment; the other segments follow. Nonzero only if earlier slots had already
    /// been written to a trace.
    pub const FIRST: usize = 24;

    /// Values of [`MARK`](super::MARK). They correspond to the mark bits [`TAKEN`](crate::segment::TAKEN) and
    /// [`WRITTEN`](crate::segment::WRITTEN) of segments.
    pub mod mark {
        /// Block that is in no trace.
        pub const NONE: u32 = 0;
        /// Block that belongs to the trace being written.
        pub const TAKEN: u32 = 1;
        /// Block that is in a trace.
        pub const WRITTEN: u32 = 2;
    }
}

/// Layout of a scratch buffer: a header of 32 bytes, then slots for segments that wait to be folded into counters.
pub mod scratch {
    /// Number of segment slots in a scratch buffer.
    pub const SLOTS: usize = 64;
    /// Size of a scratch buffer, in bytes.
    pub const BYTES: usize = 32 + SLOTS * 32;
    /// u32: index of the owning thread.
    pub const THREAD: usize = 0;
    /// u32, version 4 only: progress of the fold. 0 if no fold is in progress. Otherwise 1 plus the number of slots already in the
    /// counters, or 1 if [`COUNTED`] has a bit for each of them.
    pub const FOLDED: usize = 4;
    /// u64: one bit for each slot that is already in the counters, while a fold is in progress.
    pub const COUNTED: usize = 8;
    /// u64: one bit for each slot of the stream whose addition to the counters was started last; 0 if no fold is in progress.
    pub const COUNTING: usize = 16;
    /// Offset of the first slot in a scratch buffer, in bytes.
    pub const FIRST: usize = 32;
}

/// Layout of the counters of one stream: 64-bit numbers, with times in ticks.
pub mod folded {
    use crate::counters::SIZE_BINS;

    /// Size of the counters of one stream, in bytes.
    pub const BYTES: usize = BASE + BASES * 8;
    /// Size of the counters of one stream in version 4, which end before [`ADDER`].
    pub const BYTES_4: usize = ADDER;
    /// Number of values that only grow: the sums, then the histogram of sizes.
    pub const COUNTS: usize = 5 + SIZE_BINS;
    /// Number of minima and maxima: longest duration, earliest start, latest end, lowest offset, highest byte plus one.
    pub const EXTREMES: usize = 5;
    /// u64: id of the stream plus one; 0 if these counters are unused.
    pub const STREAM: usize = 0;
    /// u64 each: number of segments, bytes, duration, consecutive and sequential segments.
    pub const SUMS: usize = 8;
    /// u64: longest duration of a call, in ticks.
    pub const MAX_DURATION: usize = 48;
    /// u64: earliest start of a call, in ticks.
    pub const FIRST_START: usize = 56;
    /// u64: latest end of a call, in ticks.
    pub const LAST_END: usize = 64;
    /// i64: lowest file offset, in bytes.
    pub const MIN_OFFSET: usize = 72;
    /// i64: highest byte offset touched, plus one.
    pub const MAX_END_OFFSET: usize = 80;
    /// i64: end offset of the stream's latest segment, or -1.
    pub const PREVIOUS: usize = 88;
    /// u64 each: number of segments by size bin.
    pub const SIZES: usize = 96;
    /// u64 each: portions of the sums and of the histogram of sizes that are in a trace.
    pub const WRITTEN: usize = SIZES + SIZE_BINS * 8;
    /// u64 each: portions of the sums and of the histogram of sizes that are in a trace or belong to the one being written.
    pub const TAKEN: usize = WRITTEN + COUNTS * 8;
    /// u64 each: minima and maxima of the calls that belong to the trace being written.
    pub const TAKEN_EXTREMES: usize = TAKEN + COUNTS * 8;
    /// u64: one plus the number of the scratch buffer whose segments ([`scratch::COUNTING`](super::scratch::COUNTING)) are being added; 0
    /// if none are. While the bit [`PREPARING`] is set, nothing has been changed yet.
    pub const ADDER: usize = TAKEN_EXTREMES + EXTREMES * 8;
    /// u64 each: values of the sums and of [`PREVIOUS`] before the addition that [`ADDER`] indicates, to undo it.
    pub const BASE: usize = ADDER + 8;
    /// Number of values stored at [`BASE`].
    pub const BASES: usize = 6;
    /// Bit of [`ADDER`] while [`BASE`] is being written.
    pub const PREPARING: u64 = 1 << 63;
}

/// Layout of a staging slot, which holds a packed block until it is copied to its destination: a header of 8 bytes, then the block.
pub mod staging {
    /// Number of staging slots.
    pub const PLACES: usize = 16;
    /// Size of a staging slot, in bytes.
    pub const BYTES: usize = 64 << 10;
    /// u32: size of the staged block including its header, in bytes; 0 if the slot is empty.
    pub const LENGTH: usize = 0;
    /// Offset of the block in the staging slot, in bytes.
    pub const FIRST: usize = 8;
}
