//! Allocator for rarely executed code: start, packing, flush. It has several heaps, each in reserved memory of its own. A thread takes a
//! free heap and never waits for one. A signal handler that interrupted an allocation takes the next heap; so does a child forked while
//! another thread was allocating. Memory freed to a busy heap is queued for the heap's next user. Large allocations get mappings of their
//! own as long as the system grants them.
//!
//! A failed allocation abandons the work that requested it ([`crate::abandonable::abandon`]). Small allocations of work that cannot be
//! abandoned, because other ranks wait for its result, come from a last heap whose memory is reserved from the start.
#![expect(unsafe_code, reason = "an allocator")]

use super::{PAGE_BYTES, commit, map, reserve, unmap};
use crate::{abandonable, tls};
use std::alloc::{GlobalAlloc, Layout};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// Number of heaps of the tracer's allocator.
const HEAPS: usize = 8;
/// Maximum address space of each heap, in bytes: room for a flush of the default buffer.
const HEAP_BYTES: usize = 32 << 20;
/// Minimum address space of each heap under a limit of address space, in bytes; less only if the system refuses so much.
const LEAST_HEAP_BYTES: usize = 256 << 10;
/// Minimum size of allocations that get a memory mapping of their own, in bytes.
const LARGE: usize = 256 << 10;
/// Minimum growth of a heap's usable memory, in bytes.
const STEP: usize = 64 << 10;

/// Index of the last heap, which serves work that cannot be abandoned.
const LAST: usize = HEAPS - 1;
/// Memory that the last heap gets at the start if available, in bytes; at most half of its address space.
const LAST_BYTES: usize = 512 << 10;

/// Address of the first heap of the tracer's allocator; the heaps are contiguous. Null before they are reserved.
static START: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());
/// Part of each heap's address space that the heap may use, in bytes.
static ROOM: AtomicUsize = AtomicUsize::new(0);
/// Address space of each heap, in bytes. The part beyond [`ROOM`] may have been released.
static SPAN: AtomicUsize = AtomicUsize::new(0);

struct Heap {
    /// Number (`tls::number`) of the thread that is allocating from the heap, or 0.
    holder: AtomicUsize,
    /// Blocks of memory freed while the heap was in use, linked by their first words.
    given_back: AtomicPtr<Piece>,
    /// Offset in the heap below which blocks date from before a fork and are leaked; see [`after_fork`].
    born: AtomicUsize,
    core: UnsafeCell<dlmalloc::Dlmalloc<Source>>,
}

/// Block of memory that waits to be freed by the heap's next user.
struct Piece {
    next: *mut Piece,
}

// SAFETY: `core` is touched only by the thread that has set `holder`.
unsafe impl Sync for Heap {}

const fn heap(number: usize) -> Heap {
    Heap {
        holder: AtomicUsize::new(0),
        given_back: AtomicPtr::new(std::ptr::null_mut()),
        born: AtomicUsize::new(0),
        core: UnsafeCell::new(dlmalloc::Dlmalloc::new_with_allocator(Source { number })),
    }
}

static ALL: [Heap; HEAPS] = [heap(0), heap(1), heap(2), heap(3), heap(4), heap(5), heap(6), heap(7)];
/// Bytes of its address space that each heap has used so far; never decreases.
static USED: [AtomicUsize; HEAPS] = [const { AtomicUsize::new(0) }; HEAPS];

/// Reserves the address space of the allocator's heaps. Called from the library's constructor.
pub(super) fn prepare() {
    let mut bytes = (HEAP_BYTES / super::scale()).max(LEAST_HEAP_BYTES);
    while bytes >= STEP {
        let start = reserve(bytes * HEAPS);
        if !start.is_null() {
            SPAN.store(bytes, Ordering::Relaxed);
            ROOM.store(bytes, Ordering::Relaxed);
            START.store(start, Ordering::Release);
            // The heap keeps memory that it once got, of which little is touched before it is needed.
            let size = LAST_BYTES.min(bytes / 2);
            ALL[LAST].alone(|core| {
                // SAFETY: the size is not zero.
                let piece = unsafe { core.c_malloc(size) };
                if !piece.is_null() {
                    // SAFETY: the block was just allocated.
                    unsafe { core.c_free(piece) };
                }
            });
            return;
        }
        bytes /= 2;
    }
}

