//! Modules (the executable and shared libraries) whose code call stacks lead through: unwind tables, build ids, names.
//!
//! A module is looked up by an address each time that a walk meets the address, by _dl_find_object(3), which takes no lock; so the tables of one that
//! was unloaded, or replaced by another at the same place, are not used. Before glibc 2.35 there is no such function, and no call site.
#![expect(unsafe_code, reason = "_dl_find_object(3), memory of modules")]

use super::frames;
use super::objects::{Object, object_at};
use crate::tls;
use framehop::x86_64::UnwinderX86_64;
use framehop::{ExplicitModuleSectionInfo, Module, MustNotAllocateDuringUnwind, Unwinder};
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

pub(super) type Walker = UnwinderX86_64<&'static [u8], MustNotAllocateDuringUnwind>;

/// Directories of the system's libraries, whose frames do not tell call sites apart.
const SYSTEM: [&[u8]; 4] = [b"/lib/", b"/lib64/", b"/usr/lib/", b"/usr/lib64/"];
/// Maximum number of times that a thread lets others run while one of them adds a module.
const MOST_TRIES: u32 = 200;

/// Module that walks know. It may have been unloaded since, so that its memory is read only where a walk meets the module again.
#[derive(Clone, Copy)]
struct Known {
    object: Object,
    /// Number of the module among those of call sites; 0 if there was no room.
    number: u32,
    /// False for libraries of the system.
    is_program: bool,
    is_executable: bool,
    /// Index of the unwind table, and the table.
    tables: Option<(&'static [u8], &'static [u8])>,
}

/// Amount that a return address says about who makes a call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Says {
    /// The address lies in a library of the system, or in no module.
    Little,
    /// The address lies in the same library as the function that it called: perhaps one inside of a library for I/O.
    Some,
    /// The address lies in the executable, or in another module than the function that it called.
    Much,
}

/// Modules that walks have met so far.
pub(super) struct Modules {
    pub(super) walker: Walker,
    /// In ascending order of addresses.
    known: Vec<Known>,
}

/// Latest set of modules; null before the first walk.
static MODULES: AtomicPtr<Modules> = AtomicPtr::new(std::ptr::null_mut());
/// Number of threads that use the set in [`MODULES`], or one before it.
static USERS: AtomicUsize = AtomicUsize::new(0);
/// Number (`tls::number`) of the thread that changes the set, or 0.
static CHANGER: AtomicUsize = AtomicUsize::new(0);
/// Use of the set of modules by this thread: sets are not freed meanwhile.
pub(super) struct User;

impl User {
    pub(super) fn begin() -> Self {
        USERS.fetch_add(1, Ordering::SeqCst);
        Self
    }

    /// Returns the latest set of modules.
    pub(super) fn modules(&self) -> Option<&Modules> {
        // SAFETY: null, or a set that is not freed while there are users.
        unsafe { MODULES.load(Ordering::SeqCst).as_ref() }
    }

    /// Adds the module at an address to the set, in place of those that were there; only removes these if there is none now. Returns false if
    /// other threads change the set all the time.
    pub(super) fn learn(&self, address: usize) -> bool {
        let me = tls::number();
        let mut tries = 0;
        while CHANGER.compare_exchange(0, me, Ordering::Acquire, Ordering::Relaxed).is_err() {
            tries += 1;
            if tries > MOST_TRIES {
                return false;
            }
            crate::threads::give_way();
        }
        let object = object_at(address);
        let gone = object.map_or(address..address + 1, |object| object.start..object.end);
        let mut new = Modules { walker: Walker::new(), known: Vec::new() };
        let others = self.modules().map(|modules| modules.known.as_slice()).unwrap_or_default();
        let is_apart = |known: &&Known| known.object.end <= gone.start || known.object.start >= gone.end;
        others.iter().filter(is_apart).for_each(|known| new.add(*known));
        if let Some(object) = object {
            new.add(described(object));
        }
        new.known.sort_by_key(|known| known.object.start);
        let old = MODULES.swap(Box::into_raw(Box::new(new)), Ordering::SeqCst);
        // Users that came before the swap may still use the old set, which then stays in memory.
        if !old.is_null() && USERS.load(Ordering::SeqCst) == 1 {
            // SAFETY: the pointer came from `Box::into_raw`; this thread is the only user, and later ones find the new set.
            drop(unsafe { Box::from_raw(old) });
        }
        CHANGER.store(0, Ordering::Release);
        true
    }
}

impl Drop for User {
    fn drop(&mut self) {
        USERS.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Ends a change of the set by this thread that was abandoned because memory ran out.
pub(super) fn abandoned() {
    let _ = CHANGER.compare_exchange(tls::number(), 0, Ordering::Release, Ordering::Relaxed);
}

/// Forgets, in a forked child, the threads of its parent, and memory that its parent has allocated.
pub(super) fn in_child() {
    MODULES.store(std::ptr::null_mut(), Ordering::SeqCst);
    USERS.store(0, Ordering::SeqCst);
    CHANGER.store(0, Ordering::SeqCst);
}

impl Modules {
    fn add(&mut self, known: Known) {
        let Known { object, tables, .. } = known;
        self.known.push(known);
        let Some((index, table)) = tables else { return };
        let in_file = |bytes: &[u8]| {
            let start = bytes.as_ptr().addr().wrapping_sub(object.bias) as u64;
            start..start.saturating_add(bytes.len() as u64)
        };
        let sections = ExplicitModuleSectionInfo {
            eh_frame_svma: Some(in_file(table)),
            eh_frame: Some(table),
            eh_frame_hdr_svma: Some(in_file(index)),
            eh_frame_hdr: Some(index),
            ..Default::default()
        };
        let (start, end) = (object.start as u64, object.end as u64);
        self.walker.add_module(Module::new(String::new(), start..end, object.bias as u64, sections));
    }

    fn known(&self, address: usize) -> Option<&Known> {
        let at = self.known.partition_point(|known| known.object.start <= address);
        at.checked_sub(1).and_then(|at| self.known.get(at)).filter(|known| known.object.end > address)
    }

    /// True if the set has the module that is at `address` now: `object`, or none.
    pub(super) fn is_as_known(&self, address: usize, object: Option<&Object>) -> bool {
        self.known(address).map(|known| &known.object) == object
    }

    /// Returns how much the return address `outer` says about who makes a call, if the frame that it called has the return address `inner`.
    pub(super) fn says(&self, inner: u64, outer: u64) -> Says {
        let (inner, outer) = (self.known(inner as usize), self.known(outer as usize));
        match outer {
            Some(outer) if !outer.is_program => Says::Little,
            Some(outer) if outer.is_executable => Says::Much,
            Some(outer) if inner.is_some_and(|inner| inner.object == outer.object) => Says::Some,
            Some(_) => Says::Much,
            None => Says::Little,
        }
    }

    /// Returns the number of the module that contains `address`, and the address as the module's file has it.
    pub(super) fn place(&self, address: u64) -> (u32, u64) {
        match self.known(address as usize).filter(|known| known.number != 0) {
            Some(known) => (known.number, address.wrapping_sub(known.object.bias as u64)),
            None => (0, address),
        }
    }
}

/// Describes a module that a call stack leads through: its memory stays.
fn described(object: Object) -> Known {
    super::python::met(object, |name| object.symbol(name));
    Known {
        object,
        number: frames::module(&object.path(), object.build_id().unwrap_or_default()),
        is_executable: object.name_bytes().is_empty(),
        is_program: !SYSTEM.iter().any(|directory| object.name_bytes().starts_with(directory)),
        tables: object.tables(),
    }
}
