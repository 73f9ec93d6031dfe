//! The operations that MPI applies (MPI 4.0, 6.9.5). Each is associative and commutative, and takes elements of one type,
//! so it need not look at the datatype handle, which is what implementations differ in. They run inside MPI, maybe many
//! times; buffers may lie anywhere.
#![expect(unsafe_code, reason = "buffers of MPI")]

use super::words::{COUNTERS, FILE, counters, file, put_counters, put_file};
use std::ffi::{c_int, c_void};

/// Words in front of a set's members: its capacity, how many there are, and whether there were more.
const SET_HEAD: usize = 3;

/// As MPI calls it: the new element, the one so far, the number of elements, and a datatype.
pub(super) type Operator = unsafe extern "C" fn(*const c_void, *mut c_void, *const c_int, *const c_void);

/// Words of a set of at most `capacity` members.
pub(super) const fn set_words(capacity: usize) -> usize {
    SET_HEAD + capacity
}

/// A set as it is sent: the smallest `capacity` of `members`, which are sorted and different.
pub(super) fn set(capacity: usize, members: &[u64]) -> Vec<u64> {
    let mut words = vec![0; set_words(capacity)];
    let kept = &members[..members.len().min(capacity)];
    words[..SET_HEAD].copy_from_slice(&[capacity as u64, kept.len() as u64, u64::from(members.len() > capacity)]);
    words[SET_HEAD..SET_HEAD + kept.len()].copy_from_slice(kept);
    words
}

/// The members of a set, and whether there were more.
pub(super) fn members(words: &[u64]) -> (&[u64], bool) {
    let used = words.get(1).map_or(0, |&used| used as usize);
    (words.get(SET_HEAD..SET_HEAD + used).unwrap_or_default(), words.get(2).is_some_and(|&more| more != 0))
}

/// The union of two sets of one capacity, of which the smallest members are kept.
fn unite(one: &[u64], other: &[u64]) -> Vec<u64> {
    let (capacity, more) = (one[0] as usize, members(one).1 || members(other).1);
    let mut all = [members(one).0, members(other).0].concat();
    all.sort_unstable();
    all.dedup();
    let mut united = set(capacity, &all);
    united[2] |= u64::from(more);
    united
}

fn read(from: *const c_void, at: usize, words: &mut [u64]) {
    // SAFETY: inside the buffer, by the caller's count of elements.
    let start = unsafe { from.cast::<u64>().add(at) };
    // SAFETY: as above; copied byte by byte, whatever the alignment.
    unsafe { std::ptr::copy_nonoverlapping(start.cast::<u8>(), words.as_mut_ptr().cast(), size_of_val(words)) };
}

fn write(words: &[u64], to: *mut c_void, at: usize) {
    // SAFETY: inside the buffer, by the caller's count of elements.
    let start = unsafe { to.cast::<u64>().add(at) };
    // SAFETY: as above; copied byte by byte, whatever the alignment.
    unsafe { std::ptr::copy_nonoverlapping(words.as_ptr().cast::<u8>(), start.cast(), size_of_val(words)) };
}

/// Applies `merge` (so far, new) to every pair of elements of `N` words.
fn each<const N: usize>(
    new: *const c_void,
    so_far: *mut c_void,
    count: *const c_int,
    merge: impl Fn(&mut [u64; N], &[u64; N]),
) {
    // SAFETY: MPI passes a valid pointer.
    let count = unsafe { count.read() };
    for element in 0..usize::try_from(count).unwrap_or(0) {
        let (mut one, mut other) = ([0; N], [0; N]);
        read(so_far, element * N, &mut one);
        read(new, element * N, &mut other);
        merge(&mut one, &other);
        write(&one, so_far, element * N);
    }
}

/// Sums of counters.
pub(super) unsafe extern "C" fn add_counters(
    new: *const c_void,
    so_far: *mut c_void,
    count: *const c_int,
    _: *const c_void,
) {
    each::<COUNTERS>(new, so_far, count, |one, other| {
        let mut sum = counters(one);
        sum.merge(&counters(other));
        put_counters(&sum, one);
    });
}

/// Sums of profiles and spreads.
pub(super) unsafe extern "C" fn add_files(
    new: *const c_void,
    so_far: *mut c_void,
    count: *const c_int,
    _: *const c_void,
) {
    each::<FILE>(new, so_far, count, |one, other| {
        let ((mut profile, mut spread), (more, others)) = (file(one), file(other));
        profile.merge(&more);
        spread.merge(&others);
        put_file(&profile, &spread, one);
    });
}

/// Unions of sets. All are of the capacity that stands in their first word.
pub(super) unsafe extern "C" fn unite_sets(
    new: *const c_void,
    so_far: *mut c_void,
    count: *const c_int,
    _: *const c_void,
) {
    // SAFETY: MPI passes a valid pointer.
    let count = unsafe { count.read() };
    let mut at = 0;
    for _ in 0..count {
        let mut capacity = [0];
        read(so_far, at, &mut capacity);
        let size = set_words(capacity[0] as usize);
        let (mut one, mut other) = (vec![0; size], vec![0; size]);
        read(so_far, at, &mut one);
        read(new, at, &mut other);
        write(&unite(&one, &other), so_far, at);
        at += size;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_union_is_the_same_in_any_order() {
        let sets = [set(4, &[1, 5, 9]), set(4, &[5, 6]), set(4, &[9, 10, 11, 12])];
        for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
            let [a, b, c] = order.map(|i: usize| &sets[i]);
            for united in [unite(&unite(a, b), c), unite(a, &unite(b, c))] {
                assert_eq!(members(&united), (&[1, 5, 6, 9][..], true));
            }
        }
        assert_eq!(members(&unite(&sets[0], &sets[1])), (&[1, 5, 6, 9][..], false));
        assert!(members(&set(2, &[1, 2, 3])).1);
    }

    #[test]
    fn operators_work_through_pointers_of_any_alignment() {
        let mut bytes = vec![0_u8; 2 * 8 * set_words(3) + 1];
        let first = [set(3, &[1, 2]), set(3, &[7])].concat();
        write(&first, bytes[1..].as_mut_ptr().cast(), 0);
        let second = [set(3, &[2, 3]), set(3, &[7])].concat();
        // SAFETY: two elements in each buffer.
        unsafe { unite_sets(second.as_ptr().cast(), bytes[1..].as_mut_ptr().cast(), &raw const TWO, std::ptr::null()) };
        let mut result = vec![0; 2 * set_words(3)];
        read(bytes[1..].as_ptr().cast(), 0, &mut result);
        assert_eq!(members(&result[..set_words(3)]).0, [1, 2, 3]);
        assert_eq!(members(&result[set_words(3)..]).0, [7]);
    }

    static TWO: c_int = 2;
}
