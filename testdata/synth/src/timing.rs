//! Duration model: (latency + bytes / bandwidth) times a random log-normal factor, times the factors of slow ranks, nodes and OSTs. The
//! factor is log-normal because durations of I/O operations are skewed to the right.

use crate::args::Args;
use crate::lustre::Striping;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::{Distribution, LogNormal};

/// Returns the random number generator of one rank; equal seeds give equal numbers on every machine.
pub(crate) fn random(seed: u64, rank: u32) -> ChaCha8Rng {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(u64::from(rank));
    random
}

/// Duration model of one rank.
pub(crate) struct Timing {
    latency_ns: f64,
    ns_per_byte: f64,
    spread: LogNormal<f64>,
    own_factor: f64,
    slow_osts: Vec<(u32, f64)>,
    striping: Option<Striping>,
}

impl Timing {
    /// Creates the duration model of `rank`, whose files have the layout `striping`.
    pub(crate) fn new(args: &Args, rank: u32, striping: Option<Striping>) -> anyhow::Result<Self> {
        let node = args.node_of(rank);
        let of = |list: &[(u32, f64)], which: u32| {
            list.iter().filter(|(number, _)| *number == which).map(|(_, factor)| factor).product::<f64>()
        };
        anyhow::ensure!(args.bandwidth > 0.0, "a bandwidth of {} bytes per second", args.bandwidth);
        Ok(Self {
            latency_ns: args.latency.max(0.0),
            ns_per_byte: 1e9 / args.bandwidth,
            spread: LogNormal::new(0.0, args.jitter.abs())?,
            own_factor: of(&args.slow_rank, rank) * of(&args.slow_node, node),
            slow_osts: args.slow_ost.clone(),
            striping,
        })
    }

    /// Returns the time of a transfer of `length` bytes at `offset`, in ns; at least 1.
    pub(crate) fn transfer_ns(&self, offset: u64, length: u64, random: &mut ChaCha8Rng) -> u64 {
        let slowest = self.striping.map_or(1.0, |striping| {
            let factors = striping
                .osts(offset, length)
                .flat_map(|ost| self.slow_osts.iter().filter(move |(slow, _)| *slow == ost).map(|(_, factor)| *factor));
            factors.fold(1.0, f64::max)
        });
        let undisturbed = self.latency_ns + length as f64 * self.ns_per_byte;
        (undisturbed * self.own_factor * slowest * self.spread.sample(random)).max(1.0) as u64
    }

    /// Returns a random duration with median `typical_ns`, in ns.
    pub(crate) fn about_ns(&self, typical_ns: f64, random: &mut ChaCha8Rng) -> u64 {
        (typical_ns * self.spread.sample(random)).max(1.0) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[test]
    fn a_slow_ost_slows_only_what_touches_it() {
        let args = ["dxt-synth", "random", "-o", "x", "--jitter", "0", "--latency", "0", "--slow-ost", "1:10"];
        let args = Args::parse_from(args.iter().chain(&["--bandwidth", "1e9", "--slow-rank", "3:2"]));
        let striping = Some(Striping { size: 1000, count: 4 });
        let mut random = random(1, 0);
        let timing = Timing::new(&args, 0, striping).unwrap();
        assert_eq!(timing.transfer_ns(0, 500, &mut random), 500);
        assert_eq!(timing.transfer_ns(1000, 500, &mut random), 5000);
        assert_eq!(timing.transfer_ns(900, 500, &mut random), 5000);
        assert_eq!(Timing::new(&args, 3, striping).unwrap().transfer_ns(0, 500, &mut random), 1000);
    }
}
