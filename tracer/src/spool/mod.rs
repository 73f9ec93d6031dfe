//! The spool: a mapped file that holds the records of this process, so that they survive the process. `trace_format::spool` defines its
//! layout. Created when the first call is about to be recorded, removed when the trace has been written.
//!
//! This module manages the file and its layout. The owners of the data write the content: the arena and the tables lie in the spool, and
//! definitions go into the [`journal`].

mod file;
mod header;
pub(crate) mod journal;
mod place;
pub(crate) mod spill;

pub(crate) use header::{
    cut_begins, cut_ends_at, cut_goes_to, cut_is_done, cut_is_over, note_budget, note_clock, set_sync,
};

use crate::budget::{self, LEAST_ARENA};
use crate::clock;
use crate::config::{self, Spool};
use crate::memory::{Lent, PAGE_BYTES};
use crate::notes;
use crate::own_directories::{self, For};
use crate::own_file;
use crate::stack;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use trace_format::spool::{HEADER_BYTES, PARTS, Part, folded, scratch, staging};

/// Stage of the life of the spool (file that holds the recorded data of the process).
#[repr(u8)]
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// There is no spool (file of recorded data), and none will be created.
    None = 0,
    /// A spool (file of recorded data) will be created when the first call is recorded.
    Wanted = 1,
    Making = 2,
    There = 3,
}

static STAGE: AtomicU8 = AtomicU8::new(Stage::None as u8);

/// Parts of the spool (file of recorded data) that other modules use as their memory.
pub(crate) struct Parts {
    pub(crate) arena: Lent,
    pub(crate) sync_points: Lent,
    /// Part of the spool for segments that wait to be folded into counters.
    pub(crate) scratch: Lent,
    /// Part of the spool for counters of calls that are not recorded as segments.
    pub(crate) folded: Lent,
    /// Part of the spool for copies of packed blocks (encoded segments), while they are moved to their chunk (staging).
    pub(crate) staging: Lent,
}

/// Maximum sizes of the parts of the spool (file of recorded data), requested when the spool is created.
#[derive(Clone, Copy)]
pub(crate) struct Sizes {
    /// Size of the journal (file names and other definitions), in bytes.
    pub(crate) journal: usize,
    /// Size of the arena (memory for records) of I/O calls, in bytes; 0 if unused.
    pub(crate) arena: usize,
    /// Size of the arena (memory for records) of collective MPI calls, in bytes.
    pub(crate) sync_points: usize,
    /// Maximum number of streams (file, operation, flags) with counters.
    pub(crate) counters: usize,
    /// Divisor of the journal's size and of the number of scratches (buffers of segments to be counted); greater than 1 if address space is
    /// scarce ([`crate::memory::scale`]). The other sizes are already divided.
    pub(crate) scale: usize,
}

/// Requests a spool (file of recorded data), to be created when the first call is recorded.
pub(crate) fn want() {
    crate::memory::back_by(file::back);
    if let Some(known) = file::sweep(place::directory()) {
        budget::is_gone(known);
    }
    STAGE.store(Stage::Wanted as u8, Ordering::Release);
}

/// Removes, for an untraced program, the spool file that this process left when it ran another program before exec(3). Returns the budget
/// reservation stored in the file: job id and bytes.
pub(crate) fn sweep(config: &config::Config) -> Option<(u64, u64)> {
    file::sweep(place::directory_by(config))
}

/// Removes, when tracing is off, the spool file that this process left when it ran another program before exec(3). Searches DXT_SPOOL,
/// TMPDIR, /tmp and /dev/shm; reads no configuration file, which may lie on a file system that does not respond. Returns the budget
/// reservation stored in the file: job id and bytes.
pub(crate) fn sweep_everywhere(environment: &impl config::Environment) -> Option<(u64, u64)> {
    let reported = [c"DXT_SPOOL", c"TMPDIR"].into_iter().filter_map(|name| environment.get(name));
    let places = reported.chain([b"/tmp".as_slice(), b"/dev/shm"]).filter(|place| place.starts_with(b"/"));
    places.filter_map(|place| file::sweep(std::ffi::CString::new(place).ok())).next()
}

