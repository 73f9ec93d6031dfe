//! Spreads: statistics over the ranks that share a file. Each rank contributes a spread of one rank, and merging spreads in any order gives
//! the spread of all ranks: Chan, Golub & LeVeque, "Updating Formulae and a Pairwise Algorithm for Computing Sample Variances", 1979.

use serde::{Deserialize, Serialize};

/// I/O time and bytes of one rank in a shared file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankShare {
    /// Rank in `MPI_COMM_WORLD`.
    pub rank: u32,
    /// Time that the rank spent in calls on the file, in ns.
    pub time_ns: u64,
    /// Bytes read and written by the rank.
    pub bytes: u64,
}

/// Mean and variance of a quantity over the ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Moments {
    /// Mean of the quantity over the ranks.
    pub mean: f64,
    /// Sum of squared differences from the mean; divided by the number of ranks, the variance.
    pub squares: f64,
}

impl Moments {
    /// Returns mean and variance of a single value.
    #[must_use]
    pub const fn of(value: f64) -> Self {
        Self { mean: value, squares: 0.0 }
    }

    fn merge(&mut self, count: f64, other: &Self, other_count: f64) {
        let (all, apart) = (count + other_count, other.mean - self.mean);
        self.mean += apart * other_count / all;
        self.squares += other.squares + apart * apart * count * other_count / all;
    }
}

/// Statistics over the ranks that used a file through one layer. Times cover all calls on the file, including calls that move no bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Number of ranks that used the file through the layer.
    pub ranks: u32,
    /// Rank with the least time in calls; on ties, the lowest rank.
    pub fastest: RankShare,
    /// Rank with the most time in calls; on ties, the lowest rank.
    pub slowest: RankShare,
    /// Mean and variance over the ranks of the time spent in calls, in ns.
    pub time_ns: Moments,
    /// Mean and variance over the ranks of the bytes read and written.
    pub bytes: Moments,
}

impl Spread {
    /// Returns the spread (statistics over ranks) of a single rank.
    #[must_use]
    pub fn of(share: RankShare) -> Self {
        Self {
            ranks: 1,
            fastest: share,
            slowest: share,
            time_ns: Moments::of(share.time_ns as f64),
            bytes: Moments::of(share.bytes as f64),
        }
    }

    /// Adds the ranks of `other`, none of which may be in `self` already.
    pub fn merge(&mut self, other: &Self) {
        if other.ranks == 0 {
            return;
        }
        if self.ranks == 0 {
            *self = *other;
            return;
        }
        let (mine, theirs) = (f64::from(self.ranks), f64::from(other.ranks));
        self.time_ns.merge(mine, &other.time_ns, theirs);
        self.bytes.merge(mine, &other.bytes, theirs);
        self.ranks = self.ranks.saturating_add(other.ranks);
        let fast = |share: &RankShare| (share.time_ns, share.rank);
        if fast(&other.fastest) < fast(&self.fastest) {
            self.fastest = other.fastest;
        }
        let slow = |share: &RankShare| (share.time_ns, std::cmp::Reverse(share.rank));
        if slow(&other.slowest) > slow(&self.slowest) {
            self.slowest = other.slowest;
        }
    }

    /// Returns the variance over the ranks of the time spent in calls, in ns squared.
    #[must_use]
    pub fn time_variance(&self) -> f64 {
        self.time_ns.squares / f64::from(self.ranks.max(1))
    }

    /// Returns the variance over the ranks of the bytes read and written, in bytes squared.
    #[must_use]
    pub fn bytes_variance(&self) -> f64 {
        self.bytes.squares / f64::from(self.ranks.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_ranks_worked_out_by_hand() {
        let shares = [(0, 10, 100), (1, 40, 100), (2, 10, 100), (3, 40, 500)].map(|(rank, time_ns, bytes)| RankShare {
            rank,
            time_ns,
            bytes,
        });
        for order in [[0, 1, 2, 3], [3, 1, 0, 2], [2, 3, 1, 0]] {
            let (mut left, mut right) = (Spread::default(), Spread::default());
            order[..2].iter().for_each(|&i: &usize| left.merge(&Spread::of(shares[i])));
            order[2..].iter().for_each(|&i: &usize| right.merge(&Spread::of(shares[i])));
            left.merge(&right);
            assert_eq!((left.ranks, left.fastest, left.slowest), (4, shares[0], shares[1]));
            // Times 10, 40, 10, 40: mean 25, variance 225. Bytes 100, 100, 100, 500: mean 200, variance 30,000.
            assert!((left.time_ns.mean - 25.0).abs() < 1e-9 && (left.time_variance() - 225.0).abs() < 1e-9);
            assert!((left.bytes.mean - 200.0).abs() < 1e-9 && (left.bytes_variance() - 30_000.0).abs() < 1e-6);
        }
    }
}
