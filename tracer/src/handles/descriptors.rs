//! The descriptor table: which description a number stands for. One flat array, indexed by the number, so that a hook
//! needs one load. A number that is not known is looked up once, whoever made it: the shell, a system call, a library
//! that goes past the C library.
//!
//! Threads change what a number stands for (close(2), dup2(2), open(2)) while others use it. A change is announced before its system
//! call and settled behind it: meanwhile the number is unknown. A call is booked on the file that it found only if its number has not been
//! taken from that file since (`handles/target.rs`):
//!
//!     change: entry := unknown;  CHANGES += 1;  entry.left := CHANGES;  system call;  entry := what it stands for now
//!     call:   seen := CHANGES;   entry?         system call;            CHANGES == seen, or entry.left <= seen
#![expect(unsafe_code, reason = "array in reserved memory")]

use super::description::{self, Description, Position};
use super::manner::Manner;
use super::tables;
use crate::memory::{Area, PAGE_BYTES};
use crate::notes::Note;
use crate::registry::File;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

/// One descriptor number.
struct Descriptor {
    /// Null: not known. [`NOT_TRACED`]: looked at, not recorded. With the bit [`UNKNOWN`]: not known any more, see [`unknown`]. Else the
    /// description.
    state: AtomicPtr<Description>,
    /// [`CHANGES`] when the number was last taken from a file.
    left: AtomicU64,
}

const NOT_TRACED: *mut Description = std::ptr::without_provenance_mut(1);
/// Bit of a state that is no address; those above are how many changes are under way ([`CHANGING`]), and the change's number.
const UNKNOWN: usize = 2;
/// One change under way, of at most 255.
const CHANGING: usize = 4;
const NUMBER_SHIFT: u32 = 10;

/// Highest number that is followed, plus one.
const CAPACITY: usize = 1 << 20;

/// The array, as far as numbers have been booked, in whole pages.
static AREA: Area = Area::new();
static START: AtomicPtr<Descriptor> = AtomicPtr::new(std::ptr::null_mut());
static LENGTH: AtomicUsize = AtomicUsize::new(0);
/// As far as the array may be looked at without asking whose table the calling thread has: all of it, or nothing ([`tables`]).
static REACH: AtomicUsize = AtomicUsize::new(0);
/// Highest number that was ever booked.
static HIGHEST: AtomicUsize = AtomicUsize::new(0);

/// How often a number was taken from a file.
static CHANGES: AtomicU64 = AtomicU64::new(0);
/// Numbers of changes: no two states that are not known are the same.
static NUMBERS: AtomicUsize = AtomicUsize::new(0);

/// Takes address space, for fewer descriptors if `scale` (a divisor) says that there is little.
pub(crate) fn prepare(scale: usize) {
    let length = CAPACITY / scale;
    description::prepare(length);
    if AREA.prepare(length * size_of::<Descriptor>()) {
        START.store(AREA.start().cast(), Ordering::Relaxed);
    }
}

/// State of a number that is not known any more, while so many changes of it are under way.
fn unknown(under_way: usize) -> *mut Description {
    let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
    std::ptr::without_provenance_mut((number << NUMBER_SHIFT) | (under_way.min(255) * CHANGING) | UNKNOWN)
}

/// How many changes are under way, of which a state tells.
fn changing(state: *mut Description) -> usize {
    if state.addr() & UNKNOWN == 0 { 0 } else { (state.addr() / CHANGING) & 255 }
}

/// The same state with a change less.
fn settled(state: *mut Description) -> *mut Description {
    state.wrapping_byte_sub(CHANGING)
}

/// The description that a state stands for.
fn description_in(state: *mut Description) -> Option<&'static Description> {
    let is_one = !state.is_null() && state.addr() & (NOT_TRACED.addr() | UNKNOWN) == 0;
    // SAFETY: a record of the table of descriptions.
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
    // SAFETY: inside what has been taken of the area.
    let slot = unsafe { START.load(Ordering::Relaxed).add(number) };
    // SAFETY: mapped; all-zero records are valid (null) and only shared.
    Some(unsafe { &*slot })
}

/// As [`slot`], for a number that is about to be booked.
fn slot_to_book(number: libc::c_int) -> Option<&'static Descriptor> {
    let slot = slot(number).or_else(|| grow(number))?;
    // Mostly it is not higher, and looking is cheaper.
    if HIGHEST.load(Ordering::Relaxed) < number as usize {
        HIGHEST.fetch_max(number as usize, Ordering::Relaxed);
    }
    Some(slot)
}

