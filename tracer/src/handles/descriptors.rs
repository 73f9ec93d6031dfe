//! The descriptor table: which description a number stands for. One flat array, indexed by the number, so that a hook
//! needs one load. A number that is not known is looked up once, whoever made it: the shell, a system call, a library
//! that goes past the C library.
#![expect(unsafe_code, reason = "array in reserved memory")]

use super::description::{self, Description, Position};
use super::manner::Manner;
use crate::memory::{Area, PAGE_BYTES};
use crate::registry::File;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// One descriptor number.
struct Descriptor {
    /// Null: not known. `NOT_TRACED`: looked at, not recorded. Else the description.
    state: AtomicPtr<Description>,
}

const NOT_TRACED: *mut Description = std::ptr::without_provenance_mut(1);
/// Highest number that is followed, plus one.
const CAPACITY: usize = 1 << 20;

/// The array, as far as numbers have been booked, in whole pages.
static AREA: Area = Area::new();
static START: AtomicPtr<Descriptor> = AtomicPtr::new(std::ptr::null_mut());
static LENGTH: AtomicUsize = AtomicUsize::new(0);
/// Highest number that was ever booked.
static HIGHEST: AtomicUsize = AtomicUsize::new(0);

/// Takes address space, for fewer descriptors if `scale` (a divisor) says that there is little.
pub(crate) fn prepare(scale: usize) {
    let length = CAPACITY / scale;
    description::prepare(length);
    if AREA.prepare(length * size_of::<Descriptor>()) {
        START.store(AREA.start().cast(), Ordering::Relaxed);
    }
}

#[inline(always)]
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
    slot(number)
}

/// What is known of a number.
pub(super) enum Known {
    /// Its description.
    Recorded(&'static Description),
    /// It is not recorded.
    NotRecorded,
    /// Nothing: nobody has looked at it yet.
    Nothing,
}

/// What is known of `number`.
#[inline(always)]
pub(super) fn known(number: libc::c_int) -> Known {
    if number as usize >= LENGTH.load(Ordering::Relaxed) {
        return beyond(number);
    }
    // SAFETY: inside what has been taken of the area.
    let slot = unsafe { START.load(Ordering::Relaxed).add(number as usize) };
    // SAFETY: mapped; all-zero records are valid (null) and only shared.
    let state = unsafe { &*slot }.state.load(Ordering::Acquire);
    if state.is_null() {
        Known::Nothing
    } else if state == NOT_TRACED {
        Known::NotRecorded
    } else {
        // SAFETY: neither null nor the mark: a record of the table of descriptions.
        Known::Recorded(unsafe { &*state })
    }
}

/// The same, for a number that the array does not reach.
#[cold]
const fn beyond(number: libc::c_int) -> Known {
    if (number as usize) < CAPACITY { Known::Nothing } else { Known::NotRecorded }
}

/// The description behind `number`, if it is known and recorded; looks at nothing.
pub(crate) fn known_description(number: libc::c_int) -> Option<&'static Description> {
    match known(number) {
        Known::Recorded(description) => Some(description),
        Known::NotRecorded | Known::Nothing => None,
    }
}

/// Books `number` as newly opened on `file`; without a file it is known and not recorded.
pub(crate) fn open(
    number: libc::c_int,
    file: Option<&'static File>,
    position: Position,
    manner: Manner,
    at: i64,
) -> Option<&'static Description> {
    let slot = slot_to_book(number)?;
    let description = file.and_then(|file| description::new(file, position, manner, at));
    put(slot, description.map_or(NOT_TRACED, |description| std::ptr::from_ref(description).cast_mut()));
    description
}

fn put(slot: &Descriptor, state: *mut Description) {
    release(slot.state.swap(state, Ordering::AcqRel));
}

fn release(state: *mut Description) {
    if !state.is_null() && state != NOT_TRACED {
        // SAFETY: a record of the table of descriptions.
        unsafe { &*state }.release();
    }
}

/// Takes `number` out of the table without giving up its description, before close(2): as soon as the kernel has closed
/// it, another thread may get the number. Linux gives the number up whatever close(2) returns, but for EBADF.
pub(crate) fn take(number: libc::c_int) -> Taken {
    let state =
        slot(number).map_or(std::ptr::null_mut(), |slot| slot.state.swap(std::ptr::null_mut(), Ordering::AcqRel));
    Taken { state }
}

/// A descriptor that is being closed.
pub(crate) struct Taken {
    state: *mut Description,
}

impl Taken {
    /// Its file, if it is recorded.
    pub(crate) fn file(&self) -> Option<&'static File> {
        let traced = !self.state.is_null() && self.state != NOT_TRACED;
        // SAFETY: a record of the table of descriptions, whose reference this value holds.
        traced.then(|| unsafe { &*self.state }.file())
    }

    /// It was closed.
    pub(crate) fn close(self) {
        release(self.state);
    }
}

/// Forgets `number`; it is looked up when it is next used.
pub(crate) fn forget(number: libc::c_int) {
    if let Some(slot) = slot(number) {
        put(slot, std::ptr::null_mut());
    }
}

/// Forgets the numbers from `first` to `last`, both included.
pub(crate) fn forget_range(first: libc::c_uint, last: libc::c_uint) {
    let behind = HIGHEST.load(Ordering::Relaxed) + 1;
    for number in (first as usize..behind).take_while(|&number| number <= last as usize) {
        forget(number as libc::c_int);
    }
}

/// The numbers that are open on recorded files, as far as anybody knows.
pub(crate) fn each_open(mut each: impl FnMut(libc::c_int, &'static File)) {
    for number in 0..=HIGHEST.load(Ordering::Relaxed) as libc::c_int {
        if let Some(description) = known_description(number) {
            each(number, description.file());
        }
    }
}

/// Books `new` as a duplicate of `old`.
pub(crate) fn duplicate(old: libc::c_int, new: libc::c_int) {
    let Some(to) = slot_to_book(new) else { return };
    match known(old) {
        Known::Recorded(description) => {
            description.retain();
            put(to, std::ptr::from_ref(description).cast_mut());
        }
        // Known not to be recorded, or too high a number to be followed: look at the new one when it is used.
        Known::NotRecorded | Known::Nothing => put(to, std::ptr::null_mut()),
    }
}

/// In a forked child, and in its parent: positions are shared from now on.
pub(crate) fn after_fork() {
    description::share_all();
    super::certain::has_children();
}
