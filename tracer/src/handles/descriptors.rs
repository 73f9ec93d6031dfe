//! Descriptor table: maps descriptor numbers to open file descriptions. It is a flat array, so a hook needs one load. An unknown number is
//! looked up in the kernel once, regardless of its origin (the shell, a raw system call, a library that bypasses the C library).
//!
//! Threads change numbers (close(2), dup2(2), open(2)) while other threads use them. A change is announced before its system call and
//! settled after it; in between the number is unknown. A call is recorded under the file that its look-up found only if the number has not
//! been taken from that file since (`handles/target.rs`):
//!
//!     change: entry := unknown;  CHANGES += 1;  entry.left := CHANGES;  system call;  entry := new state
//!     call:   seen := CHANGES;   entry?         system call;            CHANGES == seen, or entry.left <= seen
#![expect(unsafe_code, reason = "array in reserved memory")]

use super::description::{self, Description, Position};
use super::manner::Manner;
use super::rings;
use super::tables;
use super::target::Target;
use crate::memory::{Area, PAGE_BYTES};
use crate::notes::Note;
use crate::registry::File;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

struct Descriptor {
    /// State of the number. Null: unknown. [`NOT_TRACED`]: not recorded. With bit [`UNKNOWN`]: see [`unknown`]. Else: address of the description.
    state: AtomicPtr<Description>,
    /// Value of [`CHANGES`] (count of changes) when the number last ceased to refer to a file.
    left: AtomicU64,
}

const NOT_TRACED: *mut Description = std::ptr::without_provenance_mut(1);
/// Bit of a descriptor's state which means that the descriptor is unknown; the state is then not an address. The bits above hold the number
/// of changes in progress ([`CHANGING`]) and a unique number.
const UNKNOWN: usize = 2;
/// Value that one change in progress (close, dup2, ...) adds to an unknown descriptor's state; the bit field has room for 255.
const CHANGING: usize = 4;
const NUMBER_SHIFT: u32 = 10;

/// Maximum number of tracked descriptor numbers: 0 to `CAPACITY` - 1.
const CAPACITY: usize = 1 << 20;

/// Memory of the array of descriptors, committed in whole pages up to the highest number entered so far.
static AREA: Area = Area::new();
static START: AtomicPtr<Descriptor> = AtomicPtr::new(std::ptr::null_mut());
static LENGTH: AtomicUsize = AtomicUsize::new(0);
/// Number of entries that may be read without checking which descriptor table the calling thread has: all entries or 0 ([`tables`]).
static REACH: AtomicUsize = AtomicUsize::new(0);
/// Highest descriptor number ever entered in the table of descriptors.
static HIGHEST: AtomicUsize = AtomicUsize::new(0);

/// Number of times so far that a descriptor number ceased to refer to a file.
static CHANGES: AtomicU64 = AtomicU64::new(0);
/// Number for the state of the next descriptor that becomes unknown; makes each such state unique.
static NUMBERS: AtomicUsize = AtomicUsize::new(0);

/// Reserves address space for the table, divided by `scale` on systems with little address space.
pub(crate) fn prepare(scale: usize) {
    let length = CAPACITY / scale;
    description::prepare(length);
    rings::prepare();
    if AREA.prepare(length * size_of::<Descriptor>()) {
        START.store(AREA.start().cast(), Ordering::Relaxed);
    }
}

/// Makes a unique state for a descriptor number that is no longer known. `under_way`: number of its changes (close, dup2, ...) in progress.
fn unknown(under_way: usize) -> *mut Description {
    let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
    std::ptr::without_provenance_mut((number << NUMBER_SHIFT) | (under_way.min(255) * CHANGING) | UNKNOWN)
}

/// Returns the number of changes (close, dup2, ...) of a descriptor in progress, according to `state`.
fn changing(state: *mut Description) -> usize {
    if state.addr() & UNKNOWN == 0 { 0 } else { (state.addr() / CHANGING) & 255 }
}

/// Returns the state that replaces `state` in the table when one of the changes in progress of the descriptor ends.
fn settled(state: *mut Description) -> *mut Description {
    state.wrapping_byte_sub(CHANGING)
}

/// Returns the open file description to which `state`, a descriptor's state, refers, if any.
fn description_in(state: *mut Description) -> Option<&'static Description> {
    let is_one = !state.is_null() && state.addr() & (NOT_TRACED.addr() | UNKNOWN) == 0;
    // SAFETY: the address of a record in the table of descriptions.
    is_one.then(|| unsafe { &*state })
}

fn state_of(description: &'static Description) -> *mut Description {
    std::ptr::from_ref(description).cast_mut()
}