/// Makes the array as long as this number needs; `None` if that cannot be.
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

/// Whether calls look at the array without asking whose table the calling thread has.
pub(super) fn reach(freely: bool) {
    REACH.store(if freely { LENGTH.load(Ordering::Relaxed) } else { 0 }, Ordering::SeqCst);
    // Threads may have come to differ meanwhile.
    if tables::differ() {
        REACH.store(0, Ordering::SeqCst);
    }
}

/// What is known of a number.
pub(super) enum Known {
    /// Its description.
    Recorded(&'static Description),
    /// It is not recorded.
    NotRecorded,
    /// Nothing: nobody has looked at it yet.
    Nothing,
    /// The calling thread has another table.
    Elsewhere,
}

/// What is known of `number`.
#[inline(always)]
pub(super) fn known(number: libc::c_int) -> Known {
    if number as usize >= REACH.load(Ordering::Relaxed) {
        return beyond(number);
    }
    // SAFETY: inside what has been taken of the area.
    let slot = unsafe { START.load(Ordering::Relaxed).add(number as usize) };
    // SAFETY: mapped; all-zero records are valid (null) and only shared.
    of_state(unsafe { &*slot }.state.load(Ordering::Acquire))
}

#[inline(always)]
fn of_state(state: *mut Description) -> Known {
    if state.is_null() {
        Known::Nothing
    } else if state.addr() & (NOT_TRACED.addr() | UNKNOWN) != 0 {
        not_recorded(state)
    } else {
        // SAFETY: no mark: a record of the table of descriptions.
        Known::Recorded(unsafe { &*state })
    }
}

#[inline(always)]
fn not_recorded(state: *mut Description) -> Known {
    if state == NOT_TRACED { Known::NotRecorded } else { Known::Nothing }
}

/// The same, for a number that the array does not reach.
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

/// How often numbers were taken from files, until now.
#[inline(always)]
pub(super) fn changes() -> u64 {
    CHANGES.load(Ordering::Acquire)
}

/// Whether `number` has been taken from a file since there were `seen` changes.
#[cold]
#[inline(never)]
pub(super) fn was_left(number: libc::c_int, seen: u64) -> bool {
    slot(number).is_none_or(|slot| slot.left.load(Ordering::Acquire) > seen)
}

/// The description behind `number`, if it is known and recorded; looks at nothing.
pub(crate) fn known_description(number: libc::c_int) -> Option<&'static Description> {
    match known(number) {
        Known::Recorded(description) => Some(description),
        Known::NotRecorded | Known::Nothing | Known::Elsewhere => None,
    }
}

/// A number before the kernel is asked what it stands for.
#[derive(Clone, Copy)]
pub(super) struct Unasked(*mut Description);

/// Says that the kernel is about to be asked of `number`; `None` while that is changing, and if it is known by now. A number can stand for one
/// description, another, and the first again while the kernel answers, but no two states that are not known are the same.
pub(super) fn ask(number: libc::c_int) -> Option<Unasked> {
    let state = slot(number).map_or(std::ptr::null_mut(), |slot| slot.state.load(Ordering::Acquire));
    (matches!(of_state(state), Known::Nothing) && changing(state) == 0).then_some(Unasked(state))
}

/// Books `number` as what the kernel said of it; false if that has changed meanwhile, or if others have booked it.
pub(super) fn book(number: libc::c_int, before: Unasked, description: Option<&'static Description>) -> bool {
    let Some(slot) = slot_to_book(number) else { return false };
    let state = description.map_or(NOT_TRACED, state_of);
    let booked = slot.state.compare_exchange(before.0, state, Ordering::AcqRel, Ordering::Relaxed).is_ok();
    if !booked {
        description.into_iter().for_each(Description::release);
    }
    booked
}

/// What is known of `number` now that a call has made it.
pub(super) fn made(number: libc::c_int) -> Unasked {
    Unasked(slot(number).map_or(std::ptr::null_mut(), |slot| slot.state.load(Ordering::Acquire)))
}

/// Books `number` as newly opened on `file`; without a file it is known and not recorded. Before that was found out, it was `made`: should it have
/// changed since, it is asked for again.
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
    // A close(2) that made the number free may be about to say so.
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

/// What the number has stood for until now is no more.
fn put(slot: &Descriptor, state: *mut Description) {
    slot.replaced(slot.state.swap(state, Ordering::AcqRel));
}

