//! The spool: a mapped file that holds what this process has recorded, so that it survives the process. Its layout is
//! `trace_format::spool`'s. Made when the first call is about to be recorded, removed when its trace has been written.
//!
//! Here is the file and where things are in it. What belongs into it is put there by those who know: the arena and the
//! tables lie in it, definitions go into its [`journal`].

mod file;
mod header;
mod identity;
pub(crate) mod journal;
mod place;
pub(crate) mod spill;

pub(crate) use header::{
    cut_begins, cut_ends_at, cut_goes_to, cut_is_done, cut_is_over, note_budget, note_clock, set_sync,
};

use crate::budget::{self, LEAST_ARENA};
use crate::clock;
use crate::config::{self, Spool};
use crate::held::{self, For};
use crate::memory::{Lent, PAGE_BYTES};
use crate::notes;
use crate::stack;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use trace_format::spool::{HEADER_BYTES, PARTS, Part, folded, landing, scratch};

/// Where a process is with its spool.
#[repr(u8)]
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// It has none and shall have none.
    None = 0,
    /// It shall have one once something is recorded.
    Wanted = 1,
    /// A thread is making it.
    Making = 2,
    /// It is there.
    There = 3,
}

static STAGE: AtomicU8 = AtomicU8::new(Stage::None as u8);

/// The parts that others lie in.
pub(crate) struct Parts {
    /// For the arena.
    pub(crate) arena: Lent,
    /// For the arena of collective calls.
    pub(crate) meetings: Lent,
    /// For the segments that wait to be folded.
    pub(crate) scratch: Lent,
    /// For the counters.
    pub(crate) folded: Lent,
    /// For packed blocks on their way.
    pub(crate) landing: Lent,
}

/// What the parts may become.
#[derive(Clone, Copy)]
pub(crate) struct Sizes {
    /// Bytes of the journal.
    pub(crate) journal: usize,
    /// Bytes of the arena; 0: nothing will lie there.
    pub(crate) arena: usize,
    /// Bytes of the arena of collective calls.
    pub(crate) meetings: usize,
    /// Streams that have counters.
    pub(crate) counters: usize,
    /// Address space is that much scarcer than usual ([`crate::memory::scale`]).
    pub(crate) scale: usize,
}

/// Says that the process shall have a spool.
pub(crate) fn want() {
    crate::memory::back_by(file::back);
    if let Some(known) = file::sweep(place::directory()) {
        budget::is_gone(known);
    }
    STAGE.store(Stage::Wanted as u8, Ordering::Release);
}

/// Removes what the program left that this process was before: for one that is not traced itself. Returns what that said of the job's budget.
pub(crate) fn sweep(config: &config::Config) -> Option<(u64, u64)> {
    file::sweep(place::directory_by(config))
}

/// The same of one that is off: wherever spools may be by its environment. No configuration is read for it, which may lie where nothing answers.
pub(crate) fn sweep_everywhere(environment: &impl config::Environment) -> Option<(u64, u64)> {
    let told = [c"DXT_SPOOL", c"TMPDIR"].into_iter().filter_map(|name| environment.get(name));
    let places = told.chain([b"/tmp".as_slice(), b"/dev/shm"]).filter(|place| place.starts_with(b"/"));
    places.filter_map(|place| file::sweep(std::ffi::CString::new(place).ok())).next()
}

/// The spool has been removed: the first call that comes now begins a new one, unless the user wants none.
pub(crate) fn begin_anew() {
    let wanted = MAY_BE.load(Ordering::Relaxed) && config::current().is_some_and(|config| config.spool != Spool::Off);
    if wanted {
        crate::memory::back_by(file::back);
        STAGE.store(Stage::Wanted as u8, Ordering::Release);
    } else {
        STAGE.store(Stage::None as u8, Ordering::Release);
    }
}

/// Whether a forked child can tell, so that it never writes into this process's spool. For the constructor.
pub(crate) fn may_be() {
    MAY_BE.store(true, Ordering::Relaxed);
}

static MAY_BE: AtomicBool = AtomicBool::new(false);

/// Whether there is one.
pub(crate) fn is_there() -> bool {
    STAGE.load(Ordering::Acquire) == Stage::There as u8
}

/// Called before a thread gets its first memory for segments: makes the spool if it is wanted and not there yet. `use_parts`
/// puts things into it; it runs once, on one thread, while no other is recording yet. False if another thread has been at it
/// for very long: then there is no memory yet.
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
    // Where memory ran out, what is in it already stays there, and nobody finds it.
    let made = stack::in_hook(|| try_making(sizes, use_parts)).unwrap_or_else(|| {
        file::remove();
        false
    });
    let stage = if made { Stage::There } else { Stage::None };
    STAGE.store(stage as u8, Ordering::Release);
    true
}

