//! Throughput of storage targets by number of calls in flight, which distinguishes a queue from calls that are slow by themselves. A target with
//! spare capacity completes twice as many calls with twice as many in flight; a busy one completes as many as before, and the others wait. A call
//! that finds its target idle does not wait.

/// Number of octaves (factors of 2) in the number of calls in flight.
const OCTAVES: usize = 24;
/// Largest octave that counts as few calls in flight: 2 to 3 calls.
const FEW: usize = 1;
/// Least number of completed calls from which a throughput, or a mean, is computed.
const ENDS: f64 = 8.0;
/// Least throughput of a busy target with many calls in flight, relative to that with few.
const AS_MANY: f64 = 0.6;

/// Throughput of all storage targets, by number of calls in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Served {
    /// By octave of the number of calls in flight: number of completed calls, and time with so many in flight, ns.
    octaves: [(f64, f64); OCTAVES],
    /// Number of calls that find their target idle.
    lone: f64,
    /// Sum over calls of their log slowdown against calls that find the target idle (same target, same time window), and number of calls.
    above: (f64, f64),
    /// Time of the calls in `above`, and of as many calls that find the target idle, ns.
    ns: (f64, f64),
}

/// Calls on one storage target in one time window: number of calls, and sum of ln(duration / usual duration) over them.
#[derive(Clone, Copy, Debug, Default)]
pub struct InSlot {
    /// All calls on the target in the window: number, and sum of ln(duration / usual duration).
    pub all: (f64, f64),
    /// Calls that find the target idle: number, and sum of ln(duration / usual duration).
    pub lone: (f64, f64),
    /// Time of all calls, and of those that find the target idle, ns.
    pub ns: (f64, f64),
}

impl Served {
    /// Adds a time of `ns` in which `in_flight` calls are in flight and `ends` calls are completed.
    pub fn add(&mut self, in_flight: u64, ends: u64, ns: f64) {
        if let Some(of) = in_flight.checked_ilog2().and_then(|octave| self.octaves.get_mut(octave as usize)) {
            *of = (of.0 + ends as f64, of.1 + ns);
        }
    }

    /// Adds the calls on one storage target in one time window.
    pub fn add_slot(&mut self, of: &InSlot) {
        let mean = |(calls, logs): (f64, f64)| logs / calls;
        if of.lone.0 > 0.0 {
            self.lone += of.lone.0;
            self.above.0 += of.all.0 * (mean(of.all) - mean(of.lone));
            self.above.1 += of.all.0;
            self.ns.0 += of.ns.0;
            self.ns.1 += of.all.0 * of.ns.1 / of.lone.0;
        }
    }

    /// Returns the number of calls per ns that a target completes for each call in flight, with few calls in flight; `None` if it never has
    /// few. The larger of the values for one call and for two or three: a stalled call is alone for long.
    fn of_few(&self) -> Option<f64> {
        let few = self.octaves.iter().enumerate().take(FEW + 1).filter(|(_, (ends, ns))| *ends >= ENDS && *ns > 0.0);
        few.map(|(octave, (ends, ns))| ends / ns / (octave as f64).exp2()).max_by(f64::total_cmp)
    }

    /// Returns the part of the calls' time (0 to 1) spent waiting for other calls: by comparison with calls that find the target idle, or
    /// by throughput, whichever is more (a queue may leave no target idle). `None` if neither is known.
    #[must_use]
    pub fn waits(&self) -> Option<f64> {
        let by_lone = (self.lone >= ENDS).then(|| (1.0 - (-self.above.0 / self.above.1).exp()).max(0.0));
        match (by_lone, self.by_rates()) {
            (Some(one), Some(other)) => Some(one.max(other)),
            (one, other) => one.or(other),
        }
    }

    /// Returns the part of the calls' time (0 to 1) saved if no call waited; at least [`Self::waits`]. `None` if unknown.
    #[must_use]
    pub fn gone(&self) -> Option<f64> {
        let by_time = if self.lone >= ENDS { 1.0 - self.ns.1 / self.ns.0.max(1.0) } else { 0.0 };
        self.waits().map(|part| part.max(by_time))
    }

