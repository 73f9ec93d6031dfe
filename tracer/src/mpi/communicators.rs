//! Communicators of this process, by handle. A communicator gets an ID (number) when this process first makes a collective call on it. A
//! freed handle is forgotten, since the MPI library may reuse it. IDs are reused only once [`MOST`] communicators have one. The MPI library
//! is queried once per communicator, after a successful call, and only with queries that do not involve other ranks.
#![expect(unsafe_code, reason = "records in tables")]

use super::calls::{Handle, SUCCESS, api};
use super::sampling::Calls;
use super::world::World;
use crate::errno;
use crate::memory::{Area, Record, Table};
use crate::notes::Note;
use crate::ops::Op;
use crate::spool::journal;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use trace_format::meta::{CommunicatorDef, WORLD};
use trace_format::segment::NO_OFFSET;

/// Maximum number of communicators that get an ID, besides `MPI_COMM_WORLD`.
const MOST: usize = 4096;
/// Size of the handle table, in entries; at least half of the entries stay free.
const PLACES: usize = 2 * MOST;
/// Handle value that marks a removed entry of the handle table, which may be reused.
const REMOVED: usize = usize::MAX;
/// Maximum number of member ranks that are sampled to identify a communicator.
const SAMPLED: usize = 64;

/// Communicator that has an ID of the tracer; `freed` is true if the program has freed it.
struct Communicator {
    def: CommunicatorDef,
    freed: AtomicBool,
}

// SAFETY: a record can be found only once it is complete.
unsafe impl Record for Communicator {}

static KNOWN: Table<Communicator> = Table::new();
static WORLD_IS_USED: AtomicBool = AtomicBool::new(false);
static CALLS_OF_WORLD: Calls = Calls::new();

/// Entry of the handle table: handle and ID of a communicator, and counts of its collective calls.
struct Place {
    handle: AtomicUsize,
    number: AtomicU32,
    calls: Calls,
}

/// Memory of the handle table, kept apart from memory that the program locks; empty in programs without MPI.
static HANDLES: Area = Area::new();

#[inline(always)]
fn table() -> &'static [Place] {
    let (start, count) = (HANDLES.start().cast::<Place>(), HANDLES.used() / size_of::<Place>());
    if start.is_null() {
        return &[];
    }
    // SAFETY: mapped for good and aligned to a page; an all-zero place is valid, and places are only accessed by shared references.
    unsafe { std::slice::from_raw_parts(start, count) }
}

#[inline(always)]
fn places(handle: Handle) -> impl Iterator<Item = &'static Place> {
    let (first, table) = (handle.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 51, table());
    (0..PLACES).filter_map(move |step| table.get((first + step) % PLACES))
}

#[inline(always)]
fn find(handle: Handle) -> Option<&'static Place> {
    for place in places(handle) {
        match place.handle.load(Ordering::Acquire) {
            0 => return None,
            found if found == handle => return Some(place),
            _ => {}
        }
    }
    None
}

/// Reserves memory for the tables of communicators and their handles. Called when MPI_Init has returned.
pub(super) fn prepare() {
    KNOWN.prepare(MOST);
    let bytes = PLACES * size_of::<Place>();
    if HANDLES.prepare(bytes) {
        HANDLES.take(|_| Some(bytes));
    }
}

#[inline]
pub(crate) fn number(world: &World, comm: Handle) -> Option<i64> {
    let handle = world.abi.handle(comm);
    if handle == world.abi.comm_world {
        return Some(i64::from(WORLD));
    }
    find(handle).map(|place| i64::from(place.number.load(Ordering::Acquire)))
}

/// Returns the ID of the communicator `comm` after a failed call of `op`; `None` if it has none. The call counts in the sampling of calls
/// to record, since it may have succeeded on other ranks.
#[cold]
pub(crate) fn number_of_failed(world: &World, comm: Handle, op: &Op) -> Option<i64> {
    let handle = world.abi.handle(comm);
    if handle == world.abi.comm_world {
        CALLS_OF_WORLD.keeps_next(op);
    } else if let Some(place) = find(handle) {
        place.calls.keeps_next(op);
    }
    number(world, comm)
}

