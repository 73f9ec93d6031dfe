//! Use of the processors by the program's threads: the kernel's sums (time on a CPU, time ready but waiting for one, context switches), which
//! distinguish a slow storage from a busy node.
//!
//! The sums are read from a file, whose descriptor another thread could take for its own: it might replace the descriptor (dup2), hand it to
//! a child, or find no free one. So a hook reads them only while the process has a single thread: at its first call, when its chunk is full, after
//! collective MPI calls, at most every [`LEAST_NS`], and ever less often in a long run. In a process of several threads a hook only adds its
//! thread to the table; the sums of these threads are read when the trace is written. A thread without an earlier sample then counts from the start
//! of the process, with sums of zero: the share of its time in which it waited is understated, never overstated. MPI libraries start threads of
//! their own, so this is what a rank mostly has. The main thread's sums at the start are not zero (they include the programs before exec), so the constructor reads them.
//!
//! Memory is bounded. In a hook nothing allocates or takes a lock; writing the trace allocates.
#![expect(unsafe_code, reason = "gettid(2), getrusage(2), sched_getaffinity(2)")]

use crate::memory::{Record, Table};
use crate::spool::journal;
use crate::sys::syscall;
use crate::tls::{self, Thread};
use crate::{clock, errno, handles, job, process};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use trace_format::columns::TickScale;
use trace_format::meta::{CpuSample, ProcessorDef, ThreadTimes};
use trace_format::spool::journal::ThreadSample;

/// Minimum time between two samples of a thread at first, in ns. Doubles whenever every second sample of the thread is dropped.
const LEAST_NS: u64 = 1_000_000;
/// Maximum time between two looks at whether the process has other threads, while it has some, ns.
const MOST_NS: u64 = 10_000_000_000;
/// Maximum number of samples kept per thread. When it is reached, every second sample is dropped.
const SAMPLES: usize = 64;
/// Maximum number of threads with samples; later threads have none, so that a program whose threads come and go takes no more memory.
const THREADS: usize = 192;
/// Minimum capacity of the table of threads with samples, however small the memory limit.
const LEAST_THREADS: usize = 64;
/// Approximate size of a sample in a trace, in bytes: five varints.
const SAMPLE_BYTES: u64 = 20;

static TIMES: Table<Times> = Table::new();
/// Time in ticks at which this process's samples began, with the main thread as its only thread; 0 if the process already had other threads
/// at that time.
static START: AtomicU64 = AtomicU64::new(0);
/// Time at which the samples for the trace that is being written were taken, in ticks.
static REPORTED: AtomicU64 = AtomicU64::new(0);
/// Time of the samples in the last written trace, in ticks: samples before it are not written again.
static WRITTEN: AtomicU64 = AtomicU64::new(0);

/// Samples of the use of the processors by one thread; only this thread adds samples.
#[repr(C)]
struct Times {
    tid: AtomicU32,
    /// 1 if all samples of the thread contain the time of waiting for a CPU, 0 if none does.
    knows_waits: AtomicU32,
    /// Counter of the steps in which the thread changes its samples; odd during a change, so that readers then try again.
    changes: AtomicU32,
    count: AtomicU32,
    every_ns: AtomicU64,
    /// Per sample: time in ticks, then the four sums of [`CpuSample`].
    samples: [[AtomicU64; 5]; SAMPLES],
}

// SAFETY: all-zero bits are valid for the atomics, and readers tolerate any values.
unsafe impl Record for Times {
    const VALID_WHEN_ZERO: bool = true;
}

/// Reserves memory for the samples of threads. Called from the library's constructor. `scale`: number by which the table's size is divided
/// if memory is limited.
pub(crate) fn prepare(scale: usize) {
    TIMES.prepare((THREADS / scale).max(LEAST_THREADS));
}

/// Takes the main thread's first sample. Called from the library's constructor, and in a forked child, which has only one thread. Preserves
/// errno.
pub(crate) fn begin() {
    let (now, errno) = (clock::now(), errno::save());
    let is_alone = handles::is_only_thread();
    START.store(if is_alone { now } else { 0 }, Ordering::Relaxed);
    if is_alone
        && let Some(times) = times_of(tls::current())
        && let Some((sums, knows_waits)) = sums_of_this_thread()
    {
        times.add(now, &sums, knows_waits);
    }
    errno.restore();
}

/// Discards all samples in a forked child, which has only one thread.
pub(crate) fn start_empty() {
    WRITTEN.store(0, Ordering::Relaxed);
    // SAFETY: in a forked child, which has only this thread and holds no reference into the table.
    unsafe { TIMES.clear() };
}

