//! Tests of the filters described in docs/configuration.md: calls that a filter excludes are counted instead of recorded. (`ranks` tests
//! DXT_RANKS, `triggers` tests triggers.)

use crate::harness::{
    Compiler, Launch, Op, Order, Scratch, Traces, assert_same, read_failures, workload, workload_with,
};
use std::collections::BTreeMap;
use std::path::Path;

pub(crate) const BOTH: [Compiler; 2] = [Compiler::Mpich, Compiler::OpenMpi];

/// Returns the launch of the test program `name`, which works on several files in `data/`.
fn posix<'a>(scratch: &'a Scratch, name: &'static str) -> Launch<'a> {
    Launch::new(scratch, workload(name)).arg(scratch.data())
}

pub(crate) fn mpiio(scratch: &Scratch, mpi: Compiler, ranks: u32) -> Launch<'_> {
    Launch::new(scratch, workload_with("mpiio", mpi, &["-O1"])).arg(scratch.data()).arg("all").ranks(mpi, ranks)
}

/// Returns the number of calls and the number of bytes by (path, layer, operation).
fn all_calls<'a>(ops: impl Iterator<Item = &'a Op>) -> BTreeMap<(String, String, String), (u64, u64)> {
    let mut calls: BTreeMap<_, (u64, u64)> = BTreeMap::new();
    for op in ops {
        let sum = calls.entry((op.path.clone(), op.layer.clone(), op.name.clone())).or_default();
        *sum = (sum.0 + 1, sum.1 + op.length);
    }
    calls
}

/// Asserts, for each operation (of these I/O layers) and file under `dir`, that recorded plus counted calls and bytes equal those in the
/// program's log.
#[track_caller]
pub(crate) fn kept_and_counted_are_all(log: &[Op], traces: &Traces, layers: &[&str], dir: &Path) {
    let mut reported = all_calls(traces.own_ops(layers, dir).iter());
    for process in &traces.processes {
        for missing in process.missing.iter().filter(|missing| !missing.nested && missing.op.errno == 0) {
            let op = &missing.op;
            if layers.contains(&op.layer.as_str()) && Path::new(&op.path).starts_with(dir) {
                let sum = reported.entry((op.path.clone(), op.layer.clone(), op.name.clone())).or_default();
                *sum = (sum.0 + missing.counters.segments, sum.1 + missing.counters.bytes);
            }
        }
    }
    assert_eq!(reported, all_calls(log.iter().filter(|op| layers.contains(&op.layer.as_str()))));
}

/// Returns the sum over all processes of the count in the note `what`.
pub(crate) fn noted(traces: &Traces, what: &str) -> u64 {
    let notes = traces.processes.iter().flat_map(|process| &process.notes);
    notes.filter(|note| note.what.contains(what)).map(|note| note.count).sum()
}

pub(crate) fn setting<'a>(traces: &'a Traces, name: &str) -> Option<&'a str> {
    traces.jobs[0].settings.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

#[test]
fn wrong_values_turn_tracing_off_with_one_line() {
    for (variable, value) in [
        ("DXT_INCLUDE", "/data/[a"),
        ("DXT_INCLUDE", ","),
        ("DXT_EXCLUDE", "x\\"),
        ("DARSHAN_EXCLUDE_DIRS", "relative/dir"),
        ("DXT_RANKS", "3:1"),
        ("DXT_RANKS", "1-3"),
        ("DXT_APPS", "/bin/ls"),
        ("DXT_LAYERS", "posix,lustre"),
        ("DXT_MIN_SIZE", "big"),
        ("DXT_SMALL_IO_TRIGGER", "80%"),
        ("DXT_SMALL_IO_SIZE", "-1"),
        ("DXT_UNALIGNED_IO_TRIGGER", "1.5"),
    ] {
        let scratch = Scratch::new();
        let launch = Launch::new(&scratch, workload("exits")).arg(scratch.data()).arg("return").arg("3");
        let outcome = launch.env(variable, value).run();
        assert_eq!((outcome.code, outcome.stderr.lines().count()), (7, 1), "{outcome:?}");
        assert!(outcome.stderr.contains(&format!("{variable}={value}")), "{outcome:?}");
        assert!(Traces::read(&scratch.traces()).files.is_empty(), "{variable}={value}");
    }
}

