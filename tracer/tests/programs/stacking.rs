//! Tests of the tracer together with other libraries: preloaded before or after the tracer, allocators, sanitizers, and libraries loaded later.

use crate::harness::{
    Compiler, Launch, Order, Scratch, Traces, assert_same, library, read_log, skip, workload, workload_with,
};
use std::path::{Path, PathBuf};
use std::process::Command;

fn preloaded(scratch: &Scratch, program: &Path, libraries: &[&Path], arguments: &[&str]) -> Traces {
    let list: Vec<String> = libraries.iter().map(|library| library.display().to_string()).collect();
    let launch = Launch::new(scratch, program).untraced().arg(scratch.data());
    let launch = arguments.iter().fold(launch, |launch, argument| launch.arg(argument));
    let launch = launch.env("LD_PRELOAD", list.join(":")).env("STACKED", scratch.root().join("stacked"));
    let outcome = launch.run();
    assert!(matches!(outcome.code, 0 | 7), "{list:?}: {outcome:?}");
    assert_eq!(outcome.stderr, "", "{list:?}");
    Traces::read(&scratch.traces())
}

/// Runs `program` twice, with library `other` preloaded after and before the tracer; calls `check` on each result.
fn beside(other: &Path, program: &Path, arguments: &[&str], check: impl Fn(&Scratch, &Traces)) {
    for libraries in [[library(), other], [other, library()]] {
        let scratch = Scratch::new();
        let traces = preloaded(&scratch, program, &libraries, arguments);
        assert_same(Order::File, &read_log(&scratch), &traces.own_ops(&["POSIX", "STDIO"], &scratch.data()));
        check(&scratch, &traces);
    }
}

fn shared(name: &'static str, flags: &[&'static str]) -> PathBuf {
    workload_with(name, Compiler::Cc, &[&["-O1", "-shared", "-fPIC"], flags].concat())
}

#[test]
fn another_library_that_wraps_the_same_calls_sees_them_too() {
    let other = shared("stacked", &[]);
    beside(&other, &workload("exits"), &["exit", "500"], |scratch, _| {
        let seen = std::fs::read_to_string(scratch.root().join("stacked")).expect("the other library reported");
        assert_eq!(seen, "1 500 0\n");
    });
}

/// Returns the path of a library, found by name as the dynamic linker or the compiler does.
fn find(name: &str) -> Option<PathBuf> {
    let output = Command::new("cc").arg(format!("-print-file-name={name}")).output().ok()?;
    let path = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    let known = [path, Path::new("/usr/lib/x86_64-linux-gnu").join(name), Path::new("/usr/lib64").join(name)];
    known.into_iter().find(|path| path.is_absolute() && path.exists())
}

#[test]
fn another_allocator() {
    let Some(jemalloc) = find("libjemalloc.so.2") else { return skip("libjemalloc.so.2 is not installed") };
    beside(&jemalloc, &workload("threads"), &["4", "500"], |_, traces| assert!(!traces.segments.is_empty()));
    beside(&jemalloc, &workload("stdio"), &[], |_, traces| assert!(!traces.segments.is_empty()));
}

#[test]
fn a_program_under_the_address_sanitizer() {
    let Some(sanitizer) = find("libasan.so") else { return skip("libasan.so is not installed") };
    for name in ["exits", "fork"] {
        let program = workload_with(name, Compiler::Cc, &["-O1", "-fsanitize=address"]);
        let scratch = Scratch::new();
        let arguments: &[&str] = if name == "exits" { &["exit", "300"] } else { &[] };
        // The sanitizer must be preloaded first.
        let traces = preloaded(&scratch, &program, &[&sanitizer, library()], arguments);
        assert_same(Order::File, &read_log(&scratch), &traces.own_ops(&["POSIX", "STDIO"], &scratch.data()));
    }
}

#[test]
fn libraries_that_are_loaded_later() {
    let (plugin, scratch) = (shared("plugin", &["-DPLUGIN"]), Scratch::new());
    let own = scratch.root().join("plugin.so");
    std::fs::copy(plugin, &own).expect("failed to copy the library");
    let program = workload_with("plugin", Compiler::Cc, &["-O1", "-ldl"]);
    let (log, traces) = Launch::new(&scratch, program).arg(scratch.data()).arg(own).traced();
    let mut reported = traces.own_ops(&["POSIX", "STDIO"], &scratch.data());
    // Calls of libraries loaded with RTLD_DEEPBIND may be partly visible, since a descriptor is found at its first use.
    reported.retain(|op| !op.path.ends_with("way3"));
    assert_same(Order::Thread, &log, &reported);
}

