//! Tests of `layers` on traces in which every call is known: time per layer inside a call, lateness, aggregators, calls in flight.

use crate::common::facts::{assert_found, of_code, says};
use crate::common::{Builder, hdf5, job, json, op, process, put, run, stdout, trace, trace_of_calls};
use dxt_synth::lustre::attribute as lustre;
use serde_json::{Value, json as value};
use trace_format::counters::{Counters, Previous};
use trace_format::meta::{Job, LayoutDef, LayoutMoment, LayoutSource, Missing, ThreadDef, stream_flags};
use trace_format::op::{Layer, OpClass, OpDef, OpMode};
use trace_format::segment::{Segment, StreamId};

const LOCK: u16 = 20;
const UNLOCK: u16 = 21;
const WRITE: u16 = 22;
const IWRITE: u16 = 23;
const NESTED: u8 = stream_flags::NESTED;
const FILE: &str = "/scratch/shared";
const US: u64 = 1000;
/// Thresholds file that lowers the minimum saving of a finding, since these runs are too short for the default.
const SHORT: &[u8] = b"least_saving_ns = 1\n";

/// Returns a job whose operation table also has locks, and independent and nonblocking MPI-IO writes.
fn layered(ranks: u32) -> Job {
    let mut job = job("layers", ranks);
    let def = |code, layer, class, mode, name: &str| OpDef { code, layer, class, mode, name: name.into() };
    job.ops.extend([
        def(LOCK, Layer::Posix, OpClass::Lock, OpMode::Plain, "lock"),
        def(UNLOCK, Layer::Posix, OpClass::Unlock, OpMode::Plain, "unlock"),
        def(WRITE, Layer::Mpiio, OpClass::Write, OpMode::Plain, "write"),
        def(IWRITE, Layer::Mpiio, OpClass::Write, OpMode::Nonblocking, "write"),
    ]);
    job
}

/// Adds an independent MPI-IO write of 100 bytes in 100 µs by data sieving. Nested calls: lock 20 µs, read 10 µs, write 30 µs, unlock 5 µs;
/// the other 35 µs are outside of nested calls.
fn sieved(process: &mut Builder, start: u64) {
    let us = |at: u64| start + at * 1000;
    process.add(FILE, LOCK, NESTED, 0, 400, us(5), us(25));
    process.add(FILE, op::POSIX_READ, NESTED, 0, 400, us(30), us(40));
    process.add(FILE, op::POSIX_WRITE, NESTED, 0, 400, us(50), us(80));
    process.add(FILE, UNLOCK, NESTED, 0, 400, us(80), us(85));
    process.add(FILE, WRITE, 0, 0, 100, us(0), us(100));
}

/// Returns the JSON of `layers`, with estimated savings also for runs that are too short for the default minimum saving.
#[expect(clippy::unwrap_used, reason = "a failure here is the test's")]
fn layers(bytes: &[u8], code: i32) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let short = put(folder.path(), "short.toml", SHORT);
    json(&["layers", "--format", "json", "--thresholds", &short, &put(folder.path(), "a.dxt", bytes)], code)
}

