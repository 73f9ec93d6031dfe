//! Tests of CSV and JSON rows of the LDMS-Darshan connector as input. Rows written by `live` read back as the original trace; files found
//! at sites keep all rows that can be read.

use crate::common::{Builder, EPOCH, json, op, put, run, stdout};
use dxt_analyze::live::about::{Process, Target};
use dxt_analyze::live::event::{Event, Key};
use dxt_analyze::live::records::Records;
use dxt_analyze::live::sinks::To;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use trace_format::meta::{Job, stream_flags};

const HEAD: &str = "uid,exe,job_id,rank,ProducerName,file,record_id,module,type,max_byte,switches,flushes,cnt,op,pt_sel,\
                    irreg_hslab,reg_hslab,ndims,npoints,off,len,start,dur,total,timestamp";

/// Returns a CSV row of the connector. `what` contains exe, job, rank, file, record, module, op, off and len, separated by `|`; `end` is
/// the timestamp.
fn row(what: &str, end: &str) -> String {
    let part: Vec<&str> = what.split('|').collect();
    let [exe, job, rank, file, record, module, op, off, len] = part[..] else { panic!("{what}") };
    let kind = if op == "open" { "MET" } else { "MOD" };
    format!(
        "7,{exe},{job},{rank},n{rank},{file},{record},{module},{kind},-1,-1,-1,1,{op},-1,-1,-1,-1,-1,{off},{len},0.5,0.25,0.25,{end}\n"
    )
}

const OPEN: &str = "/bin/app|77|0|/scratch/a|123|POSIX|open|-1|-1";
const WRITE: &str = "N/A|77|0|N/A|123|POSIX|write|0|100";

/// Returns the calls of a trace as live events, per process in order of their ends.
fn events(job: &Job, processes: &[Builder]) -> Vec<Event> {
    let mut out = Vec::new();
    for built in processes {
        let info = &built.process.info;
        let process = Arc::new(Process {
            job_id: 4711,
            node: info.node.clone(),
            rank: info.rank,
            exe: String::from_utf8_lossy(&job.info.exe).into_owned(),
            epoch_unix_ns: info.epoch_unix_ns,
            job_start_unix_ns: EPOCH,
            ..Process::default()
        });
        let mut records = Records::default();
        let mut segments = built.threads[0].1.clone();
        segments.sort_by_key(|segment| segment.end);
        for (slot, segment) in segments.iter().enumerate() {
            let stream = &built.process.streams[segment.stream().0 as usize];
            let about = job.ops.iter().find(|op| op.code == stream.op).unwrap();
            let path = built.process.files[stream.file as usize].path.clone().unwrap();
            let target = Arc::new(Target {
                layer: about.layer,
                class: about.class,
                op: about.name.clone(),
                file: String::from_utf8_lossy(&path).into(),
                file_number: stream.file,
                data_set: None,
                record_id: darshan_log::record_id(&path),
                file_system: "".into(),
                errno: 0,
                nested: stream.flags & stream_flags::NESTED != 0,
            });
            out.push(Event {
                process: Arc::clone(&process),
                so_far: records.add(&target, segment),
                target,
                key: Key { thread: 0, sequence: 0, slot: slot as u32 },
                offset: segment.offset,
                length: segment.length(),
                start_unix_ns: EPOCH + segment.start as i64,
                end_unix_ns: EPOCH + segment.end as i64,
                stands_for: 1,
            });
        }
    }
    out
}

/// Returns each call as `export --to json` shows it, without properties that the connector's format lacks: operation modes, and times below 1 µs.
fn calls(path: &str) -> Vec<String> {
    let lines = stdout(&["export", "--to", "json", "-o", "-", path], 0);
    let mut out: Vec<String> = lines
        .lines()
        .map(|line| {
            let row: Value = serde_json::from_str(line).unwrap();
            let us = |name: &str| row[name].as_i64().unwrap() / 1000;
            let kept = ["rank", "node", "file", "layer", "kind", "nested", "offset", "length"]
                .map(|name| row[name].to_string());
            format!("{} {} {}", kept.join(" "), us("start_unix_ns"), us("end_unix_ns"))
        })
        .collect();
    out.sort();
    out
}

/// Returns number of calls and bytes by layer, operation, and nesting in MPI-IO.
fn sums(path: &str) -> BTreeMap<String, (u64, u64)> {
    let summary = json(&["summary", "--format", "json", path], 0);
    let rows = summary["operations"].as_array().unwrap().iter();
    rows.map(|row| {
        let key = format!("{} {} {}", row["layer"], row["op"], row["nested"]);
        (key, (row["count"].as_u64().unwrap(), row["bytes"].as_u64().unwrap()))
    })
    .collect()
}

