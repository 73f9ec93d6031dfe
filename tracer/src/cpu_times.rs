//! Use of the processors by the program's threads: samples of the kernel's sums (time on a CPU, time ready but waiting for one, context
//! switches), which distinguish a slow storage from a busy node. Sampled at a thread's first call, when its chunk is full, after collective
//! MPI calls, and when the trace is written; never more often than [`LEAST_NS`], and ever less often in a long run. Memory is bounded. Nothing
//! waits or allocates.
#![expect(unsafe_code, reason = "openat(2), pread(2), getrusage(2), sched_getaffinity(2)")]

use crate::memory::{Record, Table};
use crate::spool::journal;
use crate::sys::syscall;
use crate::tls::Thread;
use crate::{clock, errno, process};
use std::ffi::CStr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use trace_format::columns::TickScale;
use trace_format::meta::{CpuSample, ProcessorDef, ThreadTimes};
use trace_format::spool::journal::ThreadSample;

/// Least time between two samples of a thread at first, ns. Doubles whenever the samples are thinned out.
const LEAST_NS: u64 = 1_000_000;
/// Maximum number of samples that are kept of a thread. When they are full, every second one is dropped.
const SAMPLES: usize = 64;
/// Maximum number of threads with samples; later threads have none, so that a program whose threads come and go takes no more memory.
const THREADS: usize = 192;

static TIMES: Table<Times> = Table::new();
/// Time of the last written trace, in ticks: its samples are not written again.
static WRITTEN: AtomicU64 = AtomicU64::new(0);

/// Samples of one thread, which it alone adds to.
#[repr(C)]
struct Times {
    tid: AtomicU32,
    /// 1 if the first sample has the time of waiting; samples that differ in this are dropped.
    knows_waits: AtomicU32,
    /// Odd while the samples change.
    changes: AtomicU32,
    count: AtomicU32,
    every_ns: AtomicU64,
    /// By sample: ticks, and the sums of [`CpuSample`].
    samples: [[AtomicU64; 5]; SAMPLES],
}

// SAFETY: all-zero bits are valid for the atomics, and readers tolerate any values.
unsafe impl Record for Times {
    const VALID_WHEN_ZERO: bool = true;
}

/// Reserves memory for the samples. Called from the library's constructor. `scale`: divisor of the reservation, under limits of memory.
pub(crate) fn prepare(scale: usize) {
    TIMES.prepare(THREADS / scale);
}

/// Discards all samples in a forked child, which has only one thread.
pub(crate) fn start_empty() {
    WRITTEN.store(0, Ordering::Relaxed);
    // SAFETY: in a forked child, which has only this thread and holds no reference into the table.
    unsafe { TIMES.clear() };
}