#[test]
fn the_time_of_a_call_is_that_of_the_calls_inside_and_a_rest() {
    let process = |rank| {
        let mut process = process(rank, "n");
        // MPI_Init reads a file outside of any MPI-IO call.
        process.add("/etc/conf", op::POSIX_READ, NESTED, 0, 9, 100, 300);
        for i in 0..10 {
            sieved(&mut process, 1_000_000 + i * 200_000);
        }
        process
    };
    let found = layers(&trace(&layered(2), (0..2).map(process).collect()), 0);
    let job = &found["job"]["mpiio"];
    let sum = |calls: u64, bytes: u64, us: u64| value!({"calls": calls, "bytes": bytes, "time_ns": us * 1000});
    assert_eq!((&job["calls"], &job["bytes"], &job["time_ns"]), (&20.into(), &2000.into(), &2_000_000.into()));
    assert_eq!(job["inside"]["locks"], sum(20, 8000, 400));
    assert_eq!(job["inside"]["unlocks"], sum(20, 8000, 100));
    assert_eq!(job["inside"]["reads"], sum(20, 8000, 200));
    assert_eq!(job["inside"]["writes"], sum(20, 8000, 600));
    assert_eq!(found["job"]["mpiio_rest_ns"], 700_000);
    assert_eq!((&found["elsewhere"]["reads"]["calls"], &found["unsure"]), (&2.into(), &0.into()));
    // For 2,000 bytes requested, 8,000 were written and as many read.
    assert_eq!(found["files"][0]["write_amplification"], 8.0);
    // Locks and unlocks take 25 % of the time.
    let locks = assert_found(&found, "DXT-L001", &value!({"calls": 40, "time_ns": 2_000_000 / 4}));
    // The run of a minute has no price.
    assert_eq!((&locks["severity"], &locks["cost_ns"]), (&"info".into(), &500_000.into()));
    // Of the 800 µs of data calls, 7/8 are spent on bytes that were not requested.
    assert_eq!(assert_found(&found, "DXT-L002", &value!({"file": FILE}))["cost_ns"], 700_000);
    // If the run ends with the last call, all reads and locks and 3/4 of the writes would save 575 of 2,900 µs.
    let bytes = trace_of_calls(&layered(2), (0..2).map(process).collect());
    let sieving = layers(&bytes, 0);
    let sieving = assert_found(&sieving, "DXT-L002", &value!({"file": FILE}));
    assert_eq!((&sieving["severity"], &sieving["saves_ns"]), (&"high".into(), &575_000.into()));
    let folder = tempfile::tempdir().unwrap();
    let path = put(folder.path(), "a.dxt", &bytes);
    let short = put(folder.path(), "short.toml", SHORT);
    assert_eq!(run(&["layers", "--fail-on", "high", "--thresholds", &short, &path]).status.code(), Some(4));
    // At the default, so short a run has none; without output of findings, their price decides the exit code all the same.
    assert_eq!(run(&["layers", "--fail-on", "warn", &path]).status.code(), Some(0));
    let csv = ["layers", "--format", "csv", "--fail-on", "high", "--thresholds", &short, &path];
    assert_eq!(run(&csv).status.code(), Some(4));
}

/// Returns four ranks on two nodes with three collective writes of 100 bytes each. A call lasts for 10 µs once all ranks have arrived, and
/// rank 0 writes the data of all ranks in 6 µs. Rank 2 arrives 5 µs late at the second call.
fn two_phase() -> Vec<Builder> {
    let ranks = (0..4).map(|rank| {
        let mut process = process(rank, if rank < 2 { "n0" } else { "n1" });
        for i in 0..3_u64 {
            let (begin, late) = (100_000 + i * 100_000, if i == 1 { 5000 } else { 0 });
            let start = begin + if rank == 2 { late } else { 0 };
            let end = begin + late + 10_000;
            if rank == 0 {
                process.add(FILE, op::POSIX_WRITE, NESTED, i as i64 * 400, 400, end - 7000, end - 1000);
            }
            process.add(FILE, op::MPIIO_WRITE_ALL, 0, (i as i64 * 4 + i64::from(rank)) * 100, 100, start, end);
        }
        process
    });
    ranks.collect()
}

#[test]
fn means_over_aggregators_stand_beside_those_over_all() {
    let found = layers(&trace(&layered(4), two_phase()), 0);
    let row = &found["collective_files"][0];
    // Rank 0 spends 35 µs in three calls, 18 of these in writes; rank 2 arrives 5 µs late.
    let means = |whose: &str| ["time_ns", "io_ns", "communication_ns"].map(|what| row[whose][what].as_u64());
    assert_eq!(means("aggregators_mean"), [35_000, 18_000, 17_000].map(Some));
    assert_eq!(means("processes_mean"), [33_750, 4500, 29_250].map(Some));
    let folder = tempfile::tempdir().expect("a folder");
    let path = put(folder.path(), "a.dxt", &trace(&layered(4), two_phase()));
    let csv = stdout(&["layers", "--format", "csv", "--table", "means", &path], 0);
    assert!(
        csv.lines().nth(1).is_some_and(|line| line.contains(",aggregators,1,0.000035000,0.000018000,0.000017000,")),
        "{csv}"
    );
}