fn slot(number: libc::c_int) -> Option<&'static Descriptor> {
    let number = number as usize;
    if number >= LENGTH.load(Ordering::Relaxed) {
        return None;
    }
    // SAFETY: inside the committed part of the area.
    let slot = unsafe { START.load(Ordering::Relaxed).add(number) };
    // SAFETY: mapped; all-zero records are valid (null), and records are only accessed by shared references.
    Some(unsafe { &*slot })
}

/// Returns the table entry of the descriptor `number` like [`slot`], but grows the table if necessary, since the caller is about to fill in
/// the entry.
fn slot_to_book(number: libc::c_int) -> Option<&'static Descriptor> {
    let slot = slot(number).or_else(|| grow(number))?;
    // Usually the number is not higher; a load is cheaper than an atomic update.
    if HIGHEST.load(Ordering::Relaxed) < number as usize {
        HIGHEST.fetch_max(number as usize, Ordering::Relaxed);
    }
    Some(slot)
}

/// Grows the array to include `number`; returns the number's entry, or `None` if memory or `CAPACITY` does not suffice.
#[cold]
fn grow(number: libc::c_int) -> Option<&'static Descriptor> {
    let wanted = (number as usize).checked_add(1).filter(|&length| length <= CAPACITY)? * size_of::<Descriptor>();
    while AREA.used() < wanted {
        AREA.take(|_| Some(PAGE_BYTES))?;
    }
    LENGTH.fetch_max(AREA.used() / size_of::<Descriptor>(), Ordering::Release);
    reach(!tables::differ());
    slot(number)
}

/// Allows (`freely`) or forbids that calls read the array without checking the calling thread's descriptor table.
pub(super) fn reach(freely: bool) {
    REACH.store(if freely { LENGTH.load(Ordering::Relaxed) } else { 0 }, Ordering::SeqCst);
    // A thread may have got a descriptor table of its own meanwhile.
    if tables::differ() {
        REACH.store(0, Ordering::SeqCst);
    }
}

/// Result of looking up a descriptor number in the table of descriptors.
pub(super) enum Known {
    Recorded(&'static Description),
    NotRecorded,
    /// The descriptor is unknown: it has not been looked up in the kernel yet.
    Nothing,
    /// The calling thread has a descriptor table of its own, so the array does not apply.
    Elsewhere,
}

#[inline(always)]
pub(super) fn known(number: libc::c_int) -> Known {
    if number as usize >= REACH.load(Ordering::Relaxed) {
        return beyond(number);
    }
    // SAFETY: inside the committed part of the area.
    let slot = unsafe { START.load(Ordering::Relaxed).add(number as usize) };
    // SAFETY: mapped; all-zero records are valid (null), and records are only accessed by shared references.
    of_state(unsafe { &*slot }.state.load(Ordering::Acquire))
}

#[inline(always)]
fn of_state(state: *mut Description) -> Known {
    if state.is_null() {
        Known::Nothing
    } else if state.addr() & (NOT_TRACED.addr() | UNKNOWN) != 0 {
        not_recorded(state)
    } else {
        // SAFETY: no mark bit is set, so the state is the address of a record in the table of descriptions.
        Known::Recorded(unsafe { &*state })
    }
}

#[inline(always)]
fn not_recorded(state: *mut Description) -> Known {
    if state == NOT_TRACED { Known::NotRecorded } else { Known::Nothing }
}

/// Looks up a descriptor number that is not below [`REACH`], so that the calling thread's descriptor table must be checked.
#[cold]
fn beyond(number: libc::c_int) -> Known {
    if tables::is_own() {
        return Known::Elsewhere;
    }
    match slot(number) {
        Some(slot) => of_state(slot.state.load(Ordering::Acquire)),
        None if (number as usize) < CAPACITY => Known::Nothing,
        None => Known::NotRecorded,
    }
}

#[inline(always)]
pub(super) fn changes() -> u64 {
    CHANGES.load(Ordering::Acquire)
}

/// True if descriptor `number` ceased to refer to its file after the first `seen` changes of all descriptors.
#[cold]
#[inline(never)]
pub(super) fn was_left(number: libc::c_int, seen: u64) -> bool {
    slot(number).is_none_or(|slot| slot.left.load(Ordering::Acquire) > seen)
}

/// Returns the open file description of `number` if the table has it; never asks the kernel.
pub(crate) fn known_description(number: libc::c_int) -> Option<&'static Description> {
    match known(number) {
        Known::Recorded(description) => Some(description),
        Known::NotRecorded | Known::Nothing | Known::Elsewhere => None,
    }
}

