//! Tests of the criteria for right findings: a finding that states a fault must be accepted for that fault and rejected for all others.

use super::codes::{
    AGGREGATORS, ASKED_AGAIN, BYTE_IMBALANCE, COMMON_READS, CROSSING, FALSE_SHARING, FEW_TARGETS, INDEPENDENT,
    LATE_RANKS, LOCK_WAITS, LONG_TAIL, METADATA_SHARE, ONE_RANK, OPEN_PER_ACCESS, RANDOM_READS, READ_MODIFY_WRITE,
    READ_RUNS, REREAD, SERIALISED, SIEVING, SLOW_MOMENT, SLOW_NODE, SLOW_RANK, SLOW_TARGET, STALL, SYNC_PER_WRITE,
    WRITE_RUNS,
};
use super::*;
use crate::faults::score::score;
use crate::faults::truth::{Injected, Truth};
use crate::faults::verdict::{Finding, Verdict};
use serde_json::{Value, json};

/// Returns (name, fault, code of a right finding, facts of that finding) for each fault.
fn said() -> Vec<(&'static str, Fault, &'static str, Value)> {
    let nothing = || json!({"file": "/scratch/model/field.dat"});
    vec![
        ("rank", slow_rank(5, 3.0), SLOW_RANK, json!({"rank": 5, "node": "node0000"})),
        ("node", slow_node(1, 3.0), SLOW_NODE, json!({"node": "node0001"})),
        ("ost", slow_osts(&[3], 6.0), SLOW_TARGET, json!({"ost": 3})),
        ("queue", ost_queue(), FEW_TARGETS, json!({"ost": 0})),
        ("stripes", few_stripes(), FEW_TARGETS, nothing()),
        ("window", window(0.2, 0.4, 5.0), SLOW_MOMENT, json!({"span_ns": [1, 2]})),
        ("tail", tail(0.01, 50.0), LONG_TAIL, nothing()),
        ("stall", stall(7, 3, 30.0), STALL, json!({"rank": 7, "span_ns": [1, 2]})),
        ("shared", shared_stripes(), FALSE_SHARING, nothing()),
        ("misaligned", misaligned(2048), CROSSING, nothing()),
        ("small-writes", small_writes(4096), WRITE_RUNS, json!({"operation": "writes"})),
        ("small-reads", small_reads(4096), READ_RUNS, json!({"operation": "reads"})),
        ("random", random_reads(4096), RANDOM_READS, json!({"operation": "reads"})),
        ("strided", strided(65536), INDEPENDENT, nothing()),
        ("sieved-reads", sieved_reads(16), SIEVING, nothing()),
        ("sieved-writes", sieved_writes(8), SIEVING, nothing()),
        ("late", late_rank(5, 2.0), LATE_RANKS, json!({"rank": 5})),
        ("only-0", only_rank_0(), ONE_RANK, json!({"rank": 0})),
        ("aggregator", one_aggregator(), AGGREGATORS, nothing()),
        ("slow-open", slow_open(9, 0.4), SLOW_RANK, json!({"rank": 9, "operation": "opens"})),
        ("metadata", slow_metadata(8e6), METADATA_SHARE, json!({"operation": "open"})),
        ("open-storm", open_storm(), OPEN_PER_ACCESS, nothing()),
        ("stats", stat_storm(40), ASKED_AGAIN, nothing()),
        ("sync", sync_each(), SYNC_PER_WRITE, nothing()),
        ("flush", flush_each(), SYNC_PER_WRITE, nothing()),
        ("locks", file_locks(), LOCK_WAITS, nothing()),
        ("data", more_data(3, 3), BYTE_IMBALANCE, json!({"rank": 3})),
        ("serial", serial(), SERIALISED, nothing()),
        ("hot", hot_block(8, 1e5), COMMON_READS, nothing()),
        ("again", reading_again(4), REREAD, nothing()),
        ("edges", edges(1000), READ_MODIFY_WRITE, nothing()),
    ]
}

fn is_right(fault: &Fault, code: &str, about: &Value) -> bool {
    let faults = vec![Injected { cause: String::new(), truth_ns: 1, right: fault.right.clone() }];
    let (name, log, options) = (String::new(), String::new(), Vec::new());
    let truth = Truth { name, log, short: false, barriers: false, options, run_ns: 10, truth_ns: 1, faults };
    let finding = Finding { code: code.into(), about: about.clone(), ..Finding::default() };
    score(&truth, &Verdict { findings: vec![finding], states: None, together: None }).right()
}

#[test]
fn who_names_the_cause_is_right() {
    for (name, fault, code, about) in said() {
        assert!(is_right(&fault, code, &about), "{name}: {code}");
    }
}

/// Groups of faults whose findings may be accepted for each other, because they have the same remedy or one fault is a form of the other.
const RELATED: [&[&str]; 10] = [
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
    let related = |one: &str, other: &str| RELATED.iter().any(|group| group.contains(&one) && group.contains(&other));
    let mut wrong = Vec::new();
    for (name, fault, _, _) in &all {
        for (other, _, code, about) in all.iter().filter(|(other, ..)| other != name && !related(name, other)) {
            if is_right(fault, code, about) {
                wrong.push(format!("{name} takes what is said of {other}: {code}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn who_accuses_another_unit_is_wrong() {
    for (name, fault, code, about) in said() {
        for (kind, unit) in [("rank", json!(11)), ("node", json!("node0099")), ("ost", json!(77))] {
            let mut other = about.clone();
            other[kind] = unit;
            // A finding on a rank may also name the rank's node, which is unknown here.
            let may = kind == "node" && about.get("rank").is_some();
            assert!(may || !is_right(&fault, code, &other), "{name} with {kind}: {code}");
        }
    }
}
