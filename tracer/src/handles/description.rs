//! Open file descriptions: what dup(2) shares. A description has a position, which read(2) and write(2) move; the tracer
//! follows it so that it need not ask the kernel at each call.
#![expect(unsafe_code, reason = "lseek(2); references into reserved memory")]

use super::manner::Manner;
use super::stream::{StreamPosition, Trust};
use crate::memory::{Record, Table};
use crate::registry::File;
use crate::{threads, tls};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicU8, AtomicU32, Ordering};
use trace_format::meta::stream_flags;

/// How the position of a description can be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Position {
    /// The tracer follows it.
    Followed = 0,
    /// Somebody else moves it too (another process, a C stream): ask the kernel after each call.
    Shared = 1,
    /// There is none: terminals and other character devices.
    None = 2,
}

/// Bit beside those of a [`Manner`]: others move it who take no turns: other processes, or a thread whose turn was taken over.
const OTHERS: u8 = 1;

/// Where in the file a call began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Placed {
    /// The offset, or -1.
    pub(crate) offset: i64,
    /// What the call's stream says of it: bits of [`stream_flags`], among them that the offset is an estimate, since others may have
    /// moved the position, or the end of the file, before the kernel could be asked.
    pub(crate) marks: u8,
}

impl Placed {
    /// Where it is known, or known to be nowhere.
    #[inline(always)]
    pub(crate) const fn at(offset: i64) -> Self {
        Self { offset, marks: 0 }
    }

    /// Where it may be.
    #[inline(always)]
    pub(crate) const fn about(offset: i64, is_estimate: bool) -> Self {
        Self { offset, marks: if is_estimate { stream_flags::ESTIMATED } else { 0 } }
    }

    /// The same for a call on a file that was opened like this.
    #[inline(always)]
    pub(crate) const fn by(self, manner: Manner) -> Self {
        Self { marks: self.marks | manner.bits(), ..self }
    }
}

/// An open file description.
pub(crate) struct Description {
    file: AtomicPtr<File>,
    position: AtomicI64,
    kind: AtomicU8,
    /// Its [`Manner`] and [`OTHERS`].
    marks: AtomicU8,
    /// Descriptors that refer to it.
    references: AtomicU32,
    /// Thread inside a call that moves the position, or 0; with [`NESTED`].
    mover: AtomicU32,
    next_free: AtomicPtr<Description>,
    /// Of the C stream on it, if there is one.
    stream: StreamPosition,
}

// SAFETY: found only when it is whole.
unsafe impl Record for Description {}

static DESCRIPTIONS: Table<Description> = Table::new();
/// Descriptions that nothing refers to. Only ever popped under `FREE_BUSY`, so a record cannot return while it is taken.
static FREE: AtomicPtr<Description> = AtomicPtr::new(std::ptr::null_mut());
static FREE_BUSY: AtomicU8 = AtomicU8::new(0);

/// Takes address space for `count` descriptions.
pub(super) fn prepare(count: usize) {
    DESCRIPTIONS.prepare(count);
}

/// A new description with one reference; `None` when the table is full.
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

/// Stands for what nobody knows: it has no file and no position.
pub(super) fn nowhere() -> &'static Description {
    static NOWHERE: Description = Description::of_nothing(Position::None);
    &NOWHERE
}

/// A call has moved the position of a description that nobody knows.
static IN_DOUBT: AtomicBool = AtomicBool::new(false);

/// A call may have moved the position of any description: from now on all are asked for, and estimates.
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
    // Whoever finds the list busy (another thread, or the code that this signal handler interrupted) makes a new record.
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

/// Marks every description as shared with another process.
pub(super) fn share_all() {
    for description in DESCRIPTIONS.iter() {
        description.share_with_others();
        description.stream.trust(Trust::Others);
        description.mover.store(0, Ordering::Relaxed);
    }
    FREE_BUSY.store(0, Ordering::Relaxed);
}

/// Bit of [`Description::mover`]: a signal handler has interrupted the thread there and moves the position itself, or has left that call.
const NESTED: u32 = 1 << 31;

/// Apart, so that the usual case is a jump that is not taken.
#[cold]
const fn nested(me: u32) -> u32 {
    me | NESTED
}

