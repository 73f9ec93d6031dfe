//! Tests of values derived from the counters in Darshan logs: order and alignment of accesses, attribution to ranks for records reduced
//! over all ranks, and rejected values. The logs are those of the project, those in the folder named by `DXT_DARSHAN_LOGS`, and some
//! written by the tests.

use crate::common::facts::{assert_quiet, brief, findings, has, of_code};
use crate::common::{json, logs, run, text};
use darshan_log::counters::{float_names, int_names};
use darshan_log::write::{DxtVersion, Writer};
use darshan_log::{Api, CounterRecord, DxtRecord, Job, Log, Module, Mount, Segment, record_id};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

pub(crate) fn counters(path: &Path) -> Value {
    let output = run(&["counters", "--format", "json", "--top", "100000", text(path)]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}: {output:?}", path.display());
    serde_json::from_slice(&output.stdout).expect("JSON")
}

pub(crate) fn rows<'a>(found: &'a Value, table: &str) -> Vec<&'a Value> {
    found[table].as_array().expect("rows").iter().collect()
}

pub(crate) fn row<'a>(found: &'a Value, table: &str, keys: &[(&str, &str)]) -> Option<&'a Value> {
    rows(found, table).into_iter().find(|row| keys.iter().all(|(key, value)| row[*key] == *value))
}

/// Returns the sum of each counter over the records of a module, by counter name.
fn sums(path: &Path, module: Module) -> BTreeMap<&'static str, i64> {
    let mut log = Log::open(path).expect("a log");
    let mut out = BTreeMap::new();
    for record in log.counters(module).into_iter().flatten() {
        for (name, value) in int_names(module).iter().zip(&record.ints) {
            *out.entry(*name).or_default() += (*value).max(0);
        }
    }
    out
}

/// Returns true for synthetic logs, whose DXT segments show more calls than their counters.
fn is_made_up(path: &Path) -> bool {
    text(path).contains("synth-")
}

#[test]
fn order_alignment_and_switches_are_those_of_the_log() {
    let mut compared = 0;
    for path in logs().into_iter().filter(|path| !is_made_up(path)) {
        let found = counters(&path);
        let posix = sums(&path, Module::Posix);
        let name = path.display();
        for (direction, calls) in [("read", "READS"), ("write", "WRITES")] {
            let Some(row) = row(&found, "accesses", &[("layer", "POSIX"), ("direction", direction)]) else { continue };
            for (key, counter) in [
                ("calls", format!("POSIX_{calls}")),
                ("ordered", format!("POSIX_{calls}")),
                ("consecutive", format!("POSIX_CONSEC_{calls}")),
                ("sequential", format!("POSIX_SEQ_{calls}")),
            ] {
                assert_eq!(row[key], posix[counter.as_str()], "{name} {direction} {key}");
                compared += 1;
            }
        }
        if let Some(row) = row(&found, "patterns", &[("layer", "POSIX")]) {
            for (key, counter) in [
                ("file_unaligned", "POSIX_FILE_NOT_ALIGNED"),
                ("switches", "POSIX_RW_SWITCHES"),
                ("memory_unaligned", "POSIX_MEM_NOT_ALIGNED"),
            ] {
                assert_eq!(row[key], posix[counter], "{name} {key}");
            }
        }
        if let Some(row) = row(&found, "patterns", &[("layer", "MPIIO")]) {
            assert_eq!(row["switches"], sums(&path, Module::MpiIo)["MPIIO_RW_SWITCHES"], "{name}");
        }
        // Logs have no order and no longest call for C streams, and no offsets for HDF5 calls.
        for row in rows(&found, "accesses").iter().filter(|row| row["layer"] == "STDIO" || row["layer"] == "HDF5") {
            assert_eq!(row["ordered"], 0, "{name} {row}");
            assert!(row["layer"] != "STDIO" || row["max_ns"].is_null(), "{name} {row}");
        }
    }
    assert!(compared > 20, "{compared}");
}

