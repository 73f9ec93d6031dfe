//! Memory mappings (mmap) of recorded files, by start address. Threads may change a range concurrently; the table stays consistent.
#![expect(unsafe_code, reason = "references to records that never go away; getauxval(3)")]

use crate::memory::{FixedTable, Zeroed};
use crate::registry::File;
use std::sync::atomic::{AtomicI64, AtomicPtr, AtomicUsize, Ordering};

/// Mapped address range; its start address is the key in the table.
struct Range {
    length: AtomicUsize,
    offset: AtomicI64,
    file: AtomicPtr<File>,
}

// SAFETY: all-zero bits are valid numbers and a null pointer.
unsafe impl Zeroed for Range {}

/// File range that is mapped into memory (mmap), with its file.
#[derive(Clone, Copy)]
pub(crate) struct Mapping {
    start: usize,
    /// Length of the mapped file range in bytes.
    pub(crate) length: usize,
    /// Offset of the mapped range in the file in bytes.
    pub(crate) offset: i64,
    pub(crate) file: &'static File,
}

const CAPACITY: usize = 1024;
/// Maximum number of mapped file ranges that one look-up finds.
const MOST: usize = 16;

/// Mapped ranges by start address. Any range may overlap a given one, so a look-up searches all of them.
static RANGES: FixedTable<Range, CAPACITY, CAPACITY> = FixedTable::new();

/// Adds a mapping of `length` bytes of `file` from `offset`, mapped at address `start`. Returns false if the table is full.
pub(crate) fn add(start: usize, length: usize, offset: i64, file: &'static File) -> bool {
    let added = RANGES.add(start, |range| {
        range.length.store(length, Ordering::Relaxed);
        range.offset.store(offset, Ordering::Relaxed);
        range.file.store(std::ptr::from_ref(file).cast_mut(), Ordering::Relaxed);
    });
    added.is_some()
}

/// File ranges that are mapped within the searched range of addresses.
pub(crate) struct Found([Option<Mapping>; MOST]);

impl Found {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Mapping> {
        self.0.iter().flatten()
    }

    /// Updates the table after mremap(2) moved `bytes` bytes at address `from` to address `to` and resized them to `now` bytes (whole
    /// pages). Calls `each` with each new mapping. Returns true if all of them fit in the table.
    pub(crate) fn moved(
        &self,
        (from, bytes): (usize, usize),
        (to, now): (usize, usize),
        mut each: impl FnMut(&Mapping),
    ) -> bool {
        let mut all = true;
        for part in self.iter() {
            let at = part.start - from;
            // A part that reached the end grows with the mapping. A length that does not fill whole pages is not rounded up.
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

    /// Puts the mappings removed by [`take`] back into the table.
    pub(crate) fn put_back(&self) {
        self.iter().for_each(|part| _ = add(part.start, part.length, part.offset, part.file));
    }
}

pub(crate) fn page_bytes() -> usize {
    // SAFETY: no preconditions.
    (unsafe { libc::getauxval(libc::AT_PAGESZ) } as usize).max(1)
}

/// Finds the mapped file ranges in the `length` bytes from address `start`.
pub(crate) fn find(start: usize, length: usize) -> Option<Found> {
    search(start, length, false)
}

/// Removes the mapped file ranges in the `length` bytes from address `start` and returns them; parts of mappings outside stay.
pub(crate) fn take(start: usize, length: usize) -> Option<Found> {
    search(start, length, true)
}

#[inline(always)]
fn search(start: usize, length: usize, take: bool) -> Option<Found> {
    if RANGES.len() == 0 {
        return None;
    }
    let mut found = Found([None; MOST]);
    search_table(start, length, take, &mut found.0).then_some(found)
}

/// Searches the table for mapped ranges that overlap `length` bytes from address `start`, and removes these from the table if `take`.
/// Returns false if nothing was found. Fills `found` in place, since there may be little stack.
#[cold]
#[inline(never)]
fn search_table(start: usize, length: usize, take: bool, found: &mut [Option<Mapping>; MOST]) -> bool {
    let end = start.saturating_add(length);
    let mut count = 0;
    for (at, range) in RANGES.live() {
        let behind = at.saturating_add(range.length.load(Ordering::Relaxed));
        if behind <= start || at >= end || count == MOST || take && !range.hold(at) {
            continue;
        }
        // SAFETY: stored before the address became visible; a record is never freed.
        let Some(file) = (unsafe { range.file.load(Ordering::Relaxed).as_ref() }) else { continue };
        let offset = range.offset.load(Ordering::Relaxed);
        let (from, to) = (start.max(at), end.min(behind));
        let part = |from: usize, to: usize| (from, to - from, offset.saturating_add_unsigned((from - at) as u64));
        let (part_start, length, part_offset) = part(from, to);
        found[count] = Some(Mapping { start: part_start, length, offset: part_offset, file });
        count += 1;
        if take {
            RANGES.remove(range);
            for (from, to) in [(at, from), (to, behind)].into_iter().filter(|(from, to)| from < to) {
                let (start, length, offset) = part(from, to);
                add(start, length, offset, file);
            }
        }
    }
    join(&mut found[..count]);
    count > 0
}

/// Sorts the found file ranges by address and merges adjacent ranges of one mapping.
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
        let reported = |found: Option<Found>| {
            found.map(|found| found.iter().map(|part| (part.offset, part.length)).collect::<Vec<_>>())
        };
        assert_eq!(reported(find(0x10_1000, 0x1000)), Some(vec![(0x3000, 0x1000)]));
        assert_eq!(reported(take(0x10_1000, 0x1000)), Some(vec![(0x3000, 0x1000)]));
        assert_eq!(reported(find(0x10_1000, 0x1000)), None);
        let mut rest = reported(take(0, usize::MAX)).unwrap();
        rest.sort_unstable();
        assert_eq!(rest, [(0x2000, 0x1000), (0x4000, 0x6000)]);
        assert_eq!(reported(find(0, usize::MAX)), None);
        // Mapping that moves and grows, then is split in the middle.
        let page = page_bytes();
        assert!(add(0x10_0000, 2 * page - 5, 0, file));
        let mut seen = Vec::new();
        let taken = take(0x10_0000, 2 * page).unwrap();
        assert!(
            taken.moved((0x10_0000, 2 * page), (0x20_0000, 4 * page), |part| seen.push((part.offset, part.length)))
        );
        assert_eq!((seen, reported(find(0x10_0000, page))), (vec![(0, 4 * page)], None));
        let taken = take(0x20_0000 + page, 3 * page).unwrap();
        assert!(taken.moved((0x20_0000 + page, 3 * page), (0x20_0000 + page, page), |_| ()));
        let mut rest = reported(take(0, usize::MAX)).unwrap();
        rest.sort_unstable();
        assert_eq!(rest, [(0, 2 * page)]);
    }
}
