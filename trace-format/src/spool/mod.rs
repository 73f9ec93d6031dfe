//! Spool: the memory of one process's recorded calls, as a mapped file.
//!
//! A spool remains if its process is killed, and other processes can read the spool while its owner runs. `SPOOL.md` at the top of this
//! crate is the specification. Spools are not archives: they are read on the machine that wrote them, by the same version of the software.
//!
//! This module defines the offsets of the tracer's structures in the file and the records of the [`journal`]. With features `read` and
//! `write`, it also recovers the recordings ([`Spool`]) and [follows](follow) a growing spool.

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

/// Magic number in the first eight bytes of a spool; stored last when a spool is created.
pub const MAGIC: u64 = u64::from_le_bytes(*b"DXTSPOOL");
/// Version of the spool format that the tracer writes.
pub const VERSION: u32 = 5;
/// Oldest version of the spool format that can be read.
pub const OLDEST_VERSION: u32 = 4;
/// Size of a spool's header, in bytes.
pub const HEADER_BYTES: usize = 4096;
/// Returns the name of the spill file (compressed segments) that belongs to a spool: `<stem>.spill` for `<stem>-<number>.spool`, `None` for
/// other names.
#[must_use]
pub fn spill_name(spool: &str) -> Option<String> {
    let (stem, _) = spool.strip_suffix(".spool")?.rsplit_once('-')?;
    Some(format!("{stem}.spill"))
}

/// Maximum number of counters of events that were not recorded, at [`header::NOTES`].
pub const MOST_NOTES: usize = 64;

/// Byte offsets of the fields in a spool's header.
pub mod header {
    /// Byte offset of a u64: magic number of a spool, [`super::MAGIC`].
    pub const MAGIC: usize = 0;
    /// Byte offset of a u32: version of the spool format, [`super::VERSION`].
    pub const VERSION: usize = 8;
    /// Byte offset of a u32: process id of the spool's owner.
    pub const PID: usize = 12;
    /// Byte offset of 16 bytes: boot id of the machine (`/proc/sys/kernel/random/boot_id`) in binary.
    pub const BOOT_ID: usize = 16;
    /// Byte offset of a u64: start time of the owner, in clock ticks since boot (proc(5), stat, field 22).
    pub const STARTED: usize = 32;
    /// Byte offset of a u32: clock of the ticks: 1 for the processor's counter, 0 for nanoseconds of CLOCK_MONOTONIC.
    pub const COUNTER: usize = 40;
    /// Byte offset of a u32: number of counters of events that were not recorded, at [`NOTES`].
    pub const NOTE_COUNT: usize = 44;
    /// Byte offset of a u64: ticks at the owner's epoch (time zero).
    pub const BASE_TICKS: usize = 48;
    /// Byte offset of a u64: CLOCK_MONOTONIC at the owner's epoch (time zero), in ns.
    pub const BASE_MONOTONIC: usize = 56;
    /// Byte offset of an i64: wall-clock time of the owner's epoch (time zero), in ns since 1970-01-01 UTC.
    pub const EPOCH_UNIX: usize = 64;
    /// Byte offset of a u64: reading of the tick clock at its latest comparison with CLOCK_MONOTONIC; 0 if they were not compared.
    pub const LATEST_TICKS: usize = 72;
    /// Byte offset of a u64: reading of CLOCK_MONOTONIC at its latest comparison with the tick clock, in ns.
    pub const LATEST_MONOTONIC: usize = 80;
    /// Byte offset of a u32: state of the trace to which data marked as taken belongs: [`super::cut::UNDER_WAY`] while the trace is being
    /// written, [`super::cut::DONE`] when it is finished, 0 if no data is marked as taken.
    pub const CUT: usize = 88;
    /// Byte offset of a u32: length of the path at [`CUT_PATH`], in bytes; stored last, 0 if there is no path.
    pub const CUT_PATH_BYTES: usize = 92;
    /// Byte offset of a u64: end of the owner's recording as stated in the trace at [`CUT_PATH`], in ns; distinguishes that trace from the
    /// owner's other traces.
    pub const CUT_END: usize = 96;
    /// Byte offset of a u64: ticks when the rank left the barrier that aligns the ranks' clocks; 0 without a barrier.
    pub const SYNC_TICKS: usize = 104;
    /// Byte offset of a u64: rank 0's [`EPOCH_UNIX`] if the trace at [`CUT_PATH`] is one file for all ranks; 0 for a trace of one process
    /// and from older tracers. Only this field shows that a trace contains a rank whose files were all reduced to the job's record.
    pub const CUT_JOB_EPOCH: usize = 112;
    /// Byte offset of the table of regions, in the order of [`super::Part`]: three u64 per region (offset, capacity, used length), in
    /// bytes.
    pub const PARTS: usize = 128;
    /// Byte offset of a u64: number of leading bytes of the spill file (compressed segments) that are in a finished trace or in the trace
    /// being written.
    pub const SPILL_TAKEN: usize = 288;
    /// Byte offset of a u64: number of leading bytes of the spill file (compressed segments) that are in a finished trace.
    pub const SPILL_WRITTEN: usize = 296;
    /// Byte offset of a u64: device number (stat(2)) of the spill file (compressed segments); identifies the file together with
    /// [`SPILL_INODE`].
    pub const SPILL_DEVICE: usize = 304;
    /// Byte offset of a u64: inode number of the spill file (compressed segments); stored last, 0 without a spill file.
    pub const SPILL_INODE: usize = 312;
    /// Byte offset of a u64: number of the job whose byte budget (DXT_JOB_BYTES) still includes this spool after the spool was set aside
    /// (renamed before exec(3)); used only by the tracer.
    pub const BUDGET_JOB: usize = 320;
    /// Byte offset of a u64: number of bytes that the budget of [`BUDGET_JOB`] reserves for this spool; stored last.
    pub const BUDGET_BYTES: usize = 328;
    /// Byte offset of several u64: numbers of events that were not recorded, by kind of event; the journal describes the kinds.
    pub const NOTES: usize = 512;
    /// Byte offset of the path of the trace being written; the path is absent if longer than [`MOST_CUT_PATH`].
    pub const CUT_PATH: usize = 2048;
    /// Maximum length of the path at [`CUT_PATH`], in bytes.
    pub const MOST_CUT_PATH: usize = super::HEADER_BYTES - CUT_PATH;
}

