//! Cache of a thread: its recent call sites by return address and stack pointer, and the streams that it used last. Only the thread itself
//! reads and writes it; a signal handler may do so at any moment, which at worst gives a call the site of another.
//!
//! An entry has four places. Hooks look at the first only; the others are looked at before the stack is walked, and then the entry moves to the
//! first place.
#![expect(unsafe_code, reason = "caches in reserved memory, a C function")]

use super::Site;
use crate::memory::{Record, Table};
use crate::tls::Thread;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// Number of call sites in a thread's cache.
const SITES: usize = 256;
/// Number of streams in a thread's cache.
const STREAMS: usize = 256;
/// Number of places of an entry.
const WAYS: usize = 4;
/// Number of walks that a thread may make at once: a thread whose stack is never the same twice would walk it at each call.
const MOST_WALKS: u32 = 1 << 13;
/// Number of walks that a thread may make at once in a Python program: nearly each call of an import has a stack of its own (pandas: 6,000 calls).
const MOST_PYTHON_WALKS: u32 = 1 << 16;
/// Number of walks that a thread may make in addition for each chunk (2,000 calls) that it fills.
const WALKS_PER_CHUNK: u32 = 64;

/// Number that changes whenever the program loads a library: another one may then be at the addresses of one that was unloaded.
pub(crate) static GENERATION: AtomicU64 = AtomicU64::new(0);

/// Number of return addresses of outer frames that are part of a call stack's key.
pub(super) const OUTER: usize = 4;

/// Offsets from the stack pointer, in words, at which return addresses of outer frames lie; 0 for none.
pub(super) type Offsets = [u16; OUTER];

/// Pair of return address and stack pointer.
struct KnownPair {
    /// The pair as a number ([`key`]); 0 if there is none.
    key: Cell<u64>,
    outer: Cell<Offsets>,
}

struct KnownSite {
    /// The pair and the return addresses of its outer frames as a number ([`key_with`]); 0 if there is none, or if the call site is to be
    /// looked at again.
    key: Cell<u64>,
    /// Copy of the number, of a call site that is to be looked at again; else 0.
    again: Cell<u64>,
    site: Cell<Site>,
}

struct KnownStream {
    /// Address of the file's record.
    file: Cell<usize>,
    /// Call site, operation and flags.
    of: Cell<u64>,
    /// Stream ID plus one.
    stream: Cell<u32>,
}

pub(super) struct Cache {
    pairs: [KnownPair; SITES],
    sites: [KnownSite; SITES],
    streams: [KnownStream; STREAMS],
    /// Number of walks of the thread's stack, less those that it has got in addition.
    walks: Cell<u32>,
}

static CACHES: Table<Cache> = Table::new();

// SAFETY: only the thread that a cache was made for uses it.
unsafe impl Sync for Cache {}

// SAFETY: all-zero bits are valid for the numbers.
unsafe impl Record for Cache {
    const VALID_WHEN_ZERO: bool = true;
}

pub(super) fn prepare(threads: usize) {
    CACHES.prepare(threads);
}

/// Makes an empty cache and returns its address.
pub(super) fn make() -> Option<usize> {
    CACHES.push_zeroed().map(|cache| std::ptr::from_ref(cache).addr())
}

/// Lowest address of a cache; lower values of [`Thread::sites`] are none.
const LOWEST: usize = 4096;

/// Returns the thread's cache, if it has one.
#[inline(always)]
pub(super) fn of(thread: &Thread) -> Option<&'static Cache> {
    let cache = thread.sites.get();
    // SAFETY: other values come from `make`: records of the table never move, and only this thread knows the address.
    (cache >= LOWEST).then(|| unsafe { &*std::ptr::with_exposed_provenance::<Cache>(cache) })
}

/// Returns the number, not 0, by which a pair of return address and stack pointer is known. Within one generation, two pairs on a stack of
/// less than 8 MiB have the same number only if their return addresses are more than 2 TiB apart.
#[inline(always)]
fn key(address: usize, stack: usize) -> u64 {
    ((address as u64).rotate_left(23) ^ stack as u64 ^ GENERATION.load(Ordering::Relaxed)).wrapping_add(1)
}

