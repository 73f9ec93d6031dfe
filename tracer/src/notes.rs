//! Counts events that were seen but not recorded. Each kind has a counter, which the trace stores, so that no loss goes unreported. The
//! counters may lie in memory that outlives the process ([`keep_in`]).
#![expect(unsafe_code, reason = "a pointer to where the counts are")]

use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

macro_rules! notes {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)+) => {
        /// Kind of event that is counted in the trace instead of recorded.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Note {
            $($(#[$doc])* $name,)+
        }

        /// Texts of all kinds of notes (events that are counted instead of recorded), as stored in the trace.
        pub(crate) const TEXTS: &[&str] = &[$($text),+];
    };
}

notes! {
    SystemFile = "opens of files of the operating system (libraries, /proc, ...); no call on these files is recorded";
    MpiFile = "opens of the MPI library's own files; no call on these files is recorded";
    FileTableFull = "opens of files, and calls by path (stat, unlink, ...), on more files than the tracer has room for; no call on the files in excess is recorded";
    SystemName = "failed opens, and other calls by path (stat, unlink, ...), on files of the operating system and the MPI library, not recorded";
    Excluded = "opens of files that DXT_EXCLUDE or DARSHAN_EXCLUDE_DIRS excludes; no call on these files is recorded";
    NotIncluded = "opens of files that DXT_INCLUDE does not name; no call on these files is recorded";
    FilteredName = "failed opens, and other calls by path (stat, unlink, ...), on paths that DXT_EXCLUDE, DARSHAN_EXCLUDE_DIRS or DXT_INCLUDE excludes, not recorded";
    Communicators = "collective calls in which the report cannot find ranks that wait for others, since the program uses more communicators than the tracer has room for";
    Layer = "calls of I/O layers that DXT_LAYERS does not name, not recorded";
    LeftOut = "ranks left out (none of their calls is recorded) by DXT_RANKS or DXT_APPS, or because the tracer could not read their settings or the key of DXT_ANONYMIZE";
    /// A file for which a trigger setting replaced the recorded segments by counters.
    Triggered = "files with only sums and no single calls in the report, because of a trigger (DXT_SMALL_IO_TRIGGER, DXT_UNALIGNED_IO_TRIGGER, DXT_TRIGGER_CONF_PATH)";
    /// A failed call on a path name that cannot be made absolute, or that would exceed the maximum number of such names.
    Name = "failed calls missing in the report, since the tracer could not read their paths, or their paths are more than the tracer has room for";
    /// A call by a path name beyond the limit of named files; recorded on the directory instead.
    MoreNames = "calls by path (stat, unlink, ...) recorded under their directory instead of their path, since there are more paths than the tracer has room for";
    /// A memory mapping of a file that did not fit in the table, so that its end is not recorded.
    Map = "memory mappings of files whose later calls (munmap, msync) may be missing, since the tracer had no room to remember the mapping";
    /// An asynchronous operation that did not fit in the table, or whose control block was reused.
    Asynchronous = "asynchronous operations missing in the report, since the tracer did not see them complete";
    /// io_uring entries that the kernel consumed before the tracer saw them, or whose operation is not recorded.
    RingOperation = "operations of io_uring rings that the tracer could not observe, so that their bytes and times are missing";
    /// An io_uring ring that the tracer could not read, so that the number of its operations is unknown.
    Ring = "io_uring rings that the tracer could not read, so that their operations are missing";
    /// An open of a file, or a call by path name, beyond the limit of files that have their own counters (DXT_COUNTERS_FILES).
    OtherFile = "opens, and calls by path (stat, unlink, ...), that the report sums up as <other files>, on files beyond DXT_COUNTERS_FILES (limit on files with their own counters)";
    /// An open of a file, or a call by path name, for which the job's byte budget has no room.
    OverBudgetFile = "opens, and calls by path (stat, unlink, ...), that the report sums up as <other files>, on files that DXT_JOB_BYTES has no room for (limit on the bytes of a job's traces)";
    NotProfiled = "reads and writes counted in calls, bytes and times, but missing in the profile of their file (most common sizes and strides, alignment, slowest calls)";
    BeforeStart = "calls that constructors of other libraries made before the tracer could start, not recorded";
    /// A start of a program that cannot be traced: it ignores LD_PRELOAD, or has another dynamic linker than this process.
    Untraceable = "programs started that cannot be traced (statically linked, set-user-ID of another user, or with another dynamic linker); none of their calls is recorded";
    #[cfg_attr(dxt_static, expect(dead_code, reason = "static programs open none"))]
    OutOfReach = "libraries opened with RTLD_DEEPBIND or by dlmopen, whose own calls may bypass the tracer and be missing";
    #[cfg_attr(not(dxt_static), expect(dead_code, reason = "what is preloaded sees them"))]
    SharedLibrary = "shared libraries opened by the program, whose own calls are missing, since the tracer is linked into the program and does not see them";
    ConfinedChild = "forked children of a process confined by seccomp; their calls are not recorded";
    /// A stop of the clock: all later calls are recorded with one constant time.
    StoppedClock = "calls (prctl with PR_SET_TSC, or strict seccomp) by which the program forbade reading the processor's clock; all later calls have the time of this call, and no duration";
    /// A call on a descriptor first seen after a seccomp filter, when the tracer could no longer ask the kernel about the descriptor.
    BehindFilter = "calls not recorded, since the tracer did not see their descriptor opened, and could not ask the kernel for the file after seccomp confined the program";
    TablesFull = "calls missing in all sums and lists of the report, because a table of the tracer was full";
    Late = "calls made after the trace was written, not recorded, since no spool (file that keeps calls until they are in a trace) has room for them";
    /// A call whose offset is an estimate: another process or thread may have moved the shared file position before the tracer asked the kernel.
    Estimated = "calls whose offset is an estimate, since another process or thread shares the position or the end of the file";
    /// Bytes moved by unwrapped stdio functions (getc_unlocked and similar) between two wrapped calls.
    Unlocked = "bytes moved by getc_unlocked, putc_unlocked and similar macros, in no recorded call, since these macros are compiled into the program";
    OverBudget = "calls that the report has only in sums, not as single calls, because DXT_JOB_BYTES has no room for them (limit on the bytes of a job's traces)";
    /// A process that took a fixed share of the job's byte budget, since it could not share the budget with the other processes.
    OwnShare = "processes with a fixed share of DXT_JOB_BYTES (limit on the bytes of a job's traces), which may run out early, since the job has no ID (set DXT_JOB_ID) or its processes could not share a file in time";
    /// A definition (name, stream or size) for which the journal of the spool (the file that survives a kill) had no room.
    Definition = "descriptions (mostly shapes of HDF5 data sets) that found no room in the spool (file with the calls recorded so far), so that recovered traces and live views lack them";
    Elsewhere = "traces not written, because their directory was out of reach (chroot, or another mount)";
    /// A call of a signal handler that interrupted the tracer's own work at a time when signals could not be blocked.
    DuringTracer = "I/O calls of signal handlers that had interrupted the tracer's own work, not recorded";
    /// A call of a thread or process that shares another thread's thread-local storage.
    BareThread = "calls of threads that clone(2) created without their own thread-local storage (CLONE_SETTLS), not recorded";
    /// A call on a descriptor that another thread was closing or replacing, or by a thread with a descriptor table of its own.
    Uncertain = "calls recorded under <uncertain> instead of their file, because their descriptor was closed or replaced during the call, or belongs to a thread with its own descriptor table";
    /// A call whose stack could not be walked, or that comes from more places than the tracer has room for.
    Site = "calls whose place in the program is unknown, since the tracer could not read the call stack, or has no room for more places";
    /// A call stack that differs from the one with the same return address and stack pointer before it.
    SiteChanged = "call stacks that a check found to differ from the place in the program that earlier calls were recorded with";
    BuiltInMpi = "programs with statically linked MPI, whose ranks, MPI-IO and collective calls are not recorded (link with the flags that `dxt-run --link-flags mpicc` prints, or with a shared MPI library)";
    BuiltInHdf5 = "programs with statically linked HDF5, whose HDF5 calls are not recorded (link with the flags that `dxt-run --link-flags -lhdf5` prints, or with a shared HDF5 library)";
    BuiltInPnetcdf = "programs with statically linked parallel netCDF, whose PnetCDF calls are not recorded (link with the flags that `dxt-run --link-flags -lpnetcdf` prints, or with a shared PnetCDF library)";
}

