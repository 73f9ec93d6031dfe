//! Tests that counters of a Darshan log are passed on unchanged: per file and layer, in `dump`, in logs exported from the log, and in
//! PyDarshan. DXT segments may end before the calls do. The logs are those of the project, those in the folder named by `DXT_DARSHAN_LOGS`,
//! and some written by the tests.

use crate::common::facts::text_has;
use crate::common::{json, logs, python, run, skip_here, stdout, text};
use darshan_log::counters::{float_names, int_names};
use darshan_log::write::{DxtVersion, Writer};
use darshan_log::{Api, CounterRecord, DxtRecord, Job, Log, Module, Mount, Segment, record_id};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// Returns the rows that `dump` prints: counters of calls without segments, and segments.
fn dumped(path: &Path) -> Vec<Value> {
    let output = run(&["dump", "--format", "json", text(path)]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}: {output:?}", path.display());
    let lines = String::from_utf8(output.stdout).expect("text");
    lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

const MODULES: [(Module, &str, &str); 3] =
    [(Module::Posix, "POSIX", "POSIX"), (Module::MpiIo, "MPIIO", "MPIIO"), (Module::Stdio, "STDIO", "STDIO")];

/// Number of calls, bytes and seconds.
type Sum = (i64, i64, f64);

/// Returns the totals over a log's counter records, by file, layer, and direction (true for writes).
fn of_records(path: &Path) -> BTreeMap<(String, &'static str, bool), Sum> {
    let mut log = Log::open(path).expect("a log");
    let info = log.info();
    let mut out: BTreeMap<_, Sum> = BTreeMap::new();
    for (module, prefix, layer) in MODULES {
        for record in log.counters(module).into_iter().flatten() {
            let name = info.names.get(record.id).map_or_else(
                || format!("Darshan record {}", record.id),
                |name| String::from_utf8_lossy(name.as_bytes()).into_owned(),
            );
            let int = |name: &str| record.int(module, &format!("{prefix}_{name}")).unwrap_or(0).max(0);
            for (writes, what, bytes) in [(false, "READ", "BYTES_READ"), (true, "WRITE", "BYTES_WRITTEN")] {
                let calls = match module {
                    Module::MpiIo => {
                        ["INDEP", "COLL", "SPLIT", "NB"].iter().map(|form| int(&format!("{form}_{what}S"))).sum()
                    }
                    _ => int(&format!("{what}S")),
                };
                let seconds = record.float(module, &format!("{prefix}_F_{what}_TIME")).unwrap_or(0.0).max(0.0);
                let sum = out.entry((name.clone(), layer, writes)).or_default();
                *sum = (sum.0 + calls, sum.1 + int(bytes), sum.2 + seconds);
            }
        }
    }
    out.retain(|_, sum| sum.0 > 0);
    out
}

/// Returns the sums reported by `dump`, with the keys of [`of_records`].
fn of_dump(rows: &[Value]) -> BTreeMap<(String, &'static str, bool), Sum> {
    let mut out: BTreeMap<_, Sum> = BTreeMap::new();
    for row in rows {
        let layer = MODULES.iter().find(|(_, _, layer)| row["layer"] == *layer);
        // The operation's mode follows its name.
        let op = row["op"].as_str().unwrap_or_default().split(' ').next().unwrap_or_default().to_owned();
        // Darshan counts the time of syncs as write time; where writes have segments, syncs carry that time.
        let (Some((_, _, layer)), "read" | "write" | "sync") = (layer, op.as_str()) else { continue };
        let number = |key: &str| row[key].as_i64().unwrap_or_else(|| panic!("{key} of {row}"));
        let (calls, bytes, ns) = match row["record"].as_str() {
            Some("counters") => (number("segments"), number("bytes"), number("duration")),
            Some(_) => continue,
            None => (1, number("length"), number("end_ns") - number("start_ns")),
        };
        let file = row["file"].as_str().expect("a file").to_owned();
        let sum = out.entry((file, *layer, op != "read")).or_default();
        let calls = if op == "sync" { 0 } else { calls };
        *sum = (sum.0 + calls, sum.1 + bytes, sum.2 + ns as f64 / 1e9);
    }
    out.retain(|_, sum| sum.0 > 0);
    out
}

/// Totals of each file match those of `darshan-parser --total` and `--file`.
#[test]
fn every_file_has_its_logs_totals() {
    let mut compared = 0;
    for path in logs().into_iter().filter(|path| !text(path).contains("synth-")) {
        let rows = dumped(&path);
        let (expected, found) = (of_records(&path), of_dump(&rows));
        let segments: Vec<Value> = rows.into_iter().filter(|row| row["record"].is_null()).collect();
        let traced: BTreeSet<_> = of_dump(&segments).into_keys().collect();
        // A log without counters only has segments.
        if expected.is_empty() {
            continue;
        }
        for (key, (calls, bytes, seconds)) in &expected {
            let (of_calls, of_bytes, of_seconds) = found.get(key).copied().unwrap_or_default();
            assert_eq!((of_calls, of_bytes), (*calls, *bytes), "{} {key:?}", path.display());
            // The time of each segment is rounded; for concurrent calls, segments sum all times, but records contain the elapsed time.
            let room = 1e-9 * *calls as f64 + 1e-3 * seconds + 1e-6;
            let side_by_side = traced.contains(key) && of_seconds > *seconds;
            let same = (of_seconds - seconds).abs() <= room || side_by_side;
            assert!(same, "{} {key:?}: {of_seconds} of {seconds}", path.display());
            compared += 1;
        }
        let more: Vec<_> = found.keys().filter(|key| !expected.contains_key(*key)).collect();
        assert!(more.is_empty(), "{}: {more:?}", path.display());

        // The row of a file used through only one layer equals the job's sums for the file.
        let shown = json_of(&["counters", "--format", "json", "--top", "1000000", text(&path)]);
        let shown: BTreeMap<&str, &Value> = shown["files"]
            .as_array()
            .expect("rows")
            .iter()
            .map(|row| (row["file"].as_str().expect("a name"), row))
            .collect();
        for (file, layer, _) in expected.keys() {
            if expected.keys().any(|(other, of, _)| other == file && of != layer) {
                continue;
            }
            let of = |writes| expected.get(&(file.clone(), *layer, writes)).copied().unwrap_or_default();
            let row = shown.get(file.as_str()).unwrap_or_else(|| panic!("{} {file}", path.display()));
            let numbers =
                ["reads", "bytes_read", "writes", "bytes_written"].map(|key| row[key].as_i64().expect("a number"));
            let (reads, writes) = (of(false), of(true));
            assert_eq!(numbers, [reads.0, reads.1, writes.0, writes.1], "{} {file} {layer}", path.display());
        }
    }
    assert!(compared > 20, "{compared}");
}

fn json_of(args: &[&str]) -> Value {
    let output = run(args);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{args:?}: {output:?}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Totals equal the output of Darshan's own tool, where that is stored beside the logs.
#[test]
fn sums_are_those_of_darshans_own_tool() {
    let mut compared = 0;
    for path in logs().into_iter().filter(|path| !text(path).contains("synth-")) {
        let Ok(packed) = std::fs::read(path.with_extension("totals.txt.xz")) else { continue };
        let mut printed = Vec::new();
        lzma_rs::xz_decompress(&mut packed.as_slice(), &mut printed).expect("xz");
        let printed = String::from_utf8_lossy(&printed).into_owned();
        let total = |name: &str| {
            let line = printed.lines().find_map(|line| line.strip_prefix(&format!("total_{name}: ")))?;
            line.trim().parse::<f64>().ok()
        };
        let found = of_dump(&dumped(&path));
        for (_, prefix, layer) in MODULES {
            for (writes, what, bytes) in [(false, "READ", "BYTES_READ"), (true, "WRITE", "BYTES_WRITTEN")] {
                let forms: &[&str] = if layer == "MPIIO" { &["INDEP_", "COLL_", "SPLIT_", "NB_"] } else { &[""] };
                let calls: Option<f64> = forms.iter().map(|form| total(&format!("{prefix}_{form}{what}S"))).sum();
                let (Some(calls), Some(bytes)) = (calls, total(&format!("{prefix}_{bytes}"))) else { continue };
                let sums = found.iter().filter(|((_, of, side), _)| *of == layer && *side == writes);
                let (of_calls, of_bytes) = sums.fold((0, 0), |sum, (_, one)| (sum.0 + one.0, sum.1 + one.1));
                assert_eq!((of_calls as f64, of_bytes as f64), (calls, bytes), "{} {layer} {what}", path.display());
                compared += 1;
            }
        }
    }
    if compared == 0 {
        skip_here("sums of Darshan's own tool: none lie beside the logs of DXT_DARSHAN_LOGS");
    }
}

const FILE: &str = "/scratch/counted";

fn record(module: Module, rank: i64, fields: &[(&str, f64)]) -> CounterRecord {
    let mut record = CounterRecord::zero(module, record_id(FILE.as_bytes()), rank).expect("a module with counters");
    for (name, value) in fields {
        let place = |names: &[&str]| names.iter().position(|known| known == name);
        match (place(int_names(module)), place(float_names(module))) {
            (Some(at), _) => record.ints[at] = *value as i64,
            (_, Some(at)) => record.floats[at] = *value,
            _ => panic!("{name} is not known"),
        }
    }
    record
}

/// Writes a log in which rank r makes `ranks[r].0` writes of 1,000 bytes until 9 s. Only `ranks[r].1` of these have DXT segments, one per 0.1 s.
fn written(path: &Path, ranks: &[(i64, u32)], mpi: &[CounterRecord]) {
    let mut job = Job::default();
    (job.nprocs, job.exe, job.start_sec, job.end_sec) =
        (ranks.len() as i64, "./app".into(), 1_600_000_000, 1_600_000_010);
    job.metadata.push(("lib_ver".into(), "3.5.0".into()));
    let mounts = [Mount { point: "/".into(), fs_type: "ext4".into() }];
    let mut writer = Writer::new(std::io::Cursor::new(Vec::new()), &job, &mounts, [FILE]).expect("a writer");
    let posix: Vec<CounterRecord> = (0..)
        .zip(ranks)
        .map(|(rank, (calls, segments))| {
            let calls = *calls as f64;
            let last = if *segments >= calls as u32 { 1.01 + 0.1 * f64::from(segments - 1) } else { 9.0 };
            let fields = [
                ("POSIX_OPENS", 1.0),
                ("POSIX_WRITES", calls),
                ("POSIX_BYTES_WRITTEN", calls * 1000.0),
                ("POSIX_MAX_BYTE_WRITTEN", calls * 1000.0 - 1.0),
                ("POSIX_CONSEC_WRITES", calls - 1.0),
                ("POSIX_SEQ_WRITES", calls - 1.0),
                ("POSIX_SIZE_WRITE_100_1K", calls),
                ("POSIX_ACCESS1_ACCESS", 1000.0),
                ("POSIX_ACCESS1_COUNT", calls),
                ("POSIX_MEM_ALIGNMENT", 8.0),
                ("POSIX_MEM_NOT_ALIGNED", 2.0),
                ("POSIX_FILE_ALIGNMENT", 4096.0),
                ("POSIX_FILE_NOT_ALIGNED", 3.0),
                ("POSIX_FSYNCS", 2.0),
                ("POSIX_F_WRITE_TIME", 0.01 * calls + 0.125),
                ("POSIX_F_META_TIME", 0.5),
                ("POSIX_F_OPEN_START_TIMESTAMP", 0.25),
                ("POSIX_F_OPEN_END_TIMESTAMP", 0.5),
                ("POSIX_F_WRITE_START_TIMESTAMP", 1.0),
                ("POSIX_F_WRITE_END_TIMESTAMP", last),
                ("POSIX_F_MAX_WRITE_TIME", 0.01),
                ("POSIX_MAX_WRITE_TIME_SIZE", 1000.0),
                ("POSIX_F_CLOSE_START_TIMESTAMP", 9.25),
                ("POSIX_F_CLOSE_END_TIMESTAMP", 9.5),
            ];
            record(Module::Posix, rank, &fields)
        })
        .collect();
    writer.counters(Module::Posix, &posix).expect("written");
    writer.counters(Module::MpiIo, mpi).expect("written");
    writer
        .dxt::<darshan_log::write::Error>(Api::Posix, DxtVersion::Plain, |dxt| {
            for (rank, (_, segments)) in (0..).zip(ranks).filter(|(_, (_, segments))| *segments > 0) {
                dxt.record(&DxtRecord {
                    id: record_id(FILE.as_bytes()),
                    rank,
                    hostname: "node1".into(),
                    write_count: u64::from(*segments),
                    read_count: 0,
                })?;
                let segment = |call: u32| {
                    let start = 1.0 + 0.1 * f64::from(call);
                    Segment { offset: i64::from(call) * 1000, length: 1000, start, end: start + 0.01, thread: None }
                };
                dxt.segments(&(0..*segments).map(segment).collect::<Vec<Segment>>())?;
                dxt.segments(&[])?;
            }
            Ok(())
        })
        .expect("written");
    std::fs::write(path, writer.finish().expect("a log").into_inner()).expect("written");
}

/// Number of calls counted, number with segments, and end of the last segment are reported per rank and file.
#[test]
fn where_segments_end_is_said_by_rank_and_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("partial.darshan");
    // Rank 1 has all segments, rank 3 none: its file was excluded from tracing.
    written(&path, &[(50, 5), (5, 5), (80, 20), (40, 0)], &[]);
    let found = json(&["summary", "--format", "json", text(&path)], 3);
    let missing = &found["missing"];
    let cut: Vec<_> = missing["cut"]
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| {
            let number = |key: &str| row[key].as_u64().expect("a number");
            (number("rank"), number("segments"), number("calls"), number("last_segment_ns") / 1_000_000)
        })
        .collect();
    assert_eq!(cut, [(2, 20, 80, 2910), (0, 5, 50, 1410)]);
    assert_eq!((&missing["cut_count"], &missing["cut"][0]["file"]), (&2.into(), &FILE.into()));
    assert_eq!(missing["segments_end_ns"], 1_410_000_000);
    let said = stdout(&["summary", text(&path)], 3).replace("\n", " ");
    assert!(text_has(&said, &["20 of 80 POSIX", FILE]), "{said}");
    // The page hatches the time from the last segment to the end of the run, for ranks 0 and 2 and for the file.
    let page = folder.path().join("page.html");
    let drawn = |code: i32| -> Value {
        stdout(&["report", text(&path), "--force", "-o", text(&page)], code);
        let html = std::fs::read_to_string(&page).expect("a page");
        let (_, rest) = html.split_once("id=\"data\">").expect("data");
        serde_json::from_str(rest.split_once("</script>").expect("its end").0).expect("JSON")
    };
    let row = |row, from_ns: u64, until_ns: u64, processes| serde_json::json!({ "row": row, "from_ns": from_ns, "until_ns": until_ns, "processes": processes });
    let data = drawn(3);
    let end = data["ranks"]["unseen"][0]["until_ns"].as_u64().expect("an end");
    assert!(end >= 9_000_000_000, "{end}");
    let ranks = [row(0, 1_410_000_000, end, 1), row(2, 2_910_000_000, end, 1)];
    assert_eq!(data["ranks"]["unseen"], serde_json::json!(ranks));
    assert_eq!(data["files"]["unseen"], serde_json::json!([row(0, 1_410_000_000, end, 2)]));
    assert_eq!(data["offsets"][0]["unseen"], row(0, 1_410_000_000, end, 2));
    // Complete segments are not reported as cut, however early they end.
    written(&path, &[(5, 5), (20, 20)], &[]);
    let found = json(&["summary", "--format", "json", text(&path)], 0);
    assert_eq!((&found["missing"]["cut_count"], &found["missing"]["segments_end_ns"]), (&0.into(), &Value::Null));
    assert_eq!(drawn(0)["ranks"]["unseen"], serde_json::json!([]));
    // With many ranks, those with most calls without segments are listed and the others counted.
    let many: Vec<(i64, u32)> = (0..40).map(|rank| (100 + rank, 5)).collect();
    written(&path, &many, &[]);
    let found = json(&["summary", "--format", "json", text(&path)], 3);
    let rows = found["missing"]["cut"].as_array().expect("rows");
    assert_eq!((rows.len(), &rows[0]["rank"], &found["missing"]["cut_count"]), (5, &39.into(), &40.into()));
}

