//! MPI reduction operator (MPI 4.0, 6.9.5). Associative and commutative, for elements of a single datatype; so the operator ignores the
//! datatype handle, which differs between MPI implementations. Runs inside MPI, maybe many times, on buffers of any alignment.
#![expect(unsafe_code, reason = "buffers of MPI")]

use std::ffi::{c_int, c_void};

/// Signature of a user-defined operator, as MPI requires: new elements, accumulated elements, number of elements, datatype.
pub(super) type Operator = unsafe extern "C" fn(*const c_void, *mut c_void, *const c_int, *const c_void);

/// Reduction element (data of one or more ranks) that can be merged with others. Encoded as 64-bit words that contain their own length.
pub(super) trait Element: Sized {
    fn put(&self) -> Vec<u64>;
    fn take(words: &[u64]) -> Self;
    /// Returns the number of words of an encoded element. `word` returns the word at a given index of that element.
    fn length(word: impl Fn(usize) -> u64) -> usize;
    fn merge(&mut self, other: Self);
}

fn read(from: *const c_void, at: usize, words: &mut [u64]) {
    // SAFETY: `at` is inside the buffer, by the caller's count of elements.
    let start = unsafe { from.cast::<u64>().add(at) };
    // SAFETY: the words are inside the buffer, as above; copied by bytes, so any alignment is valid.
    unsafe { std::ptr::copy_nonoverlapping(start.cast::<u8>(), words.as_mut_ptr().cast(), size_of_val(words)) };
}

fn write(words: &[u64], to: *mut c_void, at: usize) {
    // SAFETY: `at` is inside the buffer, by the caller's count of elements.
    let start = unsafe { to.cast::<u64>().add(at) };
    // SAFETY: the words are inside the buffer, as above; copied by bytes, so any alignment is valid.
    unsafe { std::ptr::copy_nonoverlapping(words.as_ptr().cast::<u8>(), start.cast(), size_of_val(words)) };
}

/// Returns the encoded reduction element that begins at word `at` of the buffer `from`.
fn element<E: Element>(from: *const c_void, at: usize) -> Vec<u64> {
    let word = |i: usize| {
        let mut word = [0];
        read(from, at + i, &mut word);
        word[0]
    };
    let mut words = vec![0; E::length(word)];
    read(from, at, &mut words);
    words
}

/// Merges `count` elements of the MPI buffer `new` into the elements of `so_far`. All elements have the same capacity.
pub(super) unsafe extern "C" fn merge<E: Element>(
    new: *const c_void,
    so_far: *mut c_void,
    count: *const c_int,
    _: *const c_void,
) {
    // SAFETY: MPI passes a valid pointer to the count.
    let count = unsafe { count.read() };
    let mut at = 0;
    for _ in 0..count {
        let words = element::<E>(so_far, at);
        let mut sum = E::take(&words);
        sum.merge(E::take(&element::<E>(new, at)));
        write(&sum.put(), so_far, at);
        at += words.len();
    }
}

#[cfg(test)]
mod tests {
    use super::super::sums::{Sums, tests::of};
    use super::*;

    static TWO: c_int = 2;

    #[test]
    fn it_works_through_pointers_of_any_alignment() {
        let first = [of(1, &[1, 2], &[1]), of(2, &[7], &[2])];
        let second = [of(3, &[2, 3], &[1]), of(4, &[7], &[3])];
        let bytes = |sums: &[Sums; 2]| sums.each_ref().map(Sums::put).concat();
        let mut so_far = vec![0_u8; 8 * bytes(&first).len() + 1];
        write(&bytes(&first), so_far[1..].as_mut_ptr().cast(), 0);
        let new = bytes(&second);
        let (from, to) = (new.as_ptr().cast(), so_far[1..].as_mut_ptr().cast());
        // SAFETY: each buffer has two elements.
        unsafe { merge::<Sums>(from, to, &raw const TWO, std::ptr::null()) };
        let mut at = 0;
        for (mut one, other) in first.into_iter().zip(second) {
            let words = element::<Sums>(so_far[1..].as_ptr().cast(), at);
            at += words.len();
            one.merge(other);
            assert_eq!(Sums::take(&words), one);
        }
    }
}
