//! Spool header. It holds the offsets of the spool's parts; this module also determines how these parts are laid out.
#![expect(unsafe_code, reason = "fields of the mapped header")]

use crate::clock::{self, Base};
use crate::memory::Lent;
use crate::notes::{Counts, TEXTS};
use crate::{job, notes};
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use trace_format::spool::{HEADER_BYTES, MAGIC, MOST_NOTES, PART_BYTES, PARTS, Part, VERSION, cut, header};

static HEADER: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());

const _: () = assert!(TEXTS.len() <= MOST_NOTES && header::NOTES + MOST_NOTES * 8 <= HEADER_BYTES);

/// Returns the 64-bit field at byte `offset` of the spool header at `start`.
fn field(start: *mut u8, offset: usize) -> &'static AtomicU64 {
    debug_assert!(offset.is_multiple_of(8) && offset < HEADER_BYTES);
    // SAFETY: the field is inside the mapped header.
    let place = unsafe { start.add(offset) };
    // SAFETY: the field is aligned to 8 bytes, mapped for good, and valid for any bits.
    unsafe { &*place.cast::<AtomicU64>() }
}

fn half_field(start: *mut u8, offset: usize) -> &'static AtomicU32 {
    // SAFETY: the field is inside the mapped header.
    let place = unsafe { start.add(offset) };
    // SAFETY: the field is aligned to 4 bytes, mapped for good, and valid for any bits.
    unsafe { &*place.cast::<AtomicU32>() }
}

/// Fills in the spool header except for its magic, and lays out parts of these sizes from byte `first` of the spool on. Returns the parts.
pub(super) fn lay_out(start: *mut u8, sizes: &[usize; PARTS], first: usize, clock: &Base) -> [Lent; PARTS] {
    let (pid, _) = job::process_ids();
    half_field(start, header::VERSION).store(VERSION, Ordering::Relaxed);
    half_field(start, header::PID).store(pid, Ordering::Relaxed);
    let boot = job::boot_id();
    for (i, half) in boot.as_chunks::<8>().0.iter().enumerate() {
        field(start, header::BOOT_ID + i * 8).store(u64::from_le_bytes(*half), Ordering::Relaxed);
    }
    field(start, header::STARTED).store(job::started(pid), Ordering::Relaxed);
    half_field(start, header::COUNTER).store(u32::from(clock.counter), Ordering::Relaxed);
    half_field(start, header::NOTE_COUNT).store(TEXTS.len() as u32, Ordering::Relaxed);
    field(start, header::BASE_TICKS).store(clock.ticks, Ordering::Relaxed);
    field(start, header::BASE_MONOTONIC).store(clock.monotonic_ns, Ordering::Relaxed);
    field(start, header::EPOCH_UNIX).store(clock.epoch_unix_ns as u64, Ordering::Relaxed);
    let mut offset = first;
    std::array::from_fn(|part| {
        let (at, size) = (header::PARTS + part * PART_BYTES, sizes[part]);
        field(start, at).store(offset as u64, Ordering::Relaxed);
        field(start, at + 8).store(size as u64, Ordering::Relaxed);
        // SAFETY: `offset` is inside the mapping, which has the size of the header and all parts.
        let address = unsafe { start.add(offset) };
        offset += size;
        Lent { start: address, capacity: size, backed: 0, used: field(start, at + 16) }
    })
}

/// True if byte `offset` of the spool at `start` belongs to a part that holds segments. The parts must be laid out already.
pub(super) fn is_for_segments(start: *mut u8, offset: usize) -> bool {
    [Part::Arena, Part::SyncPoints].into_iter().any(|part| {
        let at = header::PARTS + part as usize * PART_BYTES;
        let [from, size] = [at, at + 8].map(|at| field(start, at).load(Ordering::Relaxed) as usize);
        (from..from + size).contains(&offset)
    })
}

/// Returns the address of the notes' counters (lost or unrecorded calls) in the spool header.
pub(super) fn counts(start: *mut u8) -> *mut Counts {
    // SAFETY: the counters are inside the mapped header.
    unsafe { start.add(header::NOTES) }.cast()
}

/// Writes the magic number into the header of the spool (file of recorded data), which makes the spool valid for readers.
pub(super) fn publish(start: *mut u8) {
    field(start, header::MAGIC).store(MAGIC, Ordering::Release);
    HEADER.store(start, Ordering::Release);
}