/// Table state of an unknown descriptor number, read before the kernel is asked about the number.
#[derive(Clone, Copy)]
pub(super) struct Unasked(*mut Description);

/// Prepares to ask the kernel about `number`. `None` if a change is in progress or the number is known by now. While the kernel answers,
/// the number may change to another description and back; unknown states are unique, so [`book`] notices.
pub(super) fn ask(number: libc::c_int) -> Option<Unasked> {
    let state = slot(number).map_or(std::ptr::null_mut(), |slot| slot.state.load(Ordering::Acquire));
    (matches!(of_state(state), Known::Nothing) && changing(state) == 0).then_some(Unasked(state))
}

/// Enters the kernel's answer for `number`. Returns false if the number changed meanwhile or another thread entered an answer first.
pub(super) fn book(number: libc::c_int, before: Unasked, description: Option<&'static Description>) -> bool {
    let Some(slot) = slot_to_book(number) else { return false };
    let state = description.map_or(NOT_TRACED, state_of);
    let booked = slot.state.compare_exchange(before.0, state, Ordering::AcqRel, Ordering::Relaxed).is_ok();
    if !booked {
        description.into_iter().for_each(Description::release);
    }
    booked
}

/// Returns the table state of descriptor `number` right after a call has created the descriptor.
pub(super) fn made(number: libc::c_int) -> Unasked {
    Unasked(slot(number).map_or(std::ptr::null_mut(), |slot| slot.state.load(Ordering::Acquire)))
}

/// Enters `number` as newly opened on `file` at file position `at`, or as not recorded if `file` is `None`. `made` is the state of `number`
/// just after the open; if the state has changed since, the number becomes unknown again.
pub(super) fn open(
    number: libc::c_int,
    made: Unasked,
    file: Option<&'static File>,
    position: Position,
    manner: Manner,
    at: i64,
) -> Option<&'static Description> {
    if tables::is_own() {
        return None;
    }
    let slot = slot_to_book(number)?;
    let description = file.and_then(|file| description::new(file, position, manner, at));
    // A close(2) that freed the number may not have ended its change yet.
    let number_of = |state: *mut Description| state.addr() >> NUMBER_SHIFT;
    let same = |now: *mut Description| now == made.0 || changing(made.0) != 0 && number_of(now) == number_of(made.0);
    let state = description.map_or(NOT_TRACED, state_of);
    let book = |now| same(now).then_some(state);
    match slot.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, book) {
        Ok(before) => slot.replaced(before),
        Err(_) => put(slot, unknown(0)),
    }
    description
}

/// Replaces the state of a descriptor's table entry, and drops the entry's reference to its previous open file description.
fn put(slot: &Descriptor, state: *mut Description) {
    slot.replaced(slot.state.swap(state, Ordering::AcqRel));
}

impl Descriptor {
    /// Records that the descriptor number changed, and releases the open file description to which `before`, the previous state, referred.
    fn replaced(&self, before: *mut Description) {
        if let Some(description) = description_in(before) {
            self.leave();
            description.release();
        }
    }

    /// Tells calls in progress that the number no longer refers to the file that they found. Call this before the system call changes the number.
    fn leave(&self) {
        let now = CHANGES.fetch_add(1, Ordering::SeqCst) + 1;
        self.left.fetch_max(now, Ordering::SeqCst);
    }

    /// Begins a change of the descriptor number (close, dup2, ...); returns the states before and during the change.
    fn begin(&self) -> [*mut Description; 2] {
        let mut before = self.state.load(Ordering::Acquire);
        let meanwhile = loop {
            let meanwhile = unknown(changing(before) + 1);
            match self.state.compare_exchange(before, meanwhile, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => break meanwhile,
                Err(now) => before = now,
            }
        };
        self.leave();
        [before, meanwhile]
    }

    /// Ends a change. The number is looked up in the kernel at its next use, unless another thread has entered it meanwhile.
    fn end(&self) {
        let less = |state| (changing(state) != 0).then(|| settled(state));
        let _ = self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, less);
    }
}

/// Removes `number` from the table before close(2), but keeps its open file description. As soon as the kernel has closed the number,
/// another thread may get it. Linux frees the number whatever close(2) returns, except for EBADF.
pub(crate) fn take(number: libc::c_int) -> Taken {
    if tables::is_own() {
        let file = tables::file_elsewhere(number).inspect(|_| Note::Uncertain.count());
        return Taken { slot: None, states: [std::ptr::null_mut(); 2], file };
    }
    taken(slot(number))
}

/// Removes `number` from the table like [`take`], before dup2(2), which closes and reuses the number at once.
pub(crate) fn take_to_book(number: libc::c_int) -> Taken {
    taken(if tables::is_own() { None } else { slot_to_book(number) })
}