/// Tests that no share exceeds 1, no file has more processes than the job, and collective and independent calls have the log's counts.
#[test]
fn no_number_exceeds_what_the_log_can_hold() {
    for path in logs() {
        let (found, name) = (counters(&path), path.display());
        let ranks = Log::open(&path).expect("a log").job().nprocs as u64;
        let number = |row: &Value, key: &str| row[key].as_u64().expect("a number");
        assert!(number(&found, "processes") <= ranks.max(1), "{name}");
        for row in rows(&found, "files") {
            assert!(number(row, "processes") <= ranks.max(1), "{name} {row}");
            assert!(number(row, "sequential") <= number(row, "ordered"), "{name} {row}");
        }
        for row in rows(&found, "accesses") {
            assert!(number(row, "consecutive") <= number(row, "sequential"), "{name} {row}");
            assert!(number(row, "bytes") < 1 << 60 && number(row, "time_ns") < 1 << 62, "{name} {row}");
        }
        let summary = run(&["summary", "--format", "json", text(&path)]);
        let summary: Value = serde_json::from_slice(&summary.stdout).expect("JSON");
        let mut forms: BTreeMap<String, u64> = BTreeMap::new();
        for row in rows(&summary, "operations").iter().filter(|row| row["layer"] == "MPIIO") {
            let form = format!("{} {}", row["op"].as_str().expect("a name"), row["mode"].as_str().expect("a form"));
            *forms.entry(form).or_default() += number(row, "count");
        }
        let mpi = sums(&path, Module::MpiIo);
        for (form, counter) in [
            ("read ", "MPIIO_INDEP_READS"),
            ("read collective", "MPIIO_COLL_READS"),
            ("write ", "MPIIO_INDEP_WRITES"),
            ("write collective", "MPIIO_COLL_WRITES"),
        ] {
            let counted = mpi.get(counter).copied().unwrap_or(0) as u64;
            if !mpi.is_empty() && !is_made_up(&path) {
                assert_eq!(forms.get(form).copied().unwrap_or(0), counted, "{name} {form}");
            }
        }
    }
}

/// Form of a module's records for a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Records {
    None,
    /// One record, reduced over all ranks.
    Reduced,
    /// One record for each rank that uses the file.
    PerRank,
}

pub(crate) const FILE: &str = "/scratch/shared";
pub(crate) const RANKS: i64 = 3;

