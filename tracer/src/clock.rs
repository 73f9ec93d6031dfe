//! Clock of segments: the processor's invariant counter (TSC, CNTVCT), or CLOCK_MONOTONIC if there is none. Ticks are converted to
//! nanoseconds only when a trace is written, at a rate measured over the whole run.
#![expect(unsafe_code, reason = "reads the processor's counter and clock_gettime(2)")]

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicU64, Ordering};
use trace_format::columns::TickScale;
use trace_format::meta::ClockSource;
use trace_format::segment::NO_TIME;

/// Time at which the clock was stopped, in ticks; 0 while the clock runs.
static STOPPED_TICKS: AtomicU64 = AtomicU64::new(0);
/// Time at which the clock was stopped, in ns of CLOCK_MONOTONIC; later calls get this time.
static STOPPED_NS: AtomicU64 = AtomicU64::new(0);
/// True if ticks came from the processor's counter before the clock was stopped; a resumed clock uses the counter again.
static STOPPED_COUNTER: AtomicBool = AtomicBool::new(false);
static USE_COUNTER: AtomicBool = AtomicBool::new(false);
/// Clock that [`of_call`] reads for start and end of calls: `BY_CLOCK`, `BY_COUNTER` or `UNTIMED`.
static CALLS: AtomicU8 = AtomicU8::new(BY_CLOCK);
/// [`of_call`] reads the same clock as [`now`], through a function call.
const BY_CLOCK: u8 = 0;
/// [`of_call`] reads the processor's counter.
const BY_COUNTER: u8 = 1;
/// [`of_call`] reads no clock: DXT_TIMING=off.
const UNTIMED: u8 = 2;
static BASE_TICKS: AtomicU64 = AtomicU64::new(0);
static BASE_MONOTONIC_NS: AtomicU64 = AtomicU64::new(0);
static EPOCH_UNIX_NS: AtomicI64 = AtomicI64::new(0);

/// Returns the current time, in ticks of the tracer's clock.
#[inline(always)]
pub(crate) fn now() -> u64 {
    if USE_COUNTER.load(Ordering::Relaxed) { counter() } else { without_counter() }
}

/// Returns the time to record as start or end of a wrapped call, in ticks. Returns a constant if DXT_TIMING=off.
#[inline(always)]
pub(crate) fn of_call() -> u64 {
    match CALLS.load(Ordering::Relaxed) {
        BY_COUNTER => counter(),
        UNTIMED => NO_TIME,
        _ => without_counter(),
    }
}

/// Turns off the recording of the times of calls. Called from the library's constructor.
pub(crate) fn leave_calls_untimed() {
    CALLS.store(UNTIMED, Ordering::Release);
}

/// True if calls are timed (false with DXT_TIMING=off).
pub(crate) fn times_calls() -> bool {
    CALLS.load(Ordering::Relaxed) != UNTIMED
}

/// Allows (`may`) or forbids reading the processor's counter as the clock. `order`: memory order with which this is stored.
fn use_counter(may: bool, order: Ordering) {
    USE_COUNTER.store(may, order);
    if times_calls() {
        CALLS.store(if may { BY_COUNTER } else { BY_CLOCK }, order);
    }
}

/// Returns CLOCK_MONOTONIC, in ns, or the time of the stop while the clock is stopped. Not inlined: reading the vDSO is a call anyway, and
/// callers that read the counter stay short.
#[cold]
#[inline(never)]
fn without_counter() -> u64 {
    match STOPPED_TICKS.load(Ordering::Acquire) {
        0 => monotonic_ns(),
        stopped => stopped,
    }
}

/// Stops the clock because the processor's counter, which the vDSO reads too, may no longer be read. All later calls get the time of the stop.
pub(crate) fn stop() {
    if STOPPED_TICKS.load(Ordering::Relaxed) == 0 {
        let (ticks, ns) = compare();
        STOPPED_COUNTER.store(USE_COUNTER.load(Ordering::Relaxed), Ordering::Relaxed);
        STOPPED_NS.store(ns, Ordering::Relaxed);
        STOPPED_TICKS.store(ticks.max(1), Ordering::Release);
        use_counter(false, Ordering::Release);
    }
}