impl Descriptor {
    /// The number stands for something else than it did `before`.
    fn replaced(&self, before: *mut Description) {
        if let Some(description) = description_in(before) {
            self.leave();
            description.release();
        }
    }

    /// Says to calls under way that the number does not stand for what they have found. Before the system call after which it is so.
    fn leave(&self) {
        let now = CHANGES.fetch_add(1, Ordering::SeqCst) + 1;
        self.left.fetch_max(now, Ordering::SeqCst);
    }

    /// Begins a change; returns the state before and the one meanwhile.
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

    /// Ends a change: what the number stands for is asked when it is next used, unless somebody has been given it meanwhile.
    fn end(&self) {
        let less = |state| (changing(state) != 0).then(|| settled(state));
        let _ = self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, less);
    }
}

/// Takes `number` out of the table without giving up its description, before close(2): as soon as the kernel has closed
/// it, another thread may get the number. Linux gives the number up whatever close(2) returns, but for EBADF.
pub(crate) fn take(number: libc::c_int) -> Taken {
    if tables::is_own() {
        let file = tables::file_elsewhere(number).inspect(|_| Note::Uncertain.count());
        return Taken { slot: None, states: [std::ptr::null_mut(); 2], file };
    }
    taken(slot(number))
}

/// The same before dup2(2), which closes `number` and books it at once.
pub(crate) fn take_to_book(number: libc::c_int) -> Taken {
    taken(if tables::is_own() { None } else { slot_to_book(number) })
}

fn taken(slot: Option<&'static Descriptor>) -> Taken {
    let states = slot.map_or([std::ptr::null_mut(); 2], Descriptor::begin);
    Taken { slot, states, file: description_in(states[0]).map(Description::file) }
}

/// A number of which a change is under way.
pub(crate) struct Taken {
    slot: Option<&'static Descriptor>,
    /// Its state before and meanwhile.
    states: [*mut Description; 2],
    file: Option<&'static File>,
}

impl Taken {
    /// The file that it stood for, if that is recorded.
    pub(crate) fn file(&self) -> Option<&'static File> {
        self.file
    }

    /// It was closed.
    pub(crate) fn close(self) {
        let Some(slot) = self.slot else { return };
        slot.end();
        description_in(self.states[0]).into_iter().for_each(Description::release);
    }

    /// It stands for `description` now.
    pub(crate) fn become_one(self, description: &'static Description) {
        let Some(slot) = self.slot else { return };
        description.retain();
        // Where another change was under way, nobody knows which was last.
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

    /// The call has failed: it stands for what it stood for.
    pub(crate) fn give_back(self) {
        let Some(slot) = self.slot else { return };
        let [before, meanwhile] = self.states;
        if slot.state.compare_exchange(meanwhile, before, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            self.close();
        }
    }
}

/// Forgets `number`; it is looked up when it is next used.
pub(crate) fn forget(number: libc::c_int) {
    if let Some(slot) = slot(number).filter(|_| !tables::is_own()) {
        put(slot, unknown(0));
    }
}

/// Runs `call`, which closes the numbers from `first` to `last`, both included.
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

/// The numbers that are open on recorded files, as far as anybody knows.
pub(crate) fn each_open(mut each: impl FnMut(libc::c_int, &'static File)) {
    for number in 0..=HIGHEST.load(Ordering::Relaxed) as libc::c_int {
        if let Some(description) = known_description(number) {
            each(number, description.file());
        }
    }
}

/// Books `new`, which a call has just made, as a duplicate of what `description` is.
pub(crate) fn duplicate(description: Option<&'static Description>, new: libc::c_int) {
    let Some(to) = (if tables::is_own() { None } else { slot_to_book(new) }) else { return };
    match description {
        Some(description) => {
            description.retain();
            put(to, state_of(description));
        }
        // Known not to be recorded, or too high a number to be followed: look at the new one when it is used.
        None => put(to, unknown(0)),
    }
}

/// In a forked child, and in its parent: positions are shared from now on.
pub(crate) fn after_fork() {
    description::share_all();
    super::certain::has_children();
}

/// In a forked child, which has one thread and so one table: that of the thread that has forked.
pub(crate) fn in_child() {
    let knows = !tables::is_own();
    tables::in_child();
    for number in 0..=HIGHEST.load(Ordering::Relaxed) {
        let Some(slot) = slot(number as libc::c_int) else { break };
        // Nobody is here who would end a change that was under way.
        if !knows || changing(slot.state.load(Ordering::Relaxed)) != 0 {
            put(slot, unknown(0));
        }
    }
    reach(true);
}