/// Releases address space that the heaps have not used, down to 1/`divisor` of each heap.
pub(super) fn shrink(divisor: usize) {
    let (start, span, room) =
        (START.load(Ordering::Acquire), SPAN.load(Ordering::Relaxed), ROOM.load(Ordering::Relaxed));
    let less = (room / divisor).next_multiple_of(STEP).max(LEAST_HEAP_BYTES).min(room);
    if start.is_null() || less >= room {
        return;
    }
    ROOM.store(less, Ordering::Release);
    for (number, heap) in ALL.iter().enumerate() {
        // A heap in use may be growing, and is not shrunk.
        heap.alone(|_| {
            let from = less.max(USED[number].load(Ordering::Relaxed)).next_multiple_of(PAGE_BYTES);
            if from < room {
                // SAFETY: the range lies inside the reservation.
                unmap(unsafe { start.add(number * span + from) }, room - from);
            }
        });
    }
}

/// Returns address and size of the memory of each heap.
pub(super) fn ranges() -> impl Iterator<Item = (*mut u8, usize)> {
    let (start, span) = (START.load(Ordering::Acquire), SPAN.load(Ordering::Relaxed));
    let room = ROOM.load(Ordering::Relaxed);
    (0..HEAPS).map(move |number| (start.wrapping_add(number * span), if start.is_null() { 0 } else { room }))
}

/// Reinitializes, in a forked child, each heap that another thread was using at the fork. The heap continues after its used memory, which is leaked.
pub(super) fn after_fork() {
    let me = tls::number();
    for (number, heap) in ALL.iter().enumerate() {
        let holder = heap.holder.load(Ordering::Relaxed);
        if holder == 0 || holder == me {
            continue;
        }
        // SAFETY: the child has one thread, which is not inside this heap.
        unsafe { heap.core.get().write(dlmalloc::Dlmalloc::new_with_allocator(Source { number })) };
        heap.given_back.store(std::ptr::null_mut(), Ordering::Relaxed);
        heap.born.store(USED[number].load(Ordering::Relaxed), Ordering::Relaxed);
        heap.holder.store(0, Ordering::Release);
    }
}

impl Heap {
    /// Runs `work` with exclusive use of the heap; returns `None` if another thread or an interrupted call is using the heap.
    fn alone<T>(&self, work: impl FnOnce(&mut dlmalloc::Dlmalloc<Source>) -> T) -> Option<T> {
        self.holder.compare_exchange(0, tls::number(), Ordering::Acquire, Ordering::Relaxed).ok()?;
        // SAFETY: only this call holds the heap.
        let core = unsafe { &mut *self.core.get() };
        let mut piece = self.given_back.swap(std::ptr::null_mut(), Ordering::Acquire);
        while !piece.is_null() {
            // SAFETY: `piece` is a freed block, whose first word links to the next block.
            let next = unsafe { (*piece).next };
            // SAFETY: `piece` is a block of this heap without an owner.
            unsafe { core.c_free(piece.cast()) };
            piece = next;
        }
        let result = work(core);
        self.holder.store(0, Ordering::Release);
        Some(result)
    }

