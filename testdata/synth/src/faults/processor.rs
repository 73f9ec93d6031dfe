//! Processors of a simulated job: threads that share a CPU run one after another, and wait in between.

use super::chance::lognormal;
use trace_format::meta::CpuSample;

/// Time for which a thread keeps its CPU while others wait for it, in ns.
const SLICE_NS: f64 = 4e6;
/// Time that a system call takes on the CPU besides copying its bytes, in ns.
const CALL_NS: f64 = 5e3;
/// CPU time for copying one byte in a read or write call, in ns.
const COPY_NS: f64 = 0.25;
/// Time that a thread waits for its CPU when storage has served its call, as a share of the time that the CPU's other threads take between
/// two runs of the thread.
const WAKING: f64 = 0.25;
/// Random variation of waits: standard deviation (sigma) of their logarithm.
const SIGMA: f64 = 0.5;
/// Number of calls between two samples of the use of the processors; further samples are taken after synchronizations.
const CALLS: u64 = 64;

/// Use of the processors by a simulated thread; without effect for a job without `share`.
#[derive(Clone, Debug, Default)]
pub(super) struct Processor {
    /// Part of a CPU that the thread gets while it computes, up to 1.
    share: Option<f64>,
    seed: [u64; 2],
    turns: u64,
    calls: u64,
    used_ns: f64,
    sums: CpuSample,
    pub(super) samples: Vec<CpuSample>,
}

impl Processor {
    pub(super) fn new(share: Option<f64>, seed: [u64; 2]) -> Self {
        Self { share, seed, ..Self::default() }
    }

    /// Returns how long a thread waits for its CPU while it uses `ns` ns of CPU time, in ns.
    pub(super) fn runs(&mut self, ns: f64) -> f64 {
        let Some(share) = self.share else { return 0.0 };
        self.sums.run_ns += ns as u64;
        self.used_ns += ns;
        let turns = (self.used_ns / SLICE_NS).floor();
        self.used_ns -= turns * SLICE_NS;
        self.sums.involuntary += if share < 1.0 { turns as u64 } else { 0 };
        let wait: f64 = (0..turns as u64).map(|_| self.turn(share)).sum();
        self.waits(wait)
    }

    /// Returns how long a thread waits for its CPU in a call that moves `bytes` bytes, in ns.
    pub(super) fn calls(&mut self, bytes: u64) -> f64 {
        let Some(share) = self.share else { return 0.0 };
        self.sums.voluntary += 1;
        self.calls += 1;
        let waking = self.turn(share) * WAKING;
        self.waits(waking) + self.runs(CALL_NS + bytes as f64 * COPY_NS)
    }

    fn waits(&mut self, ns: f64) -> f64 {
        self.sums.wait_ns += ns as u64;
        ns
    }

    /// Returns the time that the other threads of the CPU take before this thread runs on it again, in ns.
    fn turn(&mut self, share: f64) -> f64 {
        self.turns += 1;
        SLICE_NS * (1.0 / share - 1.0) * lognormal(SIGMA, &[self.seed[0], 2, self.seed[1], self.turns])
    }

    /// Takes a sample of the use of the processors after a call that ends at `now` (ns since the epoch), if a sample is due.
    pub(super) fn after_call(&mut self, now: u64) {
        if self.calls.is_multiple_of(CALLS) {
            self.sample(now);
        }
    }

    pub(super) fn sample(&mut self, now: u64) {
        if self.share.is_some() {
            self.samples.push(CpuSample { time_ns: now, ..self.sums });
        }
    }
}
