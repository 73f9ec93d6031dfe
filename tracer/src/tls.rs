//! Per-thread state: address of the next segment slot, and nesting inside the tracer, MPI or HDF5.
//!
//! The block lies in initial-exec TLS, so reading its address is one load from the thread pointer. No access can allocate or lock; the
//! block can be used in signal handlers and before constructors. Stable Rust cannot request that TLS model, hence the assembly on x86-64;
//! other processors use `thread_local!`, which costs one function call.
#![expect(unsafe_code, reason = "thread-local storage in the initial-exec model")]

mod inside;

use crate::blocking::Blocked;
pub(crate) use inside::{Inside, here, is_below};
use std::cell::Cell;

/// Write position of one thread for segments of one kind (I/O or collective calls). The slots lie in a chunk of the arena (memory for
/// recorded segments), or in a scratch (buffer for segments that are only counted).
#[repr(C)]
pub(crate) struct Lane {
    /// Address of the next free slot (memory for one segment) at this write position.
    pub(crate) cursor: Cell<usize>,
    /// Address just behind the last slot of the thread's chunk (memory for segments) that may be used; a spare slot follows.
    pub(crate) limit: Cell<usize>,
    /// Address of the first slot of the chunk (piece of the arena, memory for segments) that the thread currently fills; 0 without one.
    pub(crate) chunk: Cell<usize>,
    /// Address of the spare last slot of the previous chunk, if a call that a signal handler interrupted may still write to the slot; else
    /// 0.
    pub(crate) awaited: Cell<usize>,
    /// Address of the scratch: a buffer through which calls pass to the counters when the arena is full; 0 without one.
    pub(crate) scratch: Cell<usize>,
    /// Index plus one of the thread in the table of threads; 0 before the lane's first use.
    pub(crate) index: Cell<u32>,
    /// Size of the thread's latest chunk (piece of segment memory), in bytes.
    pub(crate) chunk_bytes: Cell<u32>,
    /// Number of chunks (pieces of segment memory) that the thread has obtained so far.
    pub(crate) sequence: Cell<u32>,
    /// Nonzero once the chunk that the thread fills belongs to the arena for calls made after the trace was written
    /// ([`crate::late_calls`]).
    pub(crate) late: Cell<u32>,
}

/// State of one thread, all zero at thread start. The I/O write position comes first, so that its address is the block's address.
#[repr(C, align(64))]
pub(crate) struct Thread {
    /// Write position (next memory) for the segments of I/O calls; in counters mode, for all calls.
    pub(crate) io: Lane,
    /// Nonzero while the tracer's own code runs on this thread, whose calls then pass through unrecorded. Also holds the flags [`LENT`] and
    /// [`LENT_FOR_A_WHILE`].
    pub(crate) busy: Cell<u32>,
    /// Nonzero while the thread is inside the gate that guards segment memory ([`crate::gate`]).
    pub(crate) at_gate: Cell<u32>,
    /// Marks that the thread is inside an MPI call. Calls made meanwhile are marked as nested.
    pub(crate) mpi: Inside,
    /// Marks that the thread is inside an HDF5 call. Calls made meanwhile are marked as made inside HDF5.
    pub(crate) hdf5: Inside,
    /// Marks that the thread is inside a wrapped library function: system calls that the function makes through syscall(2) are not the
    /// program's.
    library: Inside,
    /// Marks that the thread is inside a collective MPI call. Collective calls made meanwhile are the MPI library's own.
    pub(crate) sync_point: Inside,
    /// Return address of the latest HDF5 call; identifies the copy of HDF5 that the caller uses.
    pub(crate) hdf5_caller: Cell<usize>,
    /// Write position for collective MPI calls, in a separate arena. Readers of the trace see these calls as another thread.
    pub(crate) sync_points: Lane,
    /// Write position (next memory) for the segments of collective MPI calls that are only counted, not recorded.
    pub(crate) often: Lane,
    /// Address of the scratch (small buffer) in which short segments (DXT_MIN_SIZE) wait to be added to counters; 0 without one.
    pub(crate) waiting: Cell<usize>,
    /// Address of the file record of the MPI-IO call in progress, or 0. Used to find the offset to which a shared file pointer led.
    pub(crate) mpi_file: Cell<usize>,
    /// Lowest offset of a nested transfer on `mpi_file` inside the MPI-IO call in progress, or -1.
    pub(crate) nested_offset: Cell<i64>,
    /// Address of the stack pointer that a jump restores if the tracer's work in progress is abandoned for lack of memory, or 0; see `abandonable`.
    pub(crate) scope: Cell<usize>,
    /// Kernel thread id of the block's owner. Set once threads without thread-local storage may use the block too ([`crate::without_tls`]).
    pub(crate) owner: Cell<u32>,
    /// Id of the descriptor table that the thread uses, the process's or its own (`handles/tables.rs`); 0 if not determined yet.
    pub(crate) table: Cell<u32>,
    /// Address of the thread's samples of its use of the processors, or 0 ([`crate::cpu_times`]).
    pub(crate) cpu_times: Cell<usize>,
    /// Time in ticks before which no sample of the thread's use of the processors is due.
    pub(crate) next_sample: Cell<u64>,
    /// Place from which the program called the hook that runs or ran last; stored by the hook's entry ([`crate::sites`]).
    pub(crate) caller: Caller,
    /// Place from which the program called the variadic function that runs or ran last, which calls a hook in turn.
    pub(crate) variadic_caller: Caller,
    /// Address of the thread's cache of call sites; 0 before its first use, 1 if call sites are not recorded.
    pub(crate) sites: Cell<usize>,
}

