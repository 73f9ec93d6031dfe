//! Tests of HDF5 selections (points, hyperslabs) in the connector's format: they equal those logged by the programs, call by call.

use super::{Running, agent, lines, trace};
use crate::common;
use crate::harness::{Compiler, Launch, Scratch, log_lines, python, read_ranks, skip, workload_hdf5, workload_source};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Reads and writes of each data set, by process and path: selection type and extent of each call.
type Transfers = BTreeMap<(String, String), Vec<(usize, String)>>;

/// Returns the selections logged by the programs of `scratch`.
fn selected(scratch: &Scratch) -> Transfers {
    let mut all = Transfers::new();
    for line in log_lines(scratch) {
        let Some(line) = line.strip_prefix("SELECTED ") else { continue };
        let words: Vec<&str> = line.splitn(8, ' ').collect();
        let key = (words[0].to_owned(), words[7].to_owned());
        all.entry(key).or_default().push((words[3].parse().unwrap(), words[6].to_owned()));
    }
    all
}

/// Returns the selection fields of a connector message: numbers of points, of irregular and of regular hyperslabs, of dimensions, and of elements.
fn numbers(message: &Value) -> [i64; 5] {
    ["pt_sel", "irreg_hslab", "reg_hslab", "ndims", "npoints"].map(|name| message["seg"][0][name].as_i64().unwrap())
}

/// Returns the messages on data sets, by process and path, in order of arrival. `process` converts a rank to the process's key.
fn messages(scratch: &Scratch, file: &Path, process: impl Fn(i64) -> String) -> BTreeMap<(String, String), Vec<Value>> {
    let (mut all, mut names) = (BTreeMap::<_, Vec<Value>>::new(), BTreeMap::new());
    for message in lines(scratch, "messages") {
        if message["module"] != "H5D" {
            assert_eq!(numbers(&message), [-1; 5], "{message}");
            continue;
        }
        if message["op"] == "open" {
            names.insert(message["record_id"].as_u64(), message["file"].as_str().unwrap().to_owned());
        }
        let name = &names[&message["record_id"].as_u64()];
        let path = name.strip_prefix(&format!("{}:", file.display())).unwrap().to_owned();
        all.entry((process(message["rank"].as_i64().unwrap()), path)).or_default().push(message);
    }
    all
}

/// Compares each message with the program's log. `opened` returns the numbers of dimensions and elements of a data set at its n-th open.
fn compare(
    said: &Transfers,
    messages: &BTreeMap<(String, String), Vec<Value>>,
    opened: impl Fn(&str, u64, &str) -> (i64, i64),
) {
    assert_eq!(said.keys().collect::<Vec<_>>(), messages.keys().collect::<Vec<_>>());
    for ((key, transfers), messages) in said.iter().zip(messages.values()) {
        let mut counts = [0; 3];
        let mut calls = BTreeMap::<&str, u64>::new();
        let mut number = 0;
        for message in messages {
            let word = message["op"].as_str().unwrap();
            let extent = &transfers[number.min(transfers.len() - 1)].1;
            if matches!(word, "read" | "write") {
                // Selection types are numbered as in h5log.h: 2 regular, 3 irregular, 4 points.
                if let Some(kind) = [4, 3, 2].iter().position(|kind| *kind == transfers[number].0) {
                    counts[kind] += 1;
                }
            }
            let count = calls.entry(word).or_default();
            *count += 1;
            assert_eq!(message["cnt"].as_u64(), Some(*count), "{message}");
            let (dimensions, elements) = opened(&key.1, calls["open"], extent);
            let [points, irregular, regular] = counts;
            assert_eq!(numbers(message), [points, irregular, regular, dimensions, elements], "{key:?} {message}");
            number += usize::from(matches!(word, "read" | "write"));
        }
        assert_eq!(number, transfers.len());
    }
}

/// Returns the summary's table of data sets. Selection types that the connector's format does not distinguish are merged.
fn tables(path: &Path) -> Vec<Value> {
    let output = common::run(&["summary", "--format", "json", "--top", "100", path.to_str().unwrap()]);
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    let known = ["points", "regular hyperslab", "irregular hyperslab"];
    let kinds = |row: &Value, name: &str| {
        let mut out = BTreeMap::<String, u64>::new();
        for (kind, count) in row[name].as_object().unwrap() {
            let kind = if known.contains(&kind.as_str()) { kind } else { "other" };
            *out.entry(kind.to_owned()).or_default() += count.as_u64().unwrap();
        }
        json!(out)
    };
    let row = |row: &Value| {
        let same = ["file", "data_set", "processes", "reads", "writes", "bytes_read", "bytes_written"];
        let mut out: Vec<Value> = same.iter().map(|name| row[name].clone()).collect();
        out.extend(["read_selections", "write_selections"].map(|name| kinds(row, name)));
        json!(out)
    };
    let mut out: Vec<Value> = summary["top_data_sets"].as_array().unwrap().iter().map(row).collect();
    out.sort_by_key(ToString::to_string);
    out
}