/// Takes a sample of the calling thread if the last one is old enough and the process has no other thread; adds the thread to the table
/// in any case. Signals must be blocked. Preserves errno.
#[cold]
#[inline(never)]
pub(crate) fn sample(thread: &Thread) {
    let ticks = clock::now();
    // A thread-local block that several threads use has no owner whose times they are; in a vfork(2) child the thread is another one.
    if ticks < thread.next_sample.get() || thread.is_lent() || !process::seems_own() {
        return;
    }
    let errno = errno::save();
    thread.next_sample.set(u64::MAX);
    if let Some(times) = times_of(thread) {
        if !handles::is_only_thread() {
            // To ask again and again would only cost time.
            times.every_ns.store((times.every_ns.load(Ordering::Relaxed) * 2).min(MOST_NS), Ordering::Relaxed);
        } else if let Some((sums, knows_waits)) = sums_of_this_thread() {
            times.add(ticks, &sums, knows_waits);
        }
        let wait = times.every_ns.load(Ordering::Relaxed);
        thread.next_sample.set(ticks.saturating_add(in_ticks(wait, ticks)));
    }
    errno.restore();
}

/// Returns the number of ticks in `ns`, at the rate since the process's start until `now` (ticks): good enough for an interval.
fn in_ticks(ns: u64, now: u64) -> u64 {
    let base = clock::base();
    let (_, now_ns) = clock::compare();
    let (ticks, since_ns) = (now.saturating_sub(base.ticks), now_ns.saturating_sub(base.monotonic_ns).max(1));
    u64::try_from(u128::from(ns) * u128::from(ticks) / u128::from(since_ns)).unwrap_or(ns).max(clock::least_ticks(ns))
}

fn times_of(thread: &Thread) -> Option<&'static Times> {
    // SAFETY: the address is 0, or was set below to a record of the table, which never moves.
    if let Some(times) = unsafe { (thread.cpu_times.get() as *const Times).as_ref() } {
        return Some(times);
    }
    // SAFETY: gettid has no preconditions.
    let tid = u32::try_from(unsafe { syscall!(libc::SYS_gettid) }).ok().filter(|tid| *tid != 0)?;
    let times = TIMES.push_zeroed()?;
    times.every_ns.store(LEAST_NS, Ordering::Relaxed);
    times.tid.store(tid, Ordering::Release);
    thread.cpu_times.set(std::ptr::from_ref(times).addr());
    Some(times)
}

impl Times {
    /// Adds a sample of the thread that owns the record. `knows_waits`: true if the kernel says how long the thread waited for a CPU.
    fn add(&self, ticks: u64, sums: &CpuSample, knows_waits: bool) {
        let mut count = self.count.load(Ordering::Relaxed) as usize;
        let knew_waits = self.knows_waits.load(Ordering::Relaxed) != 0;
        if count > 0 && knew_waits && !knows_waits {
            return;
        }
        let changes = self.changes.load(Ordering::Relaxed);
        self.changes.store(changes.wrapping_add(1), Ordering::Relaxed);
        fence(Ordering::Release);
        if knows_waits && !knew_waits {
            // The samples before, if any, lack the waits.
            self.knows_waits.store(1, Ordering::Relaxed);
            count = 0;
        }
        if count == SAMPLES {
            for at in 0..SAMPLES / 2 {
                let (to, from) = (&self.samples[at], &self.samples[2 * at]);
                to.iter().zip(from).for_each(|(to, from)| to.store(from.load(Ordering::Relaxed), Ordering::Relaxed));
            }
            count = SAMPLES / 2;
            self.every_ns.store(self.every_ns.load(Ordering::Relaxed) * 2, Ordering::Relaxed);
        }
        let values = [ticks, sums.run_ns, sums.wait_ns, sums.voluntary, sums.involuntary];
        self.samples[count].iter().zip(values).for_each(|(to, value)| to.store(value, Ordering::Relaxed));
        self.count.store(count as u32 + 1, Ordering::Relaxed);
        self.changes.store(changes.wrapping_add(2), Ordering::Release);
        let tid = self.tid.load(Ordering::Relaxed);
        journal::cpu_sample(&ThreadSample { tid, knows_waits, ticks, sums: *sums });
    }

    /// Returns the thread's samples, each with its time in ticks; `None` if the thread keeps changing them.
    fn samples(&self) -> Option<Vec<(u64, CpuSample)>> {
        let copy = || {
            let before = self.changes.load(Ordering::Acquire);
            let count = (self.count.load(Ordering::Relaxed) as usize).min(SAMPLES);
            let sample = |values: &[AtomicU64; 5]| {
                let [ticks, run_ns, wait_ns, voluntary, involuntary] =
                    values.each_ref().map(|value| value.load(Ordering::Relaxed));
                (ticks, CpuSample { time_ns: 0, run_ns, wait_ns, voluntary, involuntary })
            };
            let samples = self.samples[..count].iter().map(sample).collect();
            fence(Ordering::Acquire);
            (before.is_multiple_of(2) && self.changes.load(Ordering::Relaxed) == before).then_some(samples)
        };
        (0..3).find_map(|_| copy())
    }

