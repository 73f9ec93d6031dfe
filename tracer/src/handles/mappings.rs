//! Memory mappings of recorded files by address, in a fixed lock-free table. Threads that change the same range at once have no defined
//! result anyway; the table only must stay consistent.
#![expect(unsafe_code, reason = "references to records that never go away; getauxval(3)")]

use crate::registry::File;
use std::sync::atomic::{AtomicI64, AtomicPtr, AtomicUsize, Ordering};

/// Entry of the table.
struct Place {
    /// Start address; 0: free, 1: being changed.
    start: AtomicUsize,
    length: AtomicUsize,
    offset: AtomicI64,
    file: AtomicPtr<File>,
}

/// File range mapped at some address.
#[derive(Clone, Copy)]
pub(crate) struct Mapping {
    start: usize,
    /// Length in bytes.
    pub(crate) length: usize,
    /// Offset in the file, in bytes.
    pub(crate) offset: i64,
    /// The file.
    pub(crate) file: &'static File,
}

const CAPACITY: usize = 1024;
const FREE: usize = 0;
const BUSY: usize = 1;
/// Maximum number of ranges found per look-up.
const MOST: usize = 16;

static PLACES: [Place; CAPACITY] = [const {
    Place {
        start: AtomicUsize::new(FREE),
        length: AtomicUsize::new(0),
        offset: AtomicI64::new(0),
        file: AtomicPtr::new(std::ptr::null_mut()),
    }
}; CAPACITY];
/// Index from which on no place was ever used.
static BEHIND: AtomicUsize = AtomicUsize::new(0);

/// Enters `length` bytes of `file` from `offset`, mapped at `start`; false if the table is full.
pub(crate) fn add(start: usize, length: usize, offset: i64, file: &'static File) -> bool {
    for (index, place) in PLACES.iter().enumerate() {
        if place.start.compare_exchange(FREE, BUSY, Ordering::Acquire, Ordering::Relaxed).is_ok() {
            place.length.store(length, Ordering::Relaxed);
            place.offset.store(offset, Ordering::Relaxed);
            place.file.store(std::ptr::from_ref(file).cast_mut(), Ordering::Relaxed);
            place.start.store(start, Ordering::Release);
            BEHIND.fetch_max(index + 1, Ordering::Release);
            return true;
        }
    }
    false
}

/// Parts of mapped files inside a range of addresses.
pub(crate) struct Found([Option<Mapping>; MOST]);

impl Found {
    /// Iterates over the parts.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Mapping> {
        self.0.iter().flatten()
    }

    /// Follows mremap(2), which moved `bytes` bytes at `from` to `to` and resized them to `now` (whole pages). Calls `each` with the
    /// mappings there; returns true if all of them fit in the table.
    pub(crate) fn moved(
        &self,
        (from, bytes): (usize, usize),
        (to, now): (usize, usize),
        mut each: impl FnMut(&Mapping),
    ) -> bool {
        let mut all = true;
        for part in self.iter() {
            let at = part.start - from;
            // A part that reached the end grows with the mapping. A length below its whole pages is not rounded up.
            let to_the_end = bytes.saturating_sub(at + part.length) < page_bytes();
            let length = if to_the_end && now > bytes { now - at } else { part.length.min(now.saturating_sub(at)) };
            if length > 0 {
                let moved = Mapping { start: to + at, length, ..*part };
                all &= add(moved.start, length, moved.offset, moved.file);
                each(&moved);
            }
        }
        all
    }

    /// Undoes [`take`].
    pub(crate) fn put_back(&self) {
        self.iter().for_each(|part| _ = add(part.start, part.length, part.offset, part.file));
    }
}

/// Page size in bytes.
pub(crate) fn page_bytes() -> usize {
    // SAFETY: no preconditions.
    (unsafe { libc::getauxval(libc::AT_PAGESZ) } as usize).max(1)
}

/// Finds parts of mapped files in `length` bytes from `start`.
pub(crate) fn find(start: usize, length: usize) -> Option<Found> {
    search(start, length, false)
}

/// Like [`find`], and removes the parts from the table; the surrounding parts stay.
pub(crate) fn take(start: usize, length: usize) -> Option<Found> {
    search(start, length, true)
}

#[inline(always)]
fn search(start: usize, length: usize, take: bool) -> Option<Found> {
    let behind = BEHIND.load(Ordering::Acquire);
    if behind == 0 {
        return None;
    }
    let mut found = Found([None; MOST]);
    search_table(&PLACES[..behind.min(CAPACITY)], start, length, take, &mut found.0).then_some(found)
}