/// Requests a new spool (file of recorded data) after the old spool was removed, unless the user wants none. The spool is created when the
/// next call is recorded.
pub(crate) fn begin_anew() {
    let wanted = MAY_BE.load(Ordering::Relaxed) && config::current().is_some_and(|config| config.spool != Spool::Off);
    if wanted {
        crate::memory::back_by(file::back);
        STAGE.store(Stage::Wanted as u8, Ordering::Release);
    } else {
        STAGE.store(Stage::None as u8, Ordering::Release);
    }
}

/// Permits spools (files that hold the recorded data in shared memory): a forked child can detect the fork, so it never writes into this
/// process's spool. Called from the library's constructor.
pub(crate) fn may_be() {
    MAY_BE.store(true, Ordering::Relaxed);
}

static MAY_BE: AtomicBool = AtomicBool::new(false);

pub(crate) fn is_there() -> bool {
    STAGE.load(Ordering::Acquire) == Stage::There as u8
}

/// Creates the spool if one is requested. Called before a thread gets its first memory for segments. `use_parts` moves the tracer's data
/// into the spool's parts; it runs once, before any thread records. Returns false (no memory yet) if another thread has been creating the
/// spool for very long.
pub(crate) fn make(sizes: Sizes, use_parts: impl FnOnce(&Parts)) -> bool {
    let (wanted, making) = (Stage::Wanted as u8, Stage::Making as u8);
    while let Err(stage) = STAGE.compare_exchange(wanted, making, Ordering::AcqRel, Ordering::Acquire) {
        if stage != making {
            return true;
        }
        if !wait() {
            return false;
        }
    }
    // If memory ran out, data already placed in the mapping stays there; the file is removed so that no reader finds it.
    let made = stack::in_hook(|| try_making(sizes, use_parts)).unwrap_or_else(|| {
        file::remove();
        false
    });
    let stage = if made { Stage::There } else { Stage::None };
    STAGE.store(stage as u8, Ordering::Release);
    true
}

/// Waits for the thread that creates the spool; returns false if that thread seems to have died. Waits long, since a disk may be busy, and
/// recording must not go into memory that is about to be abandoned.
fn wait() -> bool {
    for waited in 0..MOST_WAITS {
        if STAGE.load(Ordering::Acquire) != Stage::Making as u8 {
            return true;
        }
        if waited < 100 { crate::threads::give_way() } else { crate::threads::pause(1_000_000) }
    }
    false
}

/// Maximum number of checks if another thread has finished creating the spool (file of recorded data), nearly all 1 ms apart: 10 s.
const MOST_WAITS: u32 = 10_000;

/// Initially allocated sizes of these parts of the spool: journal, arena, scratches and counters, in bytes, before rounding to pages.
const FIRST_BYTES: [usize; 4] = [16 << 10, 32 << 10, 16 << 10, 16 << 10];

/// Initially allocated sizes of these parts of the spool: journal, arena, scratches and counters, in bytes, if the job's byte budget is
/// used up and calls are only counted.
const LEAST_FIRST_BYTES: [usize; 4] = [16 << 10, LEAST_ARENA as usize, 4 << 10, 4 << 10];

/// Maximum number of scratches (slots for segments to be counted). Bounds address space and file size; a scratch is allocated at first use.
const SCRATCHES: usize = 1 << 15;

