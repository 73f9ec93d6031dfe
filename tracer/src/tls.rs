//! Per-thread state: destination of the next segment, and nesting inside the tracer or MPI.
//!
//! The block lies in initial-exec TLS: reading it is one load from the thread pointer. No call can allocate or lock, so the block can be
//! used in signal handlers and before constructors. Stable Rust cannot request that model, hence the assembly on x86-64; other processors
//! use `thread_local!`, which costs one call.
#![expect(unsafe_code, reason = "thread-local storage in the initial-exec model")]

use crate::inside::Inside;
use crate::memory::Blocked;
use crate::registry::File;
use std::cell::Cell;

/// Destination of a thread's segments of one kind: a chunk of an arena, or a scratch chunk.
#[repr(C)]
pub(crate) struct Lane {
    /// Address of the next free slot of the chunk.
    pub(crate) cursor: Cell<usize>,
    /// Address past the chunk's last slot.
    pub(crate) limit: Cell<usize>,
    /// Address of the first slot of the arena chunk, or 0 without one.
    pub(crate) chunk: Cell<usize>,
    /// Spare slot of the previous chunk, if a call that a signal handler interrupted may still claim it.
    pub(crate) awaited: Cell<usize>,
    /// Address of the scratch chunk once the arena is full, else 0.
    pub(crate) scratch: Cell<usize>,
    /// Index in the thread table plus one; 0 while nothing has been recorded here.
    pub(crate) index: Cell<u32>,
    /// Size of the latest chunk, in bytes.
    pub(crate) chunk_bytes: Cell<u32>,
    /// Number of chunks so far.
    pub(crate) sequence: Cell<u32>,
    /// Nonzero once the chunk belongs to the arena for calls made after the trace was written ([`crate::late`]).
    pub(crate) late: Cell<u32>,
}

/// State of one thread, all zero at thread start. The I/O lane comes first: its address is the block's.
#[repr(C, align(64))]
pub(crate) struct Thread {
    /// Segments of I/O calls; in counters mode, of all calls.
    pub(crate) io: Lane,
    /// Nonzero while the tracer's own code runs here: calls pass through unrecorded. Holds [`LENT`] and [`LENT_FOR_A_WHILE`] too.
    pub(crate) busy: Cell<u32>,
    /// Nonzero while the thread is inside the gate for segment memory ([`crate::gate`]).
    pub(crate) at_gate: Cell<u32>,
    /// Inside an MPI call: calls made there are nested.
    pub(crate) mpi: Inside,
    /// Inside an HDF5 call: calls made there are marked accordingly.
    pub(crate) hdf5: Inside,
    /// Inside a wrapped function whose system calls through syscall(2) are not the program's.
    library: Inside,
    /// Inside a collective MPI call: collective calls made there are the library's own.
    pub(crate) meeting: Inside,
    /// Return address of the latest HDF5 call; identifies the copy of HDF5 that its caller uses.
    pub(crate) hdf5_caller: Cell<usize>,
    /// Segments of collective MPI calls, in memory of their own. A reader sees them as another thread.
    pub(crate) meetings: Lane,
    /// Collective MPI calls that are only counted: kept in a scratch chunk, without an arena chunk.
    pub(crate) often: Lane,
    /// Scratch chunk in which short segments wait to be folded (DXT_MIN_SIZE), or 0.
    pub(crate) waiting: Cell<usize>,
    /// File of the MPI-IO call in progress; used to find the offset to which a shared file pointer led.
    pub(crate) mpi_file: Cell<*const File>,
    /// Lowest offset of a transfer on `mpi_file` inside the MPI-IO call in progress, or -1.
    pub(crate) nested_offset: Cell<i64>,
    /// Address to jump to if the work in progress is abandoned, or 0; see `stack`.
    pub(crate) scope: Cell<usize>,
    /// Id of the thread that owns the block, once others may use it too ([`crate::bare`]).
    pub(crate) owner: Cell<u32>,
    /// Descriptor table that the thread uses, the process's or its own (`handles/tables.rs`); 0: not checked yet.
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

    /// Resets the lane to the state in which nothing has been recorded.
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

    /// Resets the thread to the state in which nothing has been recorded; nesting state stays.
    pub(crate) fn forget_chunks(&self) {
        self.io.forget_chunk();
        self.meetings.forget_chunk();
        self.often.forget_chunk();
        self.waiting.set(0);
    }

    /// Runs a short piece of the tracer's own work with signals blocked: a handler would find it half done, or leave it so (siglongjmp(3)).
    /// Calls that arrive anyway, because signals could not be blocked, are counted.
    pub(crate) fn while_busy<T>(&self, work: impl FnOnce() -> T) -> T {
        let _blocked = Blocked::briefly();
        self.busy_by(BUSY, work)
    }

    /// Runs a query to MPI or HDF5 with signals blocked: the calls that the library makes for it are the tracer's own.
    pub(crate) fn while_asking<T>(&self, work: impl FnOnce() -> T) -> T {
        let _blocked = Blocked::briefly();
        self.busy_by(AWAY, work)
    }

    /// Runs work that goes through the C library and MPI (start, flush): its calls are the tracer's own.
    pub(crate) fn while_away<T>(&self, work: impl FnOnce() -> T) -> T {
        self.busy_by(AWAY, work)
    }