/// Fills `found` in place, since there may be little stack; false if nothing was found.
#[cold]
#[inline(never)]
fn search_table(
    places: &[Place],
    start: usize,
    length: usize,
    take: bool,
    found: &mut [Option<Mapping>; MOST],
) -> bool {
    let end = start.saturating_add(length);
    let mut count = 0;
    for place in places {
        let at = place.start.load(Ordering::Acquire);
        let behind = at.saturating_add(place.length.load(Ordering::Relaxed));
        if at <= BUSY || behind <= start || at >= end || count == MOST {
            continue;
        }
        if take && place.start.compare_exchange(at, BUSY, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            continue;
        }
        // SAFETY: stored before the address; a record is never freed.
        let Some(file) = (unsafe { place.file.load(Ordering::Relaxed).as_ref() }) else { continue };
        let offset = place.offset.load(Ordering::Relaxed);
        let (from, to) = (start.max(at), end.min(behind));
        let part = |from: usize, to: usize| (from, to - from, offset.saturating_add_unsigned((from - at) as u64));
        let (part_start, length, part_offset) = part(from, to);
        found[count] = Some(Mapping { start: part_start, length, offset: part_offset, file });
        count += 1;
        if take {
            place.start.store(FREE, Ordering::Release);
            for (from, to) in [(at, from), (to, behind)].into_iter().filter(|(from, to)| from < to) {
                let (start, length, offset) = part(from, to);
                add(start, length, offset, file);
            }
        }
    }
    join(&mut found[..count]);
    count > 0
}

/// Sorts parts by address and rejoins adjacent pieces of one mapping.
fn join(found: &mut [Option<Mapping>]) {
    let address = |part: Option<Mapping>| part.map_or(usize::MAX, |part| part.start);
    for end in 1..found.len() {
        let mut at = end;
        while at > 0 && address(found[at - 1]) > address(found[at]) {
            found.swap(at - 1, at);
            at -= 1;
        }
    }
    let mut last = 0;
    for next in 1..found.len() {
        let Some(part) = found[next].take() else { continue };
        match &mut found[last] {
            Some(Mapping { start, length, offset, file })
                if *start + *length == part.start
                    && offset.saturating_add_unsigned(*length as u64) == part.offset
                    && std::ptr::eq(*file, part.file) =>
            {
                *length += part.length;
            }
            _ => {
                last += 1;
                found[last] = Some(part);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::{Identity, find_or_add};

    #[test]
    fn parts_are_taken_and_the_rest_stays() {
        crate::registry::prepare_for_tests();
        let file = find_or_add(b"/data/mapped", Identity::default()).unwrap();
        assert!(add(0x10_0000, 0x8000, 0x2000, file));
        let told = |found: Option<Found>| {
            found.map(|found| found.iter().map(|part| (part.offset, part.length)).collect::<Vec<_>>())
        };
        assert_eq!(told(find(0x10_1000, 0x1000)), Some(vec![(0x3000, 0x1000)]));
        assert_eq!(told(take(0x10_1000, 0x1000)), Some(vec![(0x3000, 0x1000)]));
        assert_eq!(told(find(0x10_1000, 0x1000)), None);
        let mut rest = told(take(0, usize::MAX)).unwrap();
        rest.sort_unstable();
        assert_eq!(rest, [(0x2000, 0x1000), (0x4000, 0x6000)]);
        assert_eq!(told(find(0, usize::MAX)), None);
        // Moved and grown, then split in the middle.
        let page = page_bytes();
        assert!(add(0x10_0000, 2 * page - 5, 0, file));
        let mut seen = Vec::new();
        let taken = take(0x10_0000, 2 * page).unwrap();
        assert!(
            taken.moved((0x10_0000, 2 * page), (0x20_0000, 4 * page), |part| seen.push((part.offset, part.length)))
        );
        assert_eq!((seen, told(find(0x10_0000, page))), (vec![(0, 4 * page)], None));
        let taken = take(0x20_0000 + page, 3 * page).unwrap();
        assert!(taken.moved((0x20_0000 + page, 3 * page), (0x20_0000 + page, page), |_| ()));
        let mut rest = told(take(0, usize::MAX)).unwrap();
        rest.sort_unstable();
        assert_eq!(rest, [(0, 2 * page)]);
    }
}