/// Values of the field [`header::CUT`], the state of the trace that a process writes.
pub mod cut {
    /// The trace is being written. If a complete trace with the final name exists, it contains the data (segments and counts) marked as
    /// taken.
    pub const UNDER_WAY: u32 = 1;
    /// The trace is complete and has its final name.
    pub const DONE: u32 = 2;
}

/// Region of a spool (a process's recordings in a mapped file).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Part {
    /// Definitions of the ids in segments: files, streams, threads ([`journal`]).
    Journal = 0,
    /// Chunks: buffers of segments, or of packed blocks (compressed segments); see [`chunk`].
    Arena = 1,
    /// Scratch buffers with segments that wait to be folded into counters ([`scratch`]).
    Scratch = 2,
    /// Counters of each stream (operation on a file), over the calls that were folded (added to counters) instead of stored ([`folded`]).
    Folded = 3,
    /// Staging slots, which hold packed blocks (compressed segments) until the blocks are copied to their destination ([`staging`]).
    Staging = 4,
    /// Chunks (segment buffers) with segments of collective MPI calls ([`chunk`]).
    SyncPoints = 5,
}

/// Number of regions in a spool.
pub const PARTS: usize = 6;
/// Size of a region's entry in the spool header's table of regions, in bytes.
pub const PART_BYTES: usize = 24;

