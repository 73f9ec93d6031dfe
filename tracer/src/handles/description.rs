//! Open file descriptions, shared by descriptors that dup(2) makes. Each has a file position, which read(2) and write(2) move; the tracer
//! tracks the position to avoid asking the kernel at each call.
#![expect(unsafe_code, reason = "lseek(2); references into reserved memory")]

use super::manner::Manner;
use super::stream::{StreamPosition, Trust};
use crate::memory::{Record, Table};
use crate::registry::File;
use crate::{threads, tls};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicU8, AtomicU32, Ordering};
use trace_format::meta::stream_flags;

/// Source from which a description's file position is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Position {
    /// The tracer tracks the position.
    Followed = 0,
    /// Others move the position too (another process, a C stream); the kernel is asked after each call.
    Shared = 1,
    /// There is no position: terminals and other character devices.
    None = 2,
}

/// Bit besides those of [`Manner`]: the position is also moved without serialization (by other processes, or by a thread whose turn was
/// taken over).
const OTHERS: u8 = 1;

/// File offset of a call, with the flags recorded beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Placed {
    /// Offset in bytes, or -1 if unknown.
    pub(crate) offset: i64,
    /// Bits of [`stream_flags`] for the call. One of them marks the offset as an estimate: others may have moved the position, or the end
    /// of the file, before the kernel could be asked.
    pub(crate) marks: u8,
}

impl Placed {
    /// Makes an exact offset; -1 means that the call has none.
    #[inline(always)]
    pub(crate) const fn at(offset: i64) -> Self {
        Self { offset, marks: 0 }
    }

    /// Makes an offset that counts as an estimate if `is_estimate` is true.
    #[inline(always)]
    pub(crate) const fn about(offset: i64, is_estimate: bool) -> Self {
        Self { offset, marks: if is_estimate { stream_flags::ESTIMATED } else { 0 } }
    }

    /// Adds the open flags `manner` of the call's file.
    #[inline(always)]
    pub(crate) const fn by(self, manner: Manner) -> Self {
        Self { marks: self.marks | manner.bits(), ..self }
    }
}

/// Open file description of the program (see open(2)): file, position and open flags.
pub(crate) struct Description {
    file: AtomicPtr<File>,
    position: AtomicI64,
    kind: AtomicU8,
    /// Bits: [`Manner`] flags and [`OTHERS`].
    marks: AtomicU8,
    /// Number of descriptors that refer to this description.
    references: AtomicU32,
    /// Number of the thread that is in a call that moves the position, or 0; may include [`NESTED`].
    mover: AtomicU32,
    next_free: AtomicPtr<Description>,
    /// Position of the C stream on this description, if any.
    stream: StreamPosition,
}

// SAFETY: records can be found only once complete.
unsafe impl Record for Description {}

static DESCRIPTIONS: Table<Description> = Table::new();
/// Free list of descriptions without references. Popped only under `FREE_BUSY`, so a record cannot return to the list while it is taken.
static FREE: AtomicPtr<Description> = AtomicPtr::new(std::ptr::null_mut());
static FREE_BUSY: AtomicU8 = AtomicU8::new(0);

/// Reserves address space for `count` open file descriptions.
pub(super) fn prepare(count: usize) {
    DESCRIPTIONS.prepare(count);
}

/// Creates a description with one reference and position `at`; `None` if the table is full.
pub(super) fn new(file: &'static File, position: Position, manner: Manner, at: i64) -> Option<&'static Description> {
    let description =
        reuse().or_else(|| DESCRIPTIONS.push(Description::of_nothing(Position::Followed)).map(|(_, new)| new))?;
    description.file.store(std::ptr::from_ref(file).cast_mut(), Ordering::Relaxed);
    description.position.store(at, Ordering::Relaxed);
    description.kind.store(position as u8, Ordering::Relaxed);
    description.marks.store(manner.bits(), Ordering::Relaxed);
    description.mover.store(0, Ordering::Relaxed);
    description.stream.trust(Trust::Others);
    if IN_DOUBT.load(Ordering::Relaxed) {
        description.share_with_others();
    }
    description.references.store(1, Ordering::Release);
    Some(description)
}

/// Returns a placeholder for an unknown description: no file, no position.
pub(super) fn nowhere() -> &'static Description {
    static NOWHERE: Description = Description::of_nothing(Position::None);
    &NOWHERE
}

/// True once a call has moved the position of a description that the tracer could not identify.
static IN_DOUBT: AtomicBool = AtomicBool::new(false);

/// Marks all file positions as uncertain, because a call may have moved any of them. From now on the kernel is asked for positions, and
/// offsets are recorded as estimates.
#[cold]
pub(crate) fn doubt_positions() {
    if !IN_DOUBT.swap(true, Ordering::SeqCst) {
        for description in DESCRIPTIONS.iter() {
            description.share_with_others();
            description.stream.trust(Trust::Others);
        }
    }
}