/// Returns the number by which a pair with the return addresses of its outer frames is known. Frames inside a library have the same pair
/// whichever line of the program has called the library.
///
/// # Safety
/// The words at `outer` must lie on the calling thread's own stack, or in the page of `stack`, so that they are mapped.
#[inline(always)]
unsafe fn key_with(key: u64, stack: usize, outer: Offsets) -> u64 {
    let mut all = key;
    for offset in outer {
        let word = std::ptr::with_exposed_provenance::<u64>(stack).wrapping_add(offset.into());
        // Return addresses differ mostly in their lowest 21 bits: each step changes other bits.
        // SAFETY: guaranteed by the caller.
        all = all.rotate_left(21) ^ unsafe { word.read_volatile() };
    }
    all
}

#[inline(always)]
fn place(key: u64) -> usize {
    (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - SITES.ilog2())) as usize
}

/// Returns the call site of the pair, if it is in the cache.
#[inline(always)]
pub(super) fn find(cache: &Cache, address: usize, stack: usize) -> Option<Site> {
    let key = key(address, stack);
    let pair = &cache.pairs[place(key)];
    if pair.key.get() != key {
        return None;
    }
    // SAFETY: the caller of `remember` has guaranteed it, with this stack pointer and on this thread.
    let key = unsafe { key_with(key, stack, pair.outer.get()) };
    let known = &cache.sites[place(key)];
    (known.key.get() == key).then(|| known.site.get())
}

/// Returns the place among those of `key` at which `is` holds, and moves what is there to the first place.
fn bring<T>(key: u64, all: &[T; SITES], is: impl Fn(&T) -> bool, swap: impl Fn(&T, &T)) -> Option<&T> {
    let first = all.get(place(key))?;
    let found = (0..WAYS).filter_map(|way| all.get(place(key) ^ way)).find(|entry| is(entry))?;
    if !std::ptr::eq(first, found) {
        swap(first, found);
    }
    Some(first)
}

/// Frees the first place of `key` for a new entry: moves what is there to a place that is free, or that another entry loses.
fn make_room<T>(
    key: u64,
    all: &[T; SITES],
    is_free: impl Fn(&T) -> bool,
    turn: u32,
    swap: impl Fn(&T, &T),
) -> Option<&T> {
    let first = all.get(place(key))?;
    if !is_free(first) {
        let others = || (1..WAYS).filter_map(|way| all.get(place(key) ^ way));
        let other = others().find(|entry| is_free(entry)).or_else(|| others().nth(turn as usize % (WAYS - 1)))?;
        swap(first, other);
    }
    Some(first)
}

impl KnownPair {
    fn swap(&self, other: &Self) {
        self.key.swap(&other.key);
        self.outer.swap(&other.outer);
    }
}

impl KnownSite {
    fn swap(&self, other: &Self) {
        self.key.swap(&other.key);
        self.again.swap(&other.again);
        self.site.swap(&other.site);
    }
}

impl Cache {
    /// Returns the number of a pair that the cache knows, with the return addresses of its outer frames and what stands for its Python frames.
    fn whole_key(&self, address: usize, stack: usize, python: u64) -> Option<u64> {
        let key = key(address, stack);
        let pair = bring(key, &self.pairs, |pair| pair.key.get() == key, KnownPair::swap)?;
        // SAFETY: as in `find`.
        Some(unsafe { key_with(key, stack, pair.outer.get()) }.wrapping_add(python))
    }
}

/// Returns the call site of a pair that [`find`] has not found at its first place. `python`: number that stands for the thread's Python frames
/// ([`super::python::key`]), 0 in a process without Python; `find` finds no others.
pub(super) fn find_elsewhere(cache: &Cache, address: usize, stack: usize, python: u64) -> Option<Site> {
    let key = cache.whole_key(address, stack, python)?;
    bring(key, &cache.sites, |known| known.key.get() == key, KnownSite::swap).map(|known| known.site.get())
}

/// Result of [`look`].
pub(super) enum Seen {
    /// The stack of the pair is to be walked once more: so far it had this call site.
    Again(Site),
    /// The pair is not in the cache.
    New,
    /// The pair is not in the cache, and the thread's stack is not walked at present.
    TooMany,
}

/// Looks up how a pair is known that [`find_elsewhere`] has not found.
pub(super) fn look(cache: &Cache, address: usize, stack: usize, python: u64) -> Seen {
    if let Some(key) = cache.whole_key(address, stack, python)
        && let Some(known) = bring(key, &cache.sites, |known| known.again.get() == key, KnownSite::swap)
    {
        known.again.set(0);
        return Seen::Again(known.site.get());
    }
    let walks = cache.walks.get().saturating_add(1);
    if walks > if python == 0 { MOST_WALKS } else { MOST_PYTHON_WALKS } {
        return Seen::TooMany;
    }
    cache.walks.set(walks);
    Seen::New
}