/// Place in the program from which a hook was called: registers at the hook's entry.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Caller {
    /// Return address; 0 if the place is not known, or was used already.
    pub(crate) address: Cell<usize>,
    /// Stack pointer at the entry: address of the word that holds the return address.
    pub(crate) stack: Cell<usize>,
    /// Frame pointer register, which may hold anything.
    pub(crate) frame: Cell<usize>,
}

impl Caller {
    #[cfg(not(target_arch = "x86_64"))]
    const fn new() -> Self {
        Self { address: Cell::new(0), stack: Cell::new(0), frame: Cell::new(0) }
    }
}

/// Offset of [`Thread::caller`] in the thread's block, bytes, for hooks' entries in assembly.
pub(crate) const CALLER: usize = std::mem::offset_of!(Thread, caller);
/// Offset of [`Thread::variadic_caller`] in the thread's block, bytes, for functions in assembly.
pub(crate) const VARIADIC_CALLER: usize = std::mem::offset_of!(Thread, variadic_caller);

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

    /// Resets the write position as if nothing had been recorded: no chunk (memory for segments) and no scratch (buffer for calls that are
    /// only counted).
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
            sync_point: Inside::new(),
            hdf5_caller: Cell::new(0),
            sync_points: Lane::new(),
            often: Lane::new(),
            waiting: Cell::new(0),
            mpi_file: Cell::new(0),
            nested_offset: Cell::new(0),
            scope: Cell::new(0),
            owner: Cell::new(0),
            table: Cell::new(0),
            cpu_times: Cell::new(0),
            next_sample: Cell::new(0),
            caller: Caller::new(),
            variadic_caller: Caller::new(),
            sites: Cell::new(0),
        }
    }

    /// Resets the thread's write positions as if nothing had been recorded. Keeps the nesting state (inside MPI and so on).
    pub(crate) fn forget_chunks(&self) {
        self.io.forget_chunk();
        self.sync_points.forget_chunk();
        self.often.forget_chunk();
        self.waiting.set(0);
        self.cpu_times.set(0);
        self.next_sample.set(0);
    }

    /// Runs a short piece of the tracer's own work with signals blocked. Otherwise a signal handler would see the work half done, or leave
    /// it so by siglongjmp(3). Calls that arrive anyway, because signals could not be blocked, are counted.
    pub(crate) fn while_busy<T>(&self, work: impl FnOnce() -> T) -> T {
        let _blocked = Blocked::briefly();
        self.busy_by(BUSY, work)
    }

    /// Runs a query to MPI or HDF5 with signals blocked. I/O calls that the library makes for this query are not recorded.
    pub(crate) fn while_asking<T>(&self, work: impl FnOnce() -> T) -> T {
        let _blocked = Blocked::briefly();
        self.busy_by(AWAY, work)
    }

    /// Runs longer work of the tracer that calls the C library and MPI (start, flush). I/O calls made by it are not recorded.
    pub(crate) fn while_away<T>(&self, work: impl FnOnce() -> T) -> T {
        self.busy_by(AWAY, work)
    }

    /// Stops recording the calls of this thread, because it is about to end the process while all other threads wait. Otherwise a signal
    /// handler on this thread would wait for the thread itself.
    pub(crate) fn go_away(&self) {
        self.busy.set(self.busy.get() + AWAY);
    }

    /// Records calls of this thread again (undoes [`Self::go_away`]), because the thread did not end the process after all.
    pub(crate) fn come_back(&self) {
        self.busy.set(self.busy.get().saturating_sub(AWAY));
    }

    fn busy_by<T>(&self, how: u32, work: impl FnOnce() -> T) -> T {
        self.busy.set(self.busy.get() + how);
        let result = work();
        self.busy.set(self.busy.get() - how);
        result
    }

    /// Runs a wrapped library function: system calls that it makes through syscall(2) are not taken for the program's.
    pub(crate) fn in_library<T>(&self, call: impl FnOnce() -> T) -> T {
        self.library.run(call)
    }

    /// True while the thread is inside a wrapped library function (run by `in_library`).
    pub(crate) fn is_in_library(&self) -> bool {
        self.library.is_set()
    }

    /// False while longer work of the tracer ([`Self::while_away`] and similar) is in progress on this thread: calls are then the tracer's
    /// own. If true, a call that arrives now is the program's.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.busy.get() & !(LENT | LENT_FOR_A_WHILE) < AWAY
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.busy.get() & !(LENT | LENT_FOR_A_WHILE) != 0
    }

    /// Marks this thread-local block as shared with threads that have no block of their own. `for_a_while`: only until the block's owner
    /// makes a call.
    pub(crate) fn lend(&self, for_a_while: bool) {
        self.busy.set(self.busy.get() | if for_a_while { LENT_FOR_A_WHILE } else { LENT });
    }

    /// Ends the temporary sharing of this thread-local block, because its owner has made a call.
    pub(crate) fn is_back(&self) {
        self.busy.set(self.busy.get() & !LENT_FOR_A_WHILE);
    }

    /// Ends all sharing of this thread-local block: no other thread uses it any longer.
    pub(crate) fn is_alone(&self) {
        self.busy.set(self.busy.get() & !(LENT | LENT_FOR_A_WHILE));
    }

    /// True if threads other than the owner may use this thread-local block.
    pub(crate) fn is_lent(&self) -> bool {
        self.busy.get() & (LENT | LENT_FOR_A_WHILE) != 0
    }

    /// True if other threads may use this thread-local block concurrently with its owner (not only while the owner is suspended).
    pub(crate) fn is_lent_for_good(&self) -> bool {
        self.busy.get() & LENT != 0
    }
}

