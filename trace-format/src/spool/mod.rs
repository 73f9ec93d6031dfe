//! The spool: a process's memory of what it has recorded, as a mapped file. It outlives a process that is killed, and another
//! process can read it while its owner runs. `SPOOL.md` at the top of this crate is its specification; it is no format to
//! keep: a spool is read on the machine that wrote it, by the version that wrote it.
//!
//! Here are the places of things, which the tracer's memory is laid out by, the journal's records, and ([`read`],
//! features `read` and `write`) how what was recorded is put together again, and how it is [followed](follow) while it grows.

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

/// First bytes of a spool; stored last when one is made.
pub const MAGIC: u64 = u64::from_le_bytes(*b"DXTSPOOL");
/// Version of the layout.
pub const VERSION: u32 = 5;
/// Oldest version that is read.
pub const OLDEST_VERSION: u32 = 4;
/// Size of the header.
pub const HEADER_BYTES: usize = 4096;
/// Name of the file of packed blocks that belongs to the spool of this name, if that has a spool's name:
/// `<stem>-<number>.spool` and `<stem>.spill`.
#[must_use]
pub fn spill_name(spool: &str) -> Option<String> {
    let (stem, _) = spool.strip_suffix(".spool")?.rsplit_once('-')?;
    Some(format!("{stem}.spill"))
}

/// Most counts of things not recorded.
pub const MOST_NOTES: usize = 64;

/// Byte offsets of the header's fields.
pub mod header {
    /// u64: [`super::MAGIC`].
    pub const MAGIC: usize = 0;
    /// u32: [`super::VERSION`].
    pub const VERSION: usize = 8;
    /// u32: process id.
    pub const PID: usize = 12;
    /// 16 bytes: the boot id of the machine (`/proc/sys/kernel/random/boot_id`) as bytes.
    pub const BOOT_ID: usize = 16;
    /// u64: when the process started, in clock ticks since boot (proc(5), stat, field 22).
    pub const STARTED: usize = 32;
    /// u32: 1 if ticks are those of the processor's counter, 0 if they are nanoseconds of CLOCK_MONOTONIC.
    pub const COUNTER: usize = 40;
    /// u32: number of counts in [`NOTES`].
    pub const NOTE_COUNT: usize = 44;
    /// u64: ticks at the process's time zero.
    pub const BASE_TICKS: usize = 48;
    /// u64: CLOCK_MONOTONIC at that moment, in ns.
    pub const BASE_MONOTONIC: usize = 56;
    /// i64: wall clock at that moment, in ns since 1970-01-01 UTC.
    pub const EPOCH_UNIX: usize = 64;
    /// u64: ticks when the clocks were last compared, or 0.
    pub const LATEST_TICKS: usize = 72;
    /// u64: CLOCK_MONOTONIC at that moment, in ns.
    pub const LATEST_MONOTONIC: usize = 80;
    /// u32: what is marked as taken belongs to a trace that is being written ([`super::cut::UNDER_WAY`]) or is there
    /// ([`super::cut::DONE`]); 0: nothing is.
    pub const CUT: usize = 88;
    /// u32: bytes of that trace's path; stored last, 0 while it has none.
    pub const CUT_PATH_BYTES: usize = 92;
    /// u64: what the trace says when the process's part of it ended, in ns: tells it from others of the process.
    pub const CUT_END: usize = 96;
    /// u64: ticks at which the rank left the aligning barrier, or 0.
    pub const SYNC_TICKS: usize = 104;
    /// u64: if that trace is one of all ranks, rank 0's [`EPOCH_UNIX`]; 0: it is one of this process, or the tracer is older than this
    /// field. Of a rank whose files were all reduced to the job's record, nothing else is there.
    pub const CUT_JOB_EPOCH: usize = 112;
    /// Where the regions are: three u64 for each, in the order of [`super::Part`]: offset, capacity, used, all in bytes.
    pub const PARTS: usize = 128;
    /// u64: bytes of the spill that belong to the trace that is being written, or are in one.
    pub const SPILL_TAKEN: usize = 288;
    /// u64: bytes of the spill that are in a trace.
    pub const SPILL_WRITTEN: usize = 296;
    /// u64: device (stat(2)) of the spill; its other half is [`SPILL_INODE`].
    pub const SPILL_DEVICE: usize = 304;
    /// u64: inode of the spill; 0 while there is none. Stored last.
    pub const SPILL_INODE: usize = 312;
    /// u64: number of the job whose budget knows of this file, once it is set aside; for the tracer alone.
    pub const BUDGET_JOB: usize = 320;
    /// u64: bytes of that budget that stand for it. Stored last.
    pub const BUDGET_BYTES: usize = 328;
    /// Counts of what was not recorded: u64 each; their texts are in the journal.
    pub const NOTES: usize = 512;
    /// Path of the trace that is being written; a longer one than fits is not there.
    pub const CUT_PATH: usize = 2048;
    /// Room for it.
    pub const MOST_CUT_PATH: usize = super::HEADER_BYTES - CUT_PATH;
}

