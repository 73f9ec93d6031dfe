//! Wraps io_uring_setup(2), io_uring_enter(2) and io_uring_register(2), called through syscall(2) or liburing. The tracer maps each of
//! these rings itself, read-only, until its descriptor is closed, since it cannot know where the program has mapped the ring.
#![expect(unsafe_code, reason = "mmap(2), structures of the kernel")]

use super::layout::{Parameters, Queues, setup};
use super::watch;
use crate::handles::Used;
use crate::handles::rings::{self, Mapped, Name, Ring};
use crate::hooks::admission;
use crate::notes::Note;
use crate::record::{self, Call};
use crate::{clock, errno, handles, sys};
use libc::{c_int, c_long, c_uint, c_void};

// Offsets for mmap(2) of the parts of a ring (IORING_OFF_...).
const RING_AT: i64 = 0;
const COMPLETIONS_AT: i64 = 0x800_0000;
const ENTRIES_AT: i64 = 0x1000_0000;
/// Feature IORING_FEAT_SINGLE_MMAP: one mapping holds both queues.
const ONE_MAPPING: u32 = 1 << 0;
/// Flag IORING_ENTER_REGISTERED_RING: the descriptor is an index into the thread's registered rings.
const REGISTERED_RING: c_uint = 1 << 4;

#[repr(C)]
#[derive(Clone, Copy)]
struct Mapping {
    queues: Queues,
    pieces: [(usize, usize); 3],
}
const _: () = assert!(size_of::<Mapping>() <= size_of::<Mapped>() && align_of::<Mapping>() <= align_of::<Mapped>());

/// Sets the callback with which the table of rings counts entries that the kernel accepted but the tracer never examined.
pub(in crate::hooks) fn prepare() {
    rings::count_unseen_by(|ring, mapped| watch::unseen(ring, &of(mapped).queues));
}

fn of(mapped: &Mapped) -> Mapping {
    // SAFETY: written by `kept`; any bits left over are not part of the mapping.
    unsafe { std::ptr::from_ref(mapped).cast::<Mapping>().read() }
}

/// Stores `mapping` in a record that is never freed, since another thread may still read the record when the ring no longer exists. `None`
/// if there is no room.
fn kept(mapping: Mapping) -> Option<*mut Mapped> {
    let mut record: Mapped = [0; 24];
    // SAFETY: the record has room for a `Mapping` and is aligned; see the assertion.
    unsafe { std::ptr::from_mut(&mut record).cast::<Mapping>().write(mapping) };
    rings::keep(record)
}

/// Maps `bytes` bytes of the io_uring ring with descriptor `ring` read-only (`at`: IORING_OFF_...); forked children do not inherit the
/// mapping. Returns (address, bytes).
fn piece(ring: c_int, at: i64, bytes: usize) -> Option<(usize, usize)> {
    let nowhere = std::ptr::null_mut::<u8>();
    // SAFETY: a new mapping replaces no existing one.
    let address = unsafe { sys::syscall!(libc::SYS_mmap, nowhere, bytes, libc::PROT_READ, libc::MAP_SHARED, ring, at) };
    if address == -1 {
        return None;
    }
    // SAFETY: the mapping is the tracer's own.
    unsafe { sys::syscall!(libc::SYS_madvise, address, bytes, libc::MADV_DONTFORK) };
    Some((address as usize, bytes))
}

fn unmap(mapping: &Mapping) {
    for (address, bytes) in mapping.pieces.into_iter().filter(|(_, bytes)| *bytes > 0) {
        // SAFETY: the tracer's own mapping, which has no readers left.
        unsafe { sys::syscall!(libc::SYS_munmap, address, bytes) };
    }
}