/// Returns a record of [`FILE`] with the given counters; all other counters are 0.
pub(crate) fn record(module: Module, rank: i64, fields: &[(&str, f64)]) -> CounterRecord {
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

/// Returns the records of one module for a file to which each rank writes 4 times 1,000 bytes through MPI-IO (twice collectively), and 5
/// times 1,600 bytes through POSIX. `how`: reduced over all ranks, or one record per rank.
fn records(module: Module, how: Records) -> Vec<CounterRecord> {
    let of = |rank: i64, times: f64| {
        let posix = [
            ("POSIX_OPENS", times),
            ("POSIX_WRITES", 5.0 * times),
            ("POSIX_BYTES_WRITTEN", 8000.0 * times),
            ("POSIX_SEQ_WRITES", 4.0 * times),
            ("POSIX_CONSEC_WRITES", 3.0 * times),
            ("POSIX_F_WRITE_TIME", 0.05 * times),
            ("POSIX_MEM_ALIGNMENT", 8.0),
            ("POSIX_FILE_ALIGNMENT", -1.0),
        ];
        let mpi = [
            ("MPIIO_COLL_OPENS", times),
            ("MPIIO_INDEP_WRITES", 2.0 * times),
            ("MPIIO_COLL_WRITES", 2.0 * times),
            ("MPIIO_BYTES_WRITTEN", 4000.0 * times + 1.0),
            ("MPIIO_F_WRITE_TIME", 0.1 * times),
        ];
        record(module, rank, if module == Module::Posix { &posix[..] } else { &mpi[..] })
    };
    match how {
        Records::None => Vec::new(),
        Records::Reduced => vec![of(-1, RANKS as f64)],
        Records::PerRank => (0..RANKS).map(|rank| of(rank, 1.0)).collect(),
    }
}

pub(crate) fn job(ranks: i64) -> Job {
    let mut job = Job::default();
    (job.nprocs, job.exe, job.start_sec, job.end_sec) = (ranks, "./app".into(), 1_600_000_000, 1_600_000_010);
    job.metadata.push(("lib_ver".into(), "3.5.0".into()));
    job
}

pub(crate) fn written(path: &Path, job: &Job, posix: &[CounterRecord], mpi: &[CounterRecord], dxt: bool) {
    let mounts = [Mount { point: "/".into(), fs_type: "ext4".into() }];
    let out = std::io::Cursor::new(Vec::new());
    let mut writer = Writer::new(out, job, &mounts, [FILE]).expect("a writer");
    writer.counters(Module::Posix, posix).expect("written");
    writer.counters(Module::MpiIo, mpi).expect("written");
    let segments = |writer: &mut Writer<_>, api, count: u32, length: i64, took: f64| {
        writer
            .dxt::<darshan_log::write::Error>(api, DxtVersion::Plain, |dxt| {
                for rank in 0..RANKS {
                    dxt.record(&DxtRecord {
                        id: record_id(FILE.as_bytes()),
                        rank,
                        hostname: "node1".into(),
                        write_count: u64::from(count),
                        read_count: 0,
                    })?;
                    let segment = |call: u32| {
                        let start = 1.0 + f64::from(call);
                        Segment { offset: i64::from(call) * length, length, start, end: start + took, thread: None }
                    };
                    let list: Vec<Segment> = (0..count).map(segment).collect();
                    dxt.segments(&list)?;
                    dxt.segments(&[])?;
                }
                Ok(())
            })
            .expect("written");
    };
    if dxt && !posix.is_empty() {
        segments(&mut writer, Api::Posix, 5, 1600, 0.01);
    }
    if dxt && !mpi.is_empty() {
        segments(&mut writer, Api::MpiIo, 4, 1000, 0.02);
    }
    std::fs::write(path, writer.finish().expect("a log").into_inner()).expect("written");
}

#[test]
fn who_did_what_whichever_records_stand_for_all_ranks() {
    use Records::{None, PerRank, Reduced};
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.darshan");
    for mpi in [None, Reduced, PerRank] {
        for posix in [None, Reduced, PerRank] {
            for dxt in [false, true] {
                let case = format!("MPI-IO {mpi:?}, POSIX {posix:?}, DXT {dxt}");
                if mpi == None && posix == None {
                    continue;
                }
                written(&path, &job(RANKS), &records(Module::Posix, posix), &records(Module::MpiIo, mpi), dxt);
                let found = json(&["summary", "--format", "json", text(&path)], 0);
                assert_eq!((&found["ranks"], &found["processes"]), (&3.into(), &3.into()), "{case}");
                assert_eq!(found["nodes"], if dxt { Value::from(1) } else { Value::Null }, "{case}");
                // Bytes of the program are those at MPI-IO, if used. Each MPI-IO record has one byte more than its calls.
                let odd = if mpi == PerRank { 3 } else { 1 };
                let called = if mpi == None { 24_000 } else { 12_000 + odd };
                if !dxt || mpi == None {
                    assert_eq!(found["bytes_written"], called, "{case}");
                }
                assert_eq!(found["top_files"][0]["processes"], 3, "{case}");
                let sum = |layer: &str, nested: Option<bool>| {
                    let rows = rows(&found, "operations").into_iter().filter(|row| {
                        row["layer"] == layer && row["op"] == "write" && nested.is_none_or(|is| row["nested"] == is)
                    });
                    rows.map(|row| row["count"].as_u64().expect("a count")).sum::<u64>()
                };
                assert_eq!(sum("POSIX", Option::None), if posix == None { 0 } else { 15 }, "{case}");
                assert_eq!(sum("MPIIO", Option::None), if mpi == None { 0 } else { 12 }, "{case}");
                if !dxt && mpi != None {
                    assert_eq!(sum("POSIX", Some(false)), 0, "{case}");
                }
                let collective: Vec<u64> = rows(&found, "operations")
                    .iter()
                    .filter(|row| row["op"] == "write" && row["mode"] == "collective")
                    .map(|row| row["count"].as_u64().expect("a count"))
                    .collect();
                assert_eq!(collective, if mpi == None { vec![] } else { vec![6] }, "{case}");
                let found = counters(&path);
                if posix != None {
                    let row = row(&found, "accesses", &[("layer", "POSIX"), ("direction", "write")]).expect("a row");
                    let order = (&row["ordered"], &row["consecutive"], &row["sequential"]);
                    assert_eq!(order, (&15.into(), &9.into(), &12.into()), "{case}");
                }
                assert_eq!(rows(&found, "files")[0]["processes"], 3, "{case}");
            }
        }
    }
}

/// In a job of one rank, a record marked as shared by all ranks (rank -1) is attributed to that rank.
#[test]
fn a_job_of_one_rank_has_one_process() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("one.darshan");
    let one = |module| {
        let mut record = records(module, Records::PerRank).swap_remove(0);
        record.rank = -1;
        vec![record]
    };
    written(&path, &job(1), &one(Module::Posix), &one(Module::MpiIo), false);
    let found = json(&["summary", "--format", "json", text(&path)], 0);
    assert_eq!((&found["ranks"], &found["processes"]), (&1.into(), &1.into()));
    let found = json(&["layers", "--format", "json", text(&path)], 0);
    assert_eq!(found["files"][0]["processes"], 1);
    assert_eq!(found["files"][0]["posix_writes"]["bytes"], 8000);
}