#[test]
fn what_live_writes_is_read_as_the_trace_is() {
    let folder = tempfile::tempdir().unwrap();
    let (job, mut processes) = crate::common::small();
    for process in &mut processes {
        // Opens and closes do not overlap any MPI-IO call, so times alone do not show that they are nested.
        for stream in &mut process.process.streams {
            if matches!(stream.op, op::POSIX_OPEN | op::POSIX_CLOSE) {
                stream.flags = 0;
            }
        }
        process.add("/etc/conf, \"x\"", op::POSIX_OPEN, 0, -1, 0, 5000, 6000);
        process.add("/log\nbook", op::POSIX_OPEN, 0, -1, 0, 51_000, 52_000);
        process.add("/log\nbook", op::STDIO_WRITE, 0, 70, 7, 53_000, 54_000);
    }
    let events = events(&job, &processes);
    let trace = put(folder.path(), "t.dxt", &crate::common::trace(&job, processes));
    for form in ["csv", "connector"] {
        let path = folder.path().join(format!("events.{form}"));
        let mut outlet = format!("{form}:{}", path.display())
            .parse::<To>()
            .unwrap()
            .open(std::time::Duration::from_secs(60))
            .unwrap();
        outlet.begin(None).unwrap();
        events.chunks(5).for_each(|events| outlet.events(events));
        let path = path.to_str().unwrap();
        // Each CSV row is one line, so line breaks in names are escaped.
        let named = |call: String| if form == "csv" { call.replace(r"/log\n", r"/log\\n") } else { call };
        assert_eq!(calls(path), calls(&trace).into_iter().map(named).collect::<Vec<_>>(), "{form}");
        assert_eq!(sums(path), sums(&trace), "{form}");
        let about = &json(&["summary", "--format", "json", path], 0)["job"];
        assert_eq!((&about["scheduler"], &about["exe"]), (&"4711".into(), &"/opt/app/bin/simulate".into()));
        assert_eq!((&about["mpi_ranks"], &about["start_unix_ns"]), (&4.into(), &EPOCH.into()));
    }
}

#[test]
fn every_verb_takes_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = put(
        folder.path(),
        "e.csv",
        format!("#{HEAD}\n{}{}", row(OPEN, "1743618559.1"), row(WRITE, "1743618560")).as_bytes(),
    );
    for subcommand in
        ["check", "outliers", "timeline", "stripes", "layers", "causes", "ledger", "dump", "summary", "signatures"]
    {
        assert!(!stdout(&[subcommand, &path], 0).is_empty(), "{subcommand}");
    }
    let (page, dxt) = (folder.path().join("r.html"), folder.path().join("c.dxt"));
    stdout(&["report", &path, "-o", page.to_str().unwrap()], 0);
    stdout(&["convert", &path, "-o", dxt.to_str().unwrap()], 0);
    assert_eq!(calls(dxt.to_str().unwrap()), calls(&path));
    let corpus = stdout(&["corpus", &path, "--format", "json"], 0);
    assert!(corpus.contains("ldms-77"), "{corpus}");
}

/// Returns the summary and the remarks for an input file with this name and content.
fn read(name: &str, bytes: &[u8], code: i32) -> (Value, String) {
    let folder = tempfile::tempdir().unwrap();
    let summary = json(&["summary", "--format", "json", &put(folder.path(), name, bytes)], code);
    let remarks = summary["missing"]["remarks"].to_string();
    (summary, remarks)
}