/// Detaches a forked child from the spool header, which belongs to the parent.
pub(super) fn forget() {
    HEADER.store(std::ptr::null_mut(), Ordering::Relaxed);
}

fn put(offset: usize, value: u64) {
    let start = HEADER.load(Ordering::Acquire);
    if !start.is_null() {
        field(start, offset).store(value, Ordering::Release);
    }
}

/// Stores in the spool header two sizes of the spill file, in bytes. `taken`: blocks in a trace or in the trace being written. `written`:
/// blocks in a trace.
pub(super) fn set_spill(taken: usize, written: usize) {
    put(header::SPILL_TAKEN, taken as u64);
    put(header::SPILL_WRITTEN, written as u64);
}

pub(super) fn set_spill_file((device, inode): (u64, u64)) {
    put(header::SPILL_DEVICE, device);
    put(header::SPILL_INODE, inode);
}

/// Stores in the spool header the bytes that the node quota has reserved for this spool. `job`: job number of the quota.
pub(crate) fn note_budget((job, bytes): (u64, u64)) {
    put(header::BUDGET_BYTES, 0);
    put(header::BUDGET_JOB, job);
    put(header::BUDGET_BYTES, bytes);
}

fn put_half(offset: usize, value: u32) {
    let start = HEADER.load(Ordering::Acquire);
    if !start.is_null() {
        half_field(start, offset).store(value, Ordering::SeqCst);
    }
}

/// Records in the spool header that segments (records of calls) are about to be marked as taken, for a trace that has no name yet.
pub(crate) fn cut_begins() {
    put_half(header::CUT_PATH_BYTES, 0);
    put_half(header::CUT, cut::UNDER_WAY);
}

/// Stores in the spool header the end time of this process in the trace being written, in ns.
pub(crate) fn cut_ends_at(end_ns: u64) {
    put_half(header::CUT_PATH_BYTES, 0);
    put(header::CUT_END, end_ns);
}

/// Stores in the spool header the path of the trace about to be written. Once that file exists, all records marked as taken are in it, even
/// if this process is killed before it confirms that. `job_epoch`: rank 0's start time for a trace of all ranks, else 0.
pub(crate) fn cut_goes_to(path: &[u8], job_epoch: u64) {
    let start = HEADER.load(Ordering::Acquire);
    if start.is_null() || path.len() > header::MOST_CUT_PATH {
        return;
    }
    put_half(header::CUT_PATH_BYTES, 0);
    // SAFETY: the path's place is inside the mapped header.
    let place = unsafe { start.add(header::CUT_PATH) };
    put(header::CUT_JOB_EPOCH, job_epoch);
    // SAFETY: the path fits, and only one thread at a time writes a trace.
    unsafe { std::ptr::copy_nonoverlapping(path.as_ptr(), place, path.len()) };
    put_half(header::CUT_PATH_BYTES, path.len() as u32);
}

/// Records in the spool header that all records marked as taken are now in a finished trace.
pub(crate) fn cut_is_done() {
    put_half(header::CUT, cut::DONE);
}

/// Records in the spool header that no records are marked as taken any longer.
pub(crate) fn cut_is_over() {
    put_half(header::CUT, 0);
}

/// Stores in the spool header the time in ticks at which this rank left the barrier that aligns the ranks' clocks.
pub(crate) fn set_sync(ticks: u64) {
    put(header::SYNC_TICKS, ticks);
}

/// Minimum interval between two comparisons of the tick clock with CLOCK_MONOTONIC, in ticks: some milliseconds.
const COMPARED_EVERY: u64 = 1 << 24;

/// Stores in the spool header a simultaneous reading of tick clock and CLOCK_MONOTONIC from time to time, so that a reader of the spool can
/// compute the tick rate.
pub(crate) fn note_clock() {
    let start = HEADER.load(Ordering::Acquire);
    if start.is_null() {
        return;
    }
    let latest = field(start, header::LATEST_TICKS);
    if clock::now().wrapping_sub(latest.load(Ordering::Relaxed)) > COMPARED_EVERY {
        let (ticks, monotonic_ns) = clock::compare();
        field(start, header::LATEST_MONOTONIC).store(monotonic_ns, Ordering::Relaxed);
        latest.store(ticks, Ordering::Release);
    }
}

/// Returns the texts of the notes (kinds of lost or unrecorded calls), one per line.
pub(super) fn note_texts() -> Vec<u8> {
    notes::TEXTS.join("\n").into_bytes()
}