/// A job of one rank gets no advice to use collective calls.
#[test]
fn a_job_of_one_rank_gets_no_advice_on_collective_calls() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("one.darshan");
    let advice = |ranks: i64| {
        let mut posix = records(Module::Posix, Records::PerRank);
        let mut mpi = records(Module::MpiIo, Records::PerRank);
        for record in &mut mpi {
            for (name, value) in int_names(Module::MpiIo).iter().zip(&mut record.ints) {
                *value = if name.contains("COLL_") { 0 } else { *value };
            }
        }
        posix.truncate(ranks as usize);
        mpi.truncate(ranks as usize);
        for record in &mut mpi {
            let at = |name: &str| int_names(Module::MpiIo).iter().position(|known| *known == name).expect("known");
            record.ints[at("MPIIO_INDEP_WRITES")] = 200_000;
        }
        written(&path, &job(ranks), &posix, &mpi, false);
        json(&["checks", "--all", "--format", "json", text(&path)], 0)
    };
    let codes = ["DXT-C010", "DXT-C020"];
    // Names of collective calls in the advice of any finding.
    let advised = |found: &Value| {
        let hints: Vec<&str> = findings(found).into_iter().filter_map(|one| one["hint"].as_str()).collect();
        assert!(!hints.is_empty(), "{found}");
        ["MPI_File_write_at_all", "collective"].map(|word| hints.iter().any(|hint| hint.contains(word)))
    };
    let three = advice(3);
    assert!(codes.iter().all(|code| of_code(&three, code).is_some()), "{}", brief(&three));
    assert_eq!(advised(&three), [true; 2], "{three}");
    let alone = advice(1);
    assert!(codes.iter().all(|code| of_code(&alone, code).is_none()), "{}", brief(&alone));
    assert_eq!(advised(&alone), [false; 2], "{alone}");
}

/// Darshan uses -1 for values that were not monitored. Sums of -1 over all ranks are not reported as damage.
#[test]
fn old_runtimes_add_up_what_no_rank_monitored() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.darshan");
    let mut posix = records(Module::Posix, Records::Reduced);
    let at = int_names(Module::Posix).iter().position(|name| *name == "POSIX_MMAPS").expect("known");
    for (value, code) in [(-1, 0), (-RANKS, 0), (-2, 3), (-RANKS - 1, 3)] {
        posix[0].ints[at] = value;
        written(&path, &job(RANKS), &posix, &[], false);
        let found = json(&["summary", "--format", "json", text(&path)], code);
        assert_eq!(found["bytes_written"], if code == 0 { 24_000 } else { 0 }, "{value}");
    }
}

