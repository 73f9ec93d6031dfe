//! Per-thread state: where the next segment goes, and whether this thread is inside the tracer or inside MPI.
//!
//! The block lies in initial-exec TLS: reading it is one load from the thread pointer, with no call that could allocate
//! or lock, so it may be used in signal handlers and before constructors have run. Stable Rust cannot ask for that model,
//! hence the assembly on x86-64; other processors use `thread_local!`, which costs one call.
#![expect(unsafe_code, reason = "thread-local storage in the initial-exec model")]

use crate::inside::Inside;
use crate::memory::Blocked;
use crate::registry::File;
use std::cell::Cell;

/// Where a thread's segments of one kind go: a chunk of an arena, or a scratch.
#[repr(C)]
pub(crate) struct Lane {
    /// Address of the next free slot of the chunk.
    pub(crate) cursor: Cell<usize>,
    /// Address behind the chunk's last slot.
    pub(crate) limit: Cell<usize>,
    /// First slot of the chunk, or 0 while there is none of an arena.
    pub(crate) chunk: Cell<usize>,
    /// The spare slot of the chunk before this one, if a call that a signal handler has interrupted may come for it.
    pub(crate) awaited: Cell<usize>,
    /// The scratch chunk once the arena is full, else 0.
    pub(crate) scratch: Cell<usize>,
    /// Index in the thread table plus one; 0 while nothing has been recorded here.
    pub(crate) index: Cell<u32>,
    /// Size of the latest chunk in bytes.
    pub(crate) chunk_bytes: Cell<u32>,
    /// Chunks that there have been.
    pub(crate) sequence: Cell<u32>,
    /// Not zero once the chunk is one of those for calls that come after the trace ([`crate::late`]).
    pub(crate) late: Cell<u32>,
}

/// State of one thread. All zero at thread start. First comes where the next segment of I/O goes: its address is the block's.
#[repr(C, align(64))]
pub(crate) struct Thread {
    /// I/O, and in counters mode everything.
    pub(crate) io: Lane,
    /// Not zero while the tracer's own code runs on this thread: calls pass through unrecorded. With [`LENT`] and [`LENT_FOR_A_WHILE`].
    pub(crate) busy: Cell<u32>,
    /// Not zero while the thread is where memory for segments is handed out ([`crate::gate`]).
    pub(crate) at_gate: Cell<u32>,
    /// MPI's calls: what is called inside is nested.
    pub(crate) mpi: Inside,
    /// HDF5's calls: what is called inside is marked so.
    pub(crate) hdf5: Inside,
    /// Wrapped functions whose own system calls, made through syscall(2), are not the program's.
    library: Inside,
    /// MPI's collective calls: those made inside are the library's.
    pub(crate) meeting: Inside,
    /// Return address of the HDF5 call that was entered last: tells which copy of HDF5 its caller means.
    pub(crate) hdf5_caller: Cell<usize>,
    /// MPI's collective calls, which have room of their own. To a reader this is another thread.
    pub(crate) meetings: Lane,
    /// Those of them that are only counted: they wait in a scratch, and have no chunk.
    pub(crate) often: Lane,
    /// The scratch chunk where short segments wait to be folded (DXT_MIN_SIZE), or 0.
    pub(crate) waiting: Cell<usize>,
    /// File of the MPI-IO call in progress, to find the offset that a shared file pointer led to.
    pub(crate) mpi_file: Cell<*const File>,
    /// Lowest offset of a transfer on `mpi_file` inside that call, or -1.
    pub(crate) nested_offset: Cell<i64>,
    /// Where to go should the work in progress be abandoned, or 0; see `stack`.
    pub(crate) scope: Cell<usize>,
    /// Id of the thread that the block belongs to, once others may use it too ([`crate::bare`]).
    pub(crate) owner: Cell<u32>,
    /// Whose descriptor table the thread has (`handles/tables.rs`); 0 while nobody has asked.
    pub(crate) table: Cell<u32>,
}

const _: () = assert!(std::mem::offset_of!(Thread, io) == 0 && std::mem::offset_of!(Lane, cursor) == 0);

impl Lane {
    #[cfg(not(target_arch = "x86_64"))]
    const fn new() -> Self {
        Self {
            cursor: Cell::new(0),
            limit: Cell::new(0),
            chunk: Cell::new(0),
            awaited: Cell::new(0),
            scratch: Cell::new(0),
            index: Cell::new(0),
            chunk_bytes: Cell::new(0),
            sequence: Cell::new(0),
            late: Cell::new(0),
        }
    }

    /// Back to the state in which nothing has been recorded.
    pub(crate) fn forget_chunk(&self) {
        self.cursor.set(0);
        self.limit.set(0);
        self.index.set(0);
        self.chunk_bytes.set(0);
        self.chunk.set(0);
        self.sequence.set(0);
        self.awaited.set(0);
        self.scratch.set(0);
    }
}

