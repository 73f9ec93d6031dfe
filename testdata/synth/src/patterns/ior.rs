//! Two patterns of IOR for a shared file: a contiguous part per rank, or alternating transfers of the ranks.

use super::{Access, Pattern};
use crate::args::Args;
use rand_chacha::ChaCha8Rng;

/// Pattern in which each rank accesses `segments * transfer` contiguous bytes.
pub(super) struct Segmented<'a> {
    pub(super) args: &'a Args,
}

impl Pattern for Segmented<'_> {
    fn path(&self, _rank: u32) -> (String, bool) {
        ("/scratch/synth/ior-shared".into(), true)
    }

    fn accesses(&self, rank: u32, _random: &mut ChaCha8Rng) -> Vec<Access> {
        let (count, transfer) = (u64::from(self.args.segments), self.args.transfer);
        (0..count).map(|i| Access::new((u64::from(rank) * count + i) * transfer, transfer)).collect()
    }
}

/// Pattern of rounds, each with one transfer per rank in rank order. With MPI-IO, a round is a collective call, in which the first rank of
/// each node writes an equal share of the round's bytes, cut at multiples of the stripe size.
pub(super) struct Strided<'a> {
    pub(super) args: &'a Args,
}

impl Pattern for Strided<'_> {
    fn path(&self, _rank: u32) -> (String, bool) {
        ("/scratch/synth/ior-strided".into(), true)
    }

    fn accesses(&self, rank: u32, _random: &mut ChaCha8Rng) -> Vec<Access> {
        let (ranks, transfer) = (u64::from(self.args.ranks()), self.args.transfer);
        (0..u64::from(self.args.segments))
            .map(|i| Access::new((i * ranks + u64::from(rank)) * transfer, transfer))
            .collect()
    }

    fn collective(&self, rank: u32, index: usize) -> Option<Vec<Access>> {
        let node = self.args.node_of(rank);
        let first_of_node = rank == 0 || self.args.node_of(rank - 1) != node;
        if !first_of_node {
            return Some(Vec::new());
        }
        let round = u64::from(self.args.ranks()) * self.args.transfer;
        let (begin, end) = (index as u64 * round, (index as u64 + 1) * round);
        let stripe = self.args.striping().map_or(1, |striping| striping.size);
        let nodes = u64::from(self.args.node_of(self.args.ranks() - 1)) + 1;
        let share = round.div_ceil(nodes).next_multiple_of(stripe);
        // Domains start at the stripe in which the round begins, so that no two nodes share a stripe.
        let domain = begin / stripe * stripe + u64::from(node) * share;
        let (from, to) = (domain.max(begin), (domain + share).min(end));
        Some(if from < to { vec![Access::new(from, to - from)] } else { Vec::new() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[test]
    fn aggregators_write_every_byte_of_a_round_once() {
        for (transfer, stripe) in [("1M", "1M"), ("47008", "1M"), ("3M", "64K"), ("1M", "0")] {
            let args = ["dxt-synth", "ior-strided", "-o", "x", "-n", "64", "--nodes", "7"];
            let args = Args::parse_from(args.iter().chain(&["--transfer", transfer, "--stripe-size", stripe]));
            let pattern = Strided { args: &args };
            for round in 0..3 {
                let mut parts: Vec<Access> =
                    (0..64).flat_map(|rank| pattern.collective(rank, round).unwrap()).collect();
                parts.sort_by_key(|part| part.offset);
                let bytes = 64 * args.transfer;
                assert_eq!(parts[0].offset, round as u64 * bytes);
                assert!(parts.windows(2).all(|pair| pair[0].offset + pair[0].length == pair[1].offset));
                assert_eq!(parts.iter().map(|part| part.length).sum::<u64>(), bytes, "{transfer} {stripe}");
            }
        }
    }
}
