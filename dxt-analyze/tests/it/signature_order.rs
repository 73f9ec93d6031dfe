//! Tests of `signatures` (access patterns) with overlapping calls: logs that do not distinguish threads, and nonblocking operations that
//! different calls start and complete. Calls are ordered by start time, and the output states this.

use crate::common::{job, json, op, process, put, stdout, text, trace};
use darshan_log::write::{DxtVersion, Writer};
use darshan_log::{Api, CounterRecord, DxtRecord, Job, Module, Mount, Segment, record_id};
use serde_json::Value;
use std::path::Path;
use trace_format::op::{Layer, OpClass, OpDef, OpMode};

const FILE: &str = "/scratch/shared";
const CALLS: u32 = 200;
/// Part of the line of the text output that states how many calls were ordered by their starts.
const BY_START: &str = "sorted by start";

/// Returns the only signature, which must cover all accesses, and the whole JSON output.
fn one_line(path: &Path, more: &[&str]) -> (Value, Value) {
    let args = ["signatures", "--format", "json", "--verify", text(path)];
    let found = json(&[&args, more].concat(), 0);
    assert_eq!((&found["verified"]["wrong"], &found["late"]), (&0.into(), &0.into()), "{found:#}");
    assert_eq!(found["verified"]["covered"], found["verified"]["accesses"]);
    let [line] = found["global"].as_array().unwrap().as_slice() else { panic!("{found:#}") };
    (line.clone(), found)
}

/// Writes a Darshan log of one process, whose calls alternate between two threads and vary in duration. The calls are reads or, if
/// `also_writes` is true, alternating reads and writes.
fn log(path: &Path, also_writes: bool) {
    let mut job = Job::default();
    (job.nprocs, job.exe, job.start_sec, job.end_sec) = (1, "./app".into(), 1_600_000_000, 1_600_000_010);
    job.metadata.push(("lib_ver".into(), "3.5.0".into()));
    let mounts = [Mount { point: "/".into(), fs_type: "ext4".into() }];
    let mut writer = Writer::new(std::io::Cursor::new(Vec::new()), &job, &mounts, [FILE]).unwrap();
    writer.counters(Module::Posix, &[] as &[CounterRecord]).unwrap();
    let call = |n: u32| {
        let start = f64::from(n) / 1000.0;
        let end = start + f64::from(n * 7 % 5 + 1) / 1000.0;
        Segment { offset: i64::from(n) * 4096, length: 4096, start, end, thread: None }
    };
    let writes: Vec<Segment> = (0..CALLS).filter(|n| also_writes && n % 2 == 1).map(call).collect();
    let reads: Vec<Segment> = (0..CALLS).filter(|n| !also_writes || n % 2 == 0).map(call).collect();
    writer
        .dxt::<darshan_log::write::Error>(Api::Posix, DxtVersion::Plain, |dxt| {
            dxt.record(&DxtRecord {
                id: record_id(FILE.as_bytes()),
                rank: 0,
                hostname: "node1".into(),
                write_count: writes.len() as u64,
                read_count: reads.len() as u64,
            })?;
            dxt.segments(&writes)?;
            dxt.segments(&reads)
        })
        .unwrap();
    std::fs::write(path, writer.finish().unwrap().into_inner()).unwrap();
}

#[test]
fn calls_of_a_log_are_merged_by_their_starts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.darshan");
    for (also_writes, signature) in
        [(false, "200 x {read 0+4096 [4096]}"), (true, "100 x {read 0+4096 [8192], write 4096+4096 [8192]}")]
    {
        log(&path, also_writes);
        let (line, found) = one_line(&path, &[]);
        assert!(line["signature"].as_str().unwrap().starts_with(signature), "{line:#}");
        assert_eq!(found["by_start"], 200);
        let said = stdout(&["signatures", text(&path)], 0);
        assert!(said.lines().any(|line| line.contains(BY_START) && line.contains("200 calls")), "{said}");
    }
}

#[test]
fn calls_of_a_trace_stay_in_its_order() {
    let folder = tempfile::tempdir().unwrap();
    let mut one = process(0, "n");
    (0..9).for_each(|n| _ = one.add(FILE, op::POSIX_READ, 0, n * 10, 10, n as u64 * 10, n as u64 * 10 + 5));
    let path = put(folder.path(), "a.dxt", &trace(&job("order", 1), vec![one]));
    let (_, found) = one_line(Path::new(&path), &[]);
    assert_eq!(found["by_start"], 0);
    assert!(!stdout(&["signatures", &path], 0).contains(BY_START));
}