    /// Returns the thread's samples since the last written trace, and one taken now (`now` ticks); `None` if there are fewer than two
    /// samples, from which no use of the processors can be computed.
    fn reported(&self, now: u64, scale: &TickScale) -> Option<ThreadTimes> {
        let tid = self.tid.load(Ordering::Acquire);
        let (mut samples, start) = (self.samples()?, START.load(Ordering::Relaxed));
        let mut knows_waits = self.knows_waits.load(Ordering::Relaxed) != 0;
        if samples.is_empty() && start != 0 {
            samples.push((start, CpuSample::default()));
            knows_waits = true;
        }
        let last = samples.last()?.1;
        let own = is_this_thread(tid).then(sums_of_this_thread).flatten();
        let other = || of_schedstat(&format!("/proc/self/task/{tid}/schedstat\0"));
        let read = own.or_else(|| other().map(|(run_ns, wait_ns)| (CpuSample { run_ns, wait_ns, ..last }, true)));
        samples.extend(read.filter(|of| of.1 == knows_waits).map(|(sums, _)| (now, sums)));
        let since = WRITTEN.load(Ordering::Relaxed);
        samples.retain(|(ticks, _)| *ticks >= since);
        let sums = samples.into_iter().map(|(ticks, sums)| CpuSample { time_ns: scale.nanoseconds(ticks), ..sums });
        let times = ThreadTimes::of_sums(tid, knows_waits, sums);
        (times.samples.len() > 1).then_some(times)
    }
}

fn is_this_thread(tid: u32) -> bool {
    // SAFETY: gettid has no preconditions.
    unsafe { syscall!(libc::SYS_gettid) == i64::from(tid) }
}

/// Returns the kernel's sums for the calling thread (time on a CPU, context switches and, if the second value is true, time of waiting for
/// a CPU). `None` if the kernel gives none.
fn sums_of_this_thread() -> Option<(CpuSample, bool)> {
    // SAFETY: an all-zero rusage is valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the structure is a local variable.
    let known = unsafe { syscall!(libc::SYS_getrusage, libc::RUSAGE_THREAD, &raw mut usage) } == 0;
    let ns = |time: libc::timeval| (time.tv_sec * 1_000_000_000 + time.tv_usec * 1000).unsigned_abs();
    let run_ns = ns(usage.ru_utime).saturating_add(ns(usage.ru_stime));
    let (voluntary, involuntary) = (usage.ru_nvcsw.unsigned_abs(), usage.ru_nivcsw.unsigned_abs());
    let sums = CpuSample { time_ns: 0, run_ns, wait_ns: 0, voluntary, involuntary };
    match of_schedstat("/proc/thread-self/schedstat\0") {
        Some((run_ns, wait_ns)) => Some((CpuSample { run_ns, wait_ns, ..sums }, true)),
        None => known.then_some((sums, false)),
    }
}

/// Reads time on a CPU and time of waiting for one, in ns, from the schedstat file `name`, which ends in NUL (Linux,
/// Documentation/scheduler/sched-stats.rst).
fn of_schedstat(name: &str) -> Option<(u64, u64)> {
    parsed(job::read_file(name.as_bytes(), &mut [0; 96])?)
}

fn parsed(text: &[u8]) -> Option<(u64, u64)> {
    let mut numbers = text.split(|byte| !byte.is_ascii_digit()).map(|digits| {
        let add = |number: u64, digit: &u8| number.checked_mul(10)?.checked_add(u64::from(digit - b'0'));
        (!digits.is_empty()).then(|| digits.iter().try_fold(0, add)).flatten()
    });
    let (run, wait) = (numbers.next()??, numbers.next()??);
    // The third number counts the thread's turns on a CPU. Zeros: the kernel keeps no such sums (built without CONFIG_SCHED_INFO). A young
    // thread may have waited and begun its first turn, whose time is added when it ends.
    let turns = numbers.next()??;
    (run | wait | turns != 0).then_some((run, wait))
}

/// Returns the CPUs on which the process's main thread and threads with samples may run, as [`ProcessorDef::cpus`]; empty if unknown.
pub(crate) fn cpus() -> Vec<u8> {
    let mut all = Vec::new();
    let tids = TIMES.iter().map(|times| times.tid.load(Ordering::Acquire).cast_signed());
    for tid in std::iter::once(process::adopted()).chain(tids) {
        let mut mask = [0_u8; 1024];
        // SAFETY: the mask is a local variable of that size.
        let known = unsafe { syscall!(libc::SYS_sched_getaffinity, tid, mask.len(), mask.as_mut_ptr()) };
        let known = mask.get(..usize::try_from(known).unwrap_or(0)).unwrap_or_default();
        let used = known.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        all.resize(all.len().max(used), 0);
        all.iter_mut().zip(known).for_each(|(all, byte)| *all |= byte);
    }
    all
}

