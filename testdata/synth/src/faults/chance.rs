//! Random numbers that depend on keys, not on the order of draws: equal keys give equal numbers. A job with a fault and the same job
//! without it therefore differ only by the fault.

/// Mixes `keys` into a pseudo-random number, with the finalizer of SplitMix64 for each key.
pub(super) fn mixed(keys: &[u64]) -> u64 {
    keys.iter().fold(0x9e37_79b9_7f4a_7c15, |state, key| {
        let mut z = (state ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x1234_5678_9abc_def1);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    })
}

/// Returns a uniformly distributed number in (0, 1].
pub(super) fn uniform(keys: &[u64]) -> f64 {
    ((mixed(keys) >> 11) + 1) as f64 / (1_u64 << 53) as f64
}

/// Returns a log-normally distributed number with median 1; `sigma` is the standard deviation of its logarithm (Box-Muller transform).
pub(super) fn lognormal(sigma: f64, keys: &[u64]) -> f64 {
    let (one, two) = (mixed(keys), uniform(keys));
    let angle = uniform(&[one, 7]) * std::f64::consts::TAU;
    (sigma * (-2.0 * two.ln()).sqrt() * angle.cos()).exp()
}

/// Returns the position of `place` in a random permutation of `0..of`.
pub(super) fn shuffled(place: u64, of: u64, seed: u64) -> u64 {
    let bits = (64 - of.max(2).saturating_sub(1).leading_zeros()).max(2);
    let mask = (1 << bits) - 1;
    let mut at = place;
    loop {
        // Both lines are bijections on numbers of `bits` bits.
        for round in 0..3 {
            at = at.wrapping_mul(mixed(&[seed, round]) | 1).wrapping_add(round) & mask;
            at ^= at >> (bits / 2);
        }
        if at < of {
            return at;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_one_and_the_spread_is_sigma() {
        let logs: Vec<f64> = (0..20_000).map(|i| lognormal(0.5, &[3, i]).ln()).collect();
        let mean = logs.iter().sum::<f64>() / 2e4;
        let spread = (logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / 2e4).sqrt();
        assert!(mean.abs() < 0.02 && (spread - 0.5).abs() < 0.02, "{mean} {spread}");
    }

    #[test]
    fn shuffling_loses_nothing_and_keeps_no_order() {
        for of in [1, 2, 3, 100, 1024, 5000] {
            let mut all: Vec<u64> = (0..of).map(|place| shuffled(place, of, 9)).collect();
            let forward = all.windows(2).filter(|pair| pair[0] + 1 == pair[1]).count() as u64;
            assert!(of < 100 || forward < of / 10, "{forward} of {of}");
            all.sort_unstable();
            assert!(all.into_iter().eq(0..of), "{of}");
        }
    }
}
