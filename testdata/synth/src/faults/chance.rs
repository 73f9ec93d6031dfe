//! Random numbers by key instead of by order: the call with the same key draws the same number whether a fault is on or
//! off, so a job and its twin differ by the fault alone.

/// Mixes `keys` to a number that looks random (the finalizer of SplitMix64 over each).
pub(super) fn mixed(keys: &[u64]) -> u64 {
    keys.iter().fold(0x9e37_79b9_7f4a_7c15, |state, key| {
        let mut z = (state ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x1234_5678_9abc_def1);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    })
}

/// Uniform, more than 0 and at most 1.
pub(super) fn uniform(keys: &[u64]) -> f64 {
    ((mixed(keys) >> 11) + 1) as f64 / (1_u64 << 53) as f64
}

/// Log-normal with a median of 1 and `sigma` of the logarithm (the transform of Box and Muller).
pub(super) fn lognormal(sigma: f64, keys: &[u64]) -> f64 {
    let (one, two) = (mixed(keys), uniform(keys));
    let angle = uniform(&[one, 7]) * std::f64::consts::TAU;
    (sigma * (-2.0 * two.ln()).sqrt() * angle.cos()).exp()
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
}