#[test]
fn calls_in_flight_are_drawn_by_kind() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut one = process(0, "n");
    sieved(&mut one, 1_000_000);
    let path = put(folder.path(), "a.dxt", &trace(&layered(1), vec![one]));
    let shown = stdout(&["layers", &path], 0);
    for kind in ["MPI-IO data", "POSIX reads", "POSIX writes", "POSIX locks"] {
        assert!(
            shown.lines().any(|line| line.starts_with(kind) && line.contains("in flight on average")),
            "{kind}: {shown}"
        );
    }
    let csv = stdout(&["layers", "--format", "csv", "--table", "series", &path], 0);
    assert!(csv.lines().any(|line| line.contains(",POSIX reads,")), "{csv}");
    let page = folder.path().join("page.html");
    stdout(&["report", "-o", page.to_str().expect("a path"), &path], 0);
    let page = std::fs::read_to_string(&page).expect("a page");
    let titles = ["MPI-IO reads and writes", "POSIX reads", "POSIX writes", "POSIX lock calls"];
    assert!(titles.iter().all(|title| page.contains(title)), "a panel is missing");
}

#[test]
fn collective_calls_are_matched_and_the_late_rank_is_named() {
    let found = layers(&trace(&layered(4), two_phase()), 0);
    let all = &found["collectives"];
    assert_eq!((&all["followed"], &all["calls"], &all["wall_ns"]), (&3.into(), &12.into(), &35_000.into()));
    assert_eq!((&all["skew_ns"], &all["storage_ns"], &all["rest_ns"]), (&5000.into(), &18_000.into(), &12_000.into()));
    let slowest = &all["slowest"][0];
    assert_eq!(
        (&slowest["number"], &slowest["last"], &slowest["busiest"]),
        (&1.into(), &"rank 2".into(), &"rank 0".into())
    );
    assert_eq!((&slowest["skew_ns"], &slowest["wait_ns"]), (&5000.into(), &15_000.into()));
    assert_eq!(all["late"], value!([{"process": "rank 2", "node": "n1", "times": 1, "wait_ns": 15_000}]));
    let buffering = &found["collective_files"][0];
    assert_eq!((&buffering["buffered"], &buffering["mean_request_bytes"]), (&true.into(), &400.into()));
    assert_eq!(
        buffering["aggregators"],
        value!([{"process": "rank 0", "node": "n0", "calls": 3, "bytes": 1200, "time_ns": 18_000}])
    );
    // Waiting takes 15 of 135 µs, below 15 %; one aggregator is few for two nodes.
    assert!(of_code(&found, "DXT-L003").is_none());
    let few = assert_found(&found, "DXT-L005", &value!({"file": FILE}));
    assert!(few["hint"].as_str().unwrap().contains("cb_nodes=2"), "{few}");
    assert_eq!(few["cost_ns"], 18_000 / 2 * 4);
    let folder = tempfile::tempdir().unwrap();
    let path = put(folder.path(), "a.dxt", &trace(&layered(4), two_phase()));
    let strict = put(folder.path(), "strict.toml", b"arrival_wait_share = 0.1\n");
    let found = json(&["layers", "--format", "json", "--thresholds", &strict, &path], 0);
    let late = assert_found(&found, "DXT-L003", &value!({"time_ns": 15_000}));
    assert!(says(late, &["rank 2"]) && late["cost_ns"] == 15_000, "{late}");
    // Four ranks spend 12 of 30 µs without system calls.
    let strict = put(folder.path(), "strict.toml", b"communication_share = 0.4\n");
    let found = json(&["layers", "--format", "json", "--thresholds", &strict, &path], 0);
    assert_eq!(assert_found(&found, "DXT-L004", &value!({"time_ns": 12_000}))["cost_ns"], 48_000);
    // A run of some µs has no price.
    for (least, code) in [("warn", 0), ("info", 4)] {
        assert_eq!(run(&["layers", "--fail-on", least, &path]).status.code(), Some(code), "{least}");
    }
    let text = stdout(&["layers", &path], 0);
    assert!(text.contains("3 collective operations took 35.0 µs") && text.contains("DXT-L005"), "{text}");
    let csv = stdout(&["layers", "--format", "csv", "--table", "collectives", &path], 0);
    assert!(csv.lines().nth(1).unwrap().contains(",1,0.000200000,4,400,0.000015000,0.000005000,rank 2,"), "{csv}");
}