fn try_making(wanted: Sizes, use_parts: impl FnOnce(&Parts)) -> bool {
    let Sizes { journal: journal_bytes, arena: arena_bytes, sync_points: sync_points_bytes, counters, scale } = wanted;
    let page = |bytes: usize| bytes.next_multiple_of(64 << 10);
    // Reserves the bytes from the budget before any of them is allocated.
    let whole = |firsts: [usize; 4]| firsts.map(|bytes| bytes.next_multiple_of(PAGE_BYTES));
    let is_granted = budget::begin_spool((page(HEADER_BYTES) + whole(FIRST_BYTES).iter().sum::<usize>()) as u64);
    let firsts = whole(if is_granted { FIRST_BYTES } else { LEAST_FIRST_BYTES });
    let mut sizes = [0; PARTS];
    sizes[Part::Journal as usize] = page(journal_bytes / scale);
    sizes[Part::Arena as usize] = page(arena_bytes);
    sizes[Part::Scratch as usize] = page(SCRATCHES / scale * scratch::BYTES);
    sizes[Part::Folded as usize] = page(counters * folded::BYTES);
    sizes[Part::Staging as usize] = page(staging::PLACES * staging::BYTES);
    sizes[Part::SyncPoints as usize] = page(sync_points_bytes);
    let Some(start) = file::make(page(HEADER_BYTES) + sizes.iter().sum::<usize>()) else { return false };
    let clock = clock::base();
    let [mut journal, mut arena, mut scratch, mut folded, staging, sync_points] =
        header::lay_out(start, &sizes, page(HEADER_BYTES), &clock);
    // If not even these sizes can be allocated, process memory is used instead of a spool.
    let parts = [&mut journal, &mut arena, &mut scratch, &mut folded].into_iter().zip(firsts);
    for (part, first) in parts.filter(|(part, _)| part.capacity > 0) {
        if !file::back(part.start, first) {
            file::abandon();
            return false;
        }
        part.backed = first;
    }
    // Parts are rounded up, so the sizes requested for the arenas are restored.
    let arena = Lent { capacity: arena_bytes, ..arena };
    let sync_points = Lent { capacity: sync_points_bytes, ..sync_points };
    journal::lend(journal);
    notes::keep_in(header::counts(start));
    use_parts(&Parts { arena, sync_points, scratch, folded, staging });
    note_clock();
    header::publish(start);
    true
}

/// Removes the spool file after the trace has been written and no data is left to save. Records made later are lost when the process ends.
pub(crate) fn remove() {
    spill::remove();
    if is_there() {
        file::remove();
    }
}

/// Renames the spool file before exec(3) (`file::set_aside`). Returns true if [`take_back`] can restore the name.
pub(crate) fn set_aside() -> bool {
    is_there() && stack::at_end(file::set_aside).unwrap_or(false)
}

/// Restores the spool file's name after exec(3) failed.
pub(crate) fn take_back() {
    stack::at_end(file::take_back);
}

/// Keeps a descriptor of the spool directory, so that the spool can be reached when path names lead elsewhere (chroot(2)).
pub(crate) fn hold_directory() {
    let there = file::path().filter(|_| is_there()).and_then(place::directory_of);
    let Some(directory) = there.or_else(place::directory) else { return };
    if STAGE.load(Ordering::Acquire) == Stage::None as u8 || own_file::make_directory(&directory).is_ok() {
        own_directories::open(For::Spool, &directory);
    }
}

pub(crate) fn shared_directory(config: &config::Config) -> Option<std::ffi::CString> {
    place::shared_directory(config)
}

pub(crate) fn path() -> Option<&'static [u8]> {
    let path = file::path().filter(|_| is_there())?;
    path.split_last().map(|(_, path)| path)
}

/// Detaches a forked child from its parent's spool (file of recorded data). The child gets a spool of its own when it records its first
/// call.
pub(crate) fn in_child() {
    // The header comes first, so that nothing is written into the parent's header.
    header::forget();
    spill::forget();
    place::forget();
    // Makes no new attempt if no spool could be created before.
    if STAGE.load(Ordering::Relaxed) == Stage::None as u8 {
        return;
    }
    journal::forget();
    notes::keep_in(std::ptr::null_mut());
    file::forget();
    let wanted = MAY_BE.load(Ordering::Relaxed) && config::current().is_some_and(config::Config::is_spooled);
    let stage = if wanted { Stage::Wanted } else { Stage::None };
    STAGE.store(stage as u8, Ordering::Relaxed);
}