/// Runs a program on several files with the environment `variables`. Asserts that exactly the files for which `keeps` returns true have segments.
#[track_caller]
fn only(name: &'static str, variables: &[(&str, &str)], keeps: impl Fn(&str) -> bool) -> Traces {
    let scratch = Scratch::new();
    let data = scratch.data();
    let data_name = data.display().to_string();
    let launch = variables.iter().fold(posix(&scratch, name), |launch, (variable, value)| {
        launch.env(variable, value.replace("DATA", &data_name))
    });
    let (log, traces) = launch.traced();
    let kept = |op: &&Op| op.path.strip_prefix(&data_name).is_some_and(&keeps);
    let log: Vec<Op> = log.into_iter().filter(|op| op.path.starts_with(&data_name)).collect();
    let reported = traces.own_ops(&["POSIX", "STDIO"], &data);
    let (did, all) = (all_calls(log.iter().filter(kept)), all_calls(log.iter()));
    assert!(did.len() < all.len(), "nothing is left out: {variables:?}");
    assert_eq!(all_calls(reported.iter()), did, "{variables:?}");
    // Some programs do not log their failed calls.
    let failed = read_failures(&scratch);
    if !failed.is_empty() {
        assert_eq!(all_calls(traces.failed_ops(&data).iter()), all_calls(failed.iter().filter(kept)), "{variables:?}");
    }
    for (variable, _) in variables {
        assert!(traces.jobs.is_empty() || setting(&traces, variable).is_some(), "{variable}");
    }
    traces
}

#[test]
fn only_files_that_are_included_and_not_excluded() {
    let log = {
        let scratch = Scratch::new();
        posix(&scratch, "posix_all").traced().0.iter().map(|op| op.path.clone()).collect::<Vec<_>>()
    };
    assert!(log.iter().any(|path| path.ends_with("/main")), "{log:?}");
    let traces = only("posix_all", &[("DXT_INCLUDE", "DATA/main")], |path| path == "/main");
    assert!(noted(&traces, "DXT_INCLUDE does not name") > 0);
    let traces = only("posix_all", &[("DXT_EXCLUDE", "*/ma?n")], |path| path != "/main");
    assert!(noted(&traces, "DXT_EXCLUDE") > 0);
    let both = [("DXT_INCLUDE", "DATA:/nowhere/**"), ("DXT_EXCLUDE", "o3")];
    only("posix_all", &both, |path| path != "/o3");
    let traces = only("posix_all", &[("DXT_EXCLUDE", "DATA,/dev")], |_| false);
    assert_eq!(traces.files.len(), 0, "a process without a recorded call writes nothing");
    only("posix_all", &[("DARSHAN_EXCLUDE_DIRS", "/nowhere,DATA/main")], |path| path != "/main");
}

#[test]
fn a_pattern_may_go_through_a_symbolic_link() {
    for pattern in ["link", "link/", "link/ma*", "link/**"] {
        let scratch = Scratch::new();
        let link = scratch.root().join("link");
        std::os::unix::fs::symlink(scratch.data(), &link).expect("failed to make a link");
        let pattern = scratch.root().join(pattern).display().to_string();
        let (log, traces) = posix(&scratch, "posix_all").env("DXT_INCLUDE", &pattern).traced();
        let main = scratch.data().join("main");
        let of_main = |ops: &[Op]| ops.iter().filter(|op| Path::new(&op.path) == main).count();
        let reported = traces.own_ops(&["POSIX"], &scratch.data());
        assert!(of_main(&reported) > 0 && of_main(&reported) == of_main(&log), "{pattern}");
        assert_eq!(setting(&traces, "DXT_INCLUDE"), Some(pattern.as_str()));
    }
}

#[test]
fn names_that_are_not_opened_are_judged_too() {
    let traces = only("metadata", &[("DXT_EXCLUDE", "DATA/[!f]*,DATA/[!f]*/")], |path| {
        path.is_empty() || path.starts_with("/f")
    });
    assert!(noted(&traces, "calls on names that DXT_EXCLUDE,") > 0);
}

#[test]
fn without_defaults_the_systems_files_are_recorded() {
    let opened = |value: &str| {
        let scratch = Scratch::new();
        let launch = Launch::new(&scratch, "/bin/cat").arg("/etc/passwd").env("DARSHAN_EXCLUDE_DIRS", value);
        let outcome = launch.run();
        assert_eq!(outcome.code, 0, "{outcome:?}");
        Traces::read(&scratch.traces()).segments.iter().filter(|seg| seg.op.path == "/etc/passwd").count()
    };
    assert_eq!(opened("/nowhere"), 0);
    assert!(opened("none") >= 3);
}

#[test]
fn only_programs_that_are_chosen() {
    for (apps, files) in [("exits*", 1), ("sh,!exits*", 0), ("!exits*", 0), ("!git:!ls", 1), ("sh,EXITS", 0)] {
        let scratch = Scratch::new();
        let launch = Launch::new(&scratch, workload("exits")).arg(scratch.data()).arg("return").arg("3");
        let outcome = launch.env("DXT_APPS", apps).run();
        assert_eq!((outcome.code, outcome.stderr.as_str()), (7, ""), "{apps}");
        assert_eq!(Traces::read(&scratch.traces()).files.len(), files, "{apps}");
    }
}

