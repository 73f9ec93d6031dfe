//! Division of a process's run time into parts by activity.

use crate::sum::Sum;
use serde::Serialize;

/// Division of a run time into parts by activity, ns; the parts add up to the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Parts {
    /// Time outside of all other parts, ns: computation, communication, and waiting for other ranks if it is not recorded.
    pub no_io_ns: u64,
    /// Time in MPI synchronization calls, which are no I/O, ns: waiting for other ranks, and exchanging data.
    pub meeting_ns: u64,
    /// Time in reads through system calls or C streams that the program itself made, ns.
    pub read_ns: u64,
    /// Time in writes through system calls or C streams that the program itself made, ns.
    pub write_ns: u64,
    /// Time in opens, closes, stats, seeks and other metadata calls that the program itself made, ns.
    pub metadata_ns: u64,
    /// Time in syncs and flushes that the program itself made, ns.
    pub sync_ns: u64,
    /// Time in file lock calls that the program itself made, including waiting for locks, ns.
    pub lock_ns: u64,
    /// Time in submitting asynchronous operations and waiting for them, ns.
    pub asynchronous_ns: u64,
    /// Time in MPI-IO and HDF5 calls spent waiting for the last rank to arrive at a collective call, ns.
    pub waiting_ns: u64,
    /// Time in MPI-IO and HDF5 calls spent in system calls, ns.
    pub system_ns: u64,
    /// Time in MPI-IO and HDF5 calls outside of system calls and waiting, ns: exchanging data, copying, the library's own work.
    pub library_ns: u64,
    /// Time ready to run but waiting for a processor, ns, which no other part includes. Waits between two samples of a thread are taken out
    /// of its calls as [`crate::model::Interval::waits_in`] says, and the others out of the time outside of calls.
    pub cpu_wait_ns: u64,
    /// True if calls may be missing from the trace; their time is then in `no_io_ns`.
    #[serde(skip)]
    pub partial: bool,
}

/// Number of parts of the run time in which the process is in an I/O call.
const IN_CALLS: usize = 9;

