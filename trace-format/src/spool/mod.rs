//! Spool: the recordings of a process as a mapped file.
//!
//! A spool outlives a process that is killed, and other processes can read it while its owner runs. `SPOOL.md` at the top of this crate is
//! its specification. Spools are not for archiving: a spool is read on the machine that wrote it, by the version that wrote it.
//!
//! This module defines the offsets that the tracer lays out its memory by, and the records of the [`journal`]. With features `read` and
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

/// Magic of a spool, its first eight bytes; stored last when a spool is created.
pub const MAGIC: u64 = u64::from_le_bytes(*b"DXTSPOOL");
/// Layout version.
pub const VERSION: u32 = 5;
/// Oldest layout version that can be read.
pub const OLDEST_VERSION: u32 = 4;
/// Size of the header, in bytes.
pub const HEADER_BYTES: usize = 4096;
/// Returns the name of a spool's spill file of packed blocks: `<stem>.spill` for `<stem>-<number>.spool`, `None` for other names.
#[must_use]
pub fn spill_name(spool: &str) -> Option<String> {
    let (stem, _) = spool.strip_suffix(".spool")?.rsplit_once('-')?;
    Some(format!("{stem}.spill"))
}

/// Maximum number of counts in [`header::NOTES`].
pub const MOST_NOTES: usize = 64;

/// Byte offsets of the header's fields.
pub mod header {
    /// u64: [`super::MAGIC`].
    pub const MAGIC: usize = 0;
    /// u32: [`super::VERSION`].
    pub const VERSION: usize = 8;
    /// u32: process id.
    pub const PID: usize = 12;
    /// 16 bytes: boot id of the machine (`/proc/sys/kernel/random/boot_id`), in binary.
    pub const BOOT_ID: usize = 16;
    /// u64: start time of the process, in clock ticks since boot (proc(5), stat, field 22).
    pub const STARTED: usize = 32;
    /// u32: unit of ticks: 1 for the processor's counter, 0 for nanoseconds of CLOCK_MONOTONIC.
    pub const COUNTER: usize = 40;
    /// u32: number of counts in [`NOTES`].
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
    /// u32: state of the trace that data marked as taken belongs to: being written ([`super::cut::UNDER_WAY`]) or finished
    /// ([`super::cut::DONE`]); 0 if no data is marked.
    pub const CUT: usize = 88;
    /// u32: length of that trace's path, in bytes; stored last, 0 while there is none.
    pub const CUT_PATH_BYTES: usize = 92;
    /// u64: end of the process's part according to that trace, in ns; distinguishes it from other traces of the process.
    pub const CUT_END: usize = 96;
    /// u64: ticks when the rank left the aligning barrier, or 0.
    pub const SYNC_TICKS: usize = 104;
    /// u64: rank 0's [`EPOCH_UNIX`] if that trace is one of all ranks; 0 if it is of this process only, or the tracer is older than this
    /// field. A trace holds no other evidence of a rank whose files were all reduced to the job's record.
    pub const CUT_JOB_EPOCH: usize = 112;
    /// Table of regions: three u64 per region (offset, capacity, used; all in bytes), in the order of [`super::Part`].
    pub const PARTS: usize = 128;
    /// u64: bytes of the spill file that are in a trace or belong to the one being written.
    pub const SPILL_TAKEN: usize = 288;
    /// u64: bytes of the spill file that are in a trace.
    pub const SPILL_WRITTEN: usize = 296;
    /// u64: device of the spill file (stat(2)), which identifies it together with [`SPILL_INODE`].
    pub const SPILL_DEVICE: usize = 304;
    /// u64: inode of the spill file; stored last, 0 while there is none.
    pub const SPILL_INODE: usize = 312;
    /// u64: number of the job whose budget accounts for this file once it is set aside; used by the tracer alone.
    pub const BUDGET_JOB: usize = 320;
    /// u64: bytes of that budget reserved for this file; stored last.
    pub const BUDGET_BYTES: usize = 328;
    /// u64 each: counts of events that were not recorded; their texts are in the journal.
    pub const NOTES: usize = 512;
    /// Path of the trace being written; absent if it does not fit.
    pub const CUT_PATH: usize = 2048;
    /// Maximum length of that path, in bytes.
    pub const MOST_CUT_PATH: usize = super::HEADER_BYTES - CUT_PATH;
}

/// Values of [`header::CUT`].
pub mod cut {
    /// A trace is being written. It holds the data marked as taken if it exists under its name and is complete.
    pub const UNDER_WAY: u32 = 1;
    /// The trace exists under its name.
    pub const DONE: u32 = 2;
}

/// Region of a spool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Part {
    /// Definitions of ids: [`journal`].
    Journal = 0,
    /// Chunks of segments or packed blocks: [`chunk`].
    Arena = 1,
    /// Segments that wait to be folded: [`scratch`].
    Scratch = 2,
    /// Counters by stream: [`folded`].
    Folded = 3,
    /// Staging slots of packed blocks: [`staging`].
    Staging = 4,
    /// Chunks of collective MPI calls: [`chunk`].
    Meetings = 5,
}

/// Number of regions.
pub const PARTS: usize = 6;
/// Size of a region's entry in the header, in bytes.
pub const PART_BYTES: usize = 24;

