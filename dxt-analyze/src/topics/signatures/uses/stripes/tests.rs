//! Tests of stripe sizes with an example of the IOSIG paper, and with bytes counted one at a time.

use super::super::layout::{Demand, Layout, cost};
use super::*;

const MIB: u64 = 1 << 20;

fn of_sizes(sizes: &[u64], nodes: u64) -> Vec<Striping> {
    sizes.iter().map(|stripe_bytes| Striping { stripe_bytes: *stripe_bytes, nodes }).collect()
}

fn sizes(ranked: &[Ranked]) -> Vec<u64> {
    ranked.iter().map(|it| it.striping.stripe_bytes).collect()
}

fn of(ranked: &[Ranked], stripe_bytes: u64) -> (f64, u64) {
    let found = ranked.iter().find(|it| it.striping.stripe_bytes == stripe_bytes);
    found.map_or((f64::NAN, 0), |it| (it.nodes_per_request, it.nodes_touched))
}

/// Example in figure 2 of the IOSIG paper: the first 4 MiB of every 16 MiB, four nodes, four concurrent requests.
#[test]
fn figure_2() {
    let requests = (0..400).map(|request| (request * 16 * MIB, 4 * MIB));
    let stripings = of_sizes(&[MIB, 4 * MIB, 8 * MIB, 16 * MIB], 4);
    let ranked = rank(requests, 4, &stripings, &Machine::PAPER);
    assert_eq!(sizes(&ranked), [16 * MIB, MIB, 8 * MIB, 4 * MIB]);
    assert_eq!(of(&ranked, 4 * MIB), (1.0, 1));
    assert_eq!(of(&ranked, 8 * MIB), (1.0, 2));
    assert_eq!(of(&ranked, MIB), (4.0, 4));
    assert_eq!(of(&ranked, 16 * MIB), (1.0, 4));
    let totals: Vec<f64> = ranked.iter().map(Ranked::total_ns).collect();
    let ratio = totals.last().copied().unwrap_or(0.0) / totals.first().copied().unwrap_or(1.0);
    assert!((ratio - 2.5).abs() < 0.05, "{ratio}");
}

/// Example in figure 2 of the IOSIG paper, shifted by one period: other nodes, same ranking.
#[test]
fn figure_2_at_the_next_period() {
    let requests = (0..400).map(|request| ((request + 1) * 16 * MIB, 4 * MIB));
    let ranked = rank(requests, 4, &of_sizes(&[16 * MIB, 8 * MIB, 4 * MIB, MIB], 4), &Machine::PAPER);
    assert_eq!(sizes(&ranked), [16 * MIB, MIB, 8 * MIB, 4 * MIB]);
}

/// Small adjacent requests lie in one stripe for any stripe size from 64 KiB on. The largest size that still uses all nodes is ranked first.
#[test]
fn of_equal_ones_the_one_that_spreads_is_first() {
    let requests = (0..4_096).map(|request| (request * 1_024, 1_024));
    let ranked = rank(requests, 4, &of_sizes(&[65_536, MIB, 64 * MIB], 4), &Machine::PAPER);
    assert_eq!(sizes(&ranked), [MIB, 65_536, 64 * MIB]);
}

#[test]
fn one_request_at_a_time_wants_all_nodes() {
    let requests = (0..64).map(|request| (request * 4 * MIB, 4 * MIB));
    let ranked = rank(requests, 1, &of_sizes(&[MIB, 4 * MIB, 16 * MIB], 4), &Machine::PAPER);
    assert_eq!(sizes(&ranked).first(), Some(&MIB));
}

/// Eight processes with one request each: simulation and formulas agree.
#[test]
fn it_agrees_with_the_cost_model() {
    let load = Demand { processes: 8, nodes: 8, per_client: 1, request_bytes: 16_384 };
    let requests = || (0..8).map(|process| (process * 16_384, 16_384));
    for (stripe_bytes, layout) in [(16_384, Layout::OneNode), (2_048, Layout::AllNodes)] {
        let ranked = rank(requests(), 8, &of_sizes(&[stripe_bytes], 8), &Machine::PAPER);
        let formula_ns = cost(layout, &load, &Machine::PAPER).map_or(0.0, |cost| cost.total_ns());
        assert!(ranked.iter().all(|it| (it.total_ns() - formula_ns).abs() < 1.0), "{ranked:?} {formula_ns}");
    }
}

/// Compares the bytes per node with bytes counted one at a time, for all small offsets, lengths, stripes and nodes.
#[test]
fn bytes_of_each_node_are_those_counted_one_by_one() {
    let bytes_only = Machine { connection_ns: 0.0, network_byte_ns: 0.0, start_ns: 0.0, disk_byte_ns: 1.0 };
    for stripe_bytes in 1..6 {
        for nodes in 1..5 {
            for offset in 0..25 {
                for length in 1..40 {
                    let mut count = [0_u64; 4];
                    for byte in offset..offset + length {
                        count[(byte / stripe_bytes % nodes) as usize] += 1;
                    }
                    let mut trial = Trial::new(Striping { stripe_bytes, nodes });
                    trial.request(offset, length, &bytes_only);
                    let counted: Vec<u64> = trial.node_ns.iter().map(|ns| *ns as u64).collect();
                    assert_eq!(counted, count[..nodes as usize], "{stripe_bytes} {nodes} {offset} {length}");
                }
            }
        }
    }
}

#[test]
fn what_lustre_can_have() {
    assert_eq!(on_lustre(65_536), OnLustre::Settable);
    assert_eq!(on_lustre(3 * 65_536), OnLustre::Settable);
    assert_eq!(on_lustre(4_096), OnLustre::Not { below: None, above: Some(65_536) });
    assert_eq!(on_lustre(65_537), OnLustre::Not { below: Some(65_536), above: Some(131_072) });
    assert_eq!(on_lustre(0), OnLustre::Not { below: None, above: Some(65_536) });
    assert_eq!(on_lustre(LUSTRE_MOST_BYTES), OnLustre::Settable);
    assert_eq!(on_lustre(1 << 32), OnLustre::Not { below: Some(LUSTRE_MOST_BYTES), above: None });
    assert_eq!(on_lustre(u64::MAX), OnLustre::Not { below: Some(LUSTRE_MOST_BYTES), above: None });
}

#[test]
fn candidates_have_the_sizes_of_the_figure() {
    let sizes = candidates(4 * MIB, 16 * MIB, 4);
    assert!([MIB, 4 * MIB, 8 * MIB, 16 * MIB].iter().all(|size| sizes.contains(size)), "{sizes:?}");
    assert!(sizes.is_sorted_by(|one, next| one < next) && !candidates(0, 0, 0).contains(&0));
    assert!(candidates(u64::MAX, 1, u64::MAX).contains(&u64::MAX));
}

#[test]
fn odd_numbers_are_no_trouble() {
    let odd = [(0, 0), (u64::MAX, u64::MAX), (0, u64::MAX), (u64::MAX - 1, 1)];
    let stripings = [(0, 4), (1, 0), (u64::MAX, 1), (1, u64::MAX), (1, 65_536), (7, 3), (7, 3)];
    let stripings = stripings.map(|(stripe_bytes, nodes)| Striping { stripe_bytes, nodes });
    let ranked = rank(odd.into_iter(), 0, &stripings, &Machine::PAPER);
    assert_eq!(ranked.len(), 3);
    assert!(rank(std::iter::empty(), 4, &stripings, &Machine::PAPER).iter().all(|it| it.total_ns() == 0.0));
}