fn reuse() -> Option<&'static Description> {
    // If the list is busy (another thread, or code that this signal handler interrupted), the caller makes a new record.
    if FREE.load(Ordering::Relaxed).is_null() || FREE_BUSY.swap(1, Ordering::Acquire) != 0 {
        return None;
    }
    let head = FREE.load(Ordering::Acquire);
    // SAFETY: null or a record of the table.
    let found = unsafe { head.as_ref() };
    let taken = found.filter(|description| {
        let next = description.next_free.load(Ordering::Relaxed);
        FREE.compare_exchange(head, next, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    });
    FREE_BUSY.store(0, Ordering::Release);
    taken
}

/// Marks the position of every description as shared with another process.
pub(super) fn share_all() {
    for description in DESCRIPTIONS.iter() {
        description.share_with_others();
        description.stream.trust(Trust::Others);
        description.mover.store(0, Ordering::Relaxed);
    }
    FREE_BUSY.store(0, Ordering::Relaxed);
}

/// Bit of [`Description::mover`]: a signal handler interrupted the owning thread in its call and moves the position itself, or has left
/// that call by a jump.
const NESTED: u32 = 1 << 31;

/// Returns the thread number with [`NESTED`]. Out of line, so that the usual case is a branch not taken.
#[cold]
const fn nested(me: u32) -> u32 {
    me | NESTED
}

/// Returns a number that is unique among live threads, never 0, and lacks [`NESTED`]. Derived from the address of the thread's block, so no
/// system call is needed.
#[inline(always)]
fn thread_number() -> u32 {
    ((tls::number() / size_of::<tls::Thread>()) as u32 & !NESTED).max(1)
}

impl Description {
    const fn of_nothing(position: Position) -> Self {
        Self {
            file: AtomicPtr::new(std::ptr::null_mut()),
            position: AtomicI64::new(0),
            kind: AtomicU8::new(position as u8),
            marks: AtomicU8::new(0),
            references: AtomicU32::new(0),
            mover: AtomicU32::new(0),
            next_free: AtomicPtr::new(std::ptr::null_mut()),
            stream: StreamPosition::new(),
        }
    }