/// Takes a sample of the calling thread if the last one is old enough. Signals must be blocked. Preserves errno.
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
    if let Some(times) = times_of(thread)
        && let Some((sums, knows_waits)) = sums_of_this_thread()
    {
        times.add(ticks, &sums, knows_waits);
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
    u64::try_from(u128::from(ns) * u128::from(ticks) / u128::from(since_ns)).unwrap_or(ns).max(ns / 8)
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
    /// Adds a sample of the owner. `knows_waits`: true if the kernel says how long the thread waited for a CPU.
    fn add(&self, ticks: u64, sums: &CpuSample, knows_waits: bool) {
        let mut count = self.count.load(Ordering::Relaxed) as usize;
        if count == 0 {
            self.knows_waits.store(u32::from(knows_waits), Ordering::Relaxed);
        } else if (self.knows_waits.load(Ordering::Relaxed) != 0) != knows_waits {
            return;
        }
        let changes = self.changes.load(Ordering::Relaxed);
        self.changes.store(changes.wrapping_add(1), Ordering::Relaxed);
        fence(Ordering::Release);
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

    /// Returns the samples with their ticks; `None` if the owner keeps changing them.
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

    /// Returns the samples since the last written trace, and one of now; `None` if they say nothing.
    fn reported(&self, scale: &TickScale) -> Option<ThreadTimes> {
        let (tid, knows_waits) = (self.tid.load(Ordering::Acquire), self.knows_waits.load(Ordering::Relaxed) != 0);
        let mut samples = self.samples()?;
        let (ticks, last) = (clock::now(), samples.last()?.1);
        let own = is_this_thread(tid).then(sums_of_this_thread).flatten().filter(|of| of.1 == knows_waits);
        let other =
            || sums_of(tid).filter(|_| knows_waits).map(|(run_ns, wait_ns)| CpuSample { run_ns, wait_ns, ..last });
        samples.extend(own.map(|(sums, _)| sums).or_else(other).map(|sums| (ticks, sums)));
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

/// Returns the sums of the calling thread, and true if the time of waiting is known.
fn sums_of_this_thread() -> Option<(CpuSample, bool)> {
    // SAFETY: an all-zero rusage is valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the structure is a local variable.
    let known = unsafe { syscall!(libc::SYS_getrusage, libc::RUSAGE_THREAD, &raw mut usage) } == 0;
    let ns = |time: libc::timeval| (time.tv_sec * 1_000_000_000 + time.tv_usec * 1000).unsigned_abs();
    let run_ns = ns(usage.ru_utime).saturating_add(ns(usage.ru_stime));
    let (voluntary, involuntary) = (usage.ru_nvcsw.unsigned_abs(), usage.ru_nivcsw.unsigned_abs());
    let sums = CpuSample { time_ns: 0, run_ns, wait_ns: 0, voluntary, involuntary };
    match of_schedstat(c"/proc/thread-self/schedstat") {
        Some((run_ns, wait_ns)) => Some((CpuSample { run_ns, wait_ns, ..sums }, true)),
        None => known.then_some((sums, false)),
    }
}

/// Returns the time on a CPU and the time of waiting for one of this process's thread `tid`, ns. Allocates.
fn sums_of(tid: u32) -> Option<(u64, u64)> {
    let path = std::ffi::CString::new(format!("/proc/self/task/{tid}/schedstat")).ok()?;
    of_schedstat(&path)
}

/// Reads time on a CPU and time of waiting for one from a schedstat file, ns (Linux, Documentation/scheduler/sched-stats.rst).
fn of_schedstat(path: &CStr) -> Option<(u64, u64)> {
    let flags = libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NOCTTY;
    // SAFETY: the name is NUL-terminated.
    let file = unsafe { syscall!(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags, 0) };
    if file < 0 {
        return None;
    }
    let mut text = [0_u8; 96];
    // SAFETY: the buffer has room for its length.
    let read = unsafe { syscall!(libc::SYS_pread64, file, text.as_mut_ptr(), text.len(), 0_i64) };
    // SAFETY: the descriptor was opened above.
    unsafe { syscall!(libc::SYS_close, file) };
    parsed(text.get(..usize::try_from(read).ok()?)?)
}

fn parsed(text: &[u8]) -> Option<(u64, u64)> {
    let mut numbers = text.split(|byte| !byte.is_ascii_digit()).map(|digits| {
        let add = |number: u64, digit: &u8| number.checked_mul(10)?.checked_add(u64::from(digit - b'0'));
        (!digits.is_empty()).then(|| digits.iter().try_fold(0, add)).flatten()
    });
    let (run, wait) = (numbers.next()??, numbers.next()??);
    // Zeros: the kernel keeps no such sums (built without CONFIG_SCHED_INFO).
    (run > 0).then_some((run, wait))
}

/// Returns the CPUs on which the process may run, as [`ProcessorDef::cpus`]; empty if unknown.
pub(crate) fn cpus() -> Vec<u8> {
    let mut mask = [0_u8; 1024];
    // SAFETY: the mask is a local variable of that size.
    let known = unsafe { syscall!(libc::SYS_sched_getaffinity, process::adopted(), mask.len(), mask.as_mut_ptr()) };
    let known = mask.get(..usize::try_from(known).unwrap_or(0)).unwrap_or_default();
    let used = known.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    known[..used].to_vec()
}

/// Returns the use of the processors since the last written trace.
pub(crate) fn reported(scale: &TickScale) -> ProcessorDef {
    let threads: Vec<ThreadTimes> = TIMES.iter().filter_map(|times| times.reported(scale)).collect();
    let cpus = if threads.is_empty() { Vec::new() } else { cpus() };
    ProcessorDef { cpus, threads }
}

/// Records that a trace holds all samples so far.
pub(crate) fn settle(written: bool) {
    if written {
        WRITTEN.store(clock::now(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedstat_is_read() {
        assert_eq!(parsed(b"480762 582078 2\n"), Some((480_762, 582_078)));
        assert_eq!(parsed(b"0 0 0\n"), None);
        assert_eq!(parsed(b"12\n"), None);
        assert_eq!(parsed(b"99999999999999999999999 1 1\n"), None);
        assert_eq!(parsed(b""), None);
        assert_eq!(of_schedstat(c"/proc/no-such-file"), None);
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
    fn this_thread_has_sums_and_cpus() {
        // The kernel updates a thread's sums when it leaves its CPU, or at the next tick.
        while sums_of_this_thread().unwrap().0.run_ns == 0 {
            std::thread::yield_now();
        }
        process::adopt();
        assert!(cpus().iter().any(|byte| *byte != 0));
    }
}