/// Layout of a chunk (segment buffer of one thread): a header of 32 bytes, then segments or packed blocks (compressed segments).
pub mod chunk {
    /// Magic number in the header of a chunk (segment buffer), at offset [`MAGIC`].
    pub const MAGIC_VALUE: u64 = u64::from_le_bytes(*b"DXTchunk");
    /// Size of the header of a chunk (segment buffer), in bytes.
    pub const HEADER_BYTES: usize = 32;
    /// Byte offset of a u64: magic number of a chunk (segment buffer), [`MAGIC_VALUE`].
    pub const MAGIC: usize = 0;
    /// Byte offset of a u32: index of the thread that owns the chunk (segment buffer).
    pub const THREAD: usize = 8;
    /// Byte offset of a u32: size of the chunk (segment buffer) with its header, in bytes.
    pub const BYTES: usize = 12;
    /// Byte offset of a u32: state of the chunk (segment buffer), one of [`ACTIVE`], [`FULL`], [`PACKING`] and [`HOLDS_BLOCKS`].
    pub const STATE: usize = 16;
    /// Byte offset of a u32: sequence number of the chunk (segment buffer) among its thread's chunks.
    pub const SEQUENCE: usize = 20;
    /// Byte offset of a u32: number of bytes of the chunk in use by packed blocks (compressed segments).
    pub const PACKED: usize = 24;
    /// Byte offset of a u32: nonzero if the thread may still write a segment to the chunk's last slot (a spare slot).
    pub const SPARE_AWAITED: usize = 28;

    /// State of a chunk (segment buffer) that its thread is filling.
    pub const ACTIVE: u32 = 1;
    /// State of a chunk (segment buffer) that its thread has filled.
    pub const FULL: u32 = 2;
    /// State of a chunk (segment buffer) whose segments are being packed (compressed). The segments are valid unless a packed block of the
    /// same thread and sequence number exists.
    pub const PACKING: u32 = 3;
    /// State of a chunk (buffer) that holds packed blocks (compressed segments) instead of segments.
    pub const HOLDS_BLOCKS: u32 = 4;
}

/// Layout of a packed block (compressed segments of one chunk): a header of 32 bytes, then a segment frame, padded to 8 bytes.
pub mod block {
    /// Size of a packed block's header, in bytes.
    pub const HEADER_BYTES: usize = 32;
    /// Byte offset of a u32: size of the segment frame, in bytes; stored last.
    pub const BYTES: usize = 0;
    /// Byte offset of a u32: index of the thread that recorded the segments.
    pub const THREAD: usize = 4;
    /// Byte offset of a u32: sequence number of the chunk (segment buffer) whose segments are in the block.
    pub const SEQUENCE: usize = 8;
    /// Byte offset of a u32: mark that states if the block (compressed segments) is in a trace, one of [`mark`].
    pub const MARK: usize = 12;
    /// Byte offset of a u64: clock rate used for encoding, in the unit of `TickScale::mult`.
    pub const MULT: usize = 16;
    /// Byte offset of a u32: slot number, within its chunk (segment buffer), of the block's first segment; the other segments were in the
    /// slots after it. Nonzero only if earlier slots were already in a trace.
    pub const FIRST: usize = 24;

    /// Values of `MARK`, which state if a block is in a trace; equivalent to the mark bits [`TAKEN`](crate::segment::TAKEN)
    /// and [`WRITTEN`](crate::segment::WRITTEN) of segments.
    pub mod mark {
        /// The block (compressed segments) is in no trace.
        pub const NONE: u32 = 0;
        /// The block belongs to the trace that is being written.
        pub const TAKEN: u32 = 1;
        /// The block is in a finished trace.
        pub const WRITTEN: u32 = 2;
    }
}

/// Layout of a scratch buffer: a header of 32 bytes, then slots for segments that wait to be folded into counters.
pub mod scratch {
    /// Number of slots for segments in a scratch buffer.
    pub const SLOTS: usize = 64;
    /// Size of a scratch buffer (segments that wait to be added to counters), in bytes.
    pub const BYTES: usize = 32 + SLOTS * 32;
    /// Byte offset of a u32: index of the thread that owns the scratch buffer.
    pub const THREAD: usize = 0;
    /// Byte offset of a u32 (version 4 only): progress of the fold (addition of the segments to counters). 0 if no fold is in progress,
    /// else 1 plus the number of slots already in the counters, or 1 if [`COUNTED`] has a bit for each of these slots.
    pub const FOLDED: usize = 4;
    /// Byte offset of a u64: bit mask of the slots that are already in the counters, while a fold (addition of the segments to counters) is
    /// in progress.
    pub const COUNTED: usize = 8;
    /// Byte offset of a u64: bit mask of the slots of the stream (operation on a file) whose addition to the counters began last; 0 if no
    /// fold is in progress.
    pub const COUNTING: usize = 16;
    /// Byte offset of the first slot (for one segment) in a scratch buffer.
    pub const FIRST: usize = 32;
}