    /// Queues a block of memory to be freed by the heap's next user.
    fn leave(&self, piece: *mut u8) {
        let piece = piece.cast::<Piece>();
        let mut head = self.given_back.load(Ordering::Relaxed);
        loop {
            // SAFETY: the block was freed, so this call owns it. Every block has room for a word and is aligned to two words.
            unsafe { piece.write(Piece { next: head }) };
            match self.given_back.compare_exchange_weak(head, piece, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }
}

/// Source from which a heap gets memory: the next unused bytes of its address space.
struct Source {
    number: usize,
}

// SAFETY: returns bytes of the reservation, each once, zeroed and usable.
unsafe impl dlmalloc::Allocator for Source {
    fn alloc(&self, size: usize) -> (*mut u8, usize, u32) {
        let none = (std::ptr::null_mut(), 0, 0);
        let (start, Some(used)) = (START.load(Ordering::Acquire), USED.get(self.number)) else { return none };
        let (at, size) = (used.load(Ordering::Relaxed), size.next_multiple_of(STEP));
        if start.is_null() || at + size > ROOM.load(Ordering::Acquire) {
            return none;
        }
        let address = start.wrapping_add(self.number * SPAN.load(Ordering::Relaxed) + at);
        if !commit(address, size) {
            return none;
        }
        used.store(at + size, Ordering::Relaxed);
        (address, size, 0)
    }

    fn remap(&self, _: *mut u8, _: usize, _: usize, _: bool) -> *mut u8 {
        std::ptr::null_mut()
    }

    fn free_part(&self, _: *mut u8, _: usize, _: usize) -> bool {
        false
    }

    fn free(&self, _: *mut u8, _: usize) -> bool {
        false
    }

    fn can_release_part(&self, _: u32) -> bool {
        false
    }

    fn allocates_zeros(&self) -> bool {
        true
    }

    fn page_size(&self) -> usize {
        PAGE_BYTES
    }
}

/// Returns the heap that a block belongs to and the block's offset in the heap; `None` for a block with a mapping of its own.
fn heap_of(piece: *mut u8) -> Option<(&'static Heap, usize)> {
    let offset = piece.addr().checked_sub(START.load(Ordering::Relaxed).addr())?;
    let span = SPAN.load(Ordering::Relaxed);
    let number = offset.checked_div(span)?;
    // Address space beyond the used part may have been released and mapped by others, even as a block with a mapping of its own.
    let used = USED.get(number)?.load(Ordering::Relaxed);
    Some((ALL.get(number)?, offset % span)).filter(|(_, at)| *at < used)
}

pub(super) struct Allocator;

impl Allocator {
    fn find(layout: Layout) -> *mut u8 {
        let (size, align) = (layout.size(), layout.align());
        if super::is_to_fail() {
            return std::ptr::null_mut();
        }
        // Before the heaps exist, each allocation gets a mapping.
        if align <= PAGE_BYTES && (size >= LARGE || START.load(Ordering::Relaxed).is_null()) {
            let piece = map(size.next_multiple_of(PAGE_BYTES));
            if !piece.is_null() {
                return piece;
            }
        }
        Self::find_in(&ALL[..LAST], layout)
    }

    fn find_in(heaps: &[Heap], layout: Layout) -> *mut u8 {
        for heap in heaps {
            // SAFETY: this call alone holds the heap; the size is not zero.
            let piece = heap.alone(|core| unsafe { core.malloc(layout.size(), layout.align()) });
            if let Some(piece) = piece.filter(|piece| !piece.is_null()) {
                return piece;
            }
        }
        std::ptr::null_mut()
    }

    fn give_back(piece: *mut u8, layout: Layout) {
        let Some((heap, at)) = heap_of(piece) else {
            return unmap(piece, layout.size().next_multiple_of(PAGE_BYTES));
        };
        if at >= heap.born.load(Ordering::Relaxed) {
            // SAFETY: the block belongs to this heap and is freed by its owner.
            let done = heap.alone(|core| unsafe { core.free(piece, layout.size(), layout.align()) });
            if done.is_none() {
                heap.leave(piece);
            }
        }
    }

    /// Resizes a block of memory to `size` bytes in place or by remapping its pages; returns `None` if that is impossible.
    fn resize(piece: *mut u8, layout: Layout, size: usize) -> Option<*mut u8> {
        let found = match heap_of(piece) {
            Some((heap, at)) if size < LARGE && at >= heap.born.load(Ordering::Relaxed) => {
                // SAFETY: the block belongs to this heap and is resized by its owner.
                heap.alone(|core| unsafe { core.realloc(piece, layout.size(), layout.align(), size) })?
            }
            None if size >= LARGE => {
                let (before, after) = (layout.size().next_multiple_of(PAGE_BYTES), size.next_multiple_of(PAGE_BYTES));
                let may_move = libc::MREMAP_MAYMOVE;
                // SAFETY: the block has a mapping of its own and is resized by its owner.
                let moved = unsafe { crate::sys::syscall!(libc::SYS_mremap, piece, before, after, may_move) };
                if moved == -1 { std::ptr::null_mut() } else { moved as *mut u8 }
            }
            _ => return None,
        };
        (!found.is_null()).then_some(found)
    }
}

// SAFETY: each block belongs to one heap or is one mapping, as large and aligned as requested, and is freed once. A failed allocation does
// not return if it can be abandoned.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let errno = crate::errno::save();
        let mut piece = Self::find(layout);
        if piece.is_null() {
            errno.restore();
            // Returns only if there is no work to abandon.
            abandonable::abandon();
            piece = Self::find_in(&ALL[LAST..], layout);
        }
        errno.restore();
        piece
    }

    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        let errno = crate::errno::save();
        Self::give_back(piece, layout);
        errno.restore();
    }

    unsafe fn realloc(&self, piece: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let errno = crate::errno::save();
        let resized = Self::resize(piece, layout, size);
        errno.restore();
        if let Some(resized) = resized {
            return resized;
        }
        let Ok(wanted) = Layout::from_size_align(size, layout.align()) else { return std::ptr::null_mut() };
        // SAFETY: the layout has nonzero size, as the caller guarantees.
        let new = unsafe { self.alloc(wanted) };
        if !new.is_null() {
            // SAFETY: both blocks have room for the smaller size, and do not overlap.
            unsafe { new.copy_from_nonoverlapping(piece, layout.size().min(size)) };
            // SAFETY: the block meets the caller's promise, and its content has been copied.
            unsafe { self.dealloc(piece, layout) };
        }
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(size: usize) -> Layout {
        Layout::from_size_align(size, 8).unwrap()
    }

    #[test]
    fn pieces_are_found_while_heaps_are_in_use() {
        prepare();
        let first = Allocator::find(layout(100));
        let (heap, _) = heap_of(first).unwrap();
        let inside = heap.alone(|_| {
            // A signal handler at this point is served by another heap, and memory that it frees is queued.
            let second = Allocator::find(layout(100));
            assert!(!std::ptr::eq(heap_of(second).unwrap().0, heap));
            Allocator::give_back(first, layout(100));
            Allocator::give_back(second, layout(100));
            assert!(!heap.given_back.load(Ordering::Relaxed).is_null());
        });
        assert!(inside.is_some());
        assert_eq!(Allocator::find(layout(100)), first);
        // SAFETY: allocated above, with this size.
        let moved = unsafe { Allocator.realloc(first, layout(100), 2 * LARGE) };
        assert!(heap_of(moved).is_none());
        // SAFETY: allocated above, with this size.
        let back = unsafe { Allocator.realloc(moved, layout(2 * LARGE), 50) };
        assert!(heap_of(back).is_some());
        Allocator::give_back(back, layout(50));
        // Simulates a child forked while another thread was using the heap.
        heap.holder.store(1, Ordering::Relaxed);
        after_fork();
        assert!(heap_of(Allocator::find(layout(100))).unwrap().1 >= heap.born.load(Ordering::Relaxed));
        Allocator::give_back(back, layout(50));
    }
}