impl Parts {
    /// Returns the name and time (ns) of each part; parts in I/O calls come first.
    #[must_use]
    pub fn named(&self) -> [(&'static str, u64); IN_CALLS + 3] {
        [
            ("reads", self.read_ns),
            ("writes", self.write_ns),
            ("metadata", self.metadata_ns),
            ("syncs", self.sync_ns),
            ("locks", self.lock_ns),
            ("asynchronous I/O: submitting and waiting", self.asynchronous_ns),
            ("MPI-IO and HDF5: waiting for the last rank", self.waiting_ns),
            ("MPI-IO and HDF5: in system calls", self.system_ns),
            ("MPI-IO and HDF5: outside POSIX (communication, locks, copies)", self.library_ns),
            ("ready, but waiting for a processor", self.cpu_wait_ns),
            ("no I/O: in MPI's collective calls", self.meeting_ns),
            (if self.partial { "not recorded, or no I/O" } else { "no I/O" }, self.no_io_ns),
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

    /// Returns the sum of the parts in which the process is in an I/O call, ns.
    #[must_use]
    pub fn io_ns(&self) -> u64 {
        self.named()[..IN_CALLS].iter().map(|(_, ns)| *ns).sum::<Sum>().get()
    }

    /// Returns the sum of all parts of the run time, ns.
    #[must_use]
    pub fn total_ns(&self) -> u64 {
        [self.io_ns(), self.no_io_ns, self.meeting_ns, self.cpu_wait_ns].into_iter().sum::<Sum>().get()
    }

    /// Returns the time in I/O calls as a share of the sum of all parts; 0 if the sum is 0.
    #[must_use]
    pub fn io_share(&self) -> f64 {
        crate::shared::ratio::share(self.io_ns(), self.total_ns())
    }

    /// Scales the parts to a time of `total_ns`, of which `busy_ns` are in I/O calls.
    ///
    /// The parts in I/O calls are sums over threads: they divide `busy_ns` in proportion. The rest of `total_ns` is without I/O. The time
    /// in I/O calls never exceeds `total_ns`.
    #[must_use]
    pub fn within(mut self, total_ns: u64, busy_ns: u64) -> Self {
        let sum: u128 = self.in_calls().iter().map(|part| u128::from(**part)).sum();
        let busy = u64::try_from(sum).unwrap_or(u64::MAX).min(busy_ns).min(total_ns);
        // The largest part absorbs the rounding error, so the parts add up.
        let mut left = busy;
        for part in self.in_calls() {
            let share = (u128::from(*part) * u128::from(busy)).checked_div(sum).unwrap_or_default();
            *part = u64::try_from(share).unwrap_or(0);
            left = left.saturating_sub(*part);
        }
        if let Some(most) = self.in_calls().into_iter().max_by_key(|part| **part) {
            *most = most.saturating_add(left);
        }
        // MPI synchronization calls are not I/O.
        self.meeting_ns = self.meeting_ns.min(total_ns - busy);
        self.cpu_wait_ns = self.cpu_wait_ns.min(total_ns - busy - self.meeting_ns);
        self.no_io_ns = total_ns - busy - self.meeting_ns - self.cpu_wait_ns;
        self
    }

    /// Takes waits for a processor out of the other parts: `in_calls` is the part of the time in I/O calls, 0 to 1, that was such a wait,
    /// and `outside_ns` is the wait outside of them.
    #[must_use]
    pub fn without_cpu_waits(mut self, in_calls: f64, outside_ns: u64) -> Self {
        let mut waits = 0_u64;
        let mut take = |part: &mut u64, share: f64| {
            let wait = (*part as f64 * share.clamp(0.0, 1.0)) as u64;
            *part -= wait.min(*part);
            waits = waits.saturating_add(wait);
        };
        self.in_calls().into_iter().for_each(|part| take(part, in_calls));
        let outside = crate::shared::ratio::share(outside_ns, self.no_io_ns.saturating_add(self.meeting_ns));
        take(&mut self.no_io_ns, outside);
        take(&mut self.meeting_ns, outside);
        self.cpu_wait_ns = self.cpu_wait_ns.saturating_add(waits);
        self
    }

    /// Adds the parts of another process's run time.
    pub fn add(&mut self, other: &Self) {
        let mut theirs = *other;
        for (mine, theirs) in self.in_calls().into_iter().zip(theirs.in_calls()) {
            *mine = mine.saturating_add(*theirs);
        }
        self.no_io_ns = self.no_io_ns.saturating_add(other.no_io_ns);
        self.meeting_ns = self.meeting_ns.saturating_add(other.meeting_ns);
        self.cpu_wait_ns = self.cpu_wait_ns.saturating_add(other.cpu_wait_ns);
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
            // For one thread whose calls do not overlap, nothing changes.
            let sum = sums.io_ns();
            prop_assert_eq!(sums.within(sum, sum), sums);
        }
    }

    #[test]
    fn waits_for_a_processor_are_in_no_other_part() {
        let parts = Parts { no_io_ns: 500, meeting_ns: 100, read_ns: 100, write_ns: 300, ..Parts::default() };
        let without = parts.without_cpu_waits(0.75, 300);
        let expected = Parts { no_io_ns: 250, meeting_ns: 50, read_ns: 25, write_ns: 75, cpu_wait_ns: 600, ..parts };
        assert_eq!((without, without.total_ns()), (expected, parts.total_ns()));
        assert_eq!(parts.without_cpu_waits(2.0, u64::MAX).cpu_wait_ns, parts.total_ns());
    }

    #[test]
    fn two_threads_share_the_time_in_which_one_of_them_is_in_a_call() {
        let sums = Parts { read_ns: 30, write_ns: 10, ..Parts::default() };
        assert_eq!(sums.within(100, 20), Parts { no_io_ns: 80, read_ns: 15, write_ns: 5, ..Parts::default() });
    }
}