#[test]
fn a_collective_call_that_failed_has_its_place() {
    let mut ranks = two_phase();
    for (rank, process) in ranks.iter_mut().enumerate() {
        // Before all other calls, a collective call fails on rank 0 only.
        let failed = if rank == 0 { stream_flags::FAILED } else { 0 };
        let mut first = crate::common::process(rank as i32, "n0");
        first.add(FILE, op::MPIIO_WRITE_ALL, failed, 0, 100, 1000, 2000);
        let stream = process.stream(FILE, op::MPIIO_WRITE_ALL, failed);
        let mut segment = first.threads[0].1[0];
        segment = Segment::new(StreamId(stream), 0, segment.length(), segment.start, segment.end);
        process.threads[0].1.insert(0, segment);
    }
    let found = layers(&trace(&layered(4), ranks), 0);
    let all = found["collectives"]["slowest"].as_array().unwrap();
    assert_eq!(all.iter().map(|row| row["calls"].as_u64().unwrap()).sum::<u64>(), 15);
    assert!(all.iter().all(|row| row["calls"] == if row["number"] == 0 { 3 } else { 4 }), "{all:?}");
}

#[test]
fn calls_without_segments_are_in_the_sums_and_break_the_order() {
    let mut ranks = two_phase();
    let first = &mut ranks[0];
    let counters = |calls: u64, bytes: u64, ns: u64| {
        let (mut sum, mut previous) = (Counters::default(), Previous::default());
        (0..calls).for_each(|i| sum.fold(&mut previous, 0, bytes, 500_000 + i, 500_000 + i + ns));
        sum
    };
    let stream = |process: &mut Builder, op, flags| process.stream(FILE, op, flags);
    let (outer, inner) = (stream(first, op::MPIIO_WRITE_ALL, 0), stream(first, LOCK, NESTED));
    first.process.missing = vec![
        Missing { stream: outer, counters: counters(2, 100, 50_000) },
        Missing { stream: inner, counters: counters(2, 0, 20_000) },
    ];
    let found = layers(&trace(&layered(4), ranks), 3);
    let row = &found["ranks"][0];
    assert_eq!((&row["rank"], &row["folded"]), (&0.into(), &2.into()));
    assert_eq!((&row["mpiio"]["calls"], &row["mpiio"]["time_ns"]), (&5.into(), &135_000.into()));
    assert_eq!((&row["mpiio"]["inside"]["locks"]["time_ns"], &row["mpiio_rest_ns"]), (&40_000.into(), &77_000.into()));
    // The table of calls contains only calls with segments.
    assert_eq!(found["calls"][0]["calls"], 12);
    assert_eq!(found["collectives"]["followed"], 0);
    assert!(found["collectives"]["not_matched"].as_str().unwrap().contains("not recorded individually"));
}

#[test]
fn nonblocking_writes_stand_apart() {
    let mut process = process(0, "n");
    process.add(FILE, op::POSIX_WRITE, NESTED, 0, 50, 1100, 1200);
    process.add(FILE, op::POSIX_WRITE, NESTED, 50, 60, 2100, 2200);
    process.add(FILE, WRITE, 0, 50, 60, 2000, 2300);
    process.add(FILE, IWRITE, 0, 0, 50, 1000, 5000);
    let found = layers(&trace(&layered(1), vec![process]), 0);
    let row = &found["ranks"][0];
    assert_eq!((&row["mpiio"]["time_ns"], &row["mpiio"]["inside"]["writes"]["bytes"]), (&300.into(), &60.into()));
    assert_eq!(
        (&row["mpiio_unfinished"]["calls"], &row["mpiio_unfinished"]["inside"]["writes"]["bytes"]),
        (&1.into(), &50.into())
    );
}