/// Layout of an arena's chunks: a header of 32 bytes, then segments or packed blocks.
pub mod chunk {
    /// Value of [`MAGIC`] in a chunk's header.
    pub const MAGIC_VALUE: u64 = u64::from_le_bytes(*b"DXTchunk");
    /// Size of the header, in bytes.
    pub const HEADER_BYTES: usize = 32;
    /// u64: [`MAGIC_VALUE`].
    pub const MAGIC: usize = 0;
    /// u32: index of the owning thread.
    pub const THREAD: usize = 8;
    /// u32: size of the chunk with its header, in bytes.
    pub const BYTES: usize = 12;
    /// u32: state, one of the values below.
    pub const STATE: usize = 16;
    /// u32: sequence number among the chunks of its thread.
    pub const SEQUENCE: usize = 20;
    /// u32: bytes used by packed blocks.
    pub const PACKED: usize = 24;
    /// u32: nonzero if the last slot, a spare one, may still be written.
    pub const SPARE_AWAITED: usize = 28;

    /// State of a chunk that its thread is filling.
    pub const ACTIVE: u32 = 1;
    /// State of a chunk that its thread has filled.
    pub const FULL: u32 = 2;
    /// State of a chunk being packed. Its segments count unless the block of this thread and sequence number is found elsewhere.
    pub const PACKING: u32 = 3;
    /// State of a chunk that holds packed blocks.
    pub const HOLDS_BLOCKS: u32 = 4;
}

/// Layout of a packed block: a header of 32 bytes, then a segment frame, padded to 8 bytes.
pub mod block {
    /// Size of the header, in bytes.
    pub const HEADER_BYTES: usize = 32;
    /// u32: size of the frame, in bytes; stored last.
    pub const BYTES: usize = 0;
    /// u32: index of the thread.
    pub const THREAD: usize = 4;
    /// u32: sequence number of the chunk that was packed.
    pub const SEQUENCE: usize = 8;
    /// u32: mark, one of [`mark`].
    pub const MARK: usize = 12;
    /// u64: nanoseconds per tick used for encoding, in the unit of `TickScale::mult`.
    pub const MULT: usize = 16;
    /// u32: slot of the block's first segment in its chunk; the others follow. Nonzero only if earlier slots had been written to a trace.
    pub const FIRST: usize = 24;

    /// Values of [`MARK`](super::MARK), like [`TAKEN`](crate::segment::TAKEN) and [`WRITTEN`](crate::segment::WRITTEN) of segments.
    pub mod mark {
        /// In no trace.
        pub const NONE: u32 = 0;
        /// Belongs to the trace that is being written.
        pub const TAKEN: u32 = 1;
        /// In a trace.
        pub const WRITTEN: u32 = 2;
    }
}

/// Layout of a scratch buffer: a header of 32 bytes, then slots for segments that wait to be folded.
pub mod scratch {
    /// Number of slots.
    pub const SLOTS: usize = 64;
    /// Size of a scratch buffer, in bytes.
    pub const BYTES: usize = 32 + SLOTS * 32;
    /// u32: index of the owning thread.
    pub const THREAD: usize = 0;
    /// u32, version 4 only: 0 if no fold is in progress, else 1 plus the number of slots in the counters, or 1 if [`COUNTED`] says which.
    pub const FOLDED: usize = 4;
    /// u64: one bit for each slot that is in the counters, while a fold is in progress.
    pub const COUNTED: usize = 8;
    /// u64: one bit for each slot of the stream whose addition to the counters began last; 0 if no fold is in progress.
    pub const COUNTING: usize = 16;
    /// Offset of the first slot.
    pub const FIRST: usize = 32;
}

/// Layout of the counters of one stream: 64-bit numbers, times in ticks.
pub mod folded {
    use crate::counters::SIZE_BINS;

    /// Size of an entry, in bytes.
    pub const BYTES: usize = BASE + BASES * 8;
    /// Size of an entry in version 4, which ends before [`ADDER`].
    pub const BYTES_4: usize = ADDER;
    /// Number of values that only grow: the sums, then the sizes.
    pub const COUNTS: usize = 5 + SIZE_BINS;
    /// Number of extremes: longest duration, earliest start, latest end, lowest offset, highest byte plus one.
    pub const EXTREMES: usize = 5;
    /// u64: id of the stream plus one; 0 if the entry is unused.
    pub const STREAM: usize = 0;
    /// u64 each: segments, bytes, duration, consecutive, sequential.
    pub const SUMS: usize = 8;
    /// u64: longest duration.
    pub const MAX_DURATION: usize = 48;
    /// u64: earliest start.
    pub const FIRST_START: usize = 56;
    /// u64: latest end.
    pub const LAST_END: usize = 64;
    /// i64: lowest offset.
    pub const MIN_OFFSET: usize = 72;
    /// i64: highest byte plus one.
    pub const MAX_END_OFFSET: usize = 80;
    /// i64: end of the stream's latest segment, or -1.
    pub const PREVIOUS: usize = 88;
    /// u64 each: segments by size bin.
    pub const SIZES: usize = 96;
    /// u64 each: portions of the sums and sizes that are in a trace.
    pub const WRITTEN: usize = SIZES + SIZE_BINS * 8;
    /// u64 each: portions of the sums and sizes that are in a trace or belong to the one being written.
    pub const TAKEN: usize = WRITTEN + COUNTS * 8;
    /// u64 each: extremes that belong to the trace being written.
    pub const TAKEN_EXTREMES: usize = TAKEN + COUNTS * 8;
    /// u64: 0, or one plus the number of the scratch buffer whose slots ([`scratch::COUNTING`](super::scratch::COUNTING)) are being added.
    /// With [`PREPARING`], nothing has been changed yet.
    pub const ADDER: usize = TAKEN_EXTREMES + EXTREMES * 8;
    /// u64 each: the sums and [`PREVIOUS`] before that addition.
    pub const BASE: usize = ADDER + 8;
    /// Number of values at [`BASE`].
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
    /// u32: size of the block with its header, in bytes; 0 if empty.
    pub const LENGTH: usize = 0;
    /// Offset of the block.
    pub const FIRST: usize = 8;
}