/// Lets the clock run again, after it was stopped because the processor's counter could not be read.
pub(crate) fn go_on() {
    if STOPPED_TICKS.swap(0, Ordering::AcqRel) != 0 {
        use_counter(STOPPED_COUNTER.load(Ordering::Relaxed), Ordering::Release);
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn counter() -> u64 {
    // SAFETY: every x86-64 processor has RDTSC.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn counter() -> u64 {
    let ticks: u64;
    // SAFETY: the virtual counter is readable from user space on Linux (arm64 booting.rst).
    unsafe { std::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack)) };
    ticks
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn counter() -> u64 {
    monotonic_ns()
}

/// True if the processor's counter has a constant rate: CPUID 80000007h, EDX bit 8 (AMD APM vol. 3, Intel SDM vol. 2A). On Arm the rate of
/// CNTVCT is always constant (Arm ARM, D11).
#[cfg(target_arch = "x86_64")]
fn counter_is_invariant() -> bool {
    use std::arch::x86_64::__cpuid;
    __cpuid(0x8000_0000).eax >= 0x8000_0007 && __cpuid(0x8000_0007).edx & (1 << 8) != 0
}

#[cfg(not(target_arch = "x86_64"))]
fn counter_is_invariant() -> bool {
    cfg!(target_arch = "aarch64")
}

fn clock_ns(clock: libc::clockid_t) -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    if STOPPED_TICKS.load(Ordering::Relaxed) != 0 {
        // SAFETY: `time` is a local variable. A system call, since the vDSO would read the processor's counter.
        unsafe { crate::sys::syscall!(libc::SYS_clock_gettime, clock, &raw mut time) };
        return time.tv_sec * 1_000_000_000 + time.tv_nsec;
    }
    // SAFETY: `time` is a local variable; both clocks exist on every Linux. The vDSO answers without a system call.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

fn monotonic_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC) as u64
}

/// Returns the wall-clock time, in ns since 1970-01-01 UTC.
pub(crate) fn unix_ns() -> i64 {
    clock_ns(libc::CLOCK_REALTIME)
}

/// Reads the tick clock and the clock `read` at (nearly) the same moment.
fn pair(read: impl Fn() -> i64) -> (u64, i64) {
    at_once(now, read)
}

/// Reads the clocks `around` and `read` at (nearly) the same moment. Keeps the tightest of five tries, since a try may be preempted.
fn at_once(around: impl Fn() -> u64, read: impl Fn() -> i64) -> (u64, i64) {
    let mut best = (u64::MAX, 0, 0);
    for _ in 0..5 {
        let before = around();
        let value = read();
        let after = around();
        if after.wrapping_sub(before) < best.0 {
            best = (after.wrapping_sub(before), before + (after.wrapping_sub(before)) / 2, value);
        }
    }
    (best.1, best.2)
}

/// Sets the process's time zero to now. Called at process start, and again in a forked child.
pub(crate) fn start() {
    use_counter(counter_is_invariant(), Ordering::Relaxed);
    let (base, monotonic) = pair(|| monotonic_ns() as i64);
    let (at, unix) = at_once(monotonic_ns, unix_ns);
    BASE_TICKS.store(base, Ordering::Relaxed);
    BASE_MONOTONIC_NS.store(monotonic as u64, Ordering::Relaxed);
    // Corrects for the time between reading the base and the wall clock, in which a busy machine may have run another process.
    EPOCH_UNIX_NS.store(unix - (at as i64 - monotonic), Ordering::Relaxed);
}

/// True if ticks come from the processor's counter, false if from CLOCK_MONOTONIC.
fn is_counter() -> bool {
    let stopped = STOPPED_TICKS.load(Ordering::Acquire) != 0;
    if stopped { STOPPED_COUNTER.load(Ordering::Relaxed) } else { USE_COUNTER.load(Ordering::Relaxed) }
}

/// Time zero of the process (its start or fork), as each clock shows it.
pub(crate) struct Base {
    /// True if the tracer's clock ticks come from the processor's counter, false if from CLOCK_MONOTONIC.
    pub(crate) counter: bool,
    /// Time zero of the process (its start or fork), in ticks of the tracer's clock.
    pub(crate) ticks: u64,
    /// Time zero of the process (its start or fork) as CLOCK_MONOTONIC shows it, in ns.
    pub(crate) monotonic_ns: u64,
    /// Time zero of the process as the wall clock shows it, in ns since 1970-01-01 UTC.
    pub(crate) epoch_unix_ns: i64,
}

