//! Tests of the tracer's cost: instructions added per traced call, counted by callgrind and thus independent of the machine's speed and load.

use crate::harness::{Launch, Scratch, have, library, skip, workload};

/// Upper bounds of the instructions that a release build of the library may add to a call: (operation, mode, bound). They cover hook,
/// guard, two clock readings, descriptor lookup and append; for a C stream also its position before and after. Some six instructions check
/// after the call that its descriptor still refers to the same file; some 60 note the caller, and find its call site and stream. Raise a bound
/// only with a reason.
const MOST_ADDED: [(&str, &str, f64); 7] = [
    // Measured: 169.
    ("pwrite", "trace", 174.0),
    // Measured: 315.
    ("fwrite", "trace", 320.0),
    // Measured: 295.
    ("fgetc", "trace", 300.0),
    // Like tracing without call sites, plus the fold into counters and profile: simple instructions, three per cycle. Measured: 386.
    ("pwrite", "counters", 393.0),
    // Counters without time stamps. Measured: 373.
    ("pwrite", "counters, untimed", 380.0),
    // Measured: 507.
    ("fgetc", "counters", 514.0),
    // Calls alternate between 1,000 files: each segment is folded into counters and a profile of its own. Measured: 585.
    ("turn", "counters", 595.0),
];
/// Factor applied to the bounds for a library built without optimization.
const UNOPTIMIZED: f64 = 6.0;

/// Returns the number of instructions that a loop of `calls` calls of `operation` executes, including those of the hooks and of all
/// functions called, but without the tracer's start and flush. `mode`: DXT_ENABLE; `traced`: false for a run without the tracer.
fn instructions(operation: &str, mode: &str, calls: u32, traced: bool) -> Option<u64> {
    let scratch = Scratch::new();
    let launch = Launch::new(&scratch, "valgrind")
        .arg("--tool=callgrind")
        .arg(format!("--callgrind-out-file={}", scratch.root().join("out").display()))
        .arg("--toggle-collect=calls")
        .arg(workload("bench_calls"))
        .arg(format!("whole-{operation}"))
        .arg(calls.to_string())
        .arg(scratch.data().join("file"))
        .env("DXT_ENABLE", mode.split(',').next().unwrap_or_default())
        .env("DXT_TIMING", if mode.ends_with("untimed") { "off" } else { "" })
        .env("DXT_BUFFER_MAX", "64M");
    let outcome = if traced { launch } else { launch.untraced() }.run();
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let line = outcome.stderr.lines().find_map(|line| line.split_once("Collected : "))?;
    line.1.trim().parse().ok()
}

#[test]
fn a_traced_call_costs_few_instructions() {
    if !have("valgrind") {
        return skip("valgrind is not installed");
    }
    let optimized = library().parent().is_some_and(|dir| dir.ends_with("release"));
    let mut by_mode = std::collections::BTreeMap::new();
    for (operation, mode, most) in MOST_ADDED {
        let per_call = |traced| {
            let counts = [20_000, 40_000]
                .map(|calls| instructions(operation, mode, calls, traced).expect("callgrind says what it counted"));
            (counts[1] as f64 - counts[0] as f64) / 20_000.0
        };
        let (untraced, traced) = (per_call(false), per_call(true));
        let added = traced - untraced;
        println!("instructions per {operation}, {mode}: {untraced:.1} untraced, {traced:.1} traced, {added:.1} added");
        assert!(added > 5.0, "nothing was traced: {added:.1}");
        let most = if optimized { most } else { most * UNOPTIMIZED };
        assert!(added < most, "{added:.1} instructions added per {operation} ({mode}), at most {most} are allowed");
        by_mode.insert((operation, mode), added);
    }
    // Each omitted clock reading is a single instruction that takes as long as some ten others.
    let (timed, untimed) = (by_mode[&("pwrite", "counters")], by_mode[&("pwrite", "counters, untimed")]);
    assert!(untimed < timed, "{untimed:.1} instructions without times, {timed:.1} with them");
}
