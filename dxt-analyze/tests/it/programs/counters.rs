//! Tests that `counters` gives equal results for a fully traced program and for the same program in counters mode.

use crate::harness::{Compiler, Launch, Scratch, have, skip, workload, workload_with};
use crate::programs::analyze;
use darshan_log::Module;
use darshan_log::counters::int_names;
use serde_json::Value;
use std::process::Command;

/// Returns the JSON output of `counters`, without values that vary between runs or that require a full trace.
fn comparable(scratch: &Scratch, code: i32) -> Value {
    let mut found =
        analyze(scratch, "counters", &["--files", &format!("{}/**", scratch.data().display()), "--top", "1000"], code);
    let data = scratch.data().display().to_string();
    // Strides, alignment by mode, and open times require single calls.
    let of_calls = ["strides", "alignment", "open_files", "open_file_count", "memory", "bandwidths"];
    for key in ["runtime_ns", "times", "missing", "findings", "places", "processes"].into_iter().chain(of_calls) {
        found.as_object_mut().expect("an object").remove(key);
    }
    let volatile = ["time_ns", "max_ns", "per_process_ns", "first_ns", "last_ns"];
    for table in ["accesses", "patterns", "sharing", "files"] {
        for row in found[table].as_array_mut().expect("a table") {
            let row = row.as_object_mut().expect("a row");
            volatile.iter().for_each(|key| drop(row.remove(*key)));
        }
    }
    let mut files: Vec<String> =
        found["files"].as_array().expect("files").iter().map(|file| file.to_string().replace(&data, "")).collect();
    files.sort();
    found["files"] = files.into();
    serde_json::from_str(&found.to_string().replace(&data, "")).expect("JSON")
}

#[test]
fn a_program_without_mpi() {
    for name in ["posix_all", "stdio_all", "stdio"] {
        let found = ["trace", "counters"].map(|mode| {
            let scratch = Scratch::new();
            let outcome = Launch::new(&scratch, workload(name)).arg(scratch.data()).env("DXT_ENABLE", mode).run();
            assert_eq!(outcome.code, 0, "{name}: {outcome:?}");
            comparable(&scratch, 0)
        });
        assert!(found[0]["accesses"].as_array().is_some_and(|rows| !rows.is_empty()), "{name}");
        assert_eq!(found[0], found[1], "{name}");
    }
}

#[test]
fn ranks_with_files_of_their_own_and_shared_ones() {
    for mpi in [Compiler::Mpich, Compiler::OpenMpi] {
        if !mpi.available() {
            skip(&format!("{mpi:?} is not installed"));
            continue;
        }
        for way in ["shared", "mixed"] {
            let found = ["trace", "counters"].map(|mode| {
                let scratch = Scratch::new();
                let program = workload_with("counters_mpi", mpi, &["-O1"]);
                let launch = Launch::new(&scratch, program).arg(scratch.data()).arg(way).ranks(mpi, 4);
                let outcome = launch.env("DXT_ENABLE", mode).env("OMPI_MCA_io", "^ompio").run();
                assert_eq!(outcome.code, 0, "{outcome:?}");
                comparable(&scratch, 0)
            });
            // Nested calls of collective writes depend on the order in which ranks arrive.
            let [mut traced, mut counted] = found;
            for found in [&mut traced, &mut counted] {
                let rows = found["accesses"].as_array_mut().expect("rows");
                rows.retain(|row| row["nested"] == 0);
            }
            assert_eq!(traced["accesses"], counted["accesses"], "{mpi:?} {way}");
            assert_eq!(traced["kinds"], counted["kinds"], "{mpi:?} {way}");
            assert_eq!(traced["sharing"], counted["sharing"], "{mpi:?} {way}");
        }
    }
}

/// Python program with consecutive writes and writes at four strides, two fsyncs and three fdatasyncs.
const STRIDES_AND_SYNCS: &str = "
import os, sys
fd, at = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR), 0
for stride, times in ((0, 20), (100, 5), (200, 4), (300, 3), (400, 2), (0, 20)):
    for i in range(times):
        at += stride
        at += os.pwrite(fd, b'x' * 1000, at)
for i in range(2):
    os.fsync(fd)
for i in range(3):
    os.fdatasync(fd)
";

#[test]
fn darshans_four_strides_and_two_kinds_of_syncs() {
    if !have("python3") {
        return skip("python3 is not installed");
    }
    for mode in ["trace", "counters"] {
        let scratch = Scratch::new();
        let file = scratch.data().join("file");
        let launch = Launch::new(&scratch, "python3").arg("-c").arg(STRIDES_AND_SYNCS).arg(&file);
        assert_eq!(launch.env("DXT_ENABLE", mode).run().code, 0);
        let found = analyze(&scratch, "counters", &["--files", "file"], 0);
        let common = |value: i64, count: u64| serde_json::json!({"value": value, "count": count, "over": 0});
        let strides = [(100, 5), (200, 4), (300, 3), (400, 2)];
        assert_eq!(
            found["patterns"][0]["strides"],
            Value::from(strides.map(|(value, count)| common(value, count)).to_vec())
        );
        let log = scratch.root().join("log.darshan");
        let mut export = Command::new(env!("CARGO_BIN_EXE_dxt-analyze"));
        let export = export.args(["export", "--to", "darshan", "-o"]).arg(&log).arg(scratch.traces());
        assert!(export.status().expect("failed to run dxt-analyze").success());
        let id = darshan_log::record_id(file.as_os_str().as_encoded_bytes());
        let mut log = darshan_log::Log::open(&log).expect("a log");
        let record = log.counters(Module::Posix).expect("records").find(|record| record.id == id).expect("the file's");
        let counter = |name: String| {
            record.ints[int_names(Module::Posix).iter().position(|known| *known == name).expect("a counter")]
        };
        for (number, (value, count)) in (1..).zip(strides) {
            let of = |what: &str| counter(format!("POSIX_STRIDE{number}_{what}"));
            assert_eq!((of("STRIDE"), of("COUNT")), (value, count as i64), "{mode} {number}");
        }
        assert_eq!((counter("POSIX_FSYNCS".into()), counter("POSIX_FDSYNCS".into())), (2, 3), "{mode}");
    }
}
