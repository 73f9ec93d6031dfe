//! The append path must not grow: instructions per traced call, counted by callgrind, so that the machine's speed and load
//! do not matter. The bound is documented in docs/configuration.md's cost section; raise it only with a reason.

use crate::harness::{Launch, Scratch, have, skip, workload};

/// Most instructions that the tracer may add to a pwrite: the hook, the guard, two clock readings, the descriptor's lookup
/// and the append. Under valgrind there is no invariant counter, so this includes two calls of `clock_gettime`.
const MOST_ADDED: f64 = 400.0;

/// Instructions of the whole program with `calls` pwrites.
fn instructions(calls: u32, traced: bool) -> Option<u64> {
    let scratch = Scratch::new();
    let launch = Launch::new(&scratch, "valgrind")
        .arg("--tool=callgrind")
        .arg(format!("--callgrind-out-file={}", scratch.root().join("out").display()))
        .arg(workload("bench_calls"))
        .arg("whole")
        .arg(calls.to_string())
        .arg(scratch.data().join("file"))
        .env("DXT_BUFFER_MAX", "64M");
    let outcome = if traced { launch } else { launch.untraced() }.run();
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let line = outcome.stderr.lines().find_map(|line| line.split_once("Collected : "))?;
    line.1.trim().parse().ok()
}

#[test]
fn a_traced_pwrite_costs_few_instructions() {
    if !have("valgrind") {
        return skip("valgrind is not installed");
    }
    let per_call = |traced| {
        let counts = [20_000, 40_000].map(|calls| instructions(calls, traced).expect("callgrind says what it counted"));
        (counts[1] as f64 - counts[0] as f64) / 20_000.0
    };
    let (untraced, traced) = (per_call(false), per_call(true));
    let added = traced - untraced;
    println!("instructions per pwrite: {untraced:.1} untraced, {traced:.1} traced, {added:.1} added");
    assert!(added > 5.0, "nothing was traced: {added:.1}");
    assert!(added < MOST_ADDED, "{added:.1} instructions added per call, at most {MOST_ADDED} are allowed");
}