fn watched(scratch: &Scratch) -> Running {
    Running::new(agent(scratch, &["--to", "connector:messages", "--to", "csv:rows.csv", "--until-end"]))
}

#[test]
fn ranks_tell_what_they_selected_of_shared_data_sets() {
    let (mpi, hdf5) = (Compiler::Mpich, "mpich");
    if !mpi.available() {
        return skip("mpicc.mpich is not installed");
    }
    let Some(program) = workload_hdf5("hdf5_parallel", mpi, hdf5, &[]) else { return };
    let scratch = Scratch::new();
    let agent = watched(&scratch);
    assert_eq!(Launch::new(&scratch, &program).arg(scratch.data()).ranks(mpi, 3).run().code, 0);
    agent.end();
    let ranks: BTreeMap<i64, String> =
        read_ranks(&scratch).iter().map(|(pid, rank)| (i64::from(*rank), pid.to_string())).collect();
    let messages = messages(&scratch, &scratch.data().join("parallel.h5"), |rank| ranks[&rank].clone());
    compare(&selected(&scratch), &messages, |_, _, extent| {
        let sizes: Vec<i64> = extent.split('x').map(|size| size.parse().unwrap()).collect();
        (sizes.len() as i64, sizes.iter().product())
    });
    assert_eq!(tables(&scratch.data().join("rows.csv")), tables(&trace(&scratch)));
    assert_eq!(tables(&scratch.data().join("messages")), tables(&trace(&scratch)));
}

#[test]
fn a_data_set_that_grew_is_what_it_was_when_it_was_opened() {
    let Some(interpreter) = python() else { return skip("python3 is not installed") };
    let scratch = Scratch::new();
    let file = scratch.data().join("all.h5");
    let agent = watched(&scratch);
    let outcome = Launch::new(&scratch, interpreter).arg(workload_source("h5py_all.py")).arg(&file).run();
    agent.end();
    if outcome.stderr.contains("ModuleNotFoundError") {
        return skip("h5py is not installed");
    }
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let said = selected(&scratch);
    let pid = said.keys().next().unwrap().0.clone();
    compare(&said, &messages(&scratch, &file, |_| pid.clone()), |path, opens, _| match path {
        "/group/grid" => (2, 1200),
        // The data set is created with 100 elements, and extended to 200 while open.
        "/packed" => (1, if opens == 1 { 100 } else { 200 }),
        "/scalar" => (0, 1),
        other => panic!("{other}"),
    });
    assert_eq!(tables(&scratch.data().join("rows.csv")), tables(&trace(&scratch)));
}

#[test]
fn names_of_data_sets_are_hashed_like_all_others() {
    let Some(interpreter) = python() else { return skip("python3 is not installed") };
    let scratch = Scratch::new();
    let key = scratch.root().join("key");
    std::fs::write(&key, "0123456789abcdef0123456789abcdef").unwrap();
    let agent = Running::new(agent(&scratch, &["--to", "events:events", "--until-end"]));
    let launch = Launch::new(&scratch, interpreter).arg(workload_source("h5py_all.py"));
    let outcome = launch.arg(scratch.data().join("all.h5")).env("DXT_ANONYMIZE", &key).run();
    agent.end();
    if outcome.stderr.contains("ModuleNotFoundError") {
        return skip("h5py is not installed");
    }
    let of = |rows: &[Value]| -> BTreeSet<String> {
        rows.iter().filter_map(|row| row["data_set"].as_str().map(str::to_owned)).collect()
    };
    let shown = of(&lines(&scratch, "events"));
    let is_hash = |part: &str| part.len() == 16 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    assert!(shown.len() == 3 && shown.iter().all(|name| name.split('/').skip(1).all(is_hash)), "{shown:?}");
    let output = common::run(&["summary", "--format", "json", trace(&scratch).to_str().unwrap()]);
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(shown, of(summary["top_data_sets"].as_array().unwrap()));
}