/// Runs a program with the libraries `tracers` preloaded; returns standard error and traces.
fn two_tracers(scratch: &Scratch, program: &Path, arguments: &[&Path], tracers: &[&Path]) -> (String, Traces) {
    let list: Vec<String> = tracers.iter().map(|tracer| tracer.display().to_string()).collect();
    let launch = Launch::new(scratch, program).untraced().env("LD_PRELOAD", list.join(":"));
    let launch = arguments.iter().fold(launch, |launch, argument| launch.arg(argument));
    let outcome = launch.run();
    assert!(matches!(outcome.code, 0 | 7), "{list:?}: {outcome:?}");
    (outcome.stderr, Traces::read(&scratch.traces()))
}

/// Copies the tracer library to `name`, to stand for a second copy that a site has installed.
fn copy(scratch: &Scratch, name: &str) -> PathBuf {
    let copy = scratch.root().join(name);
    std::fs::copy(library(), &copy).expect("failed to copy the library");
    copy
}

#[test]
fn of_two_tracers_the_first_records() {
    for name in ["libdxt_tracer.so", "libsite.so"] {
        for ours_first in [true, false] {
            let scratch = Scratch::new();
            let other = copy(&scratch, name);
            let tracers = if ours_first { [library(), &other] } else { [&other, library()] };
            let data = scratch.data();
            let arguments: &[&Path] = &[&data, Path::new("return"), Path::new("300")];
            let (said, traces) = two_tracers(&scratch, &workload("exits"), arguments, &tracers);
            let first = format!("dxt: the tracer {} of version {}", tracers[0].display(), env!("CARGO_PKG_VERSION"));
            assert!(said.starts_with(&first) && said.lines().count() == 1, "{name} {ours_first}: {said}");
            assert_eq!(traces.processes.len(), 1, "{name} {ours_first}");
            assert_same(Order::File, &read_log(&scratch), &traces.own_ops(&["POSIX", "STDIO"], &data));
        }
    }
}

#[test]
fn two_tracers_that_are_off_say_nothing() {
    for mode in ["off", ""] {
        let scratch = Scratch::new();
        let other = copy(&scratch, "libdxt_tracer.so");
        let both = format!("{}:{}", other.display(), library().display());
        let launch =
            Launch::new(&scratch, workload("exits")).untraced().env("LD_PRELOAD", both).env("DXT_ENABLE", mode);
        let outcome = launch.arg(scratch.data()).args(["return", "300"]).run();
        assert_eq!((outcome.code, outcome.stderr.as_str()), (7, ""), "{mode}");
        assert!(Traces::read(&scratch.traces()).files.is_empty(), "{mode}");
    }
}

/// Version 0.2.0 has no version symbol and does not detect other tracers, so it always records; a tracer beside it must not record. (The
/// stand-in for 0.2.0 used here records nothing.)
#[test]
fn a_tracer_of_0_2_0_is_not_joined_wherever_it_stands() {
    for ours_first in [true, false] {
        let scratch = Scratch::new();
        let old = scratch.root().join("libdxt_tracer.so.0.2");
        std::fs::copy(shared("stacked", &[]), &old).expect("failed to copy a library");
        let tracers = if ours_first { [library(), &old] } else { [&old, library()] };
        let data = scratch.data();
        let arguments: &[&Path] = &[&data, Path::new("return"), Path::new("300")];
        let (said, traces) = two_tracers(&scratch, &workload("exits"), arguments, &tracers);
        assert!(said.contains("libdxt_tracer.so.0.2 of version 0.2.0") && said.lines().count() == 1, "{said}");
        assert!(traces.files.is_empty(), "{ours_first}");
    }
}

/// If the tracer is loaded again later, as by a Python package, the second copy detects the preloaded copy and does not record.
#[test]
fn a_tracer_that_is_opened_later_does_not_record() {
    let (program, scratch) = (workload_with("reach", Compiler::Cc, &["-O1", "-ldl"]), Scratch::new());
    let other = copy(&scratch, "libdxt_tracer.so");
    let launch = Launch::new(&scratch, program).arg("opens").arg(&other);
    let outcome = launch.run();
    let said = format!("dxt: the tracer {} of version", library().display());
    assert!(outcome.code == 0 && outcome.stderr.starts_with(&said), "{outcome:?}");
}
