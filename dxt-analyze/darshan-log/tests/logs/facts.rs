//! Comparison of decoded logs with facts that an independent decoder found in them.

use darshan_log::dxt::SegmentKind;
use darshan_log::{Api, Log, Module, Operation, record_id};
use serde_json::Value;
use std::collections::BTreeSet;

#[test]
fn job_and_modules_are_those_of_the_facts() {
    for sample in crate::samples::all() {
        let Some(facts) = sample.facts().filter(|facts| facts.get("log_version").is_some()) else { continue };
        let log = Log::open(&sample.path).expect("a log");
        let (name, job) = (sample.name(), log.job());
        assert_eq!(facts["log_version"], log.header().version.as_str(), "{name}");
        assert_eq!(facts["nprocs"], job.nprocs, "{name}");
        assert_eq!(facts["jobid"], job.jobid, "{name}");
        assert_eq!(facts["exe"], *job.exe.to_str(), "{name}");
        assert_eq!(facts["mounts"], log.mounts().iter().len(), "{name}");
        assert_eq!(facts["names"], log.names().len(), "{name}");
        let metadata: String = job.metadata.iter().map(|(key, value)| format!("{key}={value}\n")).collect();
        assert_eq!(facts["metadata"], metadata, "{name}");
        let run_time = facts["run_time"].as_f64().expect("a number");
        assert!((run_time - job.run_time).abs() < 1e-3, "{name}: {run_time}, {}", job.run_time);
        let modules = facts["modules"].as_object().expect("an object");
        assert_eq!(modules.len(), log.header().modules.len(), "{name}");
        for entry in &log.header().modules {
            let module = &modules[entry.module.expect("a known module").name()];
            assert_eq!(module["version"], entry.version, "{name}");
            assert_eq!(module["compressed"], entry.region.length, "{name}");
            assert_eq!(module["partial"], entry.partial, "{name}");
        }
        assert_eq!(log.partial().count() > 0, name == "nonmpi-shared-writer-partial");
    }
}

/// Totals over the DXT segments (reads and writes) of one API: POSIX or MPI-IO.
#[derive(Default)]
struct Sums {
    records: u64,
    segments: [u64; 2],
    bytes: [i64; 2],
    ranks: BTreeSet<i64>,
    files: BTreeSet<u64>,
    hosts: BTreeSet<Vec<u8>>,
    threads: BTreeSet<u64>,
    first_start: Option<f64>,
    last_end: Option<f64>,
}

fn sums(log: &mut Log<std::fs::File>, api: Api) -> Option<(Sums, SegmentKind)> {
    let mut dxt = log.dxt(api)?;
    let mut sums = Sums::default();
    while let Some(record) = dxt.next_record() {
        sums.records += 1;
        sums.ranks.insert(record.rank);
        sums.files.insert(record.id);
        sums.hosts.insert(record.hostname.as_bytes().to_vec());
        let mut given = [0, 0];
        while let Some(piece) = dxt.next_piece() {
            let operation = usize::from(piece.operation == Operation::Read);
            assert_eq!(piece.first, given[operation]);
            given[operation] += piece.segments.len() as u64;
            for segment in piece.segments {
                sums.bytes[operation] += segment.length;
                sums.threads.extend(segment.thread);
                sums.first_start = Some(sums.first_start.map_or(segment.start, |least: f64| least.min(segment.start)));
                sums.last_end = Some(sums.last_end.map_or(segment.end, |most: f64| most.max(segment.end)));
            }
        }
        assert_eq!(given, [record.write_count, record.read_count]);
        sums.segments = [sums.segments[0] + given[0], sums.segments[1] + given[1]];
    }
    let kind = dxt.kind();
    Some((sums, kind))
}

#[test]
fn segments_are_those_of_the_facts() {
    let mut compared = 0;
    for sample in crate::samples::all() {
        let Some(facts) = sample.facts() else { continue };
        for (api, key) in [(Api::Posix, "DXT_POSIX"), (Api::MpiIo, "DXT_MPIIO")] {
            let Some(expected) = facts.get(key) else { continue };
            let name = format!("{} {key}", sample.name());
            let mut log = Log::open(&sample.path).expect("a log");
            let (sums, kind) = sums(&mut log, api).expect("segments");
            assert!(log.problems().is_empty(), "{name}: {:?}", log.problems());
            let pair = |a: &str, b: &str| [expected[a].as_u64(), expected[b].as_u64()];
            assert_eq!(expected["records"], sums.records, "{name}");
            assert_eq!(pair("write_segments", "read_segments"), sums.segments.map(Some), "{name}");
            assert_eq!(
                pair("bytes_written", "bytes_read"),
                sums.bytes.map(|bytes| u64::try_from(bytes).ok()),
                "{name}"
            );
            assert_eq!(expected["ranks"], sums.ranks.len(), "{name}");
            assert_eq!(expected["files"], sums.files.len(), "{name}");
            assert_eq!(expected["hosts"], sums.hosts.len(), "{name}");
            for (key, value) in [("min_start", sums.first_start), ("max_end", sums.last_end)] {
                // serde_json may be wrong in the last bit of a number.
                let near = (expected[key].as_f64().expect("a number") - value.expect("a segment")).abs() < 1e-12;
                assert!(near, "{name} {key}: {}, {value:?}", expected[key]);
            }
            assert_eq!(expected["segment_size"], kind.bytes(), "{name}");
            if expected["threads"] != Value::Null {
                assert_eq!(expected["threads"], sums.threads.len(), "{name}");
            }
            compared += 1;
        }
    }
    assert!(compared >= 5, "{compared}");
}

#[test]
fn threads_are_read_in_both_forms() {
    for (name, kind, threads) in
        [("gen-threads-rtmain", SegmentKind::Thread, 4), ("synth-extrainfo-b", SegmentKind::ThreadText, 0)]
    {
        let samples = crate::samples::own();
        let sample = samples.iter().find(|sample| sample.name() == name).expect("in the repository");
        let mut log = Log::open(&sample.path).expect("a log");
        let (sums, found) = sums(&mut log, Api::Posix).expect("segments");
        assert_eq!(found, kind, "{name}");
        assert!(sums.threads.len() >= threads.max(1), "{name}: {:?}", sums.threads);
    }
}

#[test]
fn every_record_id_is_the_hash_of_its_name() {
    let mut names = 0;
    for sample in crate::samples::all() {
        let Ok(log) = Log::open(&sample.path) else { continue };
        // Anonymized logs have new names with the old record ids.
        let anonymized = sample.name().contains("anonymized");
        for (id, name) in log.names().iter().filter(|_| !anonymized) {
            assert_eq!(record_id(name.as_bytes()), id, "{}: {name}", sample.name());
            names += 1;
        }
    }
    assert!(names >= 50, "{names}");
}

#[test]
fn what_a_log_of_bgq_says_of_the_machine_is_read() {
    let samples = crate::samples::own();
    let sample = samples.iter().find(|sample| sample.name() == "ppc64-3.1.5-bigendian").expect("in the repository");
    let mut log = Log::open(&sample.path).expect("a log");
    assert!(log.skipped().is_empty());
    let records: Vec<_> = log.counters(Module::BgQ).expect("BG/Q's").collect();
    let nodes: Vec<_> = records.iter().map(|record| record.int(Module::BgQ, "BGQ_NNODES")).collect();
    assert_eq!(nodes, [Some(128)]);
    assert!(log.heatmaps().is_none());
}