fn mapped(ring: c_int, about: &Parameters) -> Option<Mapping> {
    let unseen = setup::OWN_MEMORY | setup::NO_DESCRIPTOR | !setup::KNOWN;
    if about.flags & unseen != 0 || !about.entries.is_power_of_two() || !about.completions.is_power_of_two() {
        return None;
    }
    let entry_bytes = if about.flags & setup::LONG_ENTRIES != 0 { 128 } else { 64 };
    let completion_bytes = if about.flags & setup::LONG_COMPLETIONS != 0 { 32 } else { 16 };
    let array = if about.flags & setup::NO_ARRAY != 0 { 0 } else { about.submission.seventh + 4 * about.entries };
    let completions = about.completion.sixth + completion_bytes * about.completions;
    let indices = about.submission.head.max(about.submission.tail).max(about.completion.tail) + 4;
    let one = about.features & ONE_MAPPING != 0;
    let ring_bytes = if one { array.max(completions).max(indices) } else { array.max(indices) };
    let first = piece(ring, RING_AT, ring_bytes as usize)?;
    let second = if one { (first.0, 0) } else { piece(ring, COMPLETIONS_AT, completions as usize).unwrap_or_default() };
    let third = piece(ring, ENTRIES_AT, entry_bytes * about.entries as usize).unwrap_or_default();
    let address = std::ptr::with_exposed_provenance::<u8>;
    // SAFETY: the kernel has reported these parts of the ring and their sizes.
    let queues = unsafe { Queues::mapped(about, address(first.0), address(second.0), address(third.0)) };
    let mapping = Mapping { queues, pieces: [first, second, third] };
    if second.0 == 0 || third.0 == 0 {
        unmap(&mapping);
        return None;
    }
    Some(mapping)
}

/// Runs `call`, which creates a ring and returns its descriptor; adds the ring to the table.
pub(in crate::hooks) fn setting_up(about: *const c_void, call: impl FnOnce() -> c_long) -> c_long {
    let result = call();
    let (Ok(number), Some(thread)) = (c_int::try_from(result), admission::thread()) else { return result };
    if number < 0 || !crate::process::is_own() {
        return result;
    }
    let errno = errno::save();
    thread.while_busy(|| {
        // SAFETY: the call succeeded, so the kernel has filled in the structure.
        let about = unsafe { about.cast::<Parameters>().read_unaligned() };
        if let Some(old) = rings::find(Name::Descriptor(number)) {
            old.end(|mapped| unmap(&of(mapped)));
        }
        let mapping = mapped(number, &about);
        let record = mapping.and_then(kept);
        let ring = record.and_then(|record| rings::add(Name::Descriptor(number), 0, 0, record));
        if ring.is_none() {
            mapping.iter().for_each(unmap);
            Note::Ring.count();
        }
    });
    errno.restore();
    result
}

/// Runs and records `call`, which submits up to `count` entries and may wait for completions.
pub(in crate::hooks) fn entering(number: c_int, count: c_uint, flags: c_uint, call: impl FnOnce() -> c_long) -> c_long {
    let Some(thread) = admission::thread().filter(|thread| rings::any() && !thread.is_in_library()) else {
        return call();
    };
    let name = Name::Descriptor(number);
    let ring = if flags & REGISTERED_RING == 0 { rings::find(name) } else { None };
    let Some(ring) = ring else { return call() };
    let entries = ring.with_mapping(name, |mapped| {
        let queues = of(mapped).queues;
        watch::look(thread, ring, &queues);
        let ready = queues.handed_over().wrapping_sub(queues.taken());
        let polled = queues.flags & setup::POLLED != 0;
        let to = if polled { queues.handed_over() } else { queues.taken().wrapping_add(ready.min(count)) };
        (count > 0 || polled).then(|| watch::handing_over(ring, &queues, to))
    });
    let entries = entries.flatten();
    let timer = Call::begin(thread);
    let result = call();
    let (end, errno) = (clock::of_call(), errno::save());
    ring.with_mapping(name, |mapped| {
        let queues = of(mapped).queues;
        let handed_over = entries.and_then(|entries| watch::handed_over(ring, &queues, entries));
        let ended = watch::look(thread, ring, &queues);
        watch::kept(timer, end, ended, handed_over);
    });
    errno.restore();
    result
}

/// Update of registered files (`struct io_uring_rsrc_update2`); the older structures begin with the same fields.
#[repr(C)]
#[derive(Clone, Copy)]
struct Update {
    at: u32,
    reserved: u32,
    files: u64,
    tags: u64,
    count: u32,
}

