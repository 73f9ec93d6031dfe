//! Tests that the text form contains the whole structure of a signature, and that parsing restores the structure.

use super::*;
use crate::text::{Numbered, parse, print};

#[test]
fn a_nest_reads_like_this() {
    let mut s = Stream::default();
    for i in 0..100 {
        s.at(1, 512 + i * 32768, 4096);
        s.at(1, 512 + i * 32768 + 8192, 4096);
    }
    s.at(2, 0, 9);
    let signature = s.signature();
    assert_eq!(
        print(&signature, &Numbered),
        "at 0: 100 x {op1 512+4096 [32768], op1 8704+4096 [32768]} every 2000 ns cv 0 of 99, \
         200 accesses 819200 bytes, from 1000 to 200000 ns\n\
         at 200: residue 1 accesses 9 bytes, from 201000 to 201000 ns, lengths 9..9, offsets 0..0, op2 1\n"
    );
}

#[test]
fn what_is_printed_is_read_back() {
    let mut deepest = 0;
    for seed in 0..1000 {
        let mut random = Random::new(seed + 31);
        let mut stream = programs::stream(seed);
        for _ in 0..random.below(5) {
            stream.after(random.below(5000), random.below(40) as u16, random.next(), random.next() >> random.below(60));
        }
        stream.accesses.extend(programs::stream(seed + 1).accesses);
        let signature = stream.signature();
        let printed = print(&signature, &Numbered);
        let read = parse(&printed, &Numbered).unwrap();
        assert_eq!(print(&read, &Numbered), printed);
        // Equal except for the last digits of times; regenerated accesses equal those of the stream.
        assert_eq!(
            (read.accesses, read.bytes, read.items.len()),
            (signature.accesses, signature.bytes, signature.items.len())
        );
        check(&stream.accesses, &read);
        deepest = deepest.max(signature.patterns().map(|p| p.nest.depth()).max().unwrap_or(0));
    }
    assert!(deepest >= 4);
}

#[test]
fn what_is_none_is_an_error_with_its_place() {
    let good = "at 0: 3 x {3[1] x {op1 5+5 [1:2, -7]}}, 12 accesses 60 bytes, from 0 to 1 ns\n";
    assert!(parse(good, &Numbered).is_ok());
    for end in 0..good.trim_end().len() {
        let _ = parse(&good[..end], &Numbered);
        for other in ["[", "x", "99999999999999999999999999999999999999999", "é", "{", "-"] {
            let _ = parse(&format!("{}{other}{}", &good[..end], &good[end + 1..]), &Numbered);
        }
    }
    let deep = format!("at 0: {}", "3 x {".repeat(100_000));
    assert_eq!(parse(&deep, &Numbered).unwrap_err().expected, "fewer loops within each other");
    assert_eq!(parse("at 0; 3", &Numbered).unwrap_err().at, 4);
    assert_eq!(parse("at 0: 3 x {op1 5+5 [1, 2]}", &Numbered).unwrap_err().expected, "]");
    assert_eq!(parse("", &Numbered), Ok(Signature::default()));
}

#[test]
fn loops_without_an_access_come_to_an_end() {
    let endless = "at 0: 18446744073709551615 x {0 x {op1 5+5 [1, 1]}}, 12 accesses 60 bytes, from 0 to 1 ns";
    let signature = parse(endless, &Numbered).unwrap();
    let verified = verify(&signature, [(1, 5, 5)]);
    assert!(!verified.is_exact());
}