fn file_names(summary: &Value) -> Vec<String> {
    let mut names: Vec<String> =
        summary["top_files"].as_array().unwrap().iter().map(|file| file["file"].as_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

#[test]
fn files_are_named_by_opens_and_never_guessed() {
    let rounded = "N/A|77|0|N/A|9.22337E+18|POSIX|write|0|100";
    let text = [
        HEAD.into(),
        "\r\n".into(),
        // A write precedes its open, which another rank's stream may deliver later.
        row(WRITE, "1743618559.0"),
        row(OPEN, "1743618559.1").replace("/scratch/a", "\"/scratch/a,b\"\"\""),
        row("N/A|77|1|N/A|124|MPIIO|read|5|10", "1743618559.2"),
        row(rounded, "1743618559.3"),
        row(&OPEN.replace("123", "9.22337E+18"), "1743618559.4"),
        row(&OPEN.replace("123", "9.22337E+18").replace("/a", "/b"), "1743618559.5"),
        row("N/A|77|0|N/A||STDIO|read|5|10", "1743618559.6"),
        row("N/A|77|0|N/A|4.5E+18|STDIO|close|-1|-1", "1743618559.7"),
        row("/x|77|0|/only|4.5E+18|STDIO|open|-1|-1", "1743618559.8"),
    ];
    let (summary, remarks) = read("e.csv", text.concat().replace("\r\n", "\n").replace('\n', "\r\n").as_bytes(), 0);
    assert_eq!(
        file_names(&summary),
        [
            "/only",
            "/scratch/a",
            "/scratch/a,b\"",
            "/scratch/b",
            "Darshan record 124",
            "unknown files",
            "unknown files (record_id 9.22337E18)"
        ]
    );
    assert!(remarks.contains("e.csv: 3 of 9 calls "), "{remarks}");
}

#[test]
fn damaged_rows_are_reported_once_and_the_rest_is_read() {
    let text = [
        HEAD.into(),
        "\n".into(),
        row(OPEN, "1743618559.1"),
        row(WRITE, "1743618559.2").replace(",100,", ",many,"),
        row(WRITE, "12:00"),
        row(WRITE, "1743618559.3").replace("POSIX", "NOSUCH"),
        "\"\n".into(),
        row(WRITE, "1743618559.4"),
        "x".repeat(100_000),
        "\n".into(),
        row(WRITE, "1743618559.5"),
        HEAD.into(),
        "\n\n".into(),
        row(WRITE, "1743618559.6"),
        row(WRITE, "1743618559.7").get(..40).unwrap().into(),
    ];
    let (summary, _) = read("e.csv", text.concat().as_bytes(), 3);
    assert_eq!((&summary["segments"], &summary["bytes_written"]), (&4.into(), &300.into()));
    let problems = summary["missing"]["problems"].as_array().unwrap();
    let what = problems[0]["what"].as_str().unwrap();
    assert_eq!(problems.len(), 1);
    assert_eq!(
        what,
        "line 3 and 5 others are skipped: `len` has the invalid value \"many\"; correct or remove the damaged lines"
    );
    let json_line = r#"{"schema":"N/A","uid":7,"exe":"N/A","job_id":77,"rank":0,"ProducerName":"n0","file":"N/A","record_id":123,"module":"POSIX","type":"MOD","op":"write","seg":[{"off":0,"len":100,"start":0.5,"dur":0.25,"total":1.0,"timestamp":1743618559.147298}]}"#;
    let (summary, _) = read("e.json", format!("{json_line}\n{{\"record_id\"\n{json_line}\n").as_bytes(), 3);
    assert_eq!(summary["bytes_written"], 200);
    assert!(summary["missing"]["problems"][0]["what"].as_str().unwrap().starts_with("line 2 "));
}

/// Returns the error message for connector data that cannot be read.
fn refused(bytes: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let output = run(&["summary", &put(folder.path(), "e.csv", bytes.as_bytes())]);
    assert_eq!(output.status.code(), Some(2));
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn what_is_no_such_file_is_reported_what_it_lacks() {
    assert!(refused("").contains("it is empty"));
    assert!(refused(&format!("{HEAD}\n")).contains("no row below the line"));
    assert!(
        refused(&format!("{HEAD}\nx,y\n"))
            .contains("no row can be read; the first one, in line 2: it has 2 values instead of 25")
    );
    assert!(refused("name,age\nx,7\n").contains("does not name the columns"));
    let without = HEAD.replace(",off,len", "").replace(",dur", "");
    assert!(refused(&format!("{without}\n1,2\n")).contains("it has no column len, dur"));
}

#[test]
fn several_jobs_in_a_file_are_chosen_from() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!("{HEAD}\n{}{}", row(OPEN, "1743618559.1"), row(&OPEN.replace("|77|", "|78|"), "1743618559.2"));
    let path = put(folder.path(), "e.csv", text.as_bytes());
    let output = run(&["summary", &path]);
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(err.contains("contain 2 jobs") && err.contains("--job KEY") && err.contains("ldms-78"), "{err}");
    assert_eq!(json(&["summary", "--format", "json", "--job", "ldms-78", &path], 0)["segments"], 1);
    let dxt = folder.path().join("c.dxt");
    let convert = ["convert", &path, "-o", dxt.to_str().unwrap()];
    assert_eq!(run(&convert).status.code(), Some(2));
    stdout(&[&convert[..], &["--job", "ldms-77"]].concat(), 0);
    assert_eq!(json(&["summary", "--format", "json", dxt.to_str().unwrap()], 0)["job"]["scheduler"], "77");
}

#[test]
fn rows_without_a_first_line_and_rounded_times_are_read() {
    let (summary, remarks) =
        read("e.csv", format!("{}{}", row(OPEN, "1743618559.1"), row(WRITE, "1.74362E+09")).as_bytes(), 0);
    assert_eq!(summary["bytes_written"], 100);
    assert!(remarks.contains("1 of 2 calls "), "{remarks}");
}

#[test]
fn no_bytes_make_it_panic() {
    let folder = tempfile::tempdir().unwrap();
    let whole = format!("{HEAD}\n{}{}", row(OPEN, "1743618559.1"), row(WRITE, "1743618560.1")).into_bytes();
    let mut state = 1_u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let path = folder.path().join("e.csv");
    for _ in 0..3000 {
        let mut bytes = whole.clone();
        for _ in 0..=random(4) {
            let at = random(bytes.len() - HEAD.len()) + HEAD.len();
            match random(4) {
                0 => bytes[at] = random(256) as u8,
                1 => bytes.truncate(at),
                2 => bytes.insert(at, b"\",\n\r-9eE.#"[random(10)]),
                _ => bytes.splice(at..at, b"99999999999".iter().copied()).for_each(drop),
            }
            if bytes.len() <= HEAD.len() {
                break;
            }
        }
        std::fs::write(&path, &bytes).unwrap();
        let made = dxt_analyze::import::connector::convert(Path::new(&path));
        if let Ok(made) = made {
            assert!(made.iter().all(|made| made.file.metadata().unwrap().len() > 0));
        }
    }
}