/// Returns the communicator's ID, and true if the call is to be recorded as a segment. Called after a successful call of `op`. A
/// communicator without ID gets a new ID; if the table is full, the result is [`NO_OFFSET`].
#[inline(always)]
pub(crate) fn number_of_used(world: &World, comm: Handle, op: &Op) -> (i64, bool) {
    let handle = world.abi.handle(comm);
    if handle == world.abi.comm_world {
        if !WORLD_IS_USED.load(Ordering::Relaxed) {
            use_world(world);
        }
        return (i64::from(WORLD), CALLS_OF_WORLD.keeps_next(op));
    }
    if let Some(place) = find(handle) {
        return (i64::from(place.number.load(Ordering::Acquire)), place.calls.keeps_next(op));
    }
    let number = add(world, handle);
    // Without a table entry, this rank cannot know which calls other ranks record, so it records all.
    (number, find(handle).is_none_or(|place| place.calls.keeps_next(op)))
}

/// Defines the communicator of all ranks. Preserves errno.
#[cold]
fn use_world(world: &World) {
    let errno = errno::save();
    WORLD_IS_USED.store(true, Ordering::Relaxed);
    journal::communicator(&world_def(world));
    errno.restore();
}

/// Gives a communicator an ID and returns it. Preserves errno.
#[cold]
fn add(world: &World, handle: Handle) -> i64 {
    let errno = errno::save();
    let number = if table().is_empty() { None } else { define(world, handle) }.and_then(enter);
    if let Some(number) = number {
        put(handle, number);
    } else {
        Note::Communicators.count();
    }
    errno.restore();
    number.map_or(NO_OFFSET, i64::from)
}

