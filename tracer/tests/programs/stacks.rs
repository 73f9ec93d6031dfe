//! Tests of the stack space that hooks use: little, for any function, on thread and signal stacks. Measured in bytes touched, so that
//! machine load has no influence.

use crate::harness::{Compiler, Launch, Outcome, Scratch, Traces, library, workload_with};
use std::collections::BTreeMap;

/// Upper bound of the stack space that a hook may add to a call, in bytes.
const MOST_ADDED: i64 = 2048;
/// Factor applied to the bound for a library built without optimization.
const UNOPTIMIZED: i64 = 6;

fn launch<'a>(scratch: &'a Scratch, way: &str) -> Launch<'a> {
    // `-z now`: lazy binding at a function's first call would hide the stack of the hook.
    let program = workload_with("stacks", Compiler::Cc, &["-O1", "-pthread", "-Wl,-z,now"]);
    Launch::new(scratch, program).arg(scratch.data()).arg(way).env("DXT_BUFFER_MAX", "256K")
}

/// Returns the stack space used, in bytes, by function, as printed by the program.
fn depths(outcome: &Outcome) -> BTreeMap<String, i64> {
    assert_eq!(outcome.code, 8, "{outcome:?}");
    let pair =
        |line: &str| line.split_once(' ').map(|(name, bytes)| (name.to_owned(), bytes.parse().expect("a number")));
    outcome.stdout.lines().filter_map(pair).collect()
}

#[test]
fn no_hook_takes_much_stack() {
    let optimized = library().parent().is_some_and(|dir| dir.ends_with("release"));
    let most = if optimized { MOST_ADDED } else { MOST_ADDED * UNOPTIMIZED };
    let untraced = depths(&launch(&Scratch::new(), "depths").untraced().run());
    assert!(untraced.len() > 20, "{untraced:?}");
    for (mode, overflow) in [("trace", "compact"), ("trace", "fold"), ("trace", "spill"), ("counters", "compact")] {
        let scratch = Scratch::new();
        let traced = launch(&scratch, "depths").env("DXT_ENABLE", mode).env("DXT_OVERFLOW", overflow).run();
        let traced = depths(&traced);
        for (name, before) in &untraced {
            let added = traced.get(name).expect("the same calls") - before;
            println!("{name}, {mode} {overflow}: {before} bytes untraced, {added} added");
            assert!(added <= most, "{name} takes {added} bytes more of the stack ({mode}, {overflow})");
        }
        assert!(Traces::read(&scratch.traces()).totals(&["POSIX"], "write", &scratch.data()).0 > 40_000);
    }
}

#[test]
fn threads_and_signal_stacks_may_be_small() {
    if !library().parent().is_some_and(|dir| dir.ends_with("release")) {
        return crate::harness::skip_here("frames are larger without optimization");
    }
    for (way, code) in [("thread", 5), ("thread_exit", 5), ("signal", 5), ("signal_exec", 0), ("signal_term", 143)] {
        for (mode, overflow) in [("trace", "compact"), ("trace", "fold"), ("trace", "spill"), ("counters", "compact")] {
            let scratch = Scratch::new();
            let outcome = launch(&scratch, way).env("DXT_ENABLE", mode).env("DXT_OVERFLOW", overflow).run();
            assert_eq!((outcome.code, outcome.stderr.as_str()), (code, ""), "{way}, {mode} {overflow}: {outcome:?}");
            let traces = Traces::read(&scratch.traces());
            let (writes, _) = traces.totals(&["POSIX"], "write", &scratch.data());
            assert!(writes >= 40_000, "{way}, {mode} {overflow}: {writes}");
        }
    }
}