/// Stores the call site of a pair, and where the return addresses of outer frames lie.
///
/// # Safety
/// The words at `outer` from `stack` must lie on the calling thread's own stack, or in the page of `stack`.
pub(super) unsafe fn remember(
    cache: &Cache,
    [address, stack]: [usize; 2],
    mut outer: Offsets,
    python: u64,
    site: Site,
) {
    let (key, turn) = (key(address, stack), cache.walks.get());
    let known = bring(key, &cache.pairs, |pair| pair.key.get() == key, KnownPair::swap);
    if let Some(known) = known.map(|pair| pair.outer.get()).filter(|known| *known != outer) {
        // Another caller has frames of other sizes: its return address differs, where both still agree.
        let same = known.iter().zip(&outer).take_while(|(one, other)| one == other).count();
        outer.iter_mut().skip(same).for_each(|offset| *offset = 0);
    }
    let new = || make_room(key, &cache.pairs, |pair| pair.key.get() == 0, turn, KnownPair::swap);
    let Some(pair) = known.or_else(new) else { return };
    // Empty while it changes, in case a signal handler's call looks at it.
    pair.key.set(0);
    pair.outer.set(outer);
    pair.key.set(key);
    // SAFETY: guaranteed by the caller.
    let key = unsafe { key_with(key, stack, outer) }.wrapping_add(python);
    let is_free = |known: &KnownSite| known.key.get() == 0 && known.again.get() == 0;
    let known = bring(key, &cache.sites, |known| known.key.get() == key || known.again.get() == key, KnownSite::swap);
    let Some(known) = known.or_else(|| make_room(key, &cache.sites, is_free, turn, KnownSite::swap)) else { return };
    known.key.set(0);
    known.again.set(0);
    known.site.set(site);
    known.key.set(key);
}

/// Lets the thread walk its stack some more times, since it has filled a chunk.
pub(super) fn refill(thread: &Thread) {
    if let Some(Cache { walks, .. }) = of(thread) {
        walks.set(walks.get().saturating_sub(WALKS_PER_CHUNK));
    }
}

/// Lets the stacks of all call sites in the thread's cache be walked once more, and compared with what they were.
pub(super) fn look_again(thread: &Thread) {
    let known = of(thread).into_iter().flat_map(|cache| &cache.sites);
    for known in known.filter(|known| known.key.get() != 0) {
        known.again.set(known.key.replace(0));
    }
}

#[inline(always)]
fn stream_place(file: usize, of: u64) -> usize {
    let mixed = (file ^ of.rotate_left(16) as usize).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed >> (usize::BITS - STREAMS.ilog2())
}

/// Returns the ID of the stream of calls on the file whose record is at address `file`, if the thread used it lately. `of`: number that stands
/// for call site, operation and flags.
#[inline(always)]
pub(crate) fn known_stream(thread: &Thread, file: usize, of: u64) -> Option<u32> {
    let known = &self::of(thread)?.streams[stream_place(file, of)];
    (known.file.get() == file && known.of.get() == of).then(|| known.stream.get().checked_sub(1)).flatten()
}

/// Stores the ID of a stream for [`known_stream`].
pub(crate) fn remember_stream(thread: &Thread, file: usize, of: u64, stream: u32) {
    let Some(cache) = self::of(thread) else { return };
    let known = &cache.streams[stream_place(file, of)];
    // Empty while it changes, in case a signal handler's call looks at it.
    known.stream.set(0);
    known.file.set(file);
    known.of.set(of);
    known.stream.set(stream + 1);
}

unsafe extern "C" {
    /// Returns 1 if the address lies in one of the tracer's variadic functions (hooks/variadic.c).
    safe fn dxt_is_variadic(address: usize) -> i32;
}

