//! Tests of call sites: for programs whose sources say which line makes which calls, the analyzer names these lines.

use crate::harness::{
    Compiler, Launch, Outcome, Scratch, analyzer, skip, workload_hdf5, workload_source, workload_with,
};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::process::Command;

/// Returns the rows of `dxt-analyze sites` on the scratch's traces, with further arguments.
fn rows_with(scratch: &Scratch, more: &[&OsStr]) -> Vec<Value> {
    let output = Command::new(analyzer())
        .arg("sites")
        .arg(scratch.traces())
        .args(["--format", "json"])
        .args(more)
        .output()
        .expect("failed to run the analyzer");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found: Value = serde_json::from_slice(&output.stdout).expect("the analyzer writes JSON");
    found["sites"].as_array().expect("a list of places").clone()
}

/// Returns the rows of `dxt-analyze sites` on the scratch's traces.
pub(super) fn rows(scratch: &Scratch) -> Vec<Value> {
    rows_with(scratch, &[])
}

/// By function: lines of the source `name` that end with the comment `at: FUNCTION`.
pub(super) fn lines_of(name: &str) -> BTreeMap<String, BTreeSet<u64>> {
    let text = std::fs::read_to_string(workload_source(name)).expect("failed to read a source");
    let mut out: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
    for (line, text) in (1..).zip(text.lines()) {
        if let Some(function) = text.split_once("at: ").map(|(_, function)| function.trim_end_matches("*/").trim()) {
            out.entry(function.to_owned()).or_default().insert(line);
        }
    }
    out
}

/// By function: lines, and number of calls from all of them.
pub(super) fn found(rows: &[Value], source: &str) -> BTreeMap<String, (BTreeSet<u64>, u64)> {
    let mut out: BTreeMap<String, (BTreeSet<u64>, u64)> = BTreeMap::new();
    for row in rows {
        let place = &row["place"];
        if !place["file"].as_str().is_some_and(|file| file.ends_with(source)) {
            continue;
        }
        let of = out.entry(place["function"].as_str().unwrap_or_default().to_owned()).or_default();
        of.0.extend(place["line"].as_u64());
        of.1 += row["calls"].as_u64().unwrap_or(0);
    }
    out
}