    /// Returns the file of this description.
    #[inline(always)]
    pub(crate) fn file(&self) -> &'static File {
        // SAFETY: set before the description could be found, to a record that is never freed.
        unsafe { &*self.file.load(Ordering::Relaxed) }
    }

    /// Adds a reference for one more descriptor.
    pub(super) fn retain(&self) {
        self.references.fetch_add(1, Ordering::Relaxed);
    }

    /// Drops one descriptor's reference; the last one frees the record.
    pub(super) fn release(&'static self) {
        if self.references.fetch_sub(1, Ordering::AcqRel) != 1 {
            return;
        }
        let this = std::ptr::from_ref(self).cast_mut();
        let mut head = FREE.load(Ordering::Relaxed);
        loop {
            self.next_free.store(head, Ordering::Relaxed);
            match FREE.compare_exchange_weak(head, this, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    /// Marks the position as also moved by others (another process, a C stream).
    pub(crate) fn share(&self) {
        let followed = Position::Followed as u8;
        let _ = self.kind.compare_exchange(followed, Position::Shared as u8, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Marks the position as also moved by others that take no turns (other processes, or a thread whose turn was taken over); the kernel's
    /// answer may then include their moves.
    pub(crate) fn share_with_others(&self) {
        self.share();
        self.marks.fetch_or(OTHERS, Ordering::Release);
    }

    /// True if calls need no flags: nobody else moves the position, and the file was opened without special flags.
    #[inline(always)]
    pub(crate) fn is_plain(&self) -> bool {
        self.marks.load(Ordering::Relaxed) == 0
    }

    /// True if a position reported by a C stream is only an estimate: others move it too, or (for `writes`) its bytes are appended when the
    /// buffer is flushed.
    #[inline(always)]
    pub(crate) fn is_in_doubt(&self, writes: bool) -> bool {
        let marks = self.marks.load(Ordering::Relaxed);
        marks & OTHERS != 0 || writes && Manner::among(marks).appends()
    }

    /// True if the description has a position.
    pub(crate) fn has_position(&self) -> bool {
        self.kind.load(Ordering::Relaxed) != Position::None as u8
    }

    /// True if writes go to the end of the file (O_APPEND).
    pub(crate) fn appends(&self) -> bool {
        self.manner(true).appends()
    }

    /// Returns the open flags that apply to writes (`writes` true) or to reads on this description.
    #[inline(always)]
    pub(crate) fn manner(&self, writes: bool) -> Manner {
        Manner::among(self.marks.load(Ordering::Relaxed)).of_call(writes)
    }

    /// Applies the flags set by fcntl(F_SETFL), which can change only some open flags.
    pub(crate) fn set_flags(&self, flags: libc::c_int) {
        let (may, wanted) = (Manner::CHANGEABLE.bits(), Manner::of_opening(flags).bits());
        self.marks.fetch_or(wanted & may, Ordering::Relaxed);
        self.marks.fetch_and(wanted | !may, Ordering::Relaxed);
    }

    /// Sets O_APPEND, as fdopen(3) does for a C stream in append mode.
    pub(crate) fn set_appending(&self) {
        self.marks.fetch_or(Manner::APPENDING.bits(), Ordering::Relaxed);
    }

    /// Returns the tracked position of the C stream on this description.
    #[inline(always)]
    pub(crate) fn stream(&self) -> &StreamPosition {
        &self.stream
    }

    /// True if the thread of `mover` kept its turn throughout the call, or needs none.
    #[inline(always)]
    pub(crate) fn has_turn(&self, mover: &Mover) -> bool {
        match mover.thread {
            0 => threads::is_single(),
            me => mover.alone && self.mover.load(Ordering::Acquire) == me,
        }
    }

    /// Sets the tracked position to `offset`.
    pub(crate) fn moved_to(&self, offset: i64) {
        self.stream.forget();
        self.position.store(offset, Ordering::Relaxed);
    }

    /// Takes this thread's turn before a call that moves the position. The kernel serializes such calls on a regular file. This function
    /// does so too, for a bounded time, to see the calls in the kernel's order. Pass the result to [`Self::moved`].
    #[inline(always)]
    pub(crate) fn moving(&self) -> Mover {
        if threads::is_single() {
            return self.moving_alone();
        }
        // Turns are useless if others take none.
        if self.kind.load(Ordering::Relaxed) == Position::None as u8 || self.marks.load(Ordering::Acquire) & OTHERS != 0
        {
            return Mover::AMONG_OTHERS;
        }
        self.moving_among_threads()
    }

    /// Takes the turn in a process with one thread. If a call is still in progress, the signal handler that makes this call interrupted it,
    /// or a handler left it by a jump. In the second case it is unknown if the kernel had moved the position by then.
    #[inline(always)]
    fn moving_alone(&self) -> Mover {
        let me = thread_number();
        let under_way = self.mover.load(Ordering::Relaxed) != 0;
        let thread = if under_way { nested(me) } else { me };
        self.mover.store(thread, Ordering::Relaxed);
        Mover { thread, alone: true }
    }

    /// Like [`Self::moving`], but even if others move the position: for C streams, whose own lock cannot be held safely.
    #[inline(always)]
    pub(crate) fn turn(&self) -> Mover {
        if threads::is_single() { Mover::NONE } else { self.moving_among_threads() }
    }

    #[inline(never)]
    fn moving_among_threads(&self) -> Mover {
        let me = thread_number();
        let mut waited = 0;
        while let Err(other) = self.mover.compare_exchange_weak(0, me, Ordering::Acquire, Ordering::Relaxed) {
            // A signal handler that interrupted this thread inside such a call must not wait. The kernel's order of the two calls is
            // unknown.
            if other & !NESTED == me {
                self.mover.fetch_or(NESTED, Ordering::Relaxed);
                return Mover::AMONG_OTHERS;
            }
            // Waiting is bounded: a thread may have been cancelled inside the call, or be reading from a slow device. Its turn is then
            // taken over, so that nobody waits for it again. It may come back at any time, so positions are uncertain from now on. Mark
            // that after taking the turn, so that the thread that lost it finds out before others stop taking turns. Mark it before ending
            // this turn, so that later turns know.
            waited += 1;
            match waited {
                0..SPINS => std::hint::spin_loop(),
                SPINS..YIELDS => threads::give_way(),
                // A thread that the kernel has preempted gets its processor back only if others sleep.
                YIELDS..NAPS => threads::pause(NAP_NS),
                _ => {
                    self.mover.swap(me, Ordering::AcqRel);
                    self.share_with_others();
                    return Mover { thread: me, alone: false };
                }
            }
        }
        Mover { thread: me, alone: true }
    }

    /// Ends a call that moved `bytes` through `descriptor` (`appended`: to the end of the file). Returns the offset at which it began.
    #[inline(always)]
    pub(crate) fn moved(&self, mover: Mover, descriptor: libc::c_int, bytes: i64, appended: bool) -> Placed {
        let follows = self.kind.load(Ordering::Relaxed) == Position::Followed as u8;
        let mut placed = if follows && !appended && mover.thread & NESTED == 0 {
            Placed::about(self.position.fetch_add(bytes, Ordering::Relaxed), !mover.alone)
        } else {
            self.placed_by_asking(&mover, descriptor, bytes)
        };
        if !self.settle(mover) {
            self.moved_meanwhile(descriptor, &mut placed);
        }
        placed
    }

    /// Marks the offset as an estimate if this thread lost its turn, since it does not know what the new holder did meanwhile.
    #[cold]
    fn moved_meanwhile(&self, descriptor: libc::c_int, placed: &mut Placed) {
        *placed = Placed::about(placed.offset, placed.offset >= 0);
        self.look_again(descriptor);
    }

    /// Asks the kernel for the position again after a signal handler moved it during this thread's call. With several threads nothing is
    /// asked, since each thread counts its own bytes.
    #[cold]
    pub(crate) fn look_again(&self, descriptor: libc::c_int) {
        if threads::is_single() {
            self.moved_by_others(descriptor, 0);
        }
    }

    /// Computes a call's offset from the kernel's position, which is at the end of the transferred bytes. The result is exact even for
    /// appended bytes, unless others move the position.
    #[cold]
    fn placed_by_asking(&self, mover: &Mover, descriptor: libc::c_int, bytes: i64) -> Placed {
        let offset = self.moved_by_others(descriptor, bytes);
        let others = self.marks.load(Ordering::Relaxed) & OTHERS != 0 || !mover.alone;
        // A call that moved nothing has an exact offset, regardless of other writers.
        Placed::about(offset, others && offset >= 0 && bytes > 0)
    }

    #[cold]
    fn moved_by_others(&self, descriptor: libc::c_int, bytes: i64) -> i64 {
        if self.kind.load(Ordering::Relaxed) == Position::None as u8 {
            return trace_format::segment::NO_OFFSET;
        }
        self.stream.forget();
        let errno = crate::errno::save();
        // SAFETY: asks the kernel for the position; moves nothing.
        let end = unsafe { crate::sys::syscall!(libc::SYS_lseek, descriptor, 0_i64, libc::SEEK_CUR) };
        errno.restore();
        if end < 0 {
            return trace_format::segment::NO_OFFSET;
        }
        self.position.store(end, Ordering::Relaxed);
        (end - bytes).max(0)
    }

    /// Returns the offset at which a failed call would have begun, if known without asking the kernel; `writes`: true for a write.
    pub(crate) fn position(&self, writes: bool) -> i64 {
        let followed = self.kind.load(Ordering::Relaxed) == Position::Followed as u8;
        if followed && !(writes && self.appends()) {
            self.position.load(Ordering::Relaxed)
        } else {
            trace_format::segment::NO_OFFSET
        }
    }

    /// Returns the position; asks the kernel if necessary. Preserves errno.
    pub(crate) fn position_asked(&self, descriptor: libc::c_int) -> i64 {
        match self.position(false) {
            trace_format::segment::NO_OFFSET => self.moved_by_others(descriptor, 0),
            position => position,
        }
    }

    /// Ends a turn. Returns false if another thread had taken the turn over, or if a signal handler of this thread moved the position
    /// meanwhile.
    #[inline(always)]
    pub(crate) fn settle(&self, mover: Mover) -> bool {
        let me = mover.thread;
        if me == 0 {
            return true;
        }
        if threads::is_single() && self.mover.load(Ordering::Relaxed) == me {
            self.mover.store(0, Ordering::Relaxed);
            return true;
        }
        self.mover.compare_exchange(me, 0, Ordering::Release, Ordering::Relaxed).is_ok() || self.turn_was_lost(me)
    }

    #[cold]
    fn turn_was_lost(&self, me: u32) -> bool {
        let _ = self.mover.compare_exchange(me | NESTED, 0, Ordering::Release, Ordering::Relaxed);
        false
    }
}

/// Number of checks of another thread's turn after which this thread starts to yield the processor. Waiting costs nothing extra if the
/// other thread holds the kernel's or the stream's lock anyway.
const SPINS: u32 = 64;
/// Number of checks of another thread's turn after which this thread starts to sleep between checks.
const YIELDS: u32 = 2_000;
/// Number of checks of another thread's turn after which this thread takes the turn over; that is after at least 0.2 s.
const NAPS: u32 = YIELDS + 4_000;
const NAP_NS: i64 = 50_000;

/// Turn of a thread: its right to move a file position.
pub(crate) struct Mover {
    /// Thread number, or 0; with [`NESTED`] if the kernel must be asked.
    thread: u32,
    /// True if no other thread can be in a call that moves the position; false if the turn was taken over.
    alone: bool,
}

impl Mover {
    /// No turn is needed, because the process has one thread.
    const NONE: Self = Self { thread: 0, alone: true };
    /// No turn is taken, because others move the position without serialization.
    const AMONG_OTHERS: Self = Self { thread: 0, alone: false };
}