/// Counters of events that were not recorded, one for each [`Note`].
pub(crate) type Counts = [AtomicU64; TEXTS.len()];

static OWN: Counts = [const { AtomicU64::new(0) }; TEXTS.len()];
static KEPT: AtomicPtr<Counts> = AtomicPtr::new(std::ptr::null_mut());

fn counts() -> &'static Counts {
    // SAFETY: `KEPT` is null, or the memory given to `keep_in`.
    unsafe { KEPT.load(Ordering::Acquire).as_ref() }.unwrap_or(&OWN)
}

impl Note {
    pub(crate) const fn text(self) -> &'static str {
        TEXTS[self as usize]
    }

    pub(crate) fn count(self) {
        self.count_many(1);
    }

    /// Subtracts one from the counter of this kind of event, because an event counted in advance did not happen.
    pub(crate) fn take_back(self) {
        self.count_many(u64::MAX);
    }

    pub(crate) fn count_many(self, times: u64) {
        if let Some(count) = counts().get(self as usize) {
            count.fetch_add(times, Ordering::Relaxed);
        }
    }
}

/// Moves the counters, with their values, from static memory to `place`. If `place` is null, counts in static memory again and drops the
/// values at the former place (static memory is zero after a move).
pub(crate) fn keep_in(place: *mut Counts) {
    // SAFETY: `place` is null, or memory for the counters that nobody else uses yet and that is never freed.
    if let Some(kept) = unsafe { place.as_ref() } {
        for (kept, own) in kept.iter().zip(&OWN) {
            kept.store(own.swap(0, Ordering::Relaxed), Ordering::Relaxed);
        }
    }
    KEPT.store(place, Ordering::Release);
}