impl Thread {
    #[cfg(not(target_arch = "x86_64"))]
    const fn new() -> Self {
        Self {
            io: Lane::new(),
            busy: Cell::new(0),
            at_gate: Cell::new(0),
            mpi: Inside::new(),
            hdf5: Inside::new(),
            library: Inside::new(),
            meeting: Inside::new(),
            hdf5_caller: Cell::new(0),
            meetings: Lane::new(),
            often: Lane::new(),
            waiting: Cell::new(0),
            mpi_file: Cell::new(std::ptr::null()),
            nested_offset: Cell::new(0),
            scope: Cell::new(0),
            owner: Cell::new(0),
            table: Cell::new(0),
        }
    }

    /// Back to the state of a thread that has recorded nothing; depths stay.
    pub(crate) fn forget_chunks(&self) {
        self.io.forget_chunk();
        self.meetings.forget_chunk();
        self.often.forget_chunk();
        self.waiting.set(0);
    }

    /// Runs a short piece of the tracer's own work. No handler of a signal may interrupt it, which would find it half done, or
    /// leave it so (siglongjmp(3)). What is called meanwhile all the same, because signals could not be held, is counted.
    pub(crate) fn while_busy<T>(&self, work: impl FnOnce() -> T) -> T {
        let _blocked = Blocked::briefly();
        self.busy_by(BUSY, work)
    }

    /// Asks MPI or HDF5 something, in the same way: the calls that it makes for that are the tracer's own.
    pub(crate) fn while_asking<T>(&self, work: impl FnOnce() -> T) -> T {
        let _blocked = Blocked::briefly();
        self.busy_by(AWAY, work)
    }

    /// Runs work that goes through the C library and MPI (start, flush): its calls are the tracer's own.
    pub(crate) fn while_away<T>(&self, work: impl FnOnce() -> T) -> T {
        self.busy_by(AWAY, work)
    }

    /// From now on calls of this thread are none of the program's: it is about to end the process, while all others wait. A signal handler
    /// that comes in between must not wait for it.
    pub(crate) fn go_away(&self) {
        self.busy.set(self.busy.get() + AWAY);
    }

    /// It did not end the process after all.
    pub(crate) fn come_back(&self) {
        self.busy.set(self.busy.get().saturating_sub(AWAY));
    }

    fn busy_by<T>(&self, how: u32, work: impl FnOnce() -> T) -> T {
        self.busy.set(self.busy.get() + how);
        let result = work();
        self.busy.set(self.busy.get() - how);
        result
    }

    /// Runs a wrapped function of a library that may make its system calls through syscall(2).
    pub(crate) fn in_library<T>(&self, call: impl FnOnce() -> T) -> T {
        self.library.run(call)
    }

    /// Whether a function of such a library is at work.
    pub(crate) fn is_in_library(&self) -> bool {
        self.library.is_set()
    }

    /// Whether no more than short work is under way, so that a call seen now is the program's.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.busy.get() & !(LENT | LENT_FOR_A_WHILE) < AWAY
    }

    /// Whether the tracer's own code runs on this thread.
    pub(crate) fn is_busy(&self) -> bool {
        self.busy.get() & !(LENT | LENT_FOR_A_WHILE) != 0
    }

    /// Others may use the block from now on; if `for_a_while`, only until its thread makes a call.
    pub(crate) fn lend(&self, for_a_while: bool) {
        self.busy.set(self.busy.get() | if for_a_while { LENT_FOR_A_WHILE } else { LENT });
    }

    /// The block's own thread makes a call.
    pub(crate) fn is_back(&self) {
        self.busy.set(self.busy.get() & !LENT_FOR_A_WHILE);
    }

    /// Nobody else uses the block any more.
    pub(crate) fn is_alone(&self) {
        self.busy.set(self.busy.get() & !(LENT | LENT_FOR_A_WHILE));
    }

    /// Whether others may use the block.
    pub(crate) fn is_lent(&self) -> bool {
        self.busy.get() & (LENT | LENT_FOR_A_WHILE) != 0
    }

    /// Whether they may do so beside its thread.
    pub(crate) fn is_lent_for_good(&self) -> bool {
        self.busy.get() & LENT != 0
    }
}

const BUSY: u32 = 1;
const AWAY: u32 = 1 << 16;
/// Bits of `busy`, so that calls need look at nothing else: others may use the block ([`crate::bare`]).
const LENT: u32 = 1 << 31;
const LENT_FOR_A_WHILE: u32 = 1 << 30;

/// Compiles only because `Thread` is not `Sync`: else both would do.
const _: fn() = || {
    trait NotSync<Way> {
        fn holds() {}
    }
    impl<T> NotSync<()> for T {}
    impl<T: Sync> NotSync<u8> for T {}
    <Thread as NotSync<_>>::holds();
};