/// Returns the process's time zero (its start or fork) as each clock shows it.
pub(crate) fn base() -> Base {
    Base {
        counter: is_counter(),
        ticks: BASE_TICKS.load(Ordering::Relaxed),
        monotonic_ns: BASE_MONOTONIC_NS.load(Ordering::Relaxed),
        epoch_unix_ns: EPOCH_UNIX_NS.load(Ordering::Relaxed),
    }
}

/// Reads ticks and CLOCK_MONOTONIC (ns) at the same moment.
pub(crate) fn compare() -> (u64, u64) {
    match STOPPED_TICKS.load(Ordering::Acquire) {
        0 => {}
        stopped => return (stopped, STOPPED_NS.load(Ordering::Relaxed)),
    }
    let (ticks, monotonic) = pair(|| monotonic_ns() as i64);
    (ticks, monotonic as u64)
}

/// Clock parameters stored in a trace.
pub(crate) struct Calibration {
    /// Conversion from clock ticks to ns since the process's time zero.
    pub(crate) scale: TickScale,
    /// Clock ticks per second.
    pub(crate) hz: u64,
    /// Clock that ticks come from: the processor's counter or CLOCK_MONOTONIC.
    pub(crate) source: ClockSource,
    /// Wall-clock time of the process's time zero, in ns since 1970-01-01 UTC.
    pub(crate) epoch_unix_ns: i64,
}

/// Returns a lower bound of the number of ticks in `ns`: no processor's counter has a tick longer than 64 ns (15.6 MHz; Arm's run at 19.2 MHz
/// or more).
pub(crate) const fn least_ticks(ns: u64) -> u64 {
    ns / 64
}

/// Returns the conversion from ticks to ns since the process's time zero, at the tick rate measured so far.
pub(crate) fn scale_now() -> TickScale {
    calibrate().scale
}

/// Measures the tick rate since [`start`] and returns the clock parameters of the trace.
pub(crate) fn calibrate() -> Calibration {
    let base = BASE_TICKS.load(Ordering::Relaxed);
    let epoch_unix_ns = EPOCH_UNIX_NS.load(Ordering::Relaxed);
    if !is_counter() {
        let scale = TickScale { base, ..TickScale::IDENTITY };
        return Calibration { scale, hz: 1_000_000_000, source: ClockSource::Monotonic, epoch_unix_ns };
    }
    // Both readings are accurate to some 20 ns, so the error of converted times is no larger, however long the run.
    let (ticks, monotonic) = compare();
    let passed_ticks = ticks.saturating_sub(base).max(1);
    let passed_ns = monotonic.saturating_sub(BASE_MONOTONIC_NS.load(Ordering::Relaxed));
    let hz = u128::from(passed_ticks) * 1_000_000_000 / u128::from(passed_ns.max(1));
    Calibration {
        scale: TickScale::measured(base, passed_ticks, passed_ns),
        hz: hz as u64,
        source: ClockSource::Counter,
        epoch_unix_ns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_few_tries_the_closest_counts() {
        // Four of five tries are preempted in the middle.
        let around = std::cell::RefCell::new([0, 900, 1000, 1006, 2000, 2800, 3000, 3700, 4000, 4600].into_iter());
        let read = std::cell::Cell::new(0);
        let next = || {
            read.set(read.get() + 1);
            read.get()
        };
        assert_eq!(at_once(|| around.borrow_mut().next().unwrap(), next), (1003, 2));
    }

    #[test]
    fn a_stopped_clock_stands_still_and_goes_on() {
        // The clock is shared by the whole process: the other test would see it stopped.
        let _one = ONE_AT_A_TIME.lock().unwrap();
        start();
        stop();
        let then = now();
        std::thread::sleep(std::time::Duration::from_millis(1));
        assert_eq!((now(), compare().0), (then, then));
        go_on();
        assert!(now() > then && compare().0 > then);
    }

    static ONE_AT_A_TIME: std::sync::Mutex<()> = std::sync::Mutex::new(());

    #[test]
    fn ticks_become_the_nanoseconds_that_passed() {
        let _one = ONE_AT_A_TIME.lock().unwrap();
        start();
        let (begin, ns) = (now(), monotonic_ns());
        std::thread::sleep(std::time::Duration::from_millis(30));
        let (end, passed) = (now(), monotonic_ns() - ns);
        let scale = calibrate().scale;
        let measured = scale.nanoseconds(end) - scale.nanoseconds(begin);
        assert!(measured.abs_diff(passed) < passed / 100, "{measured} against {passed}");
    }
}