/// Adds a communicator to the table and returns its ID. If the table is full, reuses the ID of a freed communicator with an equal
/// description (size, ranks, members), or returns `None`. Programs that create and free thousands of communicators usually use one after
/// the other.
fn enter(def: CommunicatorDef) -> Option<u32> {
    let like = |known: &CommunicatorDef| CommunicatorDef { number: def.number, ..*known } == def;
    if KNOWN.len() >= MOST {
        let gone = |known: &&Communicator| {
            like(&known.def) && known.freed.compare_exchange(true, false, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        return KNOWN.iter().find(gone).map(|known| known.def.number);
    }
    let (_, known) = KNOWN.push_with(|index| Communicator {
        def: CommunicatorDef { number: index as u32 + 1, ..def },
        freed: AtomicBool::new(false),
    })?;
    journal::communicator(&known.def);
    Some(known.def.number)
}

fn put(handle: Handle, number: u32) {
    for place in places(handle) {
        let found = place.handle.load(Ordering::Acquire);
        // No other thread makes a collective call on this communicator at the same time (MPI 4.0, 6.14).
        if (found == 0 || found == REMOVED)
            && place.handle.compare_exchange(found, handle, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        {
            place.calls.begin();
            return place.number.store(number, Ordering::Release);
        }
    }
}

/// Forgets a communicator that is about to be freed, and returns its ID; the MPI library may reuse the handle from then on.
pub(crate) fn forget(world: &World, comm: Handle) -> Option<u32> {
    let place = find(world.abi.handle(comm))?;
    let number = place.number.load(Ordering::Acquire);
    place.handle.store(REMOVED, Ordering::Release);
    set_freed(number, true);
    Some(number)
}

/// Enters a communicator again under its ID `number` (undoes [`forget`]), because freeing the communicator failed.
pub(crate) fn take_back(world: &World, comm: Handle, number: u32) {
    set_freed(number, false);
    put(world.abi.handle(comm), number);
}

fn set_freed(number: u32, freed: bool) {
    if let Some(known) = (number as usize).checked_sub(1).and_then(|index| KNOWN.get(index)) {
        known.freed.store(freed, Ordering::Release);
    }
}

/// Queries the MPI library for the size and members of a communicator.
fn define(world: &World, comm: Handle) -> Option<CommunicatorDef> {
    let (mut size, mut rank, mut is_inter, mut remote): (c_int, c_int, c_int, c_int) = (0, -1, 0, 0);
    let known = api().comm_size(comm, &raw mut size) == SUCCESS
        && api().comm_rank(comm, &raw mut rank) == SUCCESS
        && api().comm_test_inter(comm, &raw mut is_inter) == SUCCESS
        && (is_inter == 0 || api().comm_remote_size(comm, &raw mut remote) == SUCCESS);
    let (first, members) = members(world, comm, size);
    let def = CommunicatorDef {
        number: 0,
        size: u32::try_from(size).unwrap_or(0),
        rank,
        first,
        members,
        remote_size: u32::try_from(remote).unwrap_or(0),
    };
    known.then_some(def)
}

/// Returns the rank in `MPI_COMM_WORLD` of the communicator's rank 0, and a hash of sampled member ranks.
fn members(world: &World, comm: Handle, size: c_int) -> (i32, u64) {
    let (mut group, mut all): (Handle, Handle) = (0, 0);
    let count = (size.max(0) as usize).min(SAMPLED);
    let mut ranks = [0; SAMPLED];
    let mut there = [-1; SAMPLED];
    for (i, rank) in ranks.iter_mut().enumerate().take(count) {
        *rank = (i as u64 * size as u64 / count as u64) as c_int;
    }
    if api().comm_group(comm, &raw mut group) != SUCCESS {
        return (-1, 0);
    }
    let mut known = false;
    if api().comm_group(world.abi.comm_world, &raw mut all) == SUCCESS {
        let reported = api().group_translate_ranks(group, count as c_int, ranks.as_ptr(), all, there.as_mut_ptr());
        known = reported == SUCCESS;
        api().group_free(&raw mut all);
    }
    api().group_free(&raw mut group);
    let there = if known { there.get(..count).unwrap_or_default() } else { &[] };
    summary(there)
}

/// Returns the first rank in `there` (-1 if unknown) and a hash of all ranks in `there`, the ranks of sampled members in `MPI_COMM_WORLD`.
/// A process outside of `MPI_COMM_WORLD` has a negative rank; the hash is then 0.
fn summary(there: &[c_int]) -> (i32, u64) {
    let first = there.first().copied().filter(|&rank| rank >= 0).unwrap_or(-1);
    if there.is_empty() || there.iter().any(|&rank| rank < 0) {
        return (first, 0);
    }
    let mut bytes = [0; 4 * SAMPLED];
    for (place, rank) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(there) {
        *place = rank.to_le_bytes();
    }
    (first, trace_format::meta::path_hash(bytes.get(..4 * there.len()).unwrap_or_default()))
}

fn world_def(world: &World) -> CommunicatorDef {
    let size = world.size;
    let count = (size.max(0) as usize).min(SAMPLED);
    let mut there = [0; SAMPLED];
    for (i, rank) in there.iter_mut().enumerate().take(count) {
        *rank = (i as u64 * size as u64 / count as u64) as c_int;
    }
    let (first, members) = summary(there.get(..count).unwrap_or_default());
    let size = u32::try_from(size).unwrap_or(0);
    CommunicatorDef { number: WORLD, size, rank: world.rank, first, members, remote_size: 0 }
}

/// Returns the descriptions of the communicators on which this process has made collective calls.
pub(crate) fn definitions() -> Vec<CommunicatorDef> {
    used().collect()
}

fn used() -> impl Iterator<Item = CommunicatorDef> {
    let world = super::world().filter(|_| WORLD_IS_USED.load(Ordering::Relaxed)).map(world_def);
    world.into_iter().chain(KNOWN.iter().map(|known| known.def))
}

/// Writes the descriptions of all communicators into the journal of the spool (the file that survives a kill), which has just been created.
pub(crate) fn note_all() {
    used().for_each(|def| journal::communicator(&def));
}