/// Layout of the counters of one stream (operation on a file): 64-bit numbers; times are in ticks.
pub mod folded {
    use crate::counters::SIZE_BINS;

    /// Size of the counters of one stream (operation on a file), in bytes.
    pub const BYTES: usize = BASE + BASES * 8;
    /// Size of the counters of one stream (operation on a file) in spools of version 4, which end before [`ADDER`], in bytes.
    pub const BYTES_4: usize = ADDER;
    /// Number of values per stream (operation on a file) that only grow: five sums and the histogram of sizes.
    pub const COUNTS: usize = 5 + SIZE_BINS;
    /// Number of extremes per stream (operation on a file): longest duration, earliest start, latest end, lowest offset, highest end
    /// offset.
    pub const EXTREMES: usize = 5;
    /// Byte offset of a u64: id of the stream (operation on a file) plus one; 0 if the entry is unused.
    pub const STREAM: usize = 0;
    /// Byte offset of several u64: sums over the stream's calls added to the counters: calls, bytes, duration (ticks), consecutive calls,
    /// sequential calls.
    pub const SUMS: usize = 8;
    /// Byte offset of a u64: longest duration of a call added to the counters, in ticks.
    pub const MAX_DURATION: usize = 48;
    /// Byte offset of a u64: earliest start of a call added to the counters, in ticks.
    pub const FIRST_START: usize = 56;
    /// Byte offset of a u64: latest end of a call added to the counters, in ticks.
    pub const LAST_END: usize = 64;
    /// Byte offset of an i64: lowest file offset of a call added to the counters, in bytes.
    pub const MIN_OFFSET: usize = 72;
    /// Byte offset of an i64: highest end offset (offset plus length) of a call added to the counters, in bytes.
    pub const MAX_END_OFFSET: usize = 80;
    /// Byte offset of an i64: file offset at which the latest call of the stream (operation on a file) ended, in bytes; -1 if unknown.
    pub const PREVIOUS: usize = 88;
    /// Byte offset of several u64: number of calls added to the counters, by bin of the transfer size.
    pub const SIZES: usize = 96;
    /// Byte offset of several u64: portions of the sums and of the histogram of sizes that are in a finished trace.
    pub const WRITTEN: usize = SIZES + SIZE_BINS * 8;
    /// Byte offset of several u64: portions of the sums and of the histogram of sizes that are in a finished trace or in the trace being
    /// written.
    pub const TAKEN: usize = WRITTEN + COUNTS * 8;
    /// Byte offset of several u64: extremes (in the order of [`MAX_DURATION`] to [`MAX_END_OFFSET`]) of the calls that belong to the trace
    /// being written.
    pub const TAKEN_EXTREMES: usize = TAKEN + COUNTS * 8;
    /// Byte offset of a u64: one plus the number of the scratch buffer whose segments ([`scratch::COUNTING`](super::scratch::COUNTING)) are
    /// being added to these counters; 0 if no buffer is. While the bit [`PREPARING`] is set, the counters are still unchanged.
    pub const ADDER: usize = TAKEN_EXTREMES + EXTREMES * 8;
    /// Byte offset of several u64: sums and [`PREVIOUS`] before the addition of the scratch buffer in [`ADDER`], with which the addition
    /// can be undone.
    pub const BASE: usize = ADDER + 8;
    /// Number of values stored at [`BASE`]: five sums and the end offset of the previous segment.
    pub const BASES: usize = 6;
    /// Bit of [`ADDER`] that is set while [`BASE`] is being written.
    pub const PREPARING: u64 = 1 << 63;
}

/// Layout of a staging slot, which holds a packed block (compressed segments) until the block is copied to its destination: a header of 8
/// bytes, then the block.
pub mod staging {
    /// Number of staging slots (buffers for one compressed block each) in a spool.
    pub const PLACES: usize = 16;
    /// Size of a staging slot (buffer for one compressed block), in bytes.
    pub const BYTES: usize = 64 << 10;
    /// Byte offset of a u32: size of the block with its header, in bytes; 0 if the staging slot is empty.
    pub const LENGTH: usize = 0;
    /// Byte offset of the packed block (compressed segments) in a staging slot.
    pub const FIRST: usize = 8;
}
