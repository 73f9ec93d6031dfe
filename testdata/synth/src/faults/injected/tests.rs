//! Tests of the criteria for right findings: a sentence by somebody who knows the cause must be accepted for its own fault, and rejected
//! for all others.

use super::*;
use crate::faults::score::score;
use crate::faults::truth::{Injected, Truth};
use crate::faults::verdict::{Finding, Verdict};
use serde_json::{Value, json};

/// Returns, per fault: its name, the fault, the title of a right finding, and the ranks, nodes or OSTs that this finding accuses.
fn said() -> Vec<(&'static str, Fault, &'static str, Value)> {
    let nothing = || json!({"file": "/scratch/model/field.dat"});
    vec![
        (
            "rank",
            slow_rank(5, 3.0),
            "rank 5 writes 3.1 times slower than the other ranks",
            json!({"rank": 5, "node": "node0000"}),
        ),
        (
            "node",
            slow_node(1, 3.0),
            "all 8 ranks of node0001 are 2.9 times slower than the others",
            json!({"node": "node0001"}),
        ),
        ("ost", slow_osts(&[3], 6.0), "OST 3 serves writes 5.8 times slower than the other 7", json!({"ost": 3})),
        ("queue", ost_queue(), "all 32 files lie on one of 8 OSTs, where requests queue", json!({"ost": 0})),
        ("stripes", few_stripes(), "/scratch/model/field.dat has one stripe: all ranks write to one OST", nothing()),
        (
            "window",
            window(0.2, 0.4, 5.0),
            "everything was 5 times slower between 3.1 s and 4.9 s",
            json!({"from_ns": 1}),
        ),
        ("tail", tail(0.01, 50.0), "1 % of the writes take 48 times as long as the others", nothing()),
        ("stall", stall(7, 3, 30.0), "one write of rank 7 took 30.0 s", json!({"rank": 7})),
        (
            "shared",
            shared_stripes(),
            "640 stripes are written from several nodes: they take the locks from each other",
            nothing(),
        ),
        ("misaligned", misaligned(2048), "large writes do not begin at stripe boundaries", nothing()),
        (
            "small-writes",
            small_writes(4096),
            "163,840 writes of 4 KiB: small requests cost more than their bytes",
            nothing(),
        ),
        ("small-reads", small_reads(4096), "163,840 small reads of 4 KiB", nothing()),
        ("random", random_reads(4096), "reads at random places: none begins where the last one ended", nothing()),
        ("strided", strided(65536), "strided independent requests of 64 KiB on a shared file", nothing()),
        ("sieved-reads", sieved_reads(16), "MPI-IO read 16 times the bytes that were asked for", nothing()),
        ("sieved-writes", sieved_writes(8), "data sieving reads and writes back blocks under locks", nothing()),
        ("late", late_rank(5, 2.0), "all wait for rank 5, which comes late to collective calls", json!({"rank": 5})),
        ("only-0", only_rank_0(), "rank 0 does all the I/O", json!({"rank": 0})),
        ("aggregator", one_aggregator(), "one aggregator for 32 ranks", nothing()),
        ("slow-open", slow_open(9, 0.4), "opens of rank 9 take 400 ms, those of the others 0.8 ms", json!({"rank": 9})),
        ("metadata", slow_metadata(8e6), "opening files takes 250 ms: the metadata server is busy", json!({})),
        ("open-storm", open_storm(), "files are opened and closed 20,480 times", nothing()),
        ("stats", stat_storm(40), "204,800 stat calls", nothing()),
        ("sync", sync_each(), "each write is followed by an fsync", nothing()),
        ("flush", flush_each(), "each fwrite of 100 bytes is followed by fflush", nothing()),
        ("locks", file_locks(), "ranks wait for each other's file locks", nothing()),
        ("data", more_data(3, 3), "rank 3 moves 3 times the bytes of the others", json!({"rank": 3})),
        ("serial", serial(), "ranks write one after another", nothing()),
        ("hot", hot_block(8, 1e5), "1,024 ranks read the same 4 KiB", nothing()),
        ("again", reading_again(4), "the same bytes are read again 4 times", nothing()),
        ("edges", edges(1000), "unaligned writes read the blocks at their edges first", nothing()),
    ]
}

fn is_right(fault: &Fault, title: &str, about: &Value) -> bool {
    let faults = vec![Injected { cause: String::new(), truth_ns: 1, right: fault.right.clone() }];
    let (name, log, options) = (String::new(), String::new(), Vec::new());
    let truth = Truth { name, log, short: false, barriers: false, options, run_ns: 10, truth_ns: 1, faults };
    let finding = Finding { title: title.into(), about: about.clone(), ..Finding::default() };
    score(&truth, &Verdict { findings: vec![finding] }).right()
}

#[test]
fn who_names_the_cause_is_right() {
    for (name, fault, title, about) in said() {
        assert!(is_right(&fault, title, &about), "{name}: {title}");
    }
}

/// Groups of faults whose findings may be accepted for each other: the remedy is the same, or one fault is a form of the other.
const KIN: [&[&str]; 10] = [
    &["queue", "stripes"],
    &["small-writes", "small-reads", "random", "strided", "flush", "hot"],
    &["shared", "misaligned", "sieved-writes", "strided", "edges", "locks"],
    &["edges", "small-reads"],
    &["slow-open", "metadata", "open-storm"],
    &["sync", "flush"],
    &["sieved-reads", "sieved-writes", "again", "data"],
    &["only-0", "aggregator"],
    &["serial", "locks", "only-0"],
    &["hot", "again"],
];

#[test]
fn who_names_another_cause_is_wrong() {
    let all = said();
    let kin = |one: &str, other: &str| KIN.iter().any(|group| group.contains(&one) && group.contains(&other));
    let mut wrong = Vec::new();
    for (name, fault, _, _) in &all {
        for (other, _, title, about) in all.iter().filter(|said| said.0 != *name && !kin(name, said.0)) {
            if is_right(fault, title, about) {
                wrong.push(format!("{name} takes what is said of {other}: {title}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn who_accuses_another_unit_is_wrong() {
    for (name, fault, title, about) in said() {
        for (kind, unit) in [("rank", json!(11)), ("node", json!("node0099")), ("ost", json!(77))] {
            let mut other = about.clone();
            other[kind] = unit;
            // A rank's node may be named beside it, and is unknown here.
            let may = kind == "node" && about.get("rank").is_some();
            assert!(may || !is_right(&fault, title, &other), "{name} with {kind}: {title}");
        }
    }
}
