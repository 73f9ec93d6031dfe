//! Random jobs, faulty and healthy: cases that no author of a rule had in mind. Faults and criteria for right findings are those of
//! `injected`; the job, the rank, node or OST with the fault, and the fault's strength are drawn at random. If a fault costs too little or
//! too much, the case is drawn again.
//!
//! * `sick`: draws a suitable job for each fault, and lists the faults by generation; `combined`: jobs with several faults.

mod combined;
mod sick;

use super::case::Case;
use super::chance::{mixed, uniform};
use super::job::{Direction, Interface, Job, Placement};
pub(super) use sick::GENERATIONS;

/// Permitted cost of a fault as a share of the run time.
const COSTS: std::ops::RangeInclusive<f64> = 0.03..=0.8;
/// Maximum number of attempts to draw a fault with a permitted cost, per case.
const TRIES: u64 = 12;
const MOST_CALLS: u64 = 150_000;
/// Interval between healthy cases: every fourth simulated job is healthy, all others have a fault.
const HEALTHY: u64 = 4;
/// Minimum ratio between the costs of the strongest and the second strongest fault, which makes their order clear.
const CLEARLY: f64 = 1.6;

/// Draws up to `count` cases (simulated jobs) with seed `seed`, with faults of generations (lists of fault types) 1 to `generation`.
pub(super) fn cases(count: u64, seed: u64, generation: u64) -> Vec<Case> {
    (0..count).filter_map(|number| case(number, seed, generation)).collect()
}

/// Draws up to `count` cases (simulated jobs) with seed `seed` and two or three faults of generations 1 to `generation` each.
pub(super) fn combined(count: u64, seed: u64, generation: u64) -> Vec<Case> {
    (0..count).filter_map(|number| combined::case(number, seed, generation)).collect()
}

fn case(number: u64, seed: u64, generation: u64) -> Option<Case> {
    let kind = number - number.div_ceil(HEALTHY);
    (0..TRIES).find_map(|attempt| {
        let mut draw = Draw { keys: [seed, number, attempt, 0], base: None };
        if number.is_multiple_of(HEALTHY) {
            return Some(Case::new(&format!("healthy-random-{number:04}"), draw.job(), []));
        }
        let (name, job, faults) = sick::drawn(&mut draw, kind, generation);
        let calls = u64::from(job.ranks * job.phases) * (job.bytes / job.transfer).max(1);
        let mut case = Case::new(&format!("random-{number:04}-{name}"), job, faults);
        if calls > MOST_CALLS {
            return None;
        }
        let truth = case.truth().2;
        let first = truth.faults.first()?.truth_ns as f64;
        let clear = truth.faults.iter().skip(1).all(|other| first >= other.truth_ns as f64 * CLEARLY);
        (clear && COSTS.contains(&(first / truth.run_ns.max(1) as f64))).then_some(case)
    })
}

/// Random number generator of one case: a sequence of numbers that depends on `keys`.
struct Draw {
    keys: [u64; 4],
    /// Job that the next call of [`Draw::job`] returns instead of a drawn one.
    base: Option<Job>,
}

impl Draw {
    fn next(&mut self) -> u64 {
        self.keys[3] += 1;
        mixed(&self.keys)
    }

    /// Draws an integer in `from..until`.
    fn number(&mut self, from: u32, until: u32) -> u32 {
        from + (self.next() % u64::from(until.max(from + 1) - from)) as u32
    }

    /// Draws a log-uniformly distributed number between `from` and `to`, rounded to three digits.
    fn between(&mut self, from: f64, to: f64) -> f64 {
        let value = from * (to / from).powf(uniform(&[self.next()]));
        let digit = 10_f64.powf(value.log10().floor() - 2.0);
        (value / digit).round() * digit
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[(self.next() % all.len() as u64) as usize]
    }

    /// Draws true with probability `probability`.
    fn is(&mut self, probability: f64) -> bool {
        uniform(&[self.next()]) <= probability
    }

