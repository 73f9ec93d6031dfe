//! Tests of call sites in Python programs: for scripts whose comments say which line makes which calls, the analyzer names these lines.

use super::sites::{found, lines_of, rows};
use crate::harness::{
    Compiler, Launch, Scratch, analyzer, python, recover, skip, skip_here, workload_source, workload_with,
};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

/// Returns a CPython of which lines are recorded: one in `PATH`, or one that pyenv has built.
fn python_with_lines() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let versions = std::env::home_dir().map(|home| home.join(".pyenv/versions"));
    let built = versions.into_iter().flat_map(std::fs::read_dir).flatten().flatten();
    let built = built.filter(|entry| entry.file_name().to_string_lossy().starts_with("3.13."));
    let built = built.map(|entry| entry.path().join("bin/python3.13"));
    // A shell script that chooses a version is none.
    let is_program = |path: &PathBuf| std::fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"\x7fELF"));
    std::env::split_paths(&path).map(|dir| dir.join("python3.13")).chain(built).find(is_program)
}

/// Runs the script and asserts that each of its lines is named; `ends`: further arguments.
fn lines_are_named(interpreter: PathBuf, ends: &[&str]) {
    let scratch = Scratch::new();
    let launch = Launch::new(&scratch, interpreter).arg(workload_source("sites.py")).arg(scratch.data());
    let outcome = ends.iter().fold(launch, |launch, end| launch.arg(end)).run();
    assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("188\n", ""), "{outcome:?}");
    assert_eq!(outcome.code == 0, ends.is_empty(), "{outcome:?}");
    recover(&scratch);
    let mut rows = rows(&scratch);
    rows.retain(|row| row["operation"] == "write");
    let (lines, found) = (lines_of("sites.py"), found(&rows, "sites.py"));
    let expected = [
        ("helper", Some(70)),
        ("Writer.buffered", None),
        ("in_thread", Some(25)),
        ("generator", Some(7)),
        ("recursive", Some(1)),
        ("outer.<locals>.ɪnner", Some(1)),
        ("Opened.__init__", Some(60)),
        ("hot", Some(5000)),
        ("<lambda>", Some(1)),
    ];
    for (function, calls) in expected {
        let of = found.get(function).unwrap_or_else(|| panic!("{function} {rows:#?}"));
        assert_eq!((&of.0, calls.unwrap_or(of.1)), (&lines[function], of.1), "{function}");
    }
    // A call over several lines has the first.
    let last = lines["coroutine"].first().copied().unwrap_or_default();
    assert_eq!(found["coroutine"], (BTreeSet::from([last - 4, last]), 2));
    let of = |function: &'static str| rows.iter().filter(move |row| row["place"]["function"] == function);
    let caller = |row: &Value| (row["callers"][0]["line"].as_u64(), row["calls"].as_u64());
    let helper = *lines["helper"].first().expect("a line");
    assert_eq!(
        of("helper").map(caller).collect::<BTreeSet<_>>(),
        BTreeSet::from([(Some(helper + 5), Some(40)), (Some(helper + 7), Some(30))])
    );
    // Between a class that is called and its `__init__` lies a function of the interpreter.
    assert!(of("Opened.__init__").all(|row| row["callers"][0]["function"] == "construct"), "{rows:#?}");
    assert_eq!((of("hot").count(), of("hot").next().map(|row| row["through"].is_null())), (1, Some(true)));
    let in_string = |row: &Value| (row["place"]["file"].as_str() == Some("<string>"), row["place"]["line"].as_u64());
    assert!(rows.iter().any(|row| in_string(row) == (true, Some(2))), "{rows:#?}");
    let cell = |row: &Value| {
        let file = row["place"]["file"].as_str()?.strip_prefix("cell")?.parse::<u64>().ok()?;
        Some((file, row["place"]["line"].as_u64(), row["calls"].as_u64()))
    };
    let cells: BTreeSet<_> = rows.iter().filter_map(cell).collect();
    assert_eq!(cells, (0..20).map(|cell| (cell, Some(cell + 1), Some(1))).collect());
}

#[test]
fn each_call_has_the_line_of_the_script_that_makes_it() {
    if !cfg!(target_arch = "x86_64") {
        return skip_here("call sites are recorded on x86-64 only");
    }
    let Some(interpreter) = python_with_lines() else { return skip_here("there is no Python 3.13") };
    lines_are_named(interpreter.clone(), &[]);
    lines_are_named(interpreter, &["kill"]);
}

/// A handler of a C library that runs on a stack of its own interrupts Python code at any instruction, and makes calls.
#[test]
fn handlers_on_other_stacks_may_interrupt_the_interpreter() {
    if !cfg!(target_arch = "x86_64") {
        return skip_here("call sites are recorded on x86-64 only");
    }
    let Some(interpreter) = python_with_lines() else { return skip_here("there is no Python 3.13") };
    let scratch = Scratch::new();
    let handlers = workload_with("handlers", Compiler::Cc, &["-O1", "-shared", "-fPIC"]);
    let launch = Launch::new(&scratch, interpreter).arg(workload_source("handlers.py")).arg(handlers);
    let outcome = launch.arg(scratch.data()).run();
    assert_eq!((outcome.code, outcome.stdout.as_str(), outcome.stderr.as_str()), (0, "done\n", ""), "{outcome:?}");
    assert!(rows(&scratch).iter().any(|row| row["operation"] == "write"), "nothing is on record");
}

#[test]
fn older_pythons_are_as_before() {
    let Some(interpreter) = python() else { return skip("python3 is not installed") };
    let scratch = Scratch::new();
    let launch = || Launch::new(&scratch, &interpreter).arg(workload_source("sites.py")).arg(scratch.data());
    let untraced = launch().untraced().run();
    scratch.clear_data();
    let traced = launch().run();
    assert_eq!((traced.code, &traced.stdout, &traced.stderr), (0, &untraced.stdout, &untraced.stderr));
    let shown =
        Command::new(analyzer()).arg("sites").arg(scratch.traces()).output().expect("failed to run the analyzer");
    let has_lines =
        Command::new(&interpreter).args(["-c", "import sys; sys.exit(sys.version_info[:2] != (3, 13))"]).status();
    let explained = String::from_utf8_lossy(&shown.stdout).contains(": lines of scripts are recorded with Python 3.13");
    assert!(cfg!(not(target_arch = "x86_64")) || explained != has_lines.expect("python").success(), "{shown:?}");
}
