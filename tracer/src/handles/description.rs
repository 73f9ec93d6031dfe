//! Open file descriptions, shared by descriptors that dup(2) makes. Each has a file position, which read(2) and write(2) move; the tracer
//! tracks the position to avoid asking the kernel at each call.
#![expect(unsafe_code, reason = "lseek(2); references into reserved memory")]

use super::manner::Manner;
use super::stream::{StreamPosition, Trust};
use super::target::{Target, Used};
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
    /// Thread that is in a call that moves the position, or 0: a number of [`thread_number`]; in a process with one thread, of
    /// [`frame_number`]. May include [`NESTED`]. Until it is 0, the record is not used for another file.
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
/// List of descriptions without references whose position a call moves, or a jump out of a call left so. It becomes the free list once that
/// is empty. Changed only under `FREE_BUSY`.
static IN_USE: AtomicPtr<Description> = AtomicPtr::new(std::ptr::null_mut());
/// Maximum number of descriptions in use that are passed over for a new one.
const PASSED_OVER: usize = 32;
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
    let mut taken = None;
    for _ in 0..PASSED_OVER {
        let Some(found) = first_free() else {
            let others = IN_USE.load(Ordering::Relaxed);
            if FREE.compare_exchange(std::ptr::null_mut(), others, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                IN_USE.store(std::ptr::null_mut(), Ordering::Relaxed);
            }
            break;
        };
        if found.mover.load(Ordering::Acquire) == 0 {
            taken = Some(found);
            break;
        }
        found.next_free.store(IN_USE.load(Ordering::Relaxed), Ordering::Relaxed);
        IN_USE.store(std::ptr::from_ref(found).cast_mut(), Ordering::Relaxed);
    }
    FREE_BUSY.store(0, Ordering::Release);
    taken
}

/// Takes the first record of the free list, under `FREE_BUSY`; `None` if the list is empty.
fn first_free() -> Option<&'static Description> {
    loop {
        let head = FREE.load(Ordering::Acquire);
        // SAFETY: null or a record of the table.
        let found = unsafe { head.as_ref() }?;
        let next = found.next_free.load(Ordering::Relaxed);
        if FREE.compare_exchange(head, next, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
            return Some(found);
        }
    }
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

/// Bit of [`Description::mover`]: a signal handler interrupted the call of this owner and has moved the position itself.
const NESTED: u32 = 1 << 31;

/// Returns a number that is unique among live threads, never 0, and lacks [`NESTED`]. Derived from the address of the thread's block, so no
/// system call is needed.
#[inline(always)]
fn thread_number() -> u32 {
    ((tls::number() / size_of::<tls::Thread>()) as u32 & !NESTED).max(1)
}

/// Returns a number made of the caller's stack address in units of 16 bytes, never 0, and without [`NESTED`].
#[inline(always)]
fn frame_number() -> u32 {
    let here = 0_u8;
    ((std::hint::black_box(&raw const here).addr() >> 4) as u32 & !NESTED).max(1)
}