    /// Treats all calls of this thread as the tracer's from now on: the thread is about to end the process while all others wait. A signal
    /// handler on it must not wait for it.
    pub(crate) fn go_away(&self) {
        self.busy.set(self.busy.get() + AWAY);
    }

    /// Undoes `go_away`: the thread did not end the process after all.
    pub(crate) fn come_back(&self) {
        self.busy.set(self.busy.get().saturating_sub(AWAY));
    }

    fn busy_by<T>(&self, how: u32, work: impl FnOnce() -> T) -> T {
        self.busy.set(self.busy.get() + how);
        let result = work();
        self.busy.set(self.busy.get() - how);
        result
    }

    /// Runs a wrapped library function that may make its system calls through syscall(2).
    pub(crate) fn in_library<T>(&self, call: impl FnOnce() -> T) -> T {
        self.library.run(call)
    }

    /// True inside a function that was run by `in_library`.
    pub(crate) fn is_in_library(&self) -> bool {
        self.library.is_set()
    }

    /// True if only short work (`while_busy`) or none is in progress, so that a call arriving now is the program's.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.busy.get() & !(LENT | LENT_FOR_A_WHILE) < AWAY
    }

    /// True while the tracer's own code runs on this thread.
    pub(crate) fn is_busy(&self) -> bool {
        self.busy.get() & !(LENT | LENT_FOR_A_WHILE) != 0
    }

    /// Lets others use the block from now on; with `for_a_while`, only until its own thread makes a call.
    pub(crate) fn lend(&self, for_a_while: bool) {
        self.busy.set(self.busy.get() | if for_a_while { LENT_FOR_A_WHILE } else { LENT });
    }

    /// Ends a temporary loan because the block's own thread makes a call.
    pub(crate) fn is_back(&self) {
        self.busy.set(self.busy.get() & !LENT_FOR_A_WHILE);
    }

    /// Ends all loans: nobody else uses the block any more.
    pub(crate) fn is_alone(&self) {
        self.busy.set(self.busy.get() & !(LENT | LENT_FOR_A_WHILE));
    }

    /// True if others may use the block.
    pub(crate) fn is_lent(&self) -> bool {
        self.busy.get() & (LENT | LENT_FOR_A_WHILE) != 0
    }

    /// True if others may use the block at the same time as its own thread.
    pub(crate) fn is_lent_for_good(&self) -> bool {
        self.busy.get() & LENT != 0
    }
}

const BUSY: u32 = 1;
const AWAY: u32 = 1 << 16;
/// Bits of `busy` that mark a lent block ([`crate::bare`]); kept in `busy` so that calls check one word only.
const LENT: u32 = 1 << 31;
const LENT_FOR_A_WHILE: u32 = 1 << 30;

/// Compiles only while `Thread` is not `Sync`: otherwise both impls would apply.
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

    /// Reads the address of the block, with assembly of these options.
    macro_rules! read_block {
        ($($option:ident),+) => {{
            let block: *const Thread;
            // SAFETY: reads the thread pointer (fs:0, x86-64 psABI) and the block's offset from it, which the dynamic linker has stored in
            // the GOT. Touches no memory that Rust knows of.
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

    /// Like [`block`], but never reuses an earlier answer, which the compiler may do for `block`.
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

/// Returns this thread's block. Safe: a `Thread` is not `Sync` (below), so the reference stays on its thread, which the block outlives. Use
/// [`current_now`] after a call of the program, which may return on another thread.
#[inline(always)]
pub(crate) fn current() -> &'static Thread {
    // SAFETY: the block is aligned, zero at thread start (a valid `Thread`), and lives as long as its thread. It is reached only from that
    // thread, as said above; its fields are cells.
    unsafe { &*storage::block() }
}

/// Returns a number that is unique among live threads, never 0, unchanged in a forked child: the block's address, so no system call.
#[inline(always)]
pub(crate) fn number() -> usize {
    std::ptr::from_ref(current()).addr()
}

/// Returns this thread's block, read anew: a function that called the program may be on another thread by now (user-level threads).
#[inline(always)]
pub(crate) fn current_now() -> &'static Thread {
    #[cfg(target_arch = "x86_64")]
    let block = storage::block_now();
    #[cfg(not(target_arch = "x86_64"))]
    let block = storage::block();
    // SAFETY: as in `current`.
    unsafe { &*block }
}

/// True if `address` lies inside the calling thread's block.
#[inline(always)]
pub(crate) fn is_of_this_thread(address: usize) -> bool {
    address.wrapping_sub(std::ptr::from_ref(current_now()).addr()) < BLOCK_BYTES
}

/// Takes `bytes` from the lane's chunk: advances the cursor and returns its old value. One instruction where that is cheap, so that a
/// signal handler between load and store cannot get the same slot.
#[inline(always)]
pub(crate) fn advance(lane: &Lane, bytes: usize) -> usize {
    #[cfg(target_arch = "x86_64")]
    {
        let mut before = bytes;
        // SAFETY: `cursor` is an aligned word of this thread. Without a lock prefix xadd is atomic with respect to signals here, which
        // suffices.
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
