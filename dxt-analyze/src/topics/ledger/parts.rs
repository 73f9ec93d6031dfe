//! The parts of a process's time.

use crate::sum::Sum;
use serde::Serialize;

/// A time divided: the parts sum up to it. In ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Parts {
    /// In none of the calls below: computing, communicating, waiting for others outside of what is on record.
    pub no_io_ns: u64,
    /// In MPI's collective calls, which are no I/O: waiting for others, and exchanging data.
    pub meeting_ns: u64,
    /// In reads that the program made of the system or of C streams.
    pub read_ns: u64,
    /// In writes, likewise.
    pub write_ns: u64,
    /// In opens, closes, stats, seeks and other metadata calls, likewise.
    pub metadata_ns: u64,
    /// In syncs and flushes, likewise.
    pub sync_ns: u64,
    /// In locks, waiting for them included, likewise.
    pub lock_ns: u64,
    /// Handing operations over to the system that go on meanwhile, and waiting for them.
    pub asynchronous_ns: u64,
    /// In calls of MPI-IO and HDF5: waiting until the last rank had come to a collective call.
    pub waiting_ns: u64,
    /// In calls of MPI-IO and HDF5: in system calls.
    pub system_ns: u64,
    /// In calls of MPI-IO and HDF5: outside POSIX, which is exchanging data, copying, the library's own work.
    pub library_ns: u64,
    /// Calls may be missing, which are in `no_io_ns` then.
    #[serde(skip)]
    pub partial: bool,
}

/// Number of parts that are in calls.
const IN_CALLS: usize = 9;

impl Parts {
    /// What each part is called, with its time: those in calls first.
    #[must_use]
    pub fn named(&self) -> [(&'static str, u64); IN_CALLS + 2] {
        [
            ("reads", self.read_ns),
            ("writes", self.write_ns),
            ("metadata", self.metadata_ns),
            ("syncs", self.sync_ns),
            ("locks", self.lock_ns),
            ("asynchronous I/O: handing over and waiting", self.asynchronous_ns),
            ("MPI-IO and HDF5: waiting for the last rank", self.waiting_ns),
            ("MPI-IO and HDF5: in system calls", self.system_ns),
            ("MPI-IO and HDF5: outside POSIX (communication, locks, copies)", self.library_ns),
            ("no I/O: in MPI's collective calls", self.meeting_ns),
            (if self.partial { "not on record, or no I/O" } else { "no I/O" }, self.no_io_ns),
        ]
    }

    fn in_calls(&mut self) -> [&mut u64; IN_CALLS] {
        [
            &mut self.read_ns,
            &mut self.write_ns,
            &mut self.metadata_ns,
            &mut self.sync_ns,
            &mut self.lock_ns,
            &mut self.asynchronous_ns,
            &mut self.waiting_ns,
            &mut self.system_ns,
            &mut self.library_ns,
        ]
    }

    /// Time in calls, ns.
    #[must_use]
    pub fn io_ns(&self) -> u64 {
        self.named()[..IN_CALLS].iter().map(|(_, ns)| *ns).sum::<Sum>().get()
    }

    /// All of it, ns.
    #[must_use]
    pub fn total_ns(&self) -> u64 {
        self.io_ns().saturating_add(self.no_io_ns).saturating_add(self.meeting_ns)
    }

    /// Share in calls; 0 of nothing.
    #[must_use]
    pub fn io_share(&self) -> f64 {
        crate::shared::ratio::share(self.io_ns(), self.total_ns())
    }

    /// A time of `total_ns`, of which `busy_ns` is in calls: the parts in calls, which are sums over threads, are shared out over that in
    /// proportion, and the rest is without I/O. No time is in calls longer than it lasts.
    #[must_use]
    pub fn within(mut self, total_ns: u64, busy_ns: u64) -> Self {
        let sum: u128 = self.in_calls().iter().map(|part| u128::from(**part)).sum();
        let busy = u64::try_from(sum).unwrap_or(u64::MAX).min(busy_ns).min(total_ns);
        // What rounding leaves goes to the largest part, so that nothing is lost.
        let mut left = busy;
        for part in self.in_calls() {
            let share = (u128::from(*part) * u128::from(busy)).checked_div(sum).unwrap_or_default();
            *part = u64::try_from(share).unwrap_or(0);
            left = left.saturating_sub(*part);
        }
        if let Some(most) = self.in_calls().into_iter().max_by_key(|part| **part) {
            *most = most.saturating_add(left);
        }
        // What is asked of MPI is outside of I/O.
        self.meeting_ns = self.meeting_ns.min(total_ns - busy);
        self.no_io_ns = total_ns - busy - self.meeting_ns;
        self
    }

    /// Adds `other`.
    pub fn add(&mut self, other: &Self) {
        let mut theirs = *other;
        for (mine, theirs) in self.in_calls().into_iter().zip(theirs.in_calls()) {
            *mine = mine.saturating_add(*theirs);
        }
        self.no_io_ns = self.no_io_ns.saturating_add(other.no_io_ns);
        self.meeting_ns = self.meeting_ns.saturating_add(other.meeting_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parts_sum_up_to_the_whole(parts in prop::array::uniform9(0_u64..1 << 60), total in any::<u64>(), busy in any::<u64>()) {
            let mut sums = Parts::default();
            for (part, ns) in sums.in_calls().into_iter().zip(parts) {
                *part = ns;
            }
            let divided = sums.within(total, busy);
            prop_assert_eq!(divided.total_ns(), total);
            prop_assert!(divided.io_ns() <= busy.min(total));
            // One thread in one call after another: nothing is changed.
            let sum = sums.io_ns();
            prop_assert_eq!(sums.within(sum, sum), sums);
        }
    }

    #[test]
    fn two_threads_share_the_time_in_which_one_of_them_is_in_a_call() {
        let sums = Parts { read_ns: 30, write_ns: 10, ..Parts::default() };
        assert_eq!(sums.within(100, 20), Parts { no_io_ns: 80, read_ns: 15, write_ns: 5, ..Parts::default() });
    }
}