/// `dump` prints the Darshan counters that summarize all accesses to a file.
#[test]
fn dump_has_what_was_counted_of_all_accesses() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.darshan");
    written(&path, &[(50, 5), (5, 5)], &[]);
    let rows = dumped(&path);
    let whole: Vec<&Value> = rows.iter().filter(|row| row["record"] == "whole").collect();
    assert_eq!(whole.len(), 2);
    for (row, calls) in whole.iter().zip([50, 5]) {
        assert_eq!((&row["file"], &row["layer"], &row["accesses"]), (&FILE.into(), &"POSIX".into(), &calls.into()));
        let order = ["ordered", "consecutive", "sequential"].map(|key| row["writes"][key].as_i64().expect("a number"));
        assert_eq!(order, [calls, calls - 1, calls - 1]);
        assert_eq!(row["reads"]["ordered"], 0);
        assert_eq!((&row["memory_alignment"], &row["memory_unaligned"]), (&8.into(), &2.into()));
        assert_eq!((&row["alignment"], &row["file_unaligned"]), (&4096.into(), &3.into()));
    }
    let lines = String::from_utf8(run(&["dump", text(&path)]).stdout).expect("text");
    let line = lines.lines().find(|line| line.starts_with("# whole: rank 0")).expect("a line");
    assert!(line.contains("writes ordered 50 consecutive 49 sequential 49 memory_alignment 8 accesses 50"), "{line}");
    // A trace of this project's tracer has no such counters.
    let (job, processes) = crate::common::small();
    let trace = crate::common::put(folder.path(), "a.dxt", &crate::common::trace(&job, processes));
    assert!(!stdout(&["dump", &trace], 0).contains("whole"));
}

