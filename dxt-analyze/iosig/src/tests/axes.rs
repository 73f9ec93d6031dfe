//! Tests of the classification on five axes, and of the IOSIG notation.

use super::*;
use crate::classes::{Class, Operation, Repetition, Size, Spatial, Temporal, classes, random_class};
use crate::notation::{Notation, pattern_signature};
use crate::text::Operations;

struct Mpi;

impl Operations for Mpi {
    fn name(&self, op: u16) -> String {
        ["MPI_READALL", "MPI_READAT", "MPI_WRITE"].get(usize::from(op)).map_or(String::new(), ToString::to_string)
    }

    fn number(&self, _: &str) -> Option<u16> {
        None
    }
}

const NOTATION: Notation<'_> = Notation { operations: &Mpi, file: "file", limit: times::FIXED_CV };

fn stream(n: u64, each: impl Fn(&mut Stream, u64)) -> Signature {
    let mut s = Stream::default();
    (0..n).for_each(|i| each(&mut s, i));
    let signature = s.signature();
    check(&s.accesses, &signature);
    signature
}

fn written(signature: &Signature) -> String {
    NOTATION.nest(&signature.patterns().next().unwrap().nest)
}

fn class_of(signature: &Signature) -> Class {
    classes(signature, |op| op == 2, times::FIXED_CV)[0]
}

#[test]
fn the_papers_examples_read_as_in_the_paper() {
    let nested = stream(100, |s, i| {
        s.at(0, 512 + i * 32768, 4096);
        s.at(0, 512 + i * 32768 + 8192, 4096);
    });
    assert_eq!(
        written(&nested),
        "{MPI_READALL, file, 512, 2, ([{512, 32768, 1}, 4096, 1], [{8704, 32768, 1}, 4096, 1, fixed_interval], 100), 1}"
    );
    let ior = stream(65536, |s, i| s.at(1, i * 65536, 65536));
    assert_eq!(written(&ior), "{MPI_READAT, file, 0, 1, ({0, 65536, 1}, 65536, 1, fixed_interval), 65536, 1}");
    let class = class_of(&nested);
    assert_eq!((class.spatial, class.size, class.variable_size), (Spatial::Strided(2), Size::Medium, false));
    assert_eq!((class.operation, class.temporal), (Operation::Read, Some(Temporal::Fixed)));
    assert_eq!((class_of(&ior).spatial, class_of(&ior).size), (Spatial::Contiguous, Size::Large));
}

#[test]
fn deeper_and_mixed_nests() {
    let deep = stream(200, |s, i| s.at(1, i / 10 * 100_000 + i % 10 * 512, 100 + i / 10));
    assert_eq!(
        written(&deep),
        "{MPI_READAT, file, 0, 2, (([{0, (512, 100000), 2}, {100, (0, 1)}, 1, fixed_interval], 10), 20), 1}"
    );
    let class = class_of(&deep);
    assert_eq!(
        (class.spatial, class.variable_size, class.repetition),
        (Spatial::Strided(2), true, Repetition::Repeating)
    );
    let rmw = stream(50, |s, i| {
        s.after(1 + i * i % 97 * 50, 1, i * 8192, 4096);
        s.at(2, i * 8192, 4096);
    });
    assert!(
        written(&rmw)
            .starts_with("{MPI_READAT+MPI_WRITE, file, 0, 2, ([MPI_READAT {0, 8192, 1}, 4096, 1], [MPI_WRITE ")
    );
    assert_eq!((class_of(&rmw).operation, class_of(&rmw).temporal), (Operation::ReadWrite, Some(Temporal::Random)));
}

#[test]
fn spatial_classes() {
    let of = |n, each: fn(&mut Stream, u64)| class_of(&stream(n, each)).spatial;
    assert_eq!(of(9, |s, i| s.at(1, i * 100, 10)), Spatial::FixedStride);
    assert_eq!(of(9, |s, _| s.at(1, 5, 10)), Spatial::FixedStride);
    assert_eq!(of(9, |s, i| s.at(1, 1000 - i * 10, 10)), Spatial::Negative);
    assert_eq!(of(90, |s, i| s.at(1, 10_000 - i / 9 * 1000 - i % 9 * 10, 10)), Spatial::Negative);
    assert_eq!(of(90, |s, i| s.at(1, 10_000 - i / 9 * 1000 + i % 9 * 10, 10)), Spatial::Combination);
    let header = |s: &mut Stream, i| {
        s.at(2, 4096 + i * 512, 512);
        s.at(2, 0, 64);
    };
    assert_eq!(of(90, header), Spatial::Combination);
    // Header directly followed by a block.
    let record = |s: &mut Stream, i| {
        s.at(2, i * 576, 64);
        s.at(2, i * 576 + 64, 512);
    };
    assert_eq!(of(90, record), Spatial::Contiguous);
    assert_eq!(
        of(900, |s, i| s.at(1, i / 90 * 1_000_000 + i / 9 % 10 * 10_000 + i % 9 * 100, 10)),
        Spatial::Strided(3)
    );
}

#[test]
fn random_accesses_have_a_class_only() {
    let mut random = Random::new(4);
    let mut s = Stream::default();
    for _ in 0..1000 {
        s.after(random.below(9999), 1, random.next(), 4096);
    }
    let class = random_class(&s.signature(), |op| op == 2, times::FIXED_CV).unwrap();
    assert_eq!(pattern_signature(&class), "{READ, <random, 1>, <single>, <medium, fixed>, <random>}");
    assert_eq!(random_class(&Signature::default(), |_| false, 0.1), None);
}