fn run(scratch: &Scratch, flags: &[&'static str]) -> Outcome {
    let plugin = workload_with("sites_plugin", Compiler::Cc, &["-g", "-O1", "-shared", "-fPIC"]);
    let program = workload_with("sites", Compiler::Cc, flags);
    Launch::new(scratch, program).arg(scratch.data()).arg(plugin).run()
}

#[test]
fn each_call_has_the_line_that_makes_it() {
    if !cfg!(target_arch = "x86_64") {
        return skip("call sites are recorded on x86-64 only");
    }
    let builds: [&[&'static str]; 4] = [
        &["-g", "-O0"],
        &["-g", "-O2", "-fomit-frame-pointer"],
        &["-g", "-O2", "-no-pie"],
        // Without unwind tables, frame pointers lead from frame to frame.
        &["-g", "-O1", "-fno-omit-frame-pointer", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables"],
    ];
    for flags in builds {
        let scratch = Scratch::new();
        let outcome = run(&scratch, flags);
        assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""), "{flags:?}");
        let rows = rows(&scratch);
        let (lines, found) = (lines_of("sites.c"), found(&rows, "sites.c"));
        let expected = [
            ("two_lines", 1600),
            ("in_printf", 40),
            ("deep", 1),
            ("in_thread", 200),
            ("in_handler", 5),
            ("in_child", 60),
            ("in_coroutine", 7),
            ("in_vector", 9),
            ("with_frame", 1),
        ];
        for (function, calls) in expected {
            assert_eq!(found.get(function), Some(&(lines[function].clone(), calls)), "{function} {flags:?} {rows:#?}");
        }
        let plugin = super::sites::found(&rows, "sites_plugin.c");
        assert_eq!(plugin["in_plugin"], (lines_of("sites_plugin.c")["in_plugin"].clone(), 24), "{flags:?}");
        // Calls through different callers are different rows.
        let caller = |row: &Value| row["callers"][0]["function"].as_str().unwrap_or_default().to_owned();
        let of_two = rows.iter().filter(|row| row["place"]["function"] == "two_lines");
        let by_caller: BTreeSet<(String, u64)> =
            of_two.map(|row| (caller(row), row["calls"].as_u64().unwrap_or(0))).collect();
        let expected = [("first_caller".to_owned(), 500), ("second_caller".to_owned(), 300)];
        assert_eq!(by_caller, BTreeSet::from(expected), "{flags:?}");
    }
}

#[test]
fn a_stripped_program_has_its_names_in_a_file_apart() {
    let whole = workload_with("sites", Compiler::Cc, &["-g", "-O2", "-Wl,--build-id"]);
    let scratch = Scratch::new();
    let (program, debug) = (scratch.root().join("stripped"), scratch.root().join("debug"));
    std::fs::create_dir(&debug).expect("failed to make a directory");
    let strip = Command::new("strip").arg("-o").arg(&program).arg(&whole).status();
    if !strip.is_ok_and(|status| status.success()) {
        return skip("strip is not installed");
    }
    std::fs::copy(&whole, debug.join("stripped.debug")).expect("failed to copy a program");
    let outcome = Launch::new(&scratch, &program).arg(scratch.data()).run();
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let without = rows(&scratch);
    assert!(found(&without, "sites.c").is_empty());
    let is_address =
        |row: &Value| row["place"]["function"].as_str().is_some_and(|name| name.starts_with("stripped+0x"));
    assert!(without.iter().any(is_address), "{without:#?}");
    let with_debug = || rows_with(&scratch, &["--debug-dir".as_ref(), debug.as_os_str()]);
    let lines = lines_of("sites.c");
    let named = found(&with_debug(), "sites.c");
    assert_eq!(named["two_lines"].0, lines["two_lines"]);
    // A program that was built anew has another build id, and its lines would be wrong.
    let other = workload_with("sites", Compiler::Cc, &["-g", "-O0", "-Wl,--build-id"]);
    std::fs::copy(&other, debug.join("stripped.debug")).expect("failed to copy a program");
    assert!(found(&with_debug(), "sites.c").is_empty());
}

#[test]
fn sites_can_be_left_out() {
    for (variable, value) in [("DXT_SITES", "off"), ("DXT_ENABLE", "counters")] {
        let scratch = Scratch::new();
        let program = workload_with("sites", Compiler::Cc, &["-g", "-O2"]);
        let outcome = Launch::new(&scratch, program).arg(scratch.data()).env(variable, value).run();
        assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
        assert!(rows(&scratch).is_empty(), "{variable}");
    }
}

#[test]
fn calls_inside_of_libraries_have_the_line_of_the_program() {
    for mpi in [Compiler::Mpich, Compiler::OpenMpi] {
        if !mpi.available() {
            continue;
        }
        let scratch = Scratch::new();
        let program = workload_with("sites_mpi", mpi, &["-g", "-O2"]);
        let outcome = Launch::new(&scratch, program).arg(scratch.data()).ranks(mpi, 2).run();
        assert_eq!(outcome.code, 0, "{outcome:?}");
        let (rows, lines) = (rows(&scratch), lines_of("sites_mpi.c"));
        let found = found(&rows, "sites_mpi.c");
        for function in ["alone", "together"] {
            assert_eq!(found[function].0, lines[function], "{mpi:?} {rows:#?}");
        }
        let through = |row: &&Value| row["layer"] == "POSIX" && row["through"] == "MPI_File_write_at";
        let inner: u64 = rows.iter().filter(through).filter_map(|row| row["calls"].as_u64()).sum();
        assert_eq!(inner, 2 * 30, "{mpi:?} {rows:#?}");
    }
    let Some(program) = workload_hdf5("sites_hdf5", Compiler::Cc, "serial", &["-g", "-O2"]) else { return };
    let scratch = Scratch::new();
    let outcome = Launch::new(&scratch, program).arg(scratch.data().join("file.h5")).run();
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let (rows, lines) = (rows(&scratch), lines_of("sites_hdf5.c"));
    assert_eq!(found(&rows, "sites_hdf5.c")["columns"].0, lines["columns"], "{rows:#?}");
    let of = |layer: &str| {
        let is = |row: &&Value| {
            row["layer"] == layer && row["operation"] == "write" && row["place"]["function"] == "columns"
        };
        rows.iter().filter(is).filter_map(|row| row["calls"].as_u64()).sum::<u64>()
    };
    assert!(of("HDF5") == 20 && of("POSIX") >= 20, "{rows:#?}");
    let through = |row: &Value| row["layer"] == "POSIX" && row["through"] == "H5Dwrite";
    assert!(rows.iter().any(through), "{rows:#?}");
}
