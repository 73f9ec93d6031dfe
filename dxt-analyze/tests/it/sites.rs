//! Tests of call sites in all outputs: rows of calls, tables, the flame graph on the page, and the comparison of two runs.

use crate::common::{Builder, job, op, process, put, run, stdout, trace};
use crate::export::tables::{numbers, read, texts};
use serde_json::{Value, json};
use std::path::Path;
use trace_format::meta::{FrameDef, FunctionDef, ModuleDef, StreamDef, StreamSite, script_address};
use trace_format::segment::{Segment, StreamId};

const MS: u64 = 1_000_000;

/// Call site of a script's process under construction: its call stack of functions and lines, from the outermost.
type Stack<'a> = &'a [(&'a str, u32)];

/// Adds `calls` writes of 1000 bytes and `ms` each, all from the place that `stack` leads to.
fn calls(to: &mut Builder, stack: Stack<'_>, path: &str, calls: u64, ms: u64) {
    let file = to.file(path);
    let sites = &mut to.process.sites;
    if sites.modules.is_empty() {
        sites.modules.push(ModuleDef { path: b"/work/app.py".to_vec(), build_id: Vec::new() });
    }
    let mut caller = 0;
    for (name, line) in stack {
        let known = sites.functions.iter().position(|function| function.name == name.as_bytes());
        let function = known.unwrap_or_else(|| {
            sites.functions.push(FunctionDef { module: 1, name: name.as_bytes().to_vec() });
            sites.functions.len() - 1
        });
        let frame = FrameDef { caller, module: 1, address: script_address(function as u32, *line) };
        let known = sites.frames.iter().position(|known| *known == frame);
        caller = known.unwrap_or_else(|| {
            sites.frames.push(frame);
            sites.frames.len() - 1
        }) as u32
            + 1;
    }
    let id = to.process.streams.len() as u32;
    sites.streams.push(StreamSite { stream: id, frame: caller - 1 });
    to.process.streams.push(StreamDef { id, file, op: op::POSIX_WRITE, flags: 0, errno: 0 });
    let segments = &mut to.threads[0].1;
    for call in 0..calls {
        let start = segments.last().map_or(0, |last| last.end);
        segments.push(Segment::new(StreamId(id), (call * 1000) as i64, 1000, start, start + ms * MS));
    }
}

/// Writes a trace of two ranks whose `main` calls `save`, in line `line`, and `log`; one call of each rank has no call site.
fn two_places(folder: &Path, key: &str, line: u32, ms: u64) -> String {
    let rank = |rank: i32| {
        let mut one = process(rank, "n0");
        calls(&mut one, &[("main", 30), ("save", line)], "/out/data", 10, ms);
        calls(&mut one, &[("main", 31), ("log", 20)], "/out/log", 5, 1);
        one.write("/out/else", 0, 7, 900 * MS, 901 * MS);
        one
    };
    put(folder, &format!("{key}.dxt"), &trace(&job(key, 2), vec![rank(0), rank(1)]))
}

#[test]
fn rows_of_calls_have_the_number_and_the_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = two_places(folder.path(), "a", 12, 4);
    let rows = |args: &[&str]| -> Vec<Value> {
        stdout(args, 0).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    for rows in [rows(&["dump", "--format", "json", &path]), rows(&["export", "--to", "json", "-o", "-", &path])] {
        assert_eq!(rows.len(), 32);
        let of = |row: &Value| (row["site"].clone(), row["place"].clone());
        let (save, log) = ((json!(1), json!("save (app.py:12)")), (json!(3), json!("log (app.py:20)")));
        assert_eq!((of(&rows[0]), of(&rows[10]), of(&rows[15])), (save.clone(), log, (Value::Null, Value::Null)));
        // Ranks with equal call stacks have equal numbers.
        assert_eq!(of(&rows[16]), save);
    }
    for csv in [stdout(&["dump", "--format", "csv", &path], 0), stdout(&["export", "--to", "csv", "-o", "-", &path], 0)]
    {
        let lines: Vec<&str> = csv.lines().collect();
        assert!(lines[0].ends_with(",site,place"), "{}", lines[0]);
        assert!(lines[1].ends_with(",1,save (app.py:12)") && lines[16].ends_with(",,"), "{csv}");
    }
    let text = stdout(&["dump", &path], 0);
    assert!(text.contains("# site 1: save (app.py:12)\n# site 3: log (app.py:20)\n"), "{text}");
    let first = text.lines().find(|line| !line.starts_with('#')).unwrap();
    assert_eq!(first.split_whitespace().rev().take(2).collect::<Vec<_>>(), ["/out/data", "1"], "{first}");
}

#[test]
fn parquet_has_the_place_of_each_call_and_a_table_of_places() {
    let folder = tempfile::tempdir().unwrap();
    let (path, place) = (two_places(folder.path(), "a", 12, 4), folder.path().join("export"));
    stdout(&["export", "--to", "parquet", "-o", place.to_str().unwrap(), &path], 0);
    let segments = &read(&place, "segments", "a")[0];
    let places = texts(segments, "place");
    assert_eq!(
        (places[0].as_deref(), places[10].as_deref(), &places[15]),
        (Some("save (app.py:12)"), Some("log (app.py:20)"), &None)
    );
    assert_eq!([0, 10, 15].map(|row| numbers(segments, "site")[row]), [Some(1), Some(3), None]);
    let sites = &read(&place, "sites", "a")[0];
    assert_eq!(numbers(sites, "site"), [Some(1), Some(3)]);
    let column = |name| numbers(sites, name).into_iter().flatten().collect::<Vec<i64>>();
    assert_eq!(
        (column("processes"), column("calls"), column("bytes")),
        (vec![2, 2], vec![20, 10], vec![20_000, 10_000])
    );
    assert_eq!((column("line"), column("time_ns")), (vec![12, 20], vec![80_000_000, 10_000_000]));
    assert_eq!(texts(sites, "function"), [Some("save".into()), Some("log".into())]);
    assert_eq!(texts(sites, "source_file"), [Some("/work/app.py".into()), Some("/work/app.py".into())]);
    let stack = sites.column_by_name("stack").unwrap();
    let stack = arrow_array::cast::AsArray::as_list::<i32>(stack).value(0);
    let stack: Vec<_> = arrow_array::cast::AsArray::as_string::<i32>(&stack).iter().flatten().collect();
    assert_eq!(stack, ["save (app.py:12)", "main (app.py:30)"]);
}

#[test]
fn slices_have_the_place_if_all_their_calls_do() {
    let folder = tempfile::tempdir().unwrap();
    let (path, place) = (two_places(folder.path(), "a", 12, 4), folder.path().join("a.json"));
    let slices = |more: &[&str]| -> Vec<Value> {
        let output =
            run(&[&["export", "--to", "perfetto", "--force", "-o", place.to_str().unwrap(), &path], more].concat());
        assert!(output.status.success());
        let all: Value = serde_json::from_slice(&std::fs::read(&place).unwrap()).unwrap();
        all["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] == "X").cloned().collect()
    };
    let with = |slices: &[Value], place: &str| slices.iter().filter(|slice| slice["args"]["place"] == place).count();
    let all = slices(&[]);
    assert_eq!((with(&all, "save (app.py:12)"), with(&all, "log (app.py:20)"), all.len()), (20, 10, 32));
    let merged = slices(&["--most", "8"]);
    assert!(
        merged.iter().any(|slice| slice["args"]["calls"] == 5 && slice["args"]["place"] == "log (app.py:20)"),
        "{merged:#?}"
    );
}

#[test]
fn the_page_has_a_flame_graph_of_call_stacks_only() {
    let folder = tempfile::tempdir().unwrap();
    let page = |trace: &str| {
        let output = folder.path().join("page.html");
        stdout(&["report", trace, "--force", "-o", output.to_str().unwrap()], 0);
        std::fs::read_to_string(output).unwrap()
    };
    let html = page(&two_places(folder.path(), "a", 12, 4));
    let (_, figure) = html.split_once("<figure id=\"sites-flames\">").expect("a flame graph");
    let (figure, _) = figure.split_once("</figure>").unwrap();
    for text in ["<title>main\n90.0 ms, 100.0 %</title>", "<title>save\n80.0 ms, 88.9 %</title>", ">POSIX write</text>"]
    {
        assert!(figure.contains(text), "{text}: {figure}");
    }
    let mut flat = process(0, "n0");
    calls(&mut flat, &[("main</svg>", 30)], "/out/data", 10, 4);
    let html = page(&put(folder.path(), "flat.dxt", &trace(&job("flat", 1), vec![flat])));
    assert!(html.contains("id=\"sites\"") && !html.contains("sites-flames"));
    let mut none = process(0, "n0");
    none.write("/out/data", 0, 1, 0, 5);
    assert!(!page(&put(folder.path(), "none.dxt", &trace(&job("none", 1), vec![none]))).contains("sites-flames"));
}

#[test]
fn call_stacks_are_lines_or_a_drawing() {
    let folder = tempfile::tempdir().unwrap();
    let path = two_places(folder.path(), "a", 12, 4);
    let lines = stdout(&["sites", "--stacks", "collapsed", &path], 0);
    assert_eq!(lines, "main;log;POSIX write 10000\nmain;save;POSIX write 80000\n");
    let drawing = stdout(&["sites", "--stacks", "flame", &path], 0);
    assert!(
        drawing.starts_with("<?xml") && drawing.ends_with("</svg>\n") && drawing.contains(">save</text>"),
        "{drawing}"
    );
    // A line is a line, however long.
    let mut one = process(0, "n0");
    let names: Vec<String> = (0..40).map(|number| format!("operator new {number}")).collect();
    calls(&mut one, &names.iter().map(|name| (name.as_str(), 1)).collect::<Vec<_>>(), "/out/data", 1, 1);
    let deep = put(folder.path(), "deep.dxt", &trace(&job("deep", 1), vec![one]));
    assert_eq!(stdout(&["sites", "--stacks", "collapsed", &deep], 0).lines().count(), 1);
    let mut flat = process(0, "n0");
    calls(&mut flat, &[("main", 30)], "/out/data", 10, 4);
    let flat = put(folder.path(), "flat.dxt", &trace(&job("flat", 1), vec![flat]));
    let output = run(&["sites", "--stacks", "flame", &flat]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("no call stacks of two or more functions"));
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
}

#[test]
fn two_runs_are_compared_by_functions_whatever_their_lines() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (two_places(folder.path(), "a", 12, 4), two_places(folder.path(), "b", 15, 9));
    let found: Value = serde_json::from_str(&stdout(&["compare", "--format", "json", &one, &two], 0)).unwrap();
    let sum = |calls: u64, ms: u64| json!({"calls": calls, "bytes": calls * 1000, "time_ns": ms * MS});
    let row = |function: &str, line: u32, before: Value, after: Value| {
        json!({"place": {"function": function, "file": "/work/app.py", "line": line}, "through": null, "callers": ["main"],
            "layer": "POSIX", "operation": "write", "before": before, "after": after})
    };
    let expected = [row("save", 15, sum(20, 80), sum(20, 180)), row("log", 20, sum(10, 10), sum(10, 10))];
    assert_eq!(found["places"], json!(expected));
    let table = stdout(&["compare", &one, &two], 0);
    let line = table.lines().find(|line| line.starts_with("save (app.py:15)")).expect("a row");
    assert!(line.contains("80.0 ms") && line.contains("180 ms"), "{line}");
    // Without call sites in one of the runs there is nothing to compare.
    let mut none = process(0, "n0");
    none.write("/out/data", 0, 1, 0, 5);
    let none = put(folder.path(), "none.dxt", &trace(&job("none", 1), vec![none]));
    let output = run(&["compare", "--format", "json", &one, &none]);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["places"], json!([]));
}

#[test]
fn addresses_without_names_match_only_in_the_same_build() {
    let folder = tempfile::tempdir().unwrap();
    let traced = |key: &str, build_id: &[u8]| {
        let mut one = process(0, "n0");
        let stream = one.stream("/out/data", op::POSIX_WRITE, 0);
        let module = ModuleDef { path: b"/nowhere/simulate".to_vec(), build_id: build_id.to_vec() };
        one.process.sites.modules.push(module);
        one.process.sites.frames.push(FrameDef { caller: 0, module: 1, address: 0x1b2c });
        one.process.sites.streams.push(StreamSite { stream, frame: 0 });
        one.write("/out/data", 0, 1000, 0, MS);
        put(folder.path(), &format!("{key}.dxt"), &trace(&job(key, 1), vec![one]))
    };
    let (one, same, other, none) =
        (traced("a", &[1; 20]), traced("b", &[1; 20]), traced("c", &[2; 20]), traced("d", &[]));
    let places = |one: &str, two: &str| -> Vec<(bool, bool)> {
        let found: Value = serde_json::from_slice(&run(&["compare", "--format", "json", one, two]).stdout).unwrap();
        let rows = found["places"].as_array().unwrap();
        assert!(rows.iter().all(|row| row["place"]["function"] == "simulate+0x1b2c"), "{rows:?}");
        rows.iter().map(|row| (!row["before"].is_null(), !row["after"].is_null())).collect()
    };
    assert_eq!(places(&one, &same), [(true, true)]);
    assert_eq!(places(&one, &other), [(true, false), (false, true)]);
    assert_eq!(places(&none, &none).len(), 2);
}
