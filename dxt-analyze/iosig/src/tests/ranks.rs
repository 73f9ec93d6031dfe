//! Tests that the signatures of many ranks become few lines, which describe exactly the accesses of the ranks.

use super::*;
use crate::ranks::{Global, globalize};

fn of(ranks: impl Iterator<Item = (u64, Stream)>) -> (Vec<(u64, Signature)>, Global) {
    let all: Vec<(u64, Signature)> = ranks.map(|(rank, stream)| (rank, stream.signature())).collect();
    let global = globalize(&all.iter().map(|(rank, s)| (*rank, s)).collect::<Vec<_>>());
    // Each rank of each line has the line's nest as a pattern, and each pattern belongs to a line.
    let mut said = 0;
    for line in &global.lines {
        for (rank, offsets) in line.members() {
            let (_, signature) = all.iter().find(|(r, _)| *r == rank).unwrap();
            assert!(signature.patterns().any(|p| {
                p.nest.equals_but_offsets(&line.nest) && p.nest.leaves().iter().map(|l| l.offset).eq(offsets.clone())
            }));
            said += 1;
        }
    }
    assert_eq!(said, all.iter().map(|(_, s)| s.patterns().count()).sum::<usize>());
    (all, global)
}

#[test]
fn a_grid_of_4096_ranks_is_one_line() {
    let (_, global) = of((0..4096).map(|rank| {
        let (x, y) = (rank % 64, rank / 64);
        let mut s = Stream::default();
        for row in 0..8 {
            s.at(2, (y * 8 + row) * 64 * 100 + x * 100, 100);
        }
        (rank, s)
    }));
    assert_eq!(global.lines.len(), 1, "{:#?}", global.lines);
    let line = &global.lines[0];
    assert_eq!((line.ranks, line.directions.len()), (4096, 2));
    assert_eq!(line.contiguous(), Some((0, 4096 * 8 * 100)));
}

#[test]
fn ranks_in_turn_are_contiguous_together() {
    // In its n-th call, rank i writes stripe 4 n + i.
    let (_, global) = of((0..4).map(|rank| {
        let mut s = Stream::default();
        for n in 0..100 {
            s.at(1, (4 * n + rank) * 65536, 65536);
        }
        (rank, s)
    }));
    assert_eq!(global.lines.len(), 1);
    assert_eq!(global.lines[0].linear(), Some((65536, 0)));
    assert_eq!(global.lines[0].contiguous(), Some((0, 400 * 65536)));
}

#[test]
fn one_rank_that_is_different_is_its_own_line() {
    let (_, global) = of((0..64).map(|rank| {
        let mut s = Stream::default();
        for n in 0..10 {
            s.at(1, if rank == 0 { 7 + n * 8000 } else { rank * 1_000_000 + n * 8000 }, 4096);
            s.at(1, 0, 8);
        }
        (rank, s)
    }));
    assert_eq!(global.lines.len(), 2, "{:#?}", global.lines);
    assert_eq!((global.lines[0].ranks, global.lines[1].ranks), (1, 63));
    assert_eq!(global.lines[1].directions[0].shifts, [1_000_000, 0]);
    assert_eq!(global.lines[1].contiguous(), None);
}

#[test]
fn ranks_without_order_are_as_many_lines_as_it_takes() {
    let mut random = Random::new(5);
    let (_, global) = of((0..100).map(|rank| {
        let (mut s, base) = (Stream::default(), random.below(1 << 30));
        for n in 0..10 {
            s.at(1, base + n * 8000, 4096);
        }
        (rank * 3, s)
    }));
    assert_eq!(global.lines.iter().map(|l| l.ranks).sum::<u64>(), 100);
    assert_eq!(globalize(&[]).lines.len(), 0);
}
