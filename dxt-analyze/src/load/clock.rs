//! Aligns the clocks of all nodes. Ranks on one node share a clock; clocks of different nodes may differ.
//!
//! All ranks leave one barrier at `MPI_Init` at nearly the same time. A node whose ranks seem to leave the barrier later than those of rank
//! 0's node has a clock that is ahead. The correction is the difference of the medians over ranks, applied only if larger than the spread
//! of the ranks within any one node: smaller differences are noise.

use crate::shared::stats::median_i128;

/// Clock data of one process, for the alignment of the nodes' clocks.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// MPI rank of the process, or -1 without MPI.
    pub rank: i32,
    /// Index of the node that the process runs on.
    pub node: u32,
    /// Wall clock at the process's time zero, ns since 1970-01-01 UTC.
    pub epoch_unix_ns: i64,
    /// Time at which the process left the barrier, ns since the process's time zero; `None` if unknown.
    pub sync_ns: Option<u64>,
}

/// Returns the correction to add to wall-clock times of each node, in ns; 0 for all nodes if rank 0's data is missing.
#[must_use]
pub fn corrections(moments: &[Moment], nodes: usize) -> Vec<i64> {
    let mut left: Vec<Vec<i128>> = vec![Vec::new(); nodes];
    let mut reference = None;
    for moment in moments.iter().filter(|moment| moment.rank >= 0) {
        let (Some(sync), Some(times)) = (moment.sync_ns, left.get_mut(moment.node as usize)) else { continue };
        times.push(i128::from(moment.epoch_unix_ns) + i128::from(sync));
        if moment.rank == 0 {
            reference = Some(moment.node as usize);
        }
    }
    let spread =
        left.iter().filter_map(|times| Some(times.iter().max()? - times.iter().min()?)).max().unwrap_or_default();
    let medians: Vec<Option<i128>> = left.iter_mut().map(|times| median_i128(times)).collect();
    let Some(reference) = reference.and_then(|node| medians.get(node).copied().flatten()) else {
        return vec![0; nodes];
    };
    let correction = |median: &Option<i128>| {
        let ahead = median.map_or(0, |median| median - reference);
        if ahead.abs() > spread { i64::try_from(-ahead).unwrap_or(0) } else { 0 }
    };
    medians.iter().map(correction).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(rank: i32, node: u32, epoch_unix_ns: i64, sync_ns: u64) -> Moment {
        Moment { rank, node, epoch_unix_ns, sync_ns: Some(sync_ns) }
    }

    #[test]
    fn a_node_whose_clock_is_ahead_is_put_back() {
        let second = 1_000_000_000;
        let moments = [
            moment(0, 0, 100, 50),
            moment(1, 0, 120, 31),
            moment(2, 1, 100 + second, 50),
            moment(3, 1, 110 + second, 42),
        ];
        assert_eq!(corrections(&moments, 2), [0, -second]);
    }

    #[test]
    fn differences_within_the_spread_of_a_node_are_left_alone() {
        let moments = [moment(0, 0, 0, 0), moment(1, 0, 1000, 0), moment(2, 1, 900, 0), moment(3, 1, 900, 0)];
        assert_eq!(corrections(&moments, 2), [0, 0]);
    }

    #[test]
    fn without_rank_zero_or_barrier_nothing_is_corrected() {
        assert_eq!(corrections(&[moment(1, 0, 0, 0), moment(2, 1, 9999, 0)], 2), [0, 0]);
        let none = Moment { rank: 0, node: 0, epoch_unix_ns: i64::MIN, sync_ns: None };
        assert_eq!(corrections(&[none], 1), [0]);
    }
}