#[test]
fn short_transfers_are_counted_and_no_more() {
    for (name, layers) in [("posix_all", ["POSIX"]), ("stdio", ["STDIO"])] {
        let scratch = Scratch::new();
        let (log, traces) = posix(&scratch, name).env("DXT_MIN_SIZE", "300").traced();
        let log: Vec<Op> = log.into_iter().filter(|op| Path::new(&op.path).starts_with(scratch.data())).collect();
        let is_short = |op: &Op| matches!(op.name.as_str(), "read" | "write") && op.length < 300;
        assert!(log.iter().any(is_short) && log.iter().any(|op| op.length >= 300));
        assert!(!traces.own_ops(&layers, &scratch.data()).iter().any(is_short), "{name}");
        let long = log.iter().filter(|op| layers.contains(&op.layer.as_str()) && !is_short(op)).count();
        assert_eq!(traces.own_ops(&layers, &scratch.data()).len(), long, "{name}");
        kept_and_counted_are_all(&log, &traces, &layers, &scratch.data());
        assert_eq!(setting(&traces, "DXT_MIN_SIZE"), Some("300"));
    }
}

#[test]
fn short_transfers_need_no_room_and_nothing_is_lost() {
    // 100 times more calls than the 64 KiB buffer holds. Only the open of each file is kept.
    for overflow in ["fold", "compact"] {
        let scratch = Scratch::new();
        let launch = Launch::new(&scratch, workload("exits")).arg(scratch.data()).arg("return").arg("200000");
        let launch = launch.env("DXT_MIN_SIZE", "5").env("DXT_BUFFER_MAX", "64K").env("DXT_OVERFLOW", overflow);
        assert_eq!(launch.run().code, 7);
        let traces = Traces::read(&scratch.traces());
        let names: Vec<&str> = traces.segments.iter().map(|seg| seg.op.name.as_str()).collect();
        assert_eq!((names, traces.missing()), (vec!["open"], 200_000), "{overflow}");
        let counters = &traces.processes[0].missing[0].counters;
        assert_eq!((counters.bytes, counters.min_offset, counters.max_end_offset), (800_000, 0, 199_999 * 64 + 4));
        assert_eq!((counters.consecutive, counters.sequential), (0, 199_999));
    }
}

#[test]
fn short_transfers_of_many_threads() {
    let scratch = Scratch::new();
    let (log, traces) = posix(&scratch, "threads").env("DXT_MIN_SIZE", "64").env("DXT_BUFFER_MAX", "64K").traced();
    assert!(traces.missing() > 0);
    kept_and_counted_are_all(&log, &traces, &["POSIX"], &scratch.data());
}

#[test]
fn only_layers_that_are_named() {
    let scratch = Scratch::new();
    let (log, traces) = posix(&scratch, "stdio").env("DXT_LAYERS", "posix").traced();
    assert!(traces.own_ops(&["STDIO"], &scratch.data()).is_empty());
    let of = |layer: &str| log.iter().filter(|op| op.layer == layer).count();
    let (noted, done) = (noted(&traces, "DXT_LAYERS"), of("STDIO") as u64);
    assert!(noted >= done && done > 0, "{noted} counted of {done}");
    assert_eq!(traces.own_ops(&["POSIX"], &scratch.data()).len(), of("POSIX"));
}

#[test]
fn only_mpi_io_or_only_what_is_below() {
    for mpi in BOTH.into_iter().filter(|mpi| mpi.available()) {
        let scratch = Scratch::new();
        let (log, traces) = mpiio(&scratch, mpi, 2).env("DXT_LAYERS", "mpiio").traced();
        // Includes offsets of shared file pointers, which are known from the nested POSIX calls.
        assert_same(Order::File, &log, &traces.own_ops(&["MPIIO"], &scratch.data()));
        assert!(traces.segments.iter().all(|seg| seg.op.layer == "MPIIO"), "{mpi:?}");
        assert!(noted(&traces, "DXT_LAYERS") > 0);
        let scratch = Scratch::new();
        let (_, traces) = mpiio(&scratch, mpi, 2).env("DXT_LAYERS", "posix,stdio").traced();
        assert!(traces.segments.iter().any(|seg| seg.nested));
        assert!(traces.segments.iter().all(|seg| seg.op.layer != "MPIIO"), "{mpi:?}");
    }
}
