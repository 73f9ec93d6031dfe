//! Tests that known loops are recovered completely and in their shortest form.

use super::*;

/// Returns the only loop nest of a stream; asserts that the signature contains nothing else.
fn only(stream: &Stream) -> Loop {
    let signature = stream.signature();
    let verified = check(&stream.accesses, &signature);
    assert_eq!(signature.items.len(), 1, "{signature:#?}");
    assert!((verified.coverage() - 1.0).abs() < f64::EPSILON);
    signature.patterns().next().unwrap().nest.clone()
}

fn leaf(node: &Node) -> &Leaf {
    match node {
        Node::Leaf(leaf) => leaf,
        Node::Loop(l) => panic!("{l:?}"),
    }
}

#[test]
fn the_nested_case_of_the_paper() {
    let mut s = Stream::default();
    for i in 0..100 {
        s.at(1, 512 + i * 32768, 4096);
        s.at(1, 512 + i * 32768 + 8192, 4096);
    }
    let nest = only(&s);
    assert_eq!((nest.count, nest.body.len()), (100, 2));
    assert_eq!(leaf(&nest.body[0]).offset, 512);
    assert_eq!(leaf(&nest.body[1]).offset, 512 + 8192);
    assert_eq!(leaf(&nest.body[1]).steps, [Step { offset: 32768, length: 0 }]);
    assert_eq!(nest.times.count, 99);
    assert_eq!(nest.times.mean_ns(), Some(2000.0));
    assert_eq!(nest.times.is_fixed(times::FIXED_CV), Some(true));
}

#[test]
fn ior_is_one_run() {
    let mut s = Stream::default();
    for i in 0..65536 {
        s.at(1, i * 65536, 65536);
    }
    let signature = s.signature();
    assert_eq!(signature.bytes, 4 << 30);
    assert_eq!(only(&s).count, 65536);
}

#[test]
fn four_phases_are_four_patterns() {
    let mut s = Stream::default();
    for (phase, size) in [1024, 4096, 65536, 1 << 20].into_iter().enumerate() {
        for i in 0..256 {
            s.at(2, ((phase as u64) << 32) + i * size, size);
        }
    }
    let signature = s.signature();
    check(&s.accesses, &signature);
    assert_eq!(signature.items.len(), 4);
    assert!(signature.patterns().all(|p| p.nest.count == 256 && p.nest.depth() == 1));
}

#[test]
fn loops_to_depth_four_with_jitter() {
    let mut random = Random::new(7);
    let mut s = Stream::default();
    for a in 0..4 {
        for b in 0..5 {
            for c in 0..6 {
                for d in 0..7 {
                    s.after(990 + random.below(20), 1, a * 100_000_000 + b * 1_000_000 + c * 20_000 + d * 100, 64);
                }
                s.at(2, 7 + a * 1_000_000_000, 8);
            }
        }
    }
    let nest = only(&s);
    assert_eq!(nest.depth(), 4, "{nest:#?}");
    assert_eq!(nest.count, 4);
}

#[test]
fn negative_strides_and_none_and_growing_requests() {
    let mut s = Stream::default();
    for i in 0..1000 {
        s.at(1, 1_000_000 - i * 1000, 10);
    }
    assert_eq!(leaf(&only(&s).body[0]).steps, [Step { offset: -1000, length: 0 }]);
    let mut s = Stream::default();
    for i in 0..1000 {
        s.at(1, 77, 10 + i * 8);
    }
    assert_eq!(leaf(&only(&s).body[0]).steps, [Step { offset: 0, length: 8 }]);
    let mut s = Stream::default();
    for _ in 0..1000 {
        s.at(1, 0, 5);
        s.at(2, u64::MAX, u64::MAX);
        s.at(1, 1 << 63, 0);
    }
    assert_eq!(only(&s).body.len(), 3);
}

#[test]
fn a_header_that_stays_beside_blocks_that_wander() {
    let mut s = Stream::default();
    for row in 0..50 {
        for column in 0..20 {
            s.at(2, 4096 + row * 100_000 + column * 512, 512);
            s.at(2, 0, 64);
        }
    }
    let nest = only(&s);
    assert_eq!((nest.count, nest.depth()), (50, 2));
}

#[test]
fn triangular_loops() {
    for descending in [false, true] {
        let mut s = Stream::default();
        for row in 0..30_u64 {
            for column in 0..if descending { 30 - row } else { row + 1 } {
                s.at(1, row * 10_000 + column * 100, 100);
            }
        }
        let signature = s.signature();
        let verified = check(&s.accesses, &signature);
        assert!(signature.items.len() <= 2 && verified.coverage() > 0.98, "{signature:#?}");
    }
}