/// A log exported from a log keeps the start of the first open and the end of the last close. Unknown times are -1.
#[test]
fn a_log_made_of_a_log_keeps_when_files_were_opened_and_closed() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, made) = (folder.path().join("a.darshan"), folder.path().join("made.darshan"));
    written(&path, &[(50, 5), (5, 5)], &[]);
    let output = run(&["export", "--to", "darshan", "-o", text(&made), text(&path)]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{output:?}");
    let mut log = Log::open(&made).expect("a log");
    let records: Vec<CounterRecord> = log.counters(Module::Posix).expect("POSIX").collect();
    assert_eq!(records.len(), 2);
    for (record, last) in records.iter().zip([9.0, 1.41]) {
        let time = |name: &str| record.float(Module::Posix, &format!("POSIX_F_{name}_TIMESTAMP")).expect("a time");
        let of = ["OPEN_START", "OPEN_END", "CLOSE_START", "CLOSE_END", "WRITE_START", "WRITE_END"].map(time);
        assert_eq!(of, [0.25, -1.0, -1.0, 9.5, 1.0, last]);
    }
    // A trace of this project's tracer has all four times.
    let (job, mut processes) = crate::common::small();
    processes[0].add("/scratch/timed", crate::common::op::POSIX_OPEN, 0, -1, 0, 1_000_000_000, 2_000_000_000);
    processes[0].write("/scratch/timed", 0, 10, 2_500_000_000, 3_000_000_000);
    let trace = crate::common::put(folder.path(), "a.dxt", &crate::common::trace(&job, processes));
    let again = folder.path().join("again.darshan");
    stdout(&["export", "--to", "darshan", "-o", text(&again), &trace], 0);
    let mut log = Log::open(&again).expect("a log");
    let id = record_id(b"/scratch/timed");
    let record = log.counters(Module::Posix).expect("POSIX").find(|record| record.id == id).expect("a record");
    let time = |name: &str| record.float(Module::Posix, &format!("POSIX_F_{name}_TIMESTAMP")).expect("a time");
    assert!((time("OPEN_END") - time("OPEN_START") - 1.0).abs() < 1e-6 && time("CLOSE_END") == 0.0);
}

