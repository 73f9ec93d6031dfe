//! How many calls storage targets serve in a time, by how many they have in flight. A target that has room serves twice as many when it has twice as many; one that
//! is busy serves as many as ever, and the others wait. And a call that finds nobody waits for nobody. That is how a queue is distinguished from calls that are slow by
//! themselves.

/// Octaves of calls in flight.
const OCTAVES: usize = 24;
/// Octave up to which it is known what a target does that has few; ends of calls that tell.
const FEW: usize = 1;
const ENDS: f64 = 8.0;
/// Part of what targets with few serve that those with many serve at least, if all are busy.
const AS_MANY: f64 = 0.6;

/// What targets serve.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Served {
    /// By octave of calls in flight: calls that end meanwhile, and the time of that, ns.
    octaves: [(f64, f64); OCTAVES],
    /// Calls that find nobody.
    lone: f64,
    /// By how much the logarithm of others' durations is above theirs, on the same target in the same slot, summed over these calls; and how many these are.
    above: (f64, f64),
    /// What these take, ns, and what as many would that find nobody.
    ns: (f64, f64),
}

/// Calls on a target in a slot: how many, and the sum of the logarithms of their durations over what is usual for their size.
#[derive(Clone, Copy, Debug, Default)]
pub struct InSlot {
    /// All.
    pub all: (f64, f64),
    /// Those that find nobody.
    pub lone: (f64, f64),
    /// What both take, ns.
    pub ns: (f64, f64),
}

impl Served {
    /// Adds time with so many `in_flight` in which so many calls end.
    pub fn add(&mut self, in_flight: u64, ends: u64, ns: f64) {
        if let Some(of) = in_flight.checked_ilog2().and_then(|octave| self.octaves.get_mut(octave as usize)) {
            *of = (of.0 + ends as f64, of.1 + ns);
        }
    }

    /// Adds what calls of a target took in a slot.
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

    /// Calls that a target serves in a ns for each that it has, where it has few; `None` if it never has. The most of one and of two or three: a call that stalls is
    /// alone for long.
    fn of_few(&self) -> Option<f64> {
        let few = self.octaves.iter().enumerate().take(FEW + 1).filter(|(_, (ends, ns))| *ends >= ENDS && *ns > 0.0);
        few.map(|(octave, (ends, ns))| ends / ns / (octave as f64).exp2()).max_by(f64::total_cmp)
    }

    /// Part of the time of calls in which they wait for others: what those that find nobody do not take, or what targets serve against what as many would be
    /// served of which each has room, whichever is more: of those that find nobody there may be none while there is a queue. `None` if nothing is known of either.
    #[must_use]
    pub fn waits(&self) -> Option<f64> {
        let by_lone = (self.lone >= ENDS).then(|| (1.0 - (-self.above.0 / self.above.1).exp()).max(0.0));
        match (by_lone, self.by_rates()) {
            (Some(one), Some(other)) => Some(one.max(other)),
            (one, other) => one.or(other),
        }
    }

    /// Part of the time of calls that is gone if none waits, as far as it is known; at least [`Self::waits`].
    #[must_use]
    pub fn gone(&self) -> Option<f64> {
        let by_time = if self.lone >= ENDS { 1.0 - self.ns.1 / self.ns.0.max(1.0) } else { 0.0 };
        self.waits().map(|part| part.max(by_time))
    }

    /// Whether targets serve about as many calls in a time however many they have. Where they serve far fewer when they have many, those with few are the ends
    /// of bursts, whose calls began together.
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

    /// A target that serves so many calls in a ms, of `room` that it has at most, for 100 ms of each octave.
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