fn taken(slot: Option<&'static Descriptor>) -> Taken {
    let states = slot.map_or([std::ptr::null_mut(); 2], Descriptor::begin);
    Taken { slot, states, file: description_in(states[0]).and_then(Description::file) }
}

/// Change (close, dup2, ...) of a descriptor number in progress; one of the methods must be called to end the change.
pub(crate) struct Taken {
    slot: Option<&'static Descriptor>,
    states: [*mut Description; 2],
    file: Option<&'static File>,
}

impl Taken {
    /// Returns the recorded file to which the descriptor number referred before the change; `None` if it was not recorded.
    pub(crate) fn file(&self) -> Option<&'static File> {
        self.file
    }

    /// Ends a change of a descriptor number (close, dup2, ...) whose result is that the number is closed.
    pub(crate) fn close(self) {
        let Some(slot) = self.slot else { return };
        slot.end();
        description_in(self.states[0]).into_iter().for_each(Description::release);
    }

    /// Ends a change of a descriptor number (dup2, ...) whose result is that the number refers to the open file description of `target`.
    pub(crate) fn become_one(self, target: &Target) {
        let Some(slot) = self.slot else { return };
        let Some(description) = target.retained() else { return self.close() };
        // If another change of the number is in progress too, the order of the changes is unknown.
        let alone = changing(self.states[1]) == 1;
        let change = |to| slot.state.compare_exchange(self.states[1], to, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        if !alone || !change(state_of(description)) {
            description.release();
            if description_in(slot.state.load(Ordering::Acquire)).is_some() {
                put(slot, unknown(0));
            }
        } else {
            return description_in(self.states[0]).into_iter().for_each(Description::release);
        }
        self.close();
    }

    /// Ends the change: the call failed, so the descriptor number still refers to the same open file description.
    pub(crate) fn give_back(self) {
        let Some(slot) = self.slot else { return };
        let [before, meanwhile] = self.states;
        if slot.state.compare_exchange(meanwhile, before, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            self.close();
        }
    }
}

/// Marks `number` as unknown, so that it is looked up in the kernel at its next use.
pub(crate) fn forget(number: libc::c_int) {
    if let Some(slot) = slot(number).filter(|_| !tables::is_own()) {
        put(slot, unknown(0));
    }
}

/// Runs `call`, which closes the descriptor numbers from `first` to `last` (inclusive), and updates the table.
pub(crate) fn take_range<T>(first: libc::c_uint, last: libc::c_uint, call: impl FnOnce() -> T) -> T {
    let behind = if tables::is_own() { 0 } else { HIGHEST.load(Ordering::Relaxed) + 1 };
    let all = || {
        (first as usize..behind.min((last as usize).saturating_add(1))).filter_map(|number| slot(number as libc::c_int))
    };
    for slot in all() {
        let [before, _] = slot.begin();
        description_in(before).into_iter().for_each(Description::release);
    }
    let result = call();
    all().for_each(Descriptor::end);
    result
}

/// Calls `each` with every known descriptor number that is open on a recorded file, and with the file.
pub(crate) fn each_open(mut each: impl FnMut(libc::c_int, &'static File)) {
    for number in 0..=HIGHEST.load(Ordering::Relaxed) as libc::c_int {
        if let Some(description) = known_description(number) {
            description.file().into_iter().for_each(|file| each(number, file));
        }
    }
}

/// Enters `new`, a descriptor that a call has just created, as a duplicate of `target`.
pub(crate) fn duplicate(target: Option<&Target>, new: libc::c_int) {
    let Some(to) = (if tables::is_own() { None } else { slot_to_book(new) }) else { return };
    // If the original is not recorded, unknown by now, or too high to be tracked, the duplicate is looked up in the kernel at its next use.
    put(to, target.and_then(Target::retained).map_or_else(|| unknown(0), state_of));
}

/// Marks all file positions as shared between processes; called in a forked child and in its parent.
pub(crate) fn after_fork() {
    description::share_all();
    super::canonical_name::has_children();
}

/// Adjusts the table of descriptors in a forked child, which has a single thread and the descriptor table of the thread that forked.
pub(crate) fn in_child() {
    let knows = !tables::is_own();
    tables::in_child();
    for number in 0..=HIGHEST.load(Ordering::Relaxed) {
        let Some(slot) = slot(number as libc::c_int) else { break };
        // No thread is left to end a change that was in progress.
        if !knows || changing(slot.state.load(Ordering::Relaxed)) != 0 {
            put(slot, unknown(0));
        }
    }
    reach(true);
}