#[test]
fn a_call_has_what_its_own_thread_did() {
    let mut process = process(0, "n");
    process.process.threads.push(ThreadDef { index: 1, tid: 7 });
    process.add(FILE, op::POSIX_WRITE, NESTED, 0, 10, 1100, 1200);
    process.add(FILE, WRITE, 0, 0, 10, 1000, 3000);
    // No call of its own thread encloses this write, though the other thread has a call at that time.
    process.add(FILE, op::POSIX_WRITE, NESTED, 0, 7, 5000, 5100);
    let (inner, outer) = (process.stream(FILE, op::POSIX_WRITE, NESTED), process.stream(FILE, WRITE, 0));
    let segments = vec![
        Segment::new(StreamId(inner), 50, 20, 1150, 1250),
        Segment::new(StreamId(inner), 70, 30, 1300, 1400),
        Segment::new(StreamId(outer), 50, 50, 1050, 6000),
    ];
    process.threads.push((1, segments));
    let found = layers(&trace(&layered(1), vec![process]), 0);
    let job = &found["job"]["mpiio"];
    assert_eq!((&job["inside"]["writes"]["calls"], &job["inside"]["writes"]["bytes"]), (&3.into(), &60.into()));
    assert_eq!(found["job"]["mpiio_rest_ns"], 2000 + 4950 - 300);
    assert_eq!(found["elsewhere"]["writes"]["bytes"], 7);
}

#[test]
fn a_call_can_have_more_inside_than_a_block_holds() {
    let mut process = process(0, "n");
    let pieces = 150_000_u64;
    for i in 0..pieces {
        process.add(FILE, op::POSIX_WRITE, NESTED, i as i64 * 20, 10, 1000 + i * 10, 1006 + i * 10);
    }
    process.add(FILE, WRITE, 0, 0, pieces * 10, 500, 1000 + pieces * 10 + 500);
    sieved(&mut process, 5_000_000);
    let found = layers(&trace(&layered(1), vec![process]), 0);
    let writes = &found["job"]["mpiio"]["inside"]["writes"];
    assert_eq!((&writes["calls"], &writes["bytes"]), (&(pieces + 1).into(), &(pieces * 10 + 400).into()));
    assert_eq!((&writes["time_ns"], &found["unsure"]), (&(pieces * 6 + 30_000).into(), &0.into()));
}

#[test]
fn hdf5_mpi_io_and_posix_share_out_the_time() {
    let found = layers(&hdf5(), 0);
    // Each of two ranks makes a write of 10 µs with 5 µs of MPI-IO, 3 µs of these in POSIX, and a read of 5 µs with 1 µs of POSIX.
    let job = &found["job"];
    assert_eq!((&job["hdf5"]["calls"], &job["hdf5"]["time_ns"]), (&4.into(), &30_000.into()));
    let inside = &job["hdf5"]["inside"];
    assert_eq!((&inside["mpiio"]["calls"], &inside["mpiio"]["time_ns"]), (&2.into(), &10_000.into()));
    assert_eq!((&inside["writes"]["time_ns"], &inside["reads"]["time_ns"]), (&6000.into(), &2000.into()));
    assert_eq!((&inside["mpiio_rest_ns"], &job["hdf5_rest_ns"]), (&4000.into(), &18_000.into()));
    let folder = tempfile::tempdir().unwrap();
    let text = stdout(&["layers", &put(folder.path(), "a.dxt", &hdf5())], 0);
    assert!(text.contains("Ranks: blocking reads and writes of HDF5") && text.contains("MPI-IO %"), "{text}");
}