/// Operations that different calls start and complete, as in the tracer's operation table. The last two fields are their names in the two
/// output notations.
const BEGUN: [(Layer, OpMode, OpClass, &str, &str, &str); 12] = [
    (Layer::Mpiio, OpMode::Nonblocking, OpClass::Read, "read", "read_nonblocking", "MPI_IREAD_AT"),
    (Layer::Mpiio, OpMode::Nonblocking, OpClass::Write, "write", "write_nonblocking", "MPI_IWRITE_AT"),
    (Layer::Mpiio, OpMode::Nonblocking, OpClass::Read, "read_all", "read_all_nonblocking", "MPI_IREAD_ALL"),
    (Layer::Mpiio, OpMode::Nonblocking, OpClass::Write, "write_all", "write_all_nonblocking", "MPI_IWRITE_ALL"),
    (Layer::Mpiio, OpMode::Nonblocking, OpClass::Read, "read_shared", "read_shared_nonblocking", "MPI_IREAD_SHARED"),
    (Layer::Mpiio, OpMode::Split, OpClass::Read, "read_all", "read_all_split", "MPI_READ_ALL_BEGIN"),
    (Layer::Mpiio, OpMode::Split, OpClass::Write, "write_ordered", "write_ordered_split", "MPI_WRITE_ORDERED_BEGIN"),
    (Layer::Posix, OpMode::Nonblocking, OpClass::Read, "read", "read_nonblocking", "POSIX_AIO_READ"),
    (Layer::Posix, OpMode::Nonblocking, OpClass::Write, "write", "write_nonblocking", "POSIX_AIO_WRITE"),
    (
        Layer::Posix,
        OpMode::Nonblocking,
        OpClass::Read,
        "io_submit_read",
        "io_submit_read_nonblocking",
        "POSIX_IO_SUBMIT_READ",
    ),
    (
        Layer::Posix,
        OpMode::Nonblocking,
        OpClass::Write,
        "io_submit_write",
        "io_submit_write_nonblocking",
        "POSIX_IO_SUBMIT_WRITE",
    ),
    (
        Layer::Posix,
        OpMode::Nonblocking,
        OpClass::Read,
        "io_uring_read",
        "io_uring_read_nonblocking",
        "POSIX_IO_URING_READ",
    ),
];

#[test]
fn operations_that_are_begun_are_elements_in_the_order_in_which_they_were() {
    for (layer, mode, class, name, in_loops, in_iosig) in BEGUN {
        let folder = tempfile::tempdir().unwrap();
        let mut job = job("begun", 1);
        job.ops.push(OpDef { code: 50, layer, class, mode, name: name.into() });
        let mut one = process(0, "n");
        // Four operations are in flight at a time, and the last of them completes first.
        for four in 0..25_u64 {
            for k in (0..4).rev() {
                let n = four * 4 + k;
                one.add(FILE, 50, 0, n as i64 * 100, 100, n * 1000, four * 4000 + 4000 - k);
            }
        }
        let path = put(folder.path(), "a.dxt", &trace(&job, vec![one]));
        let (line, found) = one_line(Path::new(&path), &[]);
        assert_eq!(found["by_start"], 100);
        let signature = line["signature"].as_str().unwrap();
        assert!(signature.starts_with(&format!("100 x {{{in_loops} 0+100 [100]}}")), "{signature}");
        let (line, _) = one_line(Path::new(&path), &["--notation", "iosig"]);
        let signature = line["signature"].as_str().unwrap();
        assert!(signature.starts_with(&format!("{{{in_iosig}, {FILE}, 0, 1, ({{0, 100, 1}}, 100, 1")), "{signature}");
    }
}

#[test]
fn a_loop_of_a_call_that_waits_and_one_that_does_not_is_one_pattern() {
    let folder = tempfile::tempdir().unwrap();
    let mut job = job("begun", 1);
    let (layer, class, mode) = (Layer::Posix, OpClass::Write, OpMode::Nonblocking);
    job.ops.push(OpDef { code: 50, layer, class, mode, name: "write".into() });
    let mut one = process(0, "n");
    // The program waits for each write after the next read.
    for n in 0..60_u64 {
        one.add(FILE, op::POSIX_READ, 0, n as i64 * 100, 100, n * 10_000, n * 10_000 + 500);
        if n > 0 {
            let start = (n - 1) * 10_000 + 1000;
            one.add(FILE, 50, 0, (n as i64 - 1) * 100, 100, start, n * 10_000 + 600);
        }
    }
    one.add(FILE, 50, 0, 5900, 100, 591_000, 600_000);
    let path = put(folder.path(), "a.dxt", &trace(&job, vec![one]));
    let (line, _) = one_line(Path::new(&path), &[]);
    let signature = line["signature"].as_str().unwrap();
    assert!(signature.starts_with("60 x {read 0+100 [100], write_nonblocking 0+100 [100]}"), "{signature}");
    assert_eq!(line["operation"], "read/write");
}

#[test]
fn reads_that_nobody_waits_for_are_not_fetched_ahead() {
    for (mode, rows) in [(OpMode::Plain, 1), (OpMode::Nonblocking, 0)] {
        let folder = tempfile::tempdir().unwrap();
        let mut job = job("begun", 1);
        job.ops.push(OpDef { code: 50, layer: Layer::Posix, class: OpClass::Read, mode, name: "read".into() });
        let mut one = process(0, "n");
        (0..300_u64)
            .for_each(|n| _ = one.add(FILE, 50, 0, n as i64 * (1 << 20), 4096, n * 5_000_000, n * 5_000_000 + 900_000));
        let path = put(folder.path(), "a.dxt", &trace(&job, vec![one]));
        let (_, found) = one_line(Path::new(&path), &[]);
        assert_eq!(found["advice"]["read_ahead"].as_array().unwrap().len(), rows, "{mode:?}");
    }
}