/// Python script that prints a module's counters as JSON: sums over the records of each rank, and the fields of each record.
const SCRIPT: &str = r#"
import json, sys, darshan
report = darshan.DarshanReport(sys.argv[1], read_all=False)
out = {}
for module in ("POSIX", "MPI-IO"):
    if module in report.modules:
        report.mod_read_all_records(module)
        frames = report.records[module].to_df()
        rows = {}
        for frame in (frames["counters"], frames["fcounters"]):
            for row in frame.to_dict("records"):
                rows.setdefault(str(row["rank"]), {}).update({k: float(v) for k, v in row.items() if k not in ("id", "rank")})
        out[module] = rows
print(json.dumps(out))
"#;

/// PyDarshan reads the same counters from a log and from a log exported from it.
#[test]
fn pydarshan_finds_the_same_counters_in_a_log_made_of_a_log() {
    let Some(python) = python(&["darshan"], "logs made of logs, read by PyDarshan") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let (path, made) = (folder.path().join("a.darshan"), folder.path().join("made.darshan"));
    let read = |path: &Path| -> Value {
        let output = Command::new(&python).args(["-c", SCRIPT, text(path)]).output().expect("Python");
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).expect("JSON")
    };
    let mpi = |rank: i64| {
        let fields = [
            ("MPIIO_COLL_OPENS", 1.0),
            ("MPIIO_INDEP_WRITES", 2.0),
            ("MPIIO_COLL_WRITES", 3.0),
            ("MPIIO_VIEWS", 1.0),
            ("MPIIO_BYTES_WRITTEN", 5000.0),
            ("MPIIO_SIZE_WRITE_AGG_100_1K", 5.0),
            ("MPIIO_F_WRITE_TIME", 0.5),
            ("MPIIO_F_MAX_WRITE_TIME", 0.25),
            ("MPIIO_F_WRITE_START_TIMESTAMP", 1.0),
            ("MPIIO_F_WRITE_END_TIMESTAMP", 9.0),
        ];
        record(Module::MpiIo, rank, &fields)
    };
    for (ranks, mpi) in
        [(vec![(50, 0), (5, 0)], vec![]), (vec![(50, 5), (5, 5)], vec![]), (vec![(5, 5), (6, 6)], vec![mpi(0), mpi(1)])]
    {
        written(&path, &ranks, &mpi);
        let _ = std::fs::remove_file(&made);
        let output = run(&["export", "--to", "darshan", "-o", text(&made), text(&path)]);
        assert!(matches!(output.status.code(), Some(0 | 3)), "{output:?}");
        let (before, after) = (read(&path), read(&made));
        for (module, rows) in before.as_object().expect("modules") {
            assert_eq!(rows.as_object().map(serde_json::Map::len), after[module].as_object().map(serde_json::Map::len));
            for (rank, counters) in rows.as_object().expect("ranks") {
                for (name, value) in counters.as_object().expect("counters") {
                    // Counters that the trace cannot hold: docs/darshan.md.
                    let unknown = ["MODE", "HINTS", "FILENOS", "DUPS", "RENAME", "OPEN_END", "CLOSE_START"];
                    if unknown.iter().any(|part| name.contains(part)) {
                        continue;
                    }
                    let (value, found) = (value.as_f64().expect("a number"), after[module][rank][name].as_f64());
                    let found = found.unwrap_or_else(|| panic!("{module} {name}"));
                    assert!(
                        (found - value).abs() <= 1e-6 * value.abs().max(1.0),
                        "{module} {rank} {name}: {value}, {found}"
                    );
                }
            }
        }
    }
}