#[test]
fn a_run_does_not_take_what_belongs_to_a_nest() {
    // An access before the nest, which the run of the nest's first row would include.
    let mut s = Stream::default();
    s.at(1, 0, 4096);
    for row in 0..50 {
        for column in 0..3 {
            s.at(1, 4096 + row * 100_000 + column * 4096, 4096);
        }
    }
    let signature = s.signature();
    check(&s.accesses, &signature);
    let nest = &signature.patterns().next().unwrap();
    assert_eq!((signature.items.len(), nest.nest.count, nest.accesses), (2, 50, 150), "{signature:#?}");

    // The step from the end of an iteration to the start of the next equals a stride within an iteration.
    for (offsets, period) in
        [(&[0_u64, 10, 30][..], 50), (&[0, 100, 110, 120], 130), (&[0, 100, 110, 120, 130], 140), (&[0, 100, 140], 180)]
    {
        let mut s = Stream::default();
        for i in 0..40 {
            for offset in offsets {
                s.at(1, offset + i * period, 10);
            }
        }
        let nest = only(&s);
        assert_eq!(nest.count, 40, "{offsets:?} {nest:#?}");
    }
}

#[test]
fn a_phase_change_within_an_iteration() {
    let mut s = Stream::default();
    for row in 0..20 {
        for column in 0..10 {
            if row == 19 && column == 6 {
                break;
            }
            s.at(1, row * 100_000 + column * 100, 50);
        }
    }
    for i in 0..100 {
        s.at(2, 10_000_000 + i * 8192, 8192);
        s.at(1, 70_000_000 + i * 100, 100);
    }
    let signature = s.signature();
    let verified = check(&s.accesses, &signature);
    assert!((verified.coverage() - 1.0).abs() < f64::EPSILON, "{signature:#?}");
    assert_eq!(signature.items.len(), 3, "{signature:#?}");
}

#[test]
fn random_accesses_are_residue() {
    let mut random = Random::new(3);
    let mut s = Stream::default();
    for _ in 0..100_000 {
        let op = random.below(2) as u16;
        s.after(random.below(1000), op, random.below(1 << 20) * 4096, 4096);
    }
    let signature = s.signature();
    let verified = check(&s.accesses, &signature);
    assert!(verified.coverage() < 0.01, "{}", verified.coverage());
    assert!(signature.items.len() < 100);
}

#[test]
fn two_are_no_pattern_and_three_are() {
    let mut s = Stream::default();
    s.at(1, 0, 10);
    s.at(1, 10, 10);
    let signature = s.signature();
    assert_eq!((signature.covered, signature.items.len()), (0, 1));
    s.at(1, 20, 10);
    assert_eq!(only(&s).count, 3);
    assert!(Recogniser::default().finish().items.is_empty());
}

#[test]
fn the_items_are_bounded() {
    let mut random = Random::new(9);
    let mut s = Stream::default();
    for _ in 0..10_000 {
        let base = random.below(1 << 40);
        for i in 0..4 {
            s.at(1, base + i * 100, 100);
        }
    }
    let mut recogniser = Recogniser::new(Limits { items: 100, ..Limits::default() });
    recogniser.push_all(&s.accesses);
    let signature = recogniser.finish();
    check(&s.accesses, &signature);
    assert_eq!(signature.items.len(), 101);
    assert!(signature.dropped > 9000);
}

#[test]
fn long_bodies_up_to_the_bound_and_none_beyond() {
    for (length, inner) in [(17, false), (20, false), (40, true), (63, false), (64, false), (65, false)] {
        let mut random = Random::new(length);
        let body: Vec<(u64, u64)> = (0..length).map(|_| (random.below(1 << 40), random.below(1 << 20))).collect();
        for before in [0, 1, 7, 15] {
            let mut s = Stream::default();
            for _ in 0..before {
                s.at(3, random.next(), 1);
            }
            for i in 0..30 {
                for (offset, step) in &body {
                    s.at(1, offset + i * step, 100);
                }
                for block in 0..if inner { 100 } else { 0 } {
                    s.at(2, (1 << 50) + i * 1_000_000 + block * 512, 512);
                }
            }
            let signature = s.signature();
            check(&s.accesses, &signature);
            if length > 64 {
                assert_eq!(signature.covered, 0);
            } else {
                assert_eq!(signature.covered, signature.accesses - before, "{length} after {before}");
                assert_eq!(signature.patterns().map(|p| p.nest.count).collect::<Vec<_>>(), [30]);
            }
        }
    }
}