/// A number that tells this thread from the others alive; never 0, without [`NESTED`]. Where its block lies, without asking the kernel.
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

    /// Its file.
    #[inline(always)]
    pub(crate) fn file(&self) -> &'static File {
        // SAFETY: set before the description could be found, to a record that never goes away.
        unsafe { &*self.file.load(Ordering::Relaxed) }
    }

    /// One more descriptor refers to it.
    pub(super) fn retain(&self) {
        self.references.fetch_add(1, Ordering::Relaxed);
    }

    /// One descriptor less; the last one frees the record.
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

    /// From now on somebody else moves the position too.
    pub(crate) fn share(&self) {
        let followed = Position::Followed as u8;
        let _ = self.kind.compare_exchange(followed, Position::Shared as u8, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// The same, and that one takes no turns: what the kernel says of the position may be what it has made of it.
    pub(crate) fn share_with_others(&self) {
        self.share();
        self.marks.fetch_or(OTHERS, Ordering::Release);
    }

    /// Whether there is nothing to say of its calls but where they are: nobody else moves it, and it was opened in no special manner.
    #[inline(always)]
    pub(crate) fn is_plain(&self) -> bool {
        self.marks.load(Ordering::Relaxed) == 0
    }

    /// Whether what a C stream on it tells of its position is no more than an estimate: others move it too, or the
    /// bytes go to wherever the file ends when the buffer is emptied.
    #[inline(always)]
    pub(crate) fn is_in_doubt(&self, writes: bool) -> bool {
        let marks = self.marks.load(Ordering::Relaxed);
        marks & OTHERS != 0 || writes && Manner::among(marks).appends()
    }

    /// Whether there is a position at all.
    pub(crate) fn has_position(&self) -> bool {
        self.kind.load(Ordering::Relaxed) != Position::None as u8
    }

    /// Whether writes go to the end of the file (O_APPEND).
    pub(crate) fn appends(&self) -> bool {
        self.manner(true).appends()
    }

    /// How a call reads from it, or writes to it.
    #[inline(always)]
    pub(crate) fn manner(&self, writes: bool) -> Manner {
        Manner::among(self.marks.load(Ordering::Relaxed)).of_call(writes)
    }

    /// After fcntl(F_SETFL) with these flags, which changes some of it only.
    pub(crate) fn set_flags(&self, flags: libc::c_int) {
        let (may, wanted) = (Manner::CHANGEABLE.bits(), Manner::of_opening(flags).bits());
        self.marks.fetch_or(wanted & may, Ordering::Relaxed);
        self.marks.fetch_and(wanted | !may, Ordering::Relaxed);
    }

    /// Its writes go to the file's end from now on: a C stream made of it wants that (fdopen(3)).
    pub(crate) fn set_appending(&self) {
        self.marks.fetch_or(Manner::APPENDING.bits(), Ordering::Relaxed);
    }

    /// What is known of the position of the C stream on it.
    #[inline(always)]
    pub(crate) fn stream(&self) -> &StreamPosition {
        &self.stream
    }

    /// Whether `mover` has had its turn all along, alone, or needs none.
    #[inline(always)]
    pub(crate) fn has_turn(&self, mover: &Mover) -> bool {
        match mover.thread {
            0 => threads::is_single(),
            me => mover.alone && self.mover.load(Ordering::Acquire) == me,
        }
    }

    /// The position is at `offset` now.
    pub(crate) fn moved_to(&self, offset: i64) {
        self.stream.forget();
        self.position.store(offset, Ordering::Relaxed);
    }

    /// Before a call that moves the position. The kernel lets such calls on a regular file through one at a time; so does
    /// this, for a bounded time, so that the order of the positions is the kernel's. Gives what [`Self::moved`] wants.
    #[inline(always)]
    pub(crate) fn moving(&self) -> Mover {
        if threads::is_single() {
            return self.moving_alone();
        }
        // Turns are in vain where somebody takes none.
        if self.kind.load(Ordering::Relaxed) == Position::None as u8 || self.marks.load(Ordering::Acquire) & OTHERS != 0
        {
            return Mover::AMONG_OTHERS;
        }
        self.moving_among_threads()
    }

    /// Where there is one thread, a call that is still under way has been interrupted by a signal handler, which makes this one; or such a
    /// handler has left it by a jump, and nobody knows whether the kernel had moved the position by then.
    #[inline(always)]
    fn moving_alone(&self) -> Mover {
        let me = thread_number();
        let under_way = self.mover.load(Ordering::Relaxed) != 0;
        let thread = if under_way { nested(me) } else { me };
        self.mover.store(thread, Ordering::Relaxed);
        Mover { thread, alone: true }
    }

    /// As [`Self::moving`], whoever else may move the position: for C streams, whose own lock cannot be held safely.
    #[inline(always)]
    pub(crate) fn turn(&self) -> Mover {
        if threads::is_single() { Mover::NONE } else { self.moving_among_threads() }
    }

    #[inline(never)]
    fn moving_among_threads(&self) -> Mover {
        let me = thread_number();
        let mut waited = 0;
        while let Err(other) = self.mover.compare_exchange_weak(0, me, Ordering::Acquire, Ordering::Relaxed) {
            // A signal handler that interrupted this very thread inside such a call must not wait for it; which of the two
            // the kernel let through first, neither knows.
            if other & !NESTED == me {
                self.mover.fetch_or(NESTED, Ordering::Relaxed);
                return Mover::AMONG_OTHERS;
            }
            // And nobody waits for long: a thread may have been cancelled inside the call, or be reading from a slow device. Then the
            // turn is taken over, so that nobody waits for that thread again. It may come back at any time, so from now on nobody
            // can be certain. That is said behind the taking, so that who has lost the turn finds that out before others take none,
            // and within this turn, so that whoever has one later knows.
            waited += 1;
            match waited {
                0..SPINS => std::hint::spin_loop(),
                SPINS..YIELDS => threads::give_way(),
                // A thread that the kernel has put aside gets its processor back only if others sleep.
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

    /// After such a call that moved `bytes`, by `descriptor`; `appended` says that they went to the end of the file. Returns where
    /// it began.
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

    /// Whoever has lost its turn on the way does not know what the other one did before it was here.
    #[cold]
    fn moved_meanwhile(&self, descriptor: libc::c_int, placed: &mut Placed) {
        *placed = Placed::about(placed.offset, placed.offset >= 0);
        self.look_again(descriptor);
    }

    /// A signal handler has moved the position in the middle of this thread's own call. Where others move it at this moment, each counts
    /// for itself, and nobody is to look.
    #[cold]
    pub(crate) fn look_again(&self, descriptor: libc::c_int) {
        if threads::is_single() {
            self.moved_by_others(descriptor, 0);
        }
    }

    /// The kernel leaves the position behind the bytes, and it is this description's alone: so also where they are appended
    /// the answer is exact, unless somebody else moves this very position.
    #[cold]
    fn placed_by_asking(&self, mover: &Mover, descriptor: libc::c_int, bytes: i64) -> Placed {
        let offset = self.moved_by_others(descriptor, bytes);
        let others = self.marks.load(Ordering::Relaxed) & OTHERS != 0 || !mover.alone;
        // A call that moved nothing began where it began, whoever else writes.
        Placed::about(offset, others && offset >= 0 && bytes > 0)
    }

    #[cold]
    fn moved_by_others(&self, descriptor: libc::c_int, bytes: i64) -> i64 {
        if self.kind.load(Ordering::Relaxed) == Position::None as u8 {
            return trace_format::segment::NO_OFFSET;
        }
        self.stream.forget();
        let errno = crate::errno::save();
        // SAFETY: asks the kernel where the position is; moves nothing.
        let end = unsafe { crate::sys::syscall!(libc::SYS_lseek, descriptor, 0_i64, libc::SEEK_CUR) };
        errno.restore();
        if end < 0 {
            return trace_format::segment::NO_OFFSET;
        }
        self.position.store(end, Ordering::Relaxed);
        (end - bytes).max(0)
    }

    /// Where a call that failed would have begun, if that is known without asking.
    pub(crate) fn position(&self, writes: bool) -> i64 {
        let followed = self.kind.load(Ordering::Relaxed) == Position::Followed as u8;
        if followed && !(writes && self.appends()) {
            self.position.load(Ordering::Relaxed)
        } else {
            trace_format::segment::NO_OFFSET
        }
    }

    /// Where the position is, by asking the kernel if need be. Keeps errno.
    pub(crate) fn position_asked(&self, descriptor: libc::c_int) -> i64 {
        match self.position(false) {
            trace_format::segment::NO_OFFSET => self.moved_by_others(descriptor, 0),
            position => position,
        }
    }

    /// Ends a turn; false if it was over already, or a signal handler of this thread has moved the position meanwhile.
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

/// How a thread waits for its turn, by how often it has looked: it spins, yields, naps, and takes the turn over after at least
/// 0.2 s. Where the kernel's lock or the stream's is what the other one holds, waiting costs nothing more.
const SPINS: u32 = 64;
const YIELDS: u32 = 2_000;
const NAPS: u32 = YIELDS + 4_000;
const NAP_NS: i64 = 50_000;

/// Turn of a thread to move a position.
pub(crate) struct Mover {
    /// The thread's number, or 0; with [`NESTED`] where the kernel is to be asked.
    thread: u32,
    /// Whether nobody else can be in such a call: false if the turn was taken over.
    alone: bool,
}

impl Mover {
    /// No turn: none is needed, since there is one thread.
    const NONE: Self = Self { thread: 0, alone: true };
    /// No turn: there are some who move the position and take none.
    const AMONG_OTHERS: Self = Self { thread: 0, alone: false };
}