/// True if `address` lies in one of the tracer's variadic functions.
pub(super) fn is_of_variadic(address: usize) -> bool {
    dxt_is_variadic(address) != 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tls;

    fn with_cache() -> (&'static Thread, &'static Cache) {
        static ONCE: std::sync::Once = std::sync::Once::new();
        ONCE.call_once(|| prepare(64));
        let thread = tls::current();
        thread.sites.set(make().unwrap());
        (thread, of(thread).unwrap())
    }

    #[test]
    fn a_pair_is_found_until_it_is_looked_at_again() {
        let (thread, cache) = with_cache();
        let words = [1_u64, 2, 3, 4, 5, 6, 7, 8];
        let stack = words.as_ptr().expose_provenance();
        let remember = |words: &[u64; 8], outer: Offsets, site: Site| {
            // SAFETY: the offsets lie inside of `words`.
            unsafe { super::remember(cache, [10, words.as_ptr().expose_provenance()], outer, 0, site) };
        };
        assert!(find(cache, 10, stack).is_none() && matches!(look(cache, 10, stack, 0), Seen::New));
        remember(&words, [1, 3, 0, 0], 5);
        assert_eq!((find(cache, 10, stack), find(cache, 11, stack)), (Some(5), None));
        look_again(thread);
        assert!(find(cache, 10, stack).is_none() && matches!(look(cache, 10, stack, 0), Seen::Again(5)));
        assert!(matches!(look(cache, 10, stack, 0), Seen::New));
        remember(&words, [1, 3, 0, 0], 6);
        assert_eq!(find(cache, 10, stack), Some(6));
        assert!(known_stream(thread, 64, 3).is_none());
        remember_stream(thread, 64, 3, 0);
        assert_eq!((known_stream(thread, 64, 3), known_stream(thread, 64, 4)), (Some(0), None));
        // In a Python program the instructions of scripts count, too.
        let find_in = |python| find_elsewhere(cache, 12, stack, python);
        // SAFETY: the offset lies inside of `words`.
        unsafe { super::remember(cache, [12, stack], [1, 0, 0, 0], 77, 7) };
        assert_eq!((find(cache, 12, stack), find_in(0), find_in(77), find_in(78)), (None, None, Some(7), None));
        thread.sites.set(0);
        assert!(known_stream(thread, 64, 3).is_none());
        look_again(thread);
    }

    #[test]
    fn callers_with_the_same_pair_have_sites_of_their_own() {
        let (thread, cache) = with_cache();
        let words: [Cell<u64>; 8] = std::array::from_fn(|at| Cell::new(at as u64));
        let stack = words.as_ptr().expose_provenance();
        // SAFETY: the offsets lie inside of `words`.
        let remember = |outer: Offsets, site: Site| unsafe { super::remember(cache, [10, stack], outer, 0, site) };
        remember([2, 5, 0, 0], 1);
        words[5].set(50);
        assert_eq!(find(cache, 10, stack), None);
        remember([2, 5, 0, 0], 2);
        words[5].set(5);
        assert_eq!(find(cache, 10, stack), Some(1));
        words[5].set(50);
        assert_eq!(find(cache, 10, stack), Some(2));
        // A caller whose frame is larger: what lies at the fifth word is no return address, and varies.
        words[2].set(20);
        remember([2, 6, 0, 0], 3);
        for value in 0..5 {
            words[5].set(value);
            assert_eq!(find(cache, 10, stack), Some(3));
        }
        // Library loaded meanwhile.
        GENERATION.fetch_add(1 << 40, Ordering::Relaxed);
        assert_eq!(find(cache, 10, stack), None);
        thread.sites.set(0);
    }

    /// A loop over more lines than one place of the cache has room for walks each stack once.
    #[test]
    fn entries_that_share_a_place_are_all_kept() {
        let (thread, cache) = with_cache();
        let words = [0_u64; 8];
        let stack = words.as_ptr().expose_provenance();
        let mut walks = 0;
        for _ in 0..100 {
            for line in 0..60_usize {
                let address = 0x40_0000 + line * 32;
                let found = find(cache, address, stack).or_else(|| find_elsewhere(cache, address, stack, 0));
                if found != Some(line as Site) {
                    assert!(found.is_none() && matches!(look(cache, address, stack, 0), Seen::New));
                    walks += 1;
                    // SAFETY: the offset lies inside of `words`.
                    unsafe { super::remember(cache, [address, stack], [1, 0, 0, 0], 0, line as Site) };
                }
            }
        }
        assert!(walks < 120, "{walks}");
        thread.sites.set(0);
    }

    #[test]
    fn a_stack_that_is_never_the_same_is_walked_only_so_often() {
        let (thread, cache) = with_cache();
        let walks = (0..20_000).filter(|call| matches!(look(cache, 10, call * 16, 0), Seen::New)).count();
        assert_eq!(walks, MOST_WALKS as usize);
        refill(thread);
        let more = (0..1000).filter(|call| matches!(look(cache, 11, call * 16, 0), Seen::New)).count();
        assert_eq!(more, WALKS_PER_CHUNK as usize);
        assert!(matches!(look(cache, 10, 8, 1), Seen::New));
        thread.sites.set(0);
    }
}