/// Waits for another thread that makes the spool; false if it seems to have died. Where the disk is busy it may take a while,
/// and whoever went on would record into memory that is about to be given up.
fn wait() -> bool {
    for waited in 0..MOST_WAITS {
        if STAGE.load(Ordering::Acquire) != Stage::Making as u8 {
            return true;
        }
        if waited < 100 { crate::threads::give_way() } else { crate::threads::pause(1_000_000) }
    }
    false
}

/// Times that a thread looks again, nearly all of them a millisecond apart: ten seconds.
const MOST_WAITS: u32 = 10_000;

/// Bytes of a part that are backed from the start, in whole pages of any processor.
const FIRST_BYTES: usize = 64 << 10;

/// The same of journal, arena, scratches and counters where the job's budget is spent: nothing is kept but counters.
const LEAST_FIRST_BYTES: [usize; 4] = [16 << 10, LEAST_ARENA as usize, 4 << 10, 4 << 10];

/// Most scratches: address space and an upper bound of the file's size; nothing is taken before it is used.
const SCRATCHES: usize = 1 << 15;

fn try_making(wanted: Sizes, use_parts: impl FnOnce(&Parts)) -> bool {
    let Sizes { journal: journal_bytes, arena: arena_bytes, meetings: meetings_bytes, counters, scale } = wanted;
    let page = |bytes: usize| bytes.next_multiple_of(64 << 10);
    // Before anything is there.
    let firsts = if budget::begin_spool((page(HEADER_BYTES) + 4 * FIRST_BYTES) as u64) {
        [FIRST_BYTES; 4]
    } else {
        LEAST_FIRST_BYTES.map(|bytes| bytes.next_multiple_of(PAGE_BYTES))
    };
    let mut sizes = [0; PARTS];
    sizes[Part::Journal as usize] = page(journal_bytes / scale);
    sizes[Part::Arena as usize] = page(arena_bytes);
    sizes[Part::Scratch as usize] = page(SCRATCHES / scale * scratch::BYTES);
    sizes[Part::Folded as usize] = page(counters * folded::BYTES);
    sizes[Part::Landing as usize] = page(landing::PLACES * landing::BYTES);
    sizes[Part::Meetings as usize] = page(meetings_bytes);
    let Some(start) = file::make(page(HEADER_BYTES) + sizes.iter().sum::<usize>()) else { return false };
    let clock = clock::base();
    let [mut journal, mut arena, mut scratch, mut folded, landing, meetings] =
        header::lay_out(start, &sizes, page(HEADER_BYTES), &clock);
    // Where not even this has room, memory of our own does better.
    let parts = [&mut journal, &mut arena, &mut scratch, &mut folded].into_iter().zip(firsts);
    for (part, first) in parts.filter(|(part, _)| part.capacity > 0) {
        if !file::back(part.start, first) {
            file::abandon();
            return false;
        }
        part.backed = first;
    }
    // The arena's part is a little larger than what was asked for.
    let arena = Lent { capacity: arena_bytes, ..arena };
    let meetings = Lent { capacity: meetings_bytes, ..meetings };
    journal::lend(journal);
    notes::keep_in(header::counts(start));
    use_parts(&Parts { arena, meetings, scratch, folded, landing });
    note_clock();
    header::publish(start);
    true
}

/// The trace has been written and nothing is left to save: takes the file away. What is recorded from now on dies with
/// the process.
pub(crate) fn remove() {
    spill::remove();
    if is_there() {
        file::remove();
    }
}

/// The process may become another program now: see `file::set_aside`. Returns whether there is something to take back.
pub(crate) fn set_aside() -> bool {
    is_there() && stack::at_end(file::set_aside).unwrap_or(false)
}

/// It did not.
pub(crate) fn take_back() {
    stack::at_end(file::take_back);
}

/// Bytes of names in it.
pub(crate) fn journal_bytes() -> u64 {
    journal::bytes() as u64
}

/// Largest file that this process may write, in bytes.
pub(crate) fn size_limit() -> u64 {
    file::size_limit()
}

/// Holds the directory of spools, for the spool that there is or that there may be.
pub(crate) fn hold_directory() {
    let there = file::path().filter(|_| is_there()).and_then(place::directory_of);
    let Some(directory) = there.or_else(place::directory) else { return };
    if STAGE.load(Ordering::Acquire) == Stage::None as u8 || file::make_directory(&directory).is_ok() {
        held::open(For::Spool, &directory);
    }
}

/// Directory for what processes of this node share.
pub(crate) fn shared_directory(config: &config::Config) -> Option<std::ffi::CString> {
    place::shared_directory(config)
}

/// Path of the spool, for messages.
pub(crate) fn path() -> Option<&'static [u8]> {
    let path = file::path().filter(|_| is_there())?;
    path.split_last().map(|(_, path)| path)
}

/// In a forked child: the parent's spool is the parent's. The child gets its own once it records something.
pub(crate) fn in_child() {
    // First, so that nothing is told to the parent's.
    header::forget();
    spill::forget();
    place::forget();
    // Where none could be made before, none is tried again.
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