/// Returns the use of the processors since the last written trace.
pub(crate) fn reported(scale: &TickScale) -> ProcessorDef {
    let now = clock::now();
    REPORTED.store(now, Ordering::Relaxed);
    // The kernel gives the id of a thread that has ended to another thread.
    let latest: BTreeMap<u32, &Times> = TIMES.iter().map(|times| (times.tid.load(Ordering::Acquire), times)).collect();
    let threads: Vec<ThreadTimes> = latest.into_values().filter_map(|times| times.reported(now, scale)).collect();
    let cpus = if threads.is_empty() { Vec::new() } else { cpus() };
    ProcessorDef { cpus, threads }
}

/// Returns the approximate size that the samples of all threads will have in a trace, in bytes.
pub(crate) fn bytes() -> u64 {
    TIMES.iter().map(|times| (u64::from(times.count.load(Ordering::Relaxed)) + 2) * SAMPLE_BYTES).sum()
}

/// Writes all samples since the last written trace into the journal of the spool (the file that survives a kill), which has just been created.
pub(crate) fn note_all() {
    for times in TIMES.iter() {
        let (tid, knows_waits) = (times.tid.load(Ordering::Acquire), times.knows_waits.load(Ordering::Relaxed) != 0);
        let samples = times.samples().unwrap_or_default().into_iter();
        for (ticks, sums) in samples.filter(|(ticks, _)| *ticks >= WRITTEN.load(Ordering::Relaxed)) {
            journal::cpu_sample(&ThreadSample { tid, knows_waits, ticks, sums });
        }
    }
}

/// If `written`, marks all samples up to the last call of [`reported`] as part of a written trace, so that the next trace leaves them out.
pub(crate) fn settle(written: bool) {
    if written {
        WRITTEN.store(REPORTED.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedstat_is_read() {
        assert_eq!(parsed(b"480762 582078 2\n"), Some((480_762, 582_078)));
        assert_eq!(parsed(b"0 9 1\n"), Some((0, 9)));
        assert_eq!(parsed(b"0 0 1\n"), Some((0, 0)));
        assert_eq!(parsed(b"0 0 0\n"), None);
        assert_eq!(parsed(b"12\n"), None);
        assert_eq!(parsed(b"99999999999999999999999 1 1\n"), None);
        assert_eq!(parsed(b""), None);
        assert_eq!(of_schedstat("/proc/no-such-file\0"), None);
    }

    #[test]
    fn samples_are_thinned_out_and_keep_the_first() {
        static TABLE: Table<Times> = Table::new();
        TABLE.prepare(64);
        let times = TABLE.push_zeroed().unwrap();
        times.every_ns.store(LEAST_NS, Ordering::Relaxed);
        for ticks in 0..10 * SAMPLES as u64 {
            let sums = CpuSample { run_ns: 2 * ticks, wait_ns: 3 * ticks, ..CpuSample::default() };
            times.add(ticks, &sums, true);
            times.add(ticks, &CpuSample::default(), false);
        }
        let samples = times.samples().unwrap();
        assert!((SAMPLES / 2..=SAMPLES).contains(&samples.len()) && samples[0].0 == 0);
        assert!(samples.is_sorted_by_key(|(ticks, _)| *ticks));
        assert!(samples.iter().all(|(ticks, sums)| sums.wait_ns == 3 * ticks));
        assert!(times.every_ns.load(Ordering::Relaxed) > 4 * LEAST_NS);
    }

    #[test]
    fn samples_start_anew_once_waits_are_known() {
        static TABLE: Table<Times> = Table::new();
        TABLE.prepare(64);
        let times = TABLE.push_zeroed().unwrap();
        times.add(1, &CpuSample { run_ns: 5, ..CpuSample::default() }, false);
        times.add(2, &CpuSample { run_ns: 6, wait_ns: 1, ..CpuSample::default() }, true);
        times.add(3, &CpuSample { run_ns: 7, ..CpuSample::default() }, false);
        assert_eq!(times.samples().unwrap().iter().map(|(ticks, _)| *ticks).collect::<Vec<_>>(), [2]);
        assert_eq!(times.knows_waits.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn this_thread_has_sums_and_cpus() {
        // The kernel updates a thread's sums when it leaves its CPU, or at the next tick.
        while sums_of_this_thread().unwrap().0.run_ns == 0 {
            std::thread::yield_now();
        }
        process::adopt();
        assert!(cpus().iter().any(|byte| *byte != 0));
    }
}