const BLOCK_BYTES: usize = 256;
const _: () = assert!(size_of::<Thread>() == BLOCK_BYTES);

#[cfg(target_arch = "x86_64")]
mod storage {
    use super::{BLOCK_BYTES, Thread};
    use std::arch::{asm, global_asm};

    global_asm!(
        ".pushsection .tbss.dxt_thread_block,\"awT\",@nobits",
        ".globl dxt_thread_block",
        ".hidden dxt_thread_block",
        ".type dxt_thread_block,@object",
        ".size dxt_thread_block,{size}",
        ".p2align 6",
        "dxt_thread_block:",
        ".zero {size}",
        ".popsection",
        size = const BLOCK_BYTES,
    );

    /// Where the block is, by instructions with these options.
    macro_rules! read_block {
        ($($option:ident),+) => {{
            let block: *const Thread;
            // SAFETY: reads the thread pointer (fs:0, x86-64 psABI) and the block's offset from it, which the dynamic linker
            // has put into the GOT; touches no memory that Rust knows of.
            unsafe {
                asm!(
                    "mov {0}, qword ptr [rip + dxt_thread_block@GOTTPOFF]",
                    "add {0}, qword ptr fs:[0]",
                    out(reg) block,
                    options($($option),+),
                );
            }
            block
        }};
    }

    #[inline(always)]
    pub(super) fn block() -> *const Thread {
        read_block!(pure, nomem, nostack)
    }

    /// As [`block`], for whoever has to know that the answer is of now: the compiler may take an earlier one of that.
    #[inline(always)]
    pub(super) fn block_now() -> *const Thread {
        read_block!(nostack)
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod storage {
    use super::Thread;

    thread_local! {
        static BLOCK: Thread = const { Thread::new() };
    }

    #[inline]
    pub(super) fn block() -> *const Thread {
        BLOCK.with(std::ptr::from_ref)
    }
}

/// This thread's block. Safe to call: the reference stays on its thread, since a `Thread` is not `Sync` (below), and the block outlives
/// whatever runs there. What keeps it across a call of the program's, which may come back on another thread, asks anew: [`current_now`].
#[inline(always)]
pub(crate) fn current() -> &'static Thread {
    // SAFETY: the block is aligned, zero at thread start (a valid `Thread`), lives as long as its thread and is reached
    // only from it, as said above; its fields are cells.
    unsafe { &*storage::block() }
}

/// A number that tells this thread from the others alive, and stays the same in a forked child; never 0. Where its block lies,
/// without asking the kernel.
#[inline(always)]
pub(crate) fn number() -> usize {
    std::ptr::from_ref(current()).addr()
}

/// This thread's block, asked for anew: a function that has made a call of the program's may be on another thread by now, if
/// the program's threads are user-level ones.
#[inline(always)]
pub(crate) fn current_now() -> &'static Thread {
    #[cfg(target_arch = "x86_64")]
    let block = storage::block_now();
    #[cfg(not(target_arch = "x86_64"))]
    let block = storage::block();
    // SAFETY: as in `current`.
    unsafe { &*block }
}

/// Whether this address is inside the block of the thread that asks.
#[inline(always)]
pub(crate) fn is_of_this_thread(address: usize) -> bool {
    address.wrapping_sub(std::ptr::from_ref(current_now()).addr()) < BLOCK_BYTES
}

/// Takes `bytes` from the lane's chunk: returns the cursor before and moves it on, in one instruction where that is
/// cheap, so that a signal handler between load and store cannot be given the same slot.
#[inline(always)]
pub(crate) fn advance(lane: &Lane, bytes: usize) -> usize {
    #[cfg(target_arch = "x86_64")]
    {
        let mut before = bytes;
        // SAFETY: `cursor` is an aligned word of this thread's own; without a lock prefix the exchange is atomic towards
        // signals on this thread, which is all that is needed.
        unsafe {
            std::arch::asm!(
                "xadd qword ptr [{cursor}], {before}",
                cursor = in(reg) lane.cursor.as_ptr(),
                before = inout(reg) before,
                options(nostack),
            );
        }
        before
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        // SAFETY: `cursor` is an aligned word of this thread.
        let cursor = unsafe { std::sync::atomic::AtomicUsize::from_ptr(lane.cursor.as_ptr()) };
        cursor.fetch_add(bytes, std::sync::atomic::Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_thread_has_its_own_zeroed_block() {
        current().io.cursor.set(64);
        let other = std::thread::spawn(|| current().io.cursor.get()).join().unwrap();
        assert_eq!((other, current().io.cursor.get()), (0, 64));
        assert_eq!((advance(&current().io, 32), current().io.cursor.get()), (64, 96));
        current().forget_chunks();
        assert_eq!(current().while_busy(|| current().busy.get()), 1);
    }
}