const BUSY: u32 = 1;
const AWAY: u32 = 1 << 16;
/// Flag in `busy`: threads without a block of their own use this block too ([`crate::without_tls`]). Lies in `busy` so that calls check
/// only one word.
const LENT: u32 = 1 << 31;
/// Flag in `busy` like [`LENT`], but only until the block's owner makes a call.
const LENT_FOR_A_WHILE: u32 = 1 << 30;

/// Check that compiles only while `Thread` is not `Sync`; otherwise both impls would apply.
const _: fn() = || {
    trait NotSync<Way> {
        fn holds() {}
    }
    impl<T> NotSync<()> for T {}
    impl<T: Sync> NotSync<u8> for T {}
    <Thread as NotSync<_>>::holds();
};

const BLOCK_BYTES: usize = 384;
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

    /// Reads the address of this thread's thread-local block, by assembly with the given options.
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

    /// Like [`block`], but always reads the block's address anew; the compiler may reuse an earlier result of `block`.
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

/// Returns this thread's thread-local block. Safe: a `Thread` is not `Sync` (checked above), so the reference stays on its thread, which
/// the block outlives. Use [`current_now`] after a call of the program, which may return on another thread.
#[inline(always)]
pub(crate) fn current() -> &'static Thread {
    // SAFETY: the block is aligned, zero at thread start (a valid `Thread`), and lives as long as its thread. Only that thread reaches it,
    // since `Thread` is not `Sync`; its fields are cells.
    unsafe { &*storage::block() }
}

/// Returns an identifier of the thread: unique among live threads, never 0, and unchanged in a forked child. It is the address of the
/// thread's block; no system call is needed.
#[inline(always)]
pub(crate) fn number() -> usize {
    std::ptr::from_ref(current()).addr()
}

/// Returns this thread's thread-local block, read anew after a call into the program: a user-level thread may have moved to another kernel thread.
#[inline(always)]
pub(crate) fn current_now() -> &'static Thread {
    #[cfg(target_arch = "x86_64")]
    let block = storage::block_now();
    #[cfg(not(target_arch = "x86_64"))]
    let block = storage::block();
    // SAFETY: as in `current`.
    unsafe { &*block }
}

/// True if `address` lies inside the calling thread's thread-local block.
#[inline(always)]
fn is_of_this_thread(address: usize) -> bool {
    address.wrapping_sub(std::ptr::from_ref(current_now()).addr()) < BLOCK_BYTES
}

/// Reserves `bytes` at the write position `lane`: advances its cursor and returns the old value. Uses one instruction where that is cheap,
/// so that a signal handler between load and store cannot get the same slot.
#[inline(always)]
pub(crate) fn advance(lane: &Lane, bytes: usize) -> usize {
    #[cfg(target_arch = "x86_64")]
    {
        let mut before = bytes;
        // SAFETY: `cursor` is an aligned word of this thread. Without a lock prefix xadd is atomic with respect to signals on this thread,
        // which suffices.
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