/// Values of [`header::CUT`].
pub mod cut {
    /// A trace is being written: it holds what is marked as taken if it is there under its name, and whole.
    pub const UNDER_WAY: u32 = 1;
    /// It is there.
    pub const DONE: u32 = 2;
}

/// The regions of a spool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Part {
    /// What ids mean: [`journal`].
    Journal = 0,
    /// Chunks: [`chunk`].
    Arena = 1,
    /// Segments that wait to be folded: [`scratch`].
    Scratch = 2,
    /// Counters of streams: [`folded`].
    Folded = 3,
    /// Packed blocks on their way to their place: [`landing`].
    Landing = 4,
    /// Chunks of collective calls of MPI: [`chunk`].
    Meetings = 5,
}

/// Number of regions.
pub const PARTS: usize = 6;
/// Bytes of a region's entry in the header.
pub const PART_BYTES: usize = 24;

/// The arena's chunks: a header of 32 bytes, then segments or packed blocks.
pub mod chunk {
    /// Marks a chunk header.
    pub const MAGIC_VALUE: u64 = u64::from_le_bytes(*b"DXTchunk");
    /// Size of the header.
    pub const HEADER_BYTES: usize = 32;
    /// u64: [`MAGIC_VALUE`].
    pub const MAGIC: usize = 0;
    /// u32: index of the owning thread.
    pub const THREAD: usize = 8;
    /// u32: size with the header, in bytes.
    pub const BYTES: usize = 12;
    /// u32: one of the states below.
    pub const STATE: usize = 16;
    /// u32: which of its thread's chunks it is.
    pub const SEQUENCE: usize = 20;
    /// u32: bytes taken by packed blocks.
    pub const PACKED: usize = 24;
    /// u32: not 0 if the last slot, which is spare, may yet be written to.
    pub const SPARE_AWAITED: usize = 28;

    /// Its thread is filling it.
    pub const ACTIVE: u32 = 1;
    /// Its thread has filled it.
    pub const FULL: u32 = 2;
    /// Somebody is packing its segments; they count unless the block of this thread and sequence is found elsewhere.
    pub const PACKING: u32 = 3;
    /// It holds packed blocks.
    pub const HOLDS_BLOCKS: u32 = 4;
}

/// A packed block: a header of 32 bytes, then a segment frame, padded to eight bytes.
pub mod block {
    /// Size of the header.
    pub const HEADER_BYTES: usize = 32;
    /// u32: bytes of the frame; stored last.
    pub const BYTES: usize = 0;
    /// u32: index of the thread.
    pub const THREAD: usize = 4;
    /// u32: which of the thread's chunks it was.
    pub const SEQUENCE: usize = 8;
    /// u32: one of [`mark`].
    pub const MARK: usize = 12;
    /// u64: nanoseconds per tick that it was encoded with, in the unit of `TickScale::mult`.
    pub const MULT: usize = 16;
    /// u32: which of its chunk's slots the block's first segment was in; the others were in those behind it. 0 but where the slots before
    /// had been written to a trace.
    pub const FIRST: usize = 24;