    fn job(&mut self) -> Job {
        if let Some(base) = self.base.take() {
            return base;
        }
        let interface = match self.number(0, 20) {
            0..=11 => Interface::Posix,
            12..=13 => Interface::Streams,
            14..=16 => Interface::Independent,
            _ => Interface::Collective,
        };
        let ranks = self.one_of(&[4, 8, 12, 16, 32, 32, 48, 64, 128]);
        let nodes = self.one_of(&[1, 2, 4, 8, 16].map(|nodes: u32| nodes.min(ranks / 2)));
        let osts = self.one_of(&[2, 4, 8, 8, 16, 32]);
        let own = interface != Interface::Collective && self.is(0.4);
        let transfer = self.one_of(&[1, 2, 4, 8]) << 20;
        let stripe_size = self.one_of(&[1, 4]) << 20;
        let each = transfer.max(stripe_size);
        let job = Job {
            ranks,
            nodes: (1..=nodes).rev().find(|nodes| ranks.is_multiple_of(*nodes)).unwrap_or(1),
            osts,
            seed: self.next(),
            sigma: self.between(0.1, 0.6),
            phases: self.number(5, 41),
            compute_ns: self.between(30e6, 600e6),
            meet: self.is(0.8),
            shown: self.is(0.6),
            interface,
            direction: self.one_of(&[Direction::Write, Direction::Read, Direction::Both]),
            place: if own { Placement::Own } else { Placement::Parts },
            bytes: each * u64::from(self.number(2, 17)),
            transfer,
            stripe_size,
            stripe_count: if own { 1 } else { osts },
            file_per_phase: own && interface != Interface::Independent && self.is(0.3),
            headroom: self.between(3.0, 8.0),
            read_ns: self.between(1e5, 1e6),
            write_ns: self.between(1e5, 1e6),
            client_rate: self.between(3e8, 2e9),
            ..Job::default()
        };
        if interface != Interface::Collective {
            return job.beside();
        }
        // Half as many aggregators as ranks, so that the aggregators are not the bottleneck.
        let aggregators = ranks / 2;
        Job { place: Placement::Turns, headroom: 8.0, aggregators, bytes: transfer * 4, ..job }
    }
}

impl Job {
    /// Returns the job with gaps between the ranks' parts of the file, so that the parts begin on adjacent OSTs.
    fn beside(self) -> Self {
        let (osts, stripes) = (u64::from(self.osts), |bytes: u64| bytes.div_ceil(self.stripe_size));
        let part = stripes(self.bytes * u64::from(self.phases));
        let gap = (stripes(self.transfer) + osts - part % osts) % osts * self.stripe_size;
        Self { gap, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_drawn_is_the_same_each_time_and_costs_something() {
        let draw = |seed| cases(6, seed, 1).into_iter().map(|case| case.name).collect::<Vec<String>>();
        assert_eq!(draw(7), draw(7));
        assert!(cases(6, 7, 1).len() >= 5 && cases(6, 7, GENERATIONS).len() >= 5);
        for mut case in cases(6, 8, 1) {
            let truth = case.truth().2;
            let part = truth.truth_ns as f64 / truth.run_ns as f64;
            assert_eq!(truth.faults.is_empty(), case.name.starts_with("healthy-"));
            assert!(truth.faults.is_empty() || part >= 0.03, "{}: {part}", case.name);
        }
    }

    /// Digest of the jobs that the test `generation_1_draws_the_jobs_of_all_frozen_runs` draws: it changes if stored scores of earlier runs
    /// no longer fit.
    const DRAWN: u64 = 730_094_482_870_543_519;

    /// Digest of the jobs with several faults that the same test draws.
    const COMBINED: u64 = 3_716_014_934_819_789_975;

    #[test]
    fn generation_1_draws_the_jobs_of_all_frozen_runs() {
        for (mut cases, least, drawn) in [(cases(44, 1, 1), 40, DRAWN), (combined(12, 1, 1), 10, COMBINED)] {
            let lines: Vec<String> = cases.iter_mut().map(line).collect();
            assert!(lines.len() > least, "{}", lines.len());
            let digest = mixed(&lines.concat().bytes().map(u64::from).collect::<Vec<u64>>());
            let advice = "frozen runs are void now. New faults belong in a later generation (random/sick.rs)";
            assert_eq!(digest, drawn, "{advice}; drawn:\n{}", lines.join("\n"));
        }
    }

    /// Describes a case by its faults and calls, for the digest of all drawn jobs. Times have four digits, because the last digits of a
    /// logarithm depend on the processor.
    fn line(case: &mut Case) -> String {
        let (_, outcome, truth) = case.truth();
        let faults = truth.faults.iter().map(|fault| format!("{} {:.3e}", fault.rounded(), fault.truth_ns as f64));
        let (mut calls, mut bytes, mut offsets) = (0_u64, 0_u64, 0_u64);
        for done in outcome.threads.iter().flat_map(|thread| &thread.calls) {
            calls += 1;
            bytes += done.call.length;
            offsets = offsets.wrapping_add(done.call.offset.unwrap_or(0));
        }
        let faults = faults.collect::<Vec<String>>().join(", ");
        format!("{} [{faults}] {calls} {bytes} {offsets} {:.3e}", case.name, truth.run_ns as f64)
    }

    #[test]
    fn numbers_lie_where_they_should() {
        let mut draw = Draw { keys: [1, 2, 3, 0], base: None };
        for _ in 0..200 {
            assert!((2.0..=5.0).contains(&draw.between(2.0, 5.0)));
            assert!((3..5).contains(&draw.number(3, 5)));
        }
    }
}