#[test]
fn calls_in_flight_are_counted_over_all_ranks() {
    let ranks = (0..4).map(|rank| {
        let mut process = process(rank, "n");
        // All four ranks are in MPI-IO for 40 µs; their POSIX calls are serialized, 8 µs each.
        let start = 10_000 + rank as u64 * 10_000;
        process.add(FILE, op::POSIX_WRITE, NESTED, i64::from(rank) * 100, 100, start, start + 8000);
        process.add(FILE, WRITE, 0, i64::from(rank) * 100, 100, 10_000, 50_000);
        process
    });
    let found = layers(&trace(&layered(4), ranks.collect()), 0);
    let of = |what: &str| {
        let rows = found["concurrency"].as_array().unwrap();
        rows.iter().find(|row| row["what"] == what).unwrap().clone()
    };
    let (mpiio, posix) = (of("mpiio"), of("posix"));
    assert_eq!((&mpiio["max"], &mpiio["mean"], &mpiio["shares"]), (&4.into(), &4.0.into(), &value!([0.0, 0.0, 1.0])));
    assert_eq!((&posix["max"], &posix["busy_ns"], &posix["shares"]), (&1.into(), &32_000.into(), &value!([1.0])));
    assert_eq!((&posix["exact"], &found["series"]["start_ns"]), (&true.into(), &10_000.into()));
    let bins = found["series"]["bins"].as_u64().unwrap();
    assert!(bins <= 200 && posix["series"].as_array().unwrap().len() as u64 == bins);
    // For 32 µs, one call is in flight and three ranks wait: 96 µs, less than the 128 µs without any call.
    let serial = assert_found(&found, "DXT-L008", &value!({"time_ns": 96_000}));
    assert!(says(serial, &["4 ranks are serialized"]) && serial["cost_ns"] == 96_000, "{serial}");
    let folder = tempfile::tempdir().unwrap();
    let path = put(folder.path(), "a.dxt", &trace(&layered(1), vec![process(0, "n")]));
    assert!(stdout(&["layers", &path], 0).contains("nothing to break down"));
}

#[test]
fn many_small_independent_calls_on_a_shared_file() {
    let ranks = (0..4).map(|rank| {
        let mut process = process(rank, "n");
        for i in 0..300_u64 {
            let (at, start) = ((i as i64 * 4 + i64::from(rank)) * 1000, (10_000 + i * 100) * US);
            process.add(FILE, op::POSIX_WRITE, NESTED, at, 1000, start + 10 * US, start + 90 * US);
            process.add(FILE, WRITE, 0, at, 1000, start, start + 100 * US);
        }
        process
    });
    let found = layers(&trace_of_calls(&layered(4), ranks.collect()), 0);
    let small = assert_found(&found, "DXT-L006", &value!({"file": FILE}));
    assert_eq!((&small["cost_ns"], &small["severity"]), (&(1200 * 100_000).into(), &"high".into()));
    assert!(says(small, &["1,200", "4 ranks"]), "{small}");
}

#[test]
fn more_aggregators_than_stripes() {
    let mut ranks = (0..8)
        .map(|rank| {
            let mut process = process(rank, "n");
            // Every second rank writes the data of two.
            if rank % 2 == 0 {
                process.add(FILE, op::POSIX_WRITE, NESTED, i64::from(rank) * 100, 200, 2000, 8000);
            }
            process.add(FILE, op::MPIIO_WRITE_ALL, 0, i64::from(rank) * 100, 100, 1000, 9000);
            process
        })
        .collect::<Vec<Builder>>();
    let file = ranks[0].file(FILE);
    let bytes = lustre(1 << 20, &[0]);
    ranks[0].process.layouts.push(LayoutDef { file, moment: LayoutMoment::Open, source: LayoutSource::Lustre, bytes });
    let bytes = trace(&layered(8), ranks);
    let found = layers(&bytes, 0);
    let many = assert_found(&found, "DXT-L005", &value!({"file": FILE, "operation": "write"}));
    assert_eq!((&many["severity"], &many["cost_ns"]), (&"info".into(), &Value::Null));
    assert!(says(many, &["4 aggregators", "1 stripe"]), "{many}");
    // A layout given as a file takes precedence over that of the trace.
    let folder = tempfile::tempdir().unwrap();
    let path = put(folder.path(), "many.dxt", &bytes);
    let given = put(folder.path(), "given.layout", b"/scratch/* size=1M count=8\n");
    let found = json(&["layers", "--layout", &given, "--format", "json", &path], 0);
    let few = assert_found(&found, "DXT-L005", &value!({"file": FILE}));
    // Twice as many aggregators would save each of 8 ranks half of 6 µs.
    assert!(says(few, &["4 aggregators", "8 stripes"]) && few["cost_ns"] == 8 * 6000 / 2, "{few}");
}