/// True if the call with [`frame_number`] `inner` may have interrupted the one with `outer`, being deeper in the stack. False if `outer`
/// was left by a jump, since its frame no longer exists; also if the signal handler has a stack of its own at a higher address.
#[cold]
const fn is_within(inner: u32, outer: u32) -> bool {
    // The difference modulo 2^31, as a signed number.
    ((inner.wrapping_sub(outer) << 1) as i32) < 0
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

    /// Returns the file of this description; `None` for [`nowhere`].
    #[inline(always)]
    pub(super) fn file(&self) -> Option<&'static File> {
        // SAFETY: set before the description could be found, to a record that is never freed.
        unsafe { self.file.load(Ordering::Acquire).as_ref() }
    }

    /// Adds a reference for one more descriptor, unless there is none left. The record may be another file's by now: check afterwards that
    /// the descriptor by which it was found still refers to it.
    pub(super) fn retain(&self) -> bool {
        let more = |references| (references != 0).then_some(references + 1);
        self.references.fetch_update(Ordering::SeqCst, Ordering::SeqCst, more).is_ok()
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
        self.manner().appends()
    }

    /// Returns file and open flags. They may be another file's by now if a check made afterwards finds that the descriptor was left.
    #[inline(always)]
    pub(super) fn described(&self) -> Option<Used> {
        // Acquire: what is loaded later tells if the descriptor was left before.
        let manner = Manner::among(self.marks.load(Ordering::Acquire));
        self.file().map(|file| Used { file, manner })
    }

    /// Returns the open flags.
    #[inline(always)]
    fn manner(&self) -> Manner {
        Manner::among(self.marks.load(Ordering::Relaxed))
    }

    /// Applies the flags set by fcntl(F_SETFL), which can change only some open flags.
    pub(super) fn set_flags(&self, flags: libc::c_int) {
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
        match mover.owner {
            0 => threads::is_single(),
            me => mover.alone && self.mover.load(Ordering::Acquire) == me,
        }
    }

    /// Sets the tracked position to `offset`, where the call of `mover` has moved it.
    pub(crate) fn moved_to(&self, mover: &Mover, offset: i64) {
        self.stream.forget();
        if self.is_kept_by(mover) {
            self.position.store(offset, Ordering::Relaxed);
        }
    }

    /// True if the turn of `mover` keeps this record from being used for another file.
    #[inline(always)]
    fn is_kept_by(&self, mover: &Mover) -> bool {
        threads::is_single()
            || mover.is_inner
            || mover.owner != 0 && self.mover.load(Ordering::Acquire) & !NESTED == mover.owner
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
    /// or a handler left it by a jump. In both cases it is unknown if the kernel has moved the position yet, so it is asked. A call that
    /// was interrupted gets its turn back with [`NESTED`].
    #[inline(always)]
    fn moving_alone(&self) -> Mover {
        let owner = frame_number();
        let other = self.mover.load(Ordering::Relaxed);
        self.mover.store(owner, Ordering::Relaxed);
        let mover = Mover { owner, ..Mover::NONE };
        if other == 0 { mover } else { mover.after(other & !NESTED) }
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
                return Mover { is_inner: true, ..Mover::AMONG_OTHERS };
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
                    return Mover { owner: me, ..Mover::AMONG_OTHERS };
                }
            }
        }
        Mover { owner: me, ..Mover::NONE }
    }

    /// Ends a call on `target` that moved `bytes` (`appended`: to the end of the file). Returns the offset at which it began.
    #[inline(always)]
    pub(crate) fn moved(&self, mover: Mover, target: Target, bytes: i64, appended: bool) -> Placed {
        let follows = self.kind.load(Ordering::Relaxed) == Position::Followed as u8;
        let mut placed = if follows && !appended && !mover.asks && self.is_kept_by(&mover) {
            Placed::about(self.position.fetch_add(bytes, Ordering::Relaxed), !mover.alone)
        } else {
            self.placed_by_asking(&mover, target, bytes)
        };
        if !self.ends(&mover) {
            self.moved_meanwhile(&mover, target, &mut placed);
        }
        placed
    }

    /// Ends a turn that was lost: marks the offset as an estimate, since this thread does not know what the new holder did meanwhile.
    #[cold]
    fn moved_meanwhile(&self, mover: &Mover, target: Target, placed: &mut Placed) {
        *placed = Placed::about(placed.offset, placed.offset >= 0);
        self.look_again(mover, target);
    }

    /// Ends a turn during which a signal handler moved the position: asks the kernel for it, until no handler has moved it again meanwhile.
    /// With several threads nothing is asked, since each thread counts its own bytes.
    #[cold]
    fn look_again(&self, mover: &Mover, target: Target) {
        if !threads::is_single() {
            return self.turn_was_lost(mover);
        }
        loop {
            self.mover.store(mover.owner, Ordering::Relaxed);
            self.moved_by_others(mover, target, 0);
            if self.ends(mover) {
                return;
            }
        }
    }

    /// Computes a call's offset from the kernel's position, which is at the end of the transferred bytes. The result is exact even for
    /// appended bytes, unless others move the position.
    #[cold]
    fn placed_by_asking(&self, mover: &Mover, target: Target, bytes: i64) -> Placed {
        let others = self.marks.load(Ordering::Relaxed) & OTHERS != 0 || !mover.alone;
        let offset = self.moved_by_others(mover, target, bytes);
        // A call that moved nothing has an exact offset, regardless of other writers.
        Placed::about(offset, others && offset >= 0 && bytes > 0)
    }

    /// Asks the kernel for the position of `target`, and returns the offset `bytes` before it; -1 if the descriptor may refer to another
    /// file by then.
    #[cold]
    fn moved_by_others(&self, mover: &Mover, target: Target, bytes: i64) -> i64 {
        if self.kind.load(Ordering::Relaxed) == Position::None as u8 {
            return trace_format::segment::NO_OFFSET;
        }
        self.stream.forget();
        let errno = crate::errno::save();
        // SAFETY: asks the kernel for the position; moves nothing.
        let end = unsafe { crate::sys::syscall!(libc::SYS_lseek, target.number, 0_i64, libc::SEEK_CUR) };
        errno.restore();
        if end < 0 || !target.is_certain() {
            return trace_format::segment::NO_OFFSET;
        }
        if self.is_kept_by(mover) {
            self.position.store(end, Ordering::Relaxed);
        }
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
    pub(crate) fn position_asked(&self, target: Target) -> i64 {
        match self.position(false) {
            trace_format::segment::NO_OFFSET => self.moved_by_others(&Mover::AMONG_OTHERS, target, 0),
            position => position,
        }
    }

    /// Ends a turn; for a call that has not moved the position, or not that of this description.
    #[inline(always)]
    pub(crate) fn settle(&self, mover: Mover) {
        if !self.ends(&mover) {
            self.turn_was_lost(&mover);
        }
    }

    /// Ends the turn of a call on `target` that has set the position.
    pub(crate) fn settle_moved(&self, mover: &Mover, target: Target) {
        if !self.ends(mover) {
            let errno = crate::errno::save();
            self.look_again(mover, target);
            errno.restore();
        }
    }

    /// Ends a turn, and returns true, unless another thread has taken it over, or a signal handler of this thread has moved the position
    /// meanwhile.
    #[inline(always)]
    fn ends(&self, mover: &Mover) -> bool {
        let Mover { owner, before, .. } = *mover;
        if owner == 0 {
            return true;
        }
        // A signal handler between load and store finds this turn, asks the kernel, and leaves the right position.
        if threads::is_single() && before == 0 && self.mover.load(Ordering::Relaxed) == owner {
            self.mover.store(0, Ordering::Relaxed);
            return true;
        }
        self.mover.compare_exchange(owner, before, Ordering::Release, Ordering::Relaxed).is_ok()
    }

    /// Ends a turn that a signal handler of this thread interrupted.
    #[cold]
    fn turn_was_lost(&self, mover: &Mover) {
        let interrupted = mover.owner | NESTED;
        let _ = self.mover.compare_exchange(interrupted, mover.before, Ordering::Release, Ordering::Relaxed);
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
    /// Number by which the turn is known ([`Description::mover`]), or 0.
    owner: u32,
    /// Value of [`Description::mover`] when the turn ends: 0, or the owner that this call interrupted, with [`NESTED`].
    before: u32,
    /// True if the kernel must be asked for the position.
    asks: bool,
    /// True if no other thread can be in a call that moves the position; false if the turn was taken over.
    alone: bool,
    /// True for a call of a signal handler that interrupted this thread's own turn.
    is_inner: bool,
}

impl Mover {
    /// No turn is needed, because the process has one thread.
    const NONE: Self = Self { owner: 0, before: 0, asks: false, alone: true, is_inner: false };
    /// No turn is taken, because others move the position without serialization.
    const AMONG_OTHERS: Self = Self { alone: false, ..Self::NONE };

    /// Returns this turn, taken while the turn of `other` has not ended: a signal handler interrupted that call, or left it by a jump.
    #[cold]
    const fn after(self, other: u32) -> Self {
        let before = if is_within(self.owner, other) { other | NESTED } else { 0 };
        Self { before, asks: true, ..self }
    }
}