    /// Values of [`MARK`](super::MARK), as [`TAKEN`](crate::segment::TAKEN) and [`WRITTEN`](crate::segment::WRITTEN) of segments.
    pub mod mark {
        /// In no trace.
        pub const NONE: u32 = 0;
        /// Belongs to the trace that is being written.
        pub const TAKEN: u32 = 1;
        /// In a trace.
        pub const WRITTEN: u32 = 2;
    }
}

/// A scratch: a header of 32 bytes, then slots for segments.
pub mod scratch {
    /// Slots.
    pub const SLOTS: usize = 64;
    /// Size of a scratch.
    pub const BYTES: usize = 32 + SLOTS * 32;
    /// u32: index of the owning thread.
    pub const THREAD: usize = 0;
    /// u32: in version 4 alone: 0, or a fold is under way: one more than the slots that are in the counters already, or 1 where [`COUNTED`]
    /// says which.
    pub const FOLDED: usize = 4;
    /// u64: while a fold is under way, a bit for each slot that is in the counters.
    pub const COUNTED: usize = 8;
    /// u64: a bit for each slot of the stream that was last begun to be added to the counters; 0: no fold is under way.
    pub const COUNTING: usize = 16;
    /// Where the slots begin.
    pub const FIRST: usize = 32;
}

/// The counters of one stream: 64-bit numbers, times in ticks.
pub mod folded {
    use crate::counters::SIZE_BINS;

    /// Size of an entry.
    pub const BYTES: usize = BASE + BASES * 8;
    /// The same in version 4, which ends before [`ADDER`].
    pub const BYTES_4: usize = ADDER;
    /// Numbers that only grow: the sums, then the sizes.
    pub const COUNTS: usize = 5 + SIZE_BINS;
    /// Longest duration, earliest start, latest end, lowest offset, highest byte plus one.
    pub const EXTREMES: usize = 5;
    /// u64: one more than the stream's id; 0: nothing yet.
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
    /// i64: where the stream's latest segment ended, or -1.
    pub const PREVIOUS: usize = 88;
    /// u64 each: segments by size.
    pub const SIZES: usize = 96;
    /// u64 each: what of the sums and sizes is in a trace.
    pub const WRITTEN: usize = SIZES + SIZE_BINS * 8;
    /// u64 each: what of them is in a trace or belongs to the one that is being written.
    pub const TAKEN: usize = WRITTEN + COUNTS * 8;
    /// u64 each: the extremes that belong to the trace that is being written.
    pub const TAKEN_EXTREMES: usize = TAKEN + COUNTS * 8;
    /// u64: 0, or one more than the number of the scratch from which slots are being added ([`scratch::COUNTING`](super::scratch::COUNTING));
    /// with [`PREPARING`], nothing has been changed yet.
    pub const ADDER: usize = TAKEN_EXTREMES + EXTREMES * 8;
    /// u64 each: the sums and [`PREVIOUS`] before that.
    pub const BASE: usize = ADDER + 8;
    /// How many they are.
    pub const BASES: usize = 6;
    /// Bit of [`ADDER`].
    pub const PREPARING: u64 = 1 << 63;
}

/// Where a packed block lies until it is in its place: a header of 8 bytes, then the block with its header.
pub mod landing {
    /// Places.
    pub const PLACES: usize = 16;
    /// Size of a place.
    pub const BYTES: usize = 64 << 10;
    /// u32: bytes of the block with its header; 0: none.
    pub const LENGTH: usize = 0;
    /// Where the block begins.
    pub const FIRST: usize = 8;
}