static TAKEN: Counts = [const { AtomicU64::new(0) }; TEXTS.len()];

/// Copies the counts of unrecorded events since the last trace into `TAKEN`, the counts for the trace that is about to be written.
pub(crate) fn take() {
    for (taken, count) in TAKEN.iter().zip(counts()) {
        // A count is negative if an event that was counted in advance, and stored in the last trace, did not happen.
        let count = count.load(Ordering::Relaxed).cast_signed().max(0);
        taken.store(count.cast_unsigned(), Ordering::Relaxed);
    }
}

/// Iterates over the texts and counts of unrecorded events (notes) for the trace being written.
pub(crate) fn taken() -> impl Iterator<Item = (&'static str, u64)> {
    TEXTS.iter().zip(&TAKEN).map(|(text, count)| (*text, count.load(Ordering::Relaxed)))
}

/// Ends writing a trace. If `written`, subtracts the counts that the trace contains; otherwise they stay for the next trace.
pub(crate) fn settle(written: bool) {
    for (taken, count) in TAKEN.iter().zip(counts()) {
        let taken = taken.swap(0, Ordering::Relaxed);
        if written && taken != 0 {
            count.fetch_sub(taken, Ordering::Relaxed);
        }
    }
}

/// Resets all counters of unrecorded events in a forked child.
pub(crate) fn forget() {
    counts().iter().for_each(|count| count.store(0, Ordering::Relaxed));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_note_has_its_text() {
        let of_it = || taken().nth(Note::DuringTracer as usize).unwrap();
        Note::DuringTracer.count_many(2);
        take();
        assert_eq!(of_it(), (TEXTS[Note::DuringTracer as usize], 2));
        // Each trace has the counts since the last one; the counts of a trace that could not be written go to the next.
        settle(false);
        Note::DuringTracer.count();
        take();
        assert_eq!(of_it().1, 3);
        settle(true);
        take();
        assert_eq!(of_it().1, 0);
        // Events that did not happen are subtracted from the next trace's count.
        Note::DuringTracer.take_back();
        take();
        assert_eq!(of_it().1, 0);
        forget();
        take();
        assert!(taken().all(|(_, count)| count == 0));
    }
}