/// A record with an impossible value is rejected and counted as rejected; the totals include all other records.
#[test]
fn what_cannot_be_is_set_aside_and_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.darshan");
    for (counter, value) in [
        ("POSIX_BYTES_WRITTEN", 9e18),
        ("POSIX_BYTES_WRITTEN", -8.0),
        ("POSIX_WRITES", -5.0),
        ("POSIX_F_WRITE_TIME", 1e300),
        ("POSIX_F_CLOSE_END_TIMESTAMP", 1e6),
        ("POSIX_F_MAX_WRITE_TIME", f64::NAN),
        ("rank", 3.0),
        ("rank", -7.0),
    ] {
        let mut posix = records(Module::Posix, Records::PerRank);
        let last = posix.last_mut().expect("a record");
        match counter {
            "rank" => last.rank = value as i64,
            name => {
                let place = |names: &[&str]| names.iter().position(|known| *known == name);
                match place(int_names(Module::Posix)) {
                    Some(at) => last.ints[at] = value as i64,
                    None => last.floats[place(float_names(Module::Posix)).expect("known")] = value,
                }
            }
        }
        written(&path, &job(RANKS), &posix, &[], false);
        let found = json(&["summary", "--format", "json", text(&path)], 3);
        assert_eq!(found["bytes_written"], 16_000, "{counter} {value}");
        assert_eq!(found["ranks"], 2, "{counter} {value}");
        let said = found["missing"]["problems"][0]["what"].to_string();
        assert!(said.contains("1 POSIX record"), "{counter} {value}: {said}");
    }
    // Damage in the job record alone loses no other record.
    let mut damaged = job(RANKS);
    damaged.nprocs = i64::MAX;
    written(&path, &damaged, &records(Module::Posix, Records::PerRank), &[], false);
    let found = json(&["summary", "--format", "json", text(&path)], 3);
    assert_eq!((&found["bytes_written"], &found["ranks"]), (&24_000.into(), &3.into()));
    assert!(found["missing"]["problems"][0]["what"].to_string().contains("job record"), "{found}");
}

/// Returns the first finding of `report` for a file of 8 ranks whose records are reduced over all ranks. Rank 5 spends `slowest` seconds in
/// POSIX calls and moves `bytes`; each other rank spends `others` seconds and moves (`all` - `bytes`) / 7. If `inside` is true, the POSIX
/// calls are inside collective calls of 7 s each.
fn first_finding_of_all_ranks(slowest: f64, bytes: f64, others: f64, all: f64, inside: bool) -> Value {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("together.darshan");
    let mean = (slowest + 7.0 * others) / 8.0;
    let variance = ((slowest - mean).powi(2) + 7.0 * (others - mean).powi(2)) / 8.0;
    let posix = record(
        Module::Posix,
        -1,
        &[
            ("POSIX_OPENS", 8.0),
            ("POSIX_WRITES", 8000.0),
            ("POSIX_BYTES_WRITTEN", all),
            ("POSIX_F_WRITE_TIME", slowest + 7.0 * others),
            ("POSIX_SLOWEST_RANK", 5.0),
            ("POSIX_SLOWEST_RANK_BYTES", bytes),
            ("POSIX_F_SLOWEST_RANK_TIME", slowest),
            ("POSIX_FASTEST_RANK", 2.0),
            ("POSIX_FASTEST_RANK_BYTES", (all - bytes) / 7.0),
            ("POSIX_F_FASTEST_RANK_TIME", others),
            ("POSIX_F_VARIANCE_RANK_TIME", variance),
        ],
    );
    let mpi = record(
        Module::MpiIo,
        -1,
        &[
            ("MPIIO_COLL_OPENS", 8.0),
            ("MPIIO_COLL_WRITES", 80.0),
            ("MPIIO_BYTES_WRITTEN", all),
            ("MPIIO_F_WRITE_TIME", 56.0),
        ],
    );
    let mpi = if inside { vec![mpi] } else { Vec::new() };
    written(&path, &job(8), &[posix], &mpi, false);
    let found = json(&["report", "--format", "json", text(&path)], 0);
    let first = found["findings"].as_array().expect("findings").iter().find(|finding| finding["severity"] != "info");
    first.cloned().unwrap_or(Value::Null)
}

