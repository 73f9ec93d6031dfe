//! GCRM case of the DXT paper (C. Xu et al., "DXT: Darshan eXtended Tracing", CUG 2017, Figure 4): among large writes at about 1.4 GB/s, 14
//! writes of at most 328 bytes took 3.5 s each, because several ranks wrote to the same stripe. The slow writes have the paper's exact
//! values; the fast writes fill whole stripes of their own.

use super::{Access, Pattern};
use crate::args::Args;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Normal};

/// Stripe size of the paper's file, in bytes.
pub(crate) const STRIPE_SIZE: u64 = 4 << 20;
/// Stripe count with which stripes 0, 260, 520 and 780 are on OST 0, as in the paper.
pub(crate) const STRIPE_COUNT: u16 = 52;
/// Number of the first stripe that fast writes use, after the stripes of all slow writes.
const FIRST_FAST_STRIPE: u64 = 1040;
/// Time range of the fast writes of all ranks, in ns; ends before the slow writes.
const FAST_TIME: std::ops::Range<u64> = 1_000_000_000..24_500_000_000;

/// Length of a centisecond in ns; the paper states times in centiseconds.
const CENTISECOND: u64 = 10_000_000;
/// Slow writes: (rank, offset in bytes, length in bytes, start in centiseconds, end in centiseconds).
const SLOW: [(u32, u64, u64, u64, u64); 14] = [
    (0, 96, 40, 2487, 2841),
    (1, 800, 40, 2488, 2838),
    (2, 1384, 120, 2485, 2836),
    (4, 3568, 328, 2488, 2838),
    (3, 2536, 328, 2485, 2835),
    (5, 1_090_523_536, 40, 2485, 2835),
    (7, 1_090_525_976, 328, 2488, 2839),
    (6, 1_090_524_944, 328, 2487, 2838),
    (9, 2_181_047_352, 328, 2487, 2838),
    (10, 2_181_048_384, 328, 2485, 2836),
    (12, 3_271_568_936, 120, 2488, 2838),
    (14, 3_271_570_792, 328, 2488, 2839),
    (13, 3_271_569_760, 328, 2485, 2835),
    (11, 3_271_568_024, 328, 2485, 2835),
];

/// Pattern in which each rank writes `segments` whole stripes; then the ranks in [`SLOW`] make their slow writes.
pub(super) struct Gcrm<'a> {
    pub(super) args: &'a Args,
}

impl Pattern for Gcrm<'_> {
    fn path(&self, _rank: u32) -> (String, bool) {
        ("/scratch/synth/gcrm.nc".into(), true)
    }

    fn accesses(&self, rank: u32, random: &mut ChaCha8Rng) -> Vec<Access> {
        let count = u64::from(self.args.segments);
        let period = (FAST_TIME.end - FAST_TIME.start) / count.max(1);
        let undisturbed = STRIPE_SIZE as f64 / 1.4;
        let mut out: Vec<Access> = (0..count)
            .map(|i| {
                // Cut at two standard deviations, so that no duration is an outlier by box plot rules.
                let spread: f64 = Normal::new(0.0, 0.02).map_or(0.0, |normal| normal.sample(random));
                let start = FAST_TIME.start + i * period + u64::from(rank) * 1000;
                let duration = (undisturbed * (1.0 + spread.clamp(-0.04, 0.04))) as u64;
                let stripe = FIRST_FAST_STRIPE + i * u64::from(self.args.ranks()) + u64::from(rank);
                let at = Some((start, start + duration.min(period)));
                Access { offset: stripe * STRIPE_SIZE, length: STRIPE_SIZE, at }
            })
            .collect();
        out.extend(SLOW.iter().filter(|slow| slow.0 == rank).map(|&(_, offset, length, start, end)| Access {
            offset,
            length,
            at: Some((start * CENTISECOND, end * CENTISECOND)),
        }));
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slow_writes_lie_on_the_papers_stripes_and_on_ost_0() {
        let stripes: Vec<u64> = SLOW.iter().map(|slow| slow.1 / STRIPE_SIZE).collect();
        assert_eq!(stripes, [0, 0, 0, 0, 0, 260, 260, 260, 520, 520, 780, 780, 780, 780]);
        assert!(stripes.iter().all(|stripe| stripe % u64::from(STRIPE_COUNT) == 0));
        assert!(stripes.iter().all(|&stripe| stripe < FIRST_FAST_STRIPE));
    }
}