    /// True if targets complete about as many calls with many in flight as with few. If they complete far more with few, times with few
    /// calls in flight are the ends of bursts, whose calls began together.
    #[must_use]
    pub fn is_busy_evenly(&self) -> bool {
        let rate = |of: &[(f64, f64)]| {
            let (ends, ns) = of.iter().fold((0.0, 0.0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
            (ends >= ENDS && ns > 0.0).then(|| ends / ns)
        };
        let (few, many) = self.octaves.split_at(FEW + 1);
        rate(few).zip(rate(many)).is_some_and(|(few, many)| many >= few * AS_MANY)
    }

    fn by_rates(&self) -> Option<f64> {
        let of_few = self.of_few()?;
        let (mut all, mut waits) = (0.0, 0.0);
        for (octave, (ends, ns)) in self.octaves.iter().enumerate() {
            let calls = (octave as f64).exp2();
            all += calls * ns;
            waits += (calls * ns - ends / of_few).max(0.0);
        }
        (all > 0.0).then(|| waits / all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the throughput of a target that serves `room` calls at once, one per ms each, for 100 ms of each octave.
    fn served(room: u64) -> Served {
        let mut out = Served::default();
        (0..6).map(|octave| 1 << octave).for_each(|calls: u64| out.add(calls, calls.min(room) * 100, 100e6));
        out
    }

    #[test]
    fn calls_wait_where_more_of_them_are_served_no_faster() {
        assert!(served(64).waits().is_some_and(|part| part < 0.01), "{:?}", served(64).waits());
        assert!(
            served(1).waits().is_some_and(|part| (part - (1.0 - 6.0 / 63.0)).abs() < 0.01),
            "{:?}",
            served(1).waits()
        );
        let waits = |room: u64| served(room).waits().unwrap_or(0.0);
        assert!(waits(1) > waits(4) && waits(4) > waits(16) && waits(16) > 0.1);
    }

    #[test]
    fn ends_of_bursts_are_no_targets_with_few() {
        assert!(served(1).is_busy_evenly() && served(64).is_busy_evenly() && !Served::default().is_busy_evenly());
        // Eight calls that begin within 8 ms and take 30 ms each.
        let mut bursts = Served::default();
        let octaves = [(8, 8, 22.0), (4, 4, 6.0), (2, 10, 12.0), (1, 10, 11.0)];
        octaves.into_iter().for_each(|(many, ends, ms)| bursts.add(many, ends, ms * 1e7));
        assert!(!bursts.is_busy_evenly());
    }

    #[test]
    fn a_call_that_stalls_alone_hides_no_queue() {
        let mut out = served(1);
        out.add(1, 0, 5e9);
        assert!(out.waits().is_some_and(|part| part > 0.7), "{:?}", out.waits());
    }

    #[test]
    fn who_finds_nobody_tells_what_others_wait() {
        let mut queue = served(64);
        queue.add_slot(&InSlot { all: (100.0, 200.0), lone: (20.0, 0.0), ns: (900.0, 20.0) });
        assert!(queue.waits().is_some_and(|part| (part - (1.0 - (-2.0_f64).exp())).abs() < 1e-9));
        assert!(queue.gone().is_some_and(|part| (part - (1.0 - 100.0 / 900.0)).abs() < 1e-9));
        let mut none = Served::default();
        none.add_slot(&InSlot { all: (100.0, 10.0), lone: (20.0, 4.0), ns: (100.0, 20.0) });
        assert_eq!(none.waits(), Some(0.0));
    }

    #[test]
    fn nothing_is_known_of_targets_that_never_have_few() {
        let mut always = Served::default();
        always.add(32, 1000, 1e9);
        always.add(0, 1000, 1e9);
        assert_eq!(always.waits(), None);
        assert_eq!(Served::default().waits(), None);
    }
}