/// In a record that sums over all ranks, one or two opens or syncs per rank do not count as repeated by one process.
#[test]
fn calls_that_each_rank_makes_once_are_not_repeated() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.darshan");
    let report = |ranks: i64, opens: f64, syncs: f64| {
        let fields = [
            ("POSIX_OPENS", opens),
            ("POSIX_FSYNCS", syncs),
            ("POSIX_WRITES", ranks as f64),
            ("POSIX_BYTES_WRITTEN", ranks as f64 * 8e6),
            ("POSIX_SIZE_WRITE_1M_4M", ranks as f64),
            ("POSIX_F_META_TIME", ranks as f64 * 3.0),
            ("POSIX_F_WRITE_TIME", ranks as f64 * 0.1),
            ("POSIX_F_OPEN_START_TIMESTAMP", 1.0),
            ("POSIX_F_WRITE_START_TIMESTAMP", 1.0),
            ("POSIX_F_WRITE_END_TIMESTAMP", 9.0),
            ("POSIX_F_CLOSE_END_TIMESTAMP", 9.5),
        ];
        written(&path, &job(ranks), &[record(Module::Posix, -1, &fields)], &[], false);
        json(&["report", "--format", "json", text(&path)], 0)
    };
    let opens = |report: &Value| ["DXT-C034", "DXT-C035"].iter().for_each(|code| assert_quiet(report, code));
    opens(&report(16, 32.0, 0.0));
    assert_quiet(&report(256, 256.0, 256.0), "DXT-C032");
    let again = report(16, 1600.0, 0.0);
    assert!(of_code(&again, "DXT-C035").is_some_and(|found| found["severity"] == "high"), "{}", brief(&again));
}

/// Records reduced over all ranks name the slowest rank, which is found as the cause, whether it moves all bytes (inside MPI-IO or not) or
/// is only slower.
#[test]
fn the_slowest_rank_of_a_record_of_all_ranks_is_a_cause() {
    let saves = |found: &Value| found["saves_ns"].as_f64().unwrap_or(0.0) / 1e9;
    let all = 8e9;
    let alone = first_finding_of_all_ranks(6.0, all, 0.01, all, false);
    assert!(alone["code"] == "DXT-C013" && (5.0..6.0).contains(&saves(&alone)), "{alone}");
    assert!(has(&alone, &json!({ "rank": 5, "file": FILE, "bytes": all as u64 })), "{alone}");
    let aggregator = first_finding_of_all_ranks(6.0, all, 0.01, all, true);
    assert!(aggregator["code"] == "DXT-L005" && (3.0..5.25).contains(&saves(&aggregator)), "{aggregator}");
    let slow = first_finding_of_all_ranks(6.0, all / 8.0, 0.5, all, false);
    assert!(slow["code"] == "DXT-C015" && (4.0..5.5).contains(&saves(&slow)), "{slow}");
    assert!(has(&slow, &json!({ "rank": 5, "file": FILE })), "{slow}");
    // One of several aggregators moves four times the mean bytes, in four times the mean time; one as slow with fewer bytes is an outlier.
    let several = first_finding_of_all_ranks(4.0, all / 2.0, 4.0 / 7.0, all, true);
    assert!(several["code"] != "DXT-C015", "{several}");
    let slow = first_finding_of_all_ranks(4.0, all / 8.0, 4.0 / 7.0, all, true);
    assert!(slow["code"] == "DXT-C015", "{slow}");
    let even = first_finding_of_all_ranks(0.6, all / 8.0, 0.5, all, false);
    assert!(even.is_null(), "{even}");
}
