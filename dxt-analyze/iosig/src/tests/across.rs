//! Tests of patterns across ranks, and of the spatial order of accesses outside loops.

use super::*;
use crate::classes::{Spatial, random_class};
use crate::ranks::{Arrangement, Line, across, globalize, tilings};

const BLOCK: u64 = 1000;

/// Returns the number of accesses of all ranks that become patterns across ranks, and the resulting lines.
fn together(ranks: &[(u64, Vec<(u64, u64)>)]) -> (u64, Vec<Line>) {
    let stream = |accesses: &Vec<(u64, u64)>| {
        let mut stream = Stream::default();
        accesses.iter().for_each(|(offset, length)| stream.at(1, *offset, *length));
        stream
    };
    let streams: Vec<(u64, Stream)> = ranks.iter().map(|(rank, all)| (*rank, stream(all))).collect();
    let alone: Vec<(u64, Signature)> = streams.iter().map(|(rank, stream)| (*rank, stream.signature())).collect();
    let of_all: Vec<(u64, &Signature)> = alone.iter().map(|(rank, signature)| (*rank, signature)).collect();
    let found = across(&of_all, &|_| 0);
    let mut covered = 0;
    let mut out: Vec<(u64, &Signature)> = Vec::new();
    for ((rank, stream), (_, alone)) in streams.iter().zip(&of_all) {
        let signature = found.get(rank).unwrap_or(alone);
        let all: Vec<_> = stream.accesses.iter().map(Access::untimed).collect();
        assert!(verify(signature, all).is_exact());
        covered += signature.covered;
        out.push((*rank, signature));
    }
    (covered, globalize(&out).lines)
}

#[test]
fn one_access_of_each_rank_is_a_line_of_ranks() {
    for (each, covered) in [(1_u64, 8_u64), (2, 16)] {
        let accesses = |rank: u64| (0..each).map(|i| ((rank * each + i) * BLOCK, BLOCK)).collect();
        let (found, lines) = together(&(0..8).map(|rank| (rank, accesses(rank))).collect::<Vec<_>>());
        assert_eq!((found, lines.len(), lines[0].ranks), (covered, 1, 8), "{lines:#?}");
        assert_eq!(lines[0].contiguous(), Some((0, u128::from(covered * BLOCK))));
        assert_eq!(lines[0].positions, [0; 8]);
    }
    // Two ranks always have a constant step, which proves no pattern.
    assert_eq!(together(&[(0, vec![(0, BLOCK)]), (1, vec![(BLOCK, BLOCK)])]).0, 0);
}

#[test]
fn a_header_of_one_rank_stands_apart() {
    let accesses = |rank: u64| {
        let block = (4096 + rank * BLOCK, BLOCK);
        if rank == 0 { vec![(0, 64), block] } else { vec![block] }
    };
    let (found, lines) = together(&(0..8).map(|rank| (rank, accesses(rank))).collect::<Vec<_>>());
    assert_eq!(lines.iter().map(|line| line.ranks).max(), Some(8));
    assert_eq!(found, 8, "{lines:#?}");
    // A header directly before the first block: header and blocks together fill a range of the file.
    let accesses = |rank: u64| if rank == 0 { vec![(0, 64), (64, BLOCK)] } else { vec![(64 + rank * BLOCK, BLOCK)] };
    let (found, lines) = together(&(0..8).map(|rank| (rank, accesses(rank))).collect::<Vec<_>>());
    let arrangement = Arrangement::Filled { first: 0, bytes: u128::from(64 + 8 * BLOCK), in_order: true };
    assert_eq!((found, tilings(&lines, &|_| 0)[0].arrangement), (9, arrangement));
}

#[test]
fn ranges_that_vary_are_filled_in_any_order() {
    let length = |place: u64| 100 + place * place % 37;
    let at = |place: u64| (0..place).map(length).sum::<u64>();
    for (order, in_order) in [(1, true), (7, false)] {
        let place = |rank: u64| rank * order % 16;
        let ranks: Vec<_> = (0..16).map(|rank| (rank, vec![(at(place(rank)), length(place(rank)))])).collect();
        let (found, lines) = together(&ranks);
        assert_eq!(found, 16);
        let all = tilings(&lines, &|_| 0);
        let arrangement = Arrangement::Filled { first: 0, bytes: u128::from(at(16)), in_order };
        assert_eq!((all.len(), all[0].arrangement, all[0].lines.len()), (1, arrangement, lines.len()));
        // In separate files, blocks are not adjacent.
        assert!(tilings(&lines, &|rank| rank).is_empty());
    }
    let ranks: Vec<_> = (0..16).map(|rank| (rank, vec![(rank * BLOCK, length(rank))])).collect();
    let (found, lines) = together(&ranks);
    assert_eq!(
        (found, tilings(&lines, &|_| 0)[0].arrangement),
        (16, Arrangement::Even { stride: BLOCK.cast_signed() })
    );
}

#[test]
fn accesses_in_no_order_are_none() {
    let mut random = Random::new(3);
    let ranks: Vec<_> =
        (0..64).map(|rank| (rank, (0..20).map(|_| (random.below(1 << 40), 1 + random.below(999))).collect())).collect();
    assert_eq!(together(&ranks).0, 0);
}

/// Checks, for random accesses of the ranks, that patterns found across ranks regenerate exactly these accesses.
#[test]
fn what_is_found_across_ranks_is_exact() {
    for seed in 0..300 {
        let mut random = Random::new(seed + 9);
        let count = 1 + random.below(12);
        let ranks: Vec<_> = (0..count)
            .map(|rank| {
                let all = (0..random.below(6)).map(|i| (rank * random.below(3) * 100 + i * 50, 50 + random.below(2)));
                (rank, all.collect())
            })
            .collect();
        together(&ranks);
    }
}

#[test]
fn sizes_that_vary_still_follow_each_other() {
    let spatial = |each: &dyn Fn(u64) -> (u64, u64)| {
        let mut stream = Stream::default();
        for n in 0..200 {
            let (offset, length) = each(n);
            stream.at(1, offset, length);
        }
        random_class(&stream.signature(), |_| true, 0.1).map(|class| class.spatial)
    };
    // The n-th access begins n + n^2 + n^3 bytes after the first access and extends to the start of the next.
    let at = |n: u64| n * n * n + n * n + n;
    assert_eq!(spatial(&|n| (at(n), at(n + 1) - at(n))), Some(Spatial::Contiguous));
    assert_eq!(spatial(&|n| (at(300 - n), at(301 - n) - at(300 - n))), Some(Spatial::Negative));
    assert_eq!(spatial(&|n| (n * 100_000, 1 + n * n)), Some(Spatial::FixedStride));
    assert_eq!(spatial(&|n| (at(n) + n / 10 * 777_777, at(n + 1) - at(n))), Some(Spatial::Combination));
    assert_eq!(spatial(&|n| (at(n) * 7919 % 1_000_003, 1 + at(n) % 997)), Some(Spatial::Random));
}