#[expect(clippy::unwrap_used, reason = "a failure here is the test's")]
/// Generates a synthetic trace, and runs `layers` on it with one thread and with several. Asserts equal results and returns them.
fn synthetic(arguments: &[&str]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.dxt").to_str().unwrap().to_owned();
    let output = ["-o", path.as_str()];
    let all = ["dxt-synth"].iter().chain(arguments).chain(&output).map(|word| (*word).to_owned());
    dxt_synth::run(all).unwrap();
    let one = json(&["layers", "--threads", "1", "--format", "json", &path], 0);
    assert!(one == json(&["layers", "--threads", "5", "--format", "json", &path], 0), "threads change the result");
    one
}

#[test]
fn thousands_of_ranks_with_an_aggregator_per_node() {
    let found = synthetic(&["ior-strided", "--layer", "mpiio", "-n", "2048", "--nodes", "64", "--segments", "8"]);
    let bytes = (2048_u64 * 8) << 20;
    let (job, buffering) = (&found["job"]["mpiio"], &found["collective_files"][0]);
    assert_eq!((&job["calls"], &job["bytes"]), (&(2048 * 8).into(), &bytes.into()));
    assert_eq!(
        (&job["inside"]["writes"]["calls"], &job["inside"]["writes"]["bytes"]),
        (&(64 * 8).into(), &bytes.into())
    );
    let aggregators = buffering["aggregators"].as_array().unwrap();
    let mut names: Vec<u64> =
        aggregators.iter().map(|row| row["process"].as_str().unwrap()[5..].parse().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, (0..64).map(|node| node * 32).collect::<Vec<u64>>());
    assert_eq!((&buffering["buffered"], &buffering["mean_request_bytes"]), (&true.into(), &(32 << 20).into()));
    let all = &found["collectives"];
    assert_eq!((&all["followed"], &all["calls"], &all["followed_one_in"]), (&8.into(), &(2048 * 8).into(), &1.into()));
    assert_eq!(found["files"][0]["write_amplification"], 1.0);
    assert_eq!(found["ranks"].as_array().unwrap().len(), 2048);
    // The rest of each aggregator's time is the short time that the generator puts around its calls.
    let rest = found["job"]["mpiio_rest_ns"].as_u64().unwrap() as f64;
    assert!((0.8..1.3).contains(&(rest / (2048.0 * 8.0 * 2.0 * 900.0))), "{rest}");
}

#[test]
fn a_slow_rank_is_first_in_the_table_of_ranks() {
    let found = synthetic(&["ior-shared", "--layer", "mpiio", "-n", "1000", "--segments", "4", "--slow-rank", "77:5"]);
    assert_eq!(found["ranks"][0]["rank"], 77);
    let inside = &found["job"]["mpiio"]["inside"];
    assert_eq!((&inside["writes"]["calls"], &found["elsewhere"]["writes"]["calls"]), (&4000.into(), &0.into()));
    assert_eq!(found["collectives"]["followed"], 0);
}

#[test]
fn locks_and_unlocks_have_times_and_shares_of_their_own() {
    let processes = (0..2).map(|rank| {
        let mut process = process(rank, "n");
        for i in 0..10 {
            sieved(&mut process, 1_000_000 + i * 200_000);
        }
        process
    });
    let bytes = trace(&layered(2), processes.collect());
    let time = &layers(&bytes, 0)["mpiio_time"];
    let ns = |what: &str| time[what]["time_ns"].as_u64();
    assert_eq!(["mpiio", "posix", "locks", "unlocks"].map(ns), [2_000_000, 1_300_000, 400_000, 100_000].map(Some));
    let folder = tempfile::tempdir().expect("a folder");
    let path = put(folder.path(), "a.dxt", &bytes);
    let csv = stdout(&["layers", "--format", "csv", "--table", "locks", &path], 0);
    let all = csv.lines().last().expect("a row");
    assert_eq!(all, "MPIIO,all,,0.002000000,20,0.000400000,0.200000,20,0.000100000,0.050000");
    let shown = stdout(&["layers", &path], 0);
    let line = shown.lines().find(|line| line.starts_with("MPI-IO  all")).expect("a row of locks");
    assert!(["400 µs", "20.0 %", "100 µs", "5.0 %"].iter().all(|word| line.contains(word)), "{line}");
}
