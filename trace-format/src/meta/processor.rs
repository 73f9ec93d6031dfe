//! Use of the processors by a process's threads: time on a CPU, and time ready to run but waiting for one.

use serde::{Deserialize, Serialize};

/// CPUs on which a process may run, and the times that its threads ran on a CPU or waited for one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessorDef {
    /// CPUs of the node on which the process may run: bit `n % 8` of byte `n / 8` stands for CPU `n`. Empty if unknown.
    pub cpus: Vec<u8>,
    /// Samples of the use of the processors by the process's threads.
    pub threads: Vec<ThreadTimes>,
}

/// Samples of the use of the processors by one thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadTimes {
    /// Thread id in the kernel (gettid(2)).
    pub tid: u32,
    /// 1 if the time of waiting for a CPU is known, else 0.
    pub knows_waits: u8,
    /// Samples in order of time, each as the difference from the previous one; [`Self::sums`] adds them up.
    pub samples: Vec<CpuSample>,
}

/// Use of the processors by a thread: sums since the thread's start, or differences between two samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuSample {
    /// Time of the sample, in ns since the process's epoch, or since the previous sample.
    pub time_ns: u64,
    /// Time that the thread ran on a CPU, in ns.
    pub run_ns: u64,
    /// Time that the thread was ready to run but waited for a CPU, in ns.
    pub wait_ns: u64,
    /// Number of context switches because the thread waited for something else than a CPU.
    pub voluntary: u64,
    /// Number of context switches because another thread got the CPU.
    pub involuntary: u64,
}

impl CpuSample {
    fn with(&self, other: &Self, op: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            time_ns: op(self.time_ns, other.time_ns),
            run_ns: op(self.run_ns, other.run_ns),
            wait_ns: op(self.wait_ns, other.wait_ns),
            voluntary: op(self.voluntary, other.voluntary),
            involuntary: op(self.involuntary, other.involuntary),
        }
    }
}

impl ProcessorDef {
    /// True if no CPUs and no samples of threads were recorded.
    #[must_use]
    pub const fn is_none(&self) -> bool {
        self.cpus.is_empty() && self.threads.is_empty()
    }
}

impl ThreadTimes {
    /// Creates the samples of thread `tid` from sums since the thread's start, in order of time. `knows_waits`: true if the time of waiting
    /// for a CPU is known. Drops samples in which a sum falls: those of a later thread with the same id.
    #[must_use]
    pub fn of_sums(tid: u32, knows_waits: bool, sums: impl IntoIterator<Item = CpuSample>) -> Self {
        let mut last = CpuSample::default();
        let difference = |sum: CpuSample| {
            let difference = sum.with(&last, u64::saturating_sub);
            let falls = last.with(&difference, u64::saturating_add) != sum;
            (!falls).then(|| {
                last = sum;
                difference
            })
        };
        Self { tid, knows_waits: u8::from(knows_waits), samples: sums.into_iter().filter_map(difference).collect() }
    }

    /// Returns the samples as sums since the thread's start, with times in ns since the process's epoch.
    pub fn sums(&self) -> impl Iterator<Item = CpuSample> + '_ {
        let mut sum = CpuSample::default();
        self.samples.iter().map(move |difference| {
            sum = sum.with(difference, u64::saturating_add);
            sum
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_come_back_and_never_fall() {
        let sample =
            |time_ns, run_ns| CpuSample { time_ns, run_ns, wait_ns: run_ns / 2, voluntary: 1, involuntary: time_ns };
        let times = ThreadTimes::of_sums(7, true, [sample(5, 100), sample(9, 130), sample(8, 120), sample(20, 140)]);
        assert_eq!(times.samples[1], CpuSample { time_ns: 4, run_ns: 30, wait_ns: 15, voluntary: 0, involuntary: 4 });
        let sums: Vec<CpuSample> = times.sums().collect();
        assert_eq!(sums, [sample(5, 100), sample(9, 130), sample(20, 140)]);
        assert!(
            ThreadTimes { samples: vec![CpuSample { time_ns: u64::MAX, ..sample(1, 1) }; 3], ..times }.sums().count()
                == 3
        );
    }
}