/// Registration of files (`struct io_uring_rsrc_register`).
#[repr(C)]
#[derive(Clone, Copy)]
struct Register {
    count: u32,
    flags: u32,
    reserved: u64,
    files: u64,
}

/// Runs `call`, which registers files or other resources with a ring; tracks the registered files.
pub(in crate::hooks) fn registering(
    number: c_int,
    what: c_uint,
    argument: *const c_void,
    count: c_uint,
    call: impl FnOnce() -> c_long,
) -> c_long {
    let result = call();
    let Some(thread) = admission::thread().filter(|_| rings::any() && result >= 0) else { return result };
    let Some(ring) = rings::find(Name::Descriptor(number)) else { return result };
    if thread.is_in_library() {
        return result;
    }
    let list = |address: u64| std::ptr::with_exposed_provenance::<c_int>(address as usize);
    match what {
        // IORING_REGISTER_FILES.
        2 => registered(ring, 0, argument.cast(), count),
        // IORING_UNREGISTER_FILES.
        3 => ring.forget_files(),
        // IORING_REGISTER_FILES_UPDATE, which returns the number of files.
        6 => {
            // SAFETY: the kernel has read the first 16 bytes of the argument.
            let at = unsafe { argument.cast::<u32>().read_unaligned() };
            // SAFETY: the kernel has read the first 16 bytes of the argument.
            let files = unsafe { argument.cast::<u64>().wrapping_add(1).read_unaligned() };
            registered(ring, at, list(files), result as c_uint);
        }
        // IORING_REGISTER_FILES2.
        13 => {
            // SAFETY: the kernel has read the structure.
            let about = unsafe { argument.cast::<Register>().read_unaligned() };
            if about.files == 0 { ring.forget_files() } else { registered(ring, 0, list(about.files), about.count) }
        }
        // IORING_REGISTER_FILES_UPDATE2, which returns the number of files.
        14 => {
            // SAFETY: the kernel has read the structure.
            let about = unsafe { argument.cast::<Update>().read_unaligned() };
            registered(ring, about.at, list(about.files), result as c_uint);
        }
        _ => {}
    }
    result
}

/// Records the descriptors `files`, which were registered with the ring from index `at` on.
pub(super) fn registered(ring: &Ring, at: u32, files: *const c_int, count: u32) {
    /// Value of IORING_REGISTER_FILES_SKIP: this index keeps its registered file.
    const STAYS: c_int = -2;
    if files.is_null() {
        return;
    }
    let errno = errno::save();
    for index in 0..count as usize {
        // SAFETY: the kernel has read the list.
        let number = unsafe { files.wrapping_add(index).read_unaligned() };
        if number != STAYS {
            let target = if number < 0 { None } else { handles::descriptor(number) };
            let file = target.and_then(|target| target.used().or_else(|| target.file().and_then(Used::plain)));
            ring.set_file(at as usize + index, file);
        }
    }
    errno.restore();
}

/// Ends tracking of the io_uring ring with descriptor `number`, which is about to be closed: records the ring's last completions and unmaps
/// it.
pub(in crate::hooks) fn closing(number: c_int) {
    if rings::any() && record::is_on() && crate::process::is_own() {
        ending_range(number as c_uint, number as c_uint);
    }
}

/// Ends tracking of the io_uring rings with descriptors `first` to `last`, which are about to be closed.
#[cold]
pub(in crate::hooks) fn ending_range(first: c_uint, last: c_uint) {
    let errno = errno::save();
    for ring in rings::descriptors(first, last) {
        ring.end(|mapped| {
            let mapping = of(mapped);
            watch::end(admission::thread(), ring, &mapping.queues);
            unmap(&mapping);
        });
    }
    errno.restore();
}

/// Runs a liburing function such that its system call through syscall(2) is not recorded a second time; returns its result.
pub(super) fn by_library(call: impl FnOnce() -> c_int) -> c_long {
    crate::tls::current().in_library(call).into()
}
