//! Tests of `signatures` (access patterns) on traces in which every access is known: the patterns are the expected ones, and `--verify`
//! finds no error.

use crate::common::{Builder, job, json, logs, op, process, put, run, stdout, text, trace};
use serde_json::Value;
use std::fmt::Write as _;
use trace_format::meta::{ThreadDef, stream_flags};
use trace_format::op::{Layer, OpClass, OpDef, OpMode};
use trace_format::segment::{Segment, StreamId};

const READ_ALL: u16 = 20;
const READ_AT: u16 = 21;
const FILE: &str = "/scratch/shared";

/// Returns the signatures of a trace; asserts that they reproduce every access (`--verify`).
fn signatures(path: &str, more: &[&str]) -> Value {
    let args = ["signatures", "--format", "json", "--verify", path];
    let found = json(&[&args, more].concat(), 0);
    let verified = &found["verified"];
    assert_eq!(verified["wrong"], 0, "{verified}");
    let sum = |name: &str| found["layers"].as_array().unwrap().iter().map(|row| row[name].as_u64().unwrap()).sum();
    let all: [u64; 4] = ["accesses", "covered", "bytes", "covered_bytes"].map(sum);
    assert_eq!(all, ["accesses", "covered", "bytes", "covered_bytes"].map(|name| verified[name].as_u64().unwrap()));
    found
}

fn coverage(found: &Value) -> f64 {
    found["verified"]["covered"].as_f64().unwrap() / found["verified"]["accesses"].as_f64().unwrap()
}

/// Returns the signatures over all processes together.
fn lines(found: &Value) -> &[Value] {
    found["global"].as_array().unwrap()
}

fn synthetic(args: &[&str], more: &[&str]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.dxt");
    dxt_synth::run(["dxt-synth"].iter().chain(args).chain(&["-o", text(&path)])).unwrap();
    signatures(text(&path), more)
}

/// Returns the signatures of a trace made of the given processes.
fn made(processes: Vec<Builder>, more: &[&str]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    signatures(&written(folder.path(), processes), more)
}

fn written(folder: &std::path::Path, processes: Vec<Builder>) -> String {
    let ranks = processes.iter().filter(|one| one.process.info.rank >= 0).count();
    let mut job = job("signatures", ranks as u32);
    let def = |code, layer, mode| OpDef { code, layer, class: OpClass::Read, mode, name: "read".into() };
    job.ops.extend([def(READ_ALL, Layer::Mpiio, OpMode::Collective), def(READ_AT, Layer::Mpiio, OpMode::Plain)]);
    put(folder, "a.dxt", &trace(&job, processes))
}

/// Adds one call per access (offset, length), every 1,000 ns.
fn calls(builder: &mut Builder, file: &str, op: u16, accesses: impl IntoIterator<Item = (u64, u64)>) {
    for (n, (offset, length)) in accesses.into_iter().enumerate() {
        let start = n as u64 * 1000;
        builder.add(file, op, 0, offset as i64, length, start, start + 500);
    }
}

#[test]
fn ranks_of_a_shared_file_are_a_line() {
    for (pattern, a) in [("ior-shared", 16 << 20), ("ior-strided", 1 << 20)] {
        let found = synthetic(&[pattern, "-n", "64"], &[]);
        let [line] = lines(&found) else { panic!("{found:#}") };
        assert_eq!((line["processes"].as_str().unwrap(), line["accesses"].as_u64().unwrap()), ("ranks 0-63", 1024));
        assert_eq!((line["shift_per_rank"].as_i64(), &line["contiguous"]), (Some(a), &serde_json::json!([0, 1 << 30])));
        assert!(coverage(&found) >= 1.0);
    }
}

#[test]
fn a_shared_file_of_4096_ranks_is_a_line() {
    let found = synthetic(&["ior-strided", "-n", "4096"], &[]);
    let [line] = lines(&found) else { panic!("{} lines", lines(&found).len()) };
    assert_eq!((line["process_count"].as_u64(), line["shift_per_rank"].as_i64()), (Some(4096), Some(1 << 20)));
}

#[test]
fn files_of_their_own_are_a_line_with_a_star() {
    let found = synthetic(&["file-per-process", "-n", "64", "--op", "read"], &[]);
    let [line] = lines(&found) else { panic!("{found:#}") };
    assert_eq!((line["file"].as_str(), line["files"].as_u64()), (Some("/scratch/synth/file.*"), Some(64)));
    assert_eq!((&line["shift"], &line["operation"]), (&"the same".into(), &"read".into()));
    assert_eq!(line["contiguous"], Value::Null, "bytes of different files are not one range");
}

#[test]
fn files_with_a_random_part_in_their_names_are_a_line() {
    // Names are like those of mkstemp, with a fixed seed; some of the 400 look like words.
    let mut state = 7_u64;
    let mut random = || {
        let signs = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789".as_bytes();
        let mut sign = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            char::from(signs[(state >> 33) as usize % signs.len()])
        };
        (0..6).map(|_| sign()).collect::<String>()
    };
    for form in ["/scratch/part.XXXXXX", "/scratch/XXXXXX.tmp", "/scratch/rank7.XXXXXX/data", "/scratch/tmpXXXXXX"] {
        let processes = (0..400).map(|rank| {
            let mut one = process(rank, "n");
            calls(&mut one, &form.replace("XXXXXX", &random()), op::POSIX_WRITE, (0..8).map(|i| (i * 100, 100)));
            one
        });
        let found = made(processes.collect(), &[]);
        let [line] = lines(&found) else { panic!("{form}: {found:#}") };
        assert_eq!((line["process_count"].as_u64(), line["files"].as_u64()), (Some(400), Some(400)));
        assert_eq!(line["file"], form.replace("XXXXXX", "*"));
    }
}

#[test]
fn lists_are_as_long_as_tables_and_say_what_they_leave_out() {
    let args = ["random", "-n", "64", "--segments", "100", "--transfer", "4K"];
    let found = synthetic(&args, &["--level", "local", "--top", "10"]);
    assert_eq!((found["local"].as_array().unwrap().len(), &found["left_out"]["local"]), (10, &54.into()));
    let found = synthetic(&args, &["--level", "local", "--top", "100"]);
    assert_eq!((found["local"].as_array().unwrap().len(), &found["left_out"]["local"]), (64, &0.into()));
}

#[test]
fn several_files_of_each_rank_are_a_line_too() {
    let processes = (0..6).map(|rank| {
        let mut one = process(rank, "n");
        for step in 0..5 {
            let file = format!("/scratch/step{step}/rank{rank}.dat");
            calls(&mut one, &file, op::POSIX_WRITE, (0..8).map(|i| (i * 100, 100)));
        }
        one
    });
    let found = made(processes.collect(), &[]);
    let [line] = lines(&found) else { panic!("{found:#}") };
    assert_eq!((line["process_count"].as_u64(), line["files"].as_u64()), (Some(6), Some(30)));
    assert_eq!(line["file"], "/scratch/step*/rank*.dat");
}

#[test]
fn one_rank_that_does_otherwise_is_a_line_of_its_own() {
    let processes = (0..8).map(|rank| {
        let mut one = process(rank, "n");
        let step = if rank == 3 { 7000 } else { 8192 };
        calls(&mut one, FILE, op::POSIX_READ, (0..10).map(|i| (rank as u64 * 1_000_000 + i * step, 4096)));
        one
    });
    let found = made(processes.collect(), &[]);
    let who: Vec<&str> = lines(&found).iter().map(|line| line["processes"].as_str().unwrap()).collect();
    assert_eq!(who.iter().filter(|who| **who == "rank 3").count(), 1, "{who:?}");
    assert!(lines(&found).len() <= 3, "{who:?}");
}

#[test]
fn a_header_before_each_block_is_in_the_loop() {
    // Seven variables of equal size form a loop, and two of other sizes remain.
    let found = synthetic(&["hacc", "-n", "16", "--segments", "18"], &[]);
    assert!(lines(&found).len() <= 3, "{found:#}");
    assert!(coverage(&found) > 0.75, "{}", coverage(&found));
}

#[test]
fn random_accesses_have_no_pattern() {
    let found = synthetic(&["random", "-n", "8", "--segments", "2000", "--transfer", "4K"], &["--notation", "iosig"]);
    assert!(coverage(&found) < 0.01, "{}", coverage(&found));
    let rest = lines(&found).iter().find(|line| line["spatial"] == "random").unwrap();
    assert!(rest["signature"].as_str().unwrap().starts_with("{WRITE, <random, 1>, "), "{rest}");
}

#[test]
fn the_papers_nested_case() {
    let processes = (0..4).map(|rank| {
        let mut one = process(rank, "n");
        let p = |i: u64| rank as u64 * 3_276_800 + i * 32_768;
        calls(&mut one, FILE, READ_ALL, (0..100).flat_map(|i| [(p(i), 4096), (p(i) + 8192, 4096)]));
        one
    });
    let found = made(processes.collect(), &["--notation", "iosig"]);
    let [line] = lines(&found) else { panic!("{found:#}") };
    let expected = "{MPI_READ_ALL, /scratch/shared, 0, 2, ([{0, 32768, 1}, 4096, 1], [{8192, 32768, 1}, 4096, 1, \
                    fixed_interval], 100), 1}";
    assert_eq!((line["signature"].as_str(), line["shift"].as_str()), (Some(expected), Some("3276800 x rank + 0")));
    assert_eq!(
        (&line["temporal"], &line["size"], &line["repetition"]),
        (&"fixed".into(), &"medium".into(), &"single".into())
    );
}

#[test]
fn the_papers_ior() {
    let mut one = process(0, "n");
    calls(&mut one, FILE, READ_AT, (0..65_536).map(|i| (i * 65_536, 65_536)));
    let found = made(vec![one], &["--notation", "iosig", "--level", "local"]);
    let rows = found["local"].as_array().unwrap();
    let expected = "{MPI_READ_AT, /scratch/shared, 0, 1, ({0, 65536, 1}, 65536, 1, fixed_interval), 65536, 1}";
    assert_eq!(rows.iter().map(|row| row["signature"].as_str().unwrap()).collect::<Vec<_>>(), [expected]);
    assert_eq!((rows[0]["bytes"].as_u64(), &rows[0]["spatial"]), (Some(4 << 30), &"contiguous".into()));
}

#[test]
fn a_read_modify_write_loop_is_one_pattern() {
    let mut one = process(0, "n");
    for i in 0..50 {
        let (offset, start) = (i * 4096, i as u64 * 10_000);
        one.add(FILE, op::POSIX_READ, 0, offset, 512, start, start + 100);
        one.add(FILE, op::POSIX_WRITE, 0, offset, 512, start + 1000, start + 1100);
    }
    let found = made(vec![one], &[]);
    let [line] = lines(&found) else { panic!("{found:#}") };
    assert_eq!((line["operation"].as_str(), line["accesses"].as_u64()), (Some("read/write"), Some(100)));
    let signature = line["signature"].as_str().unwrap();
    assert!(signature.starts_with("50 x {read 0+512 [4096], write 0+512 [4096]}"), "{signature}");
}

#[test]
fn threads_have_signatures_of_their_own() {
    let mut one = process(0, "n");
    let stream = StreamId(one.stream(FILE, op::POSIX_READ, 0));
    one.process.threads = (0..4).map(|index| ThreadDef { index, tid: 100 + index }).collect();
    let of_thread = |thread: u64| {
        let segment = |i: u64| Segment::new(stream, ((4 * i + thread) * 100) as i64, 100, i * 1000, i * 1000 + 10);
        (thread as u32, (0..20).map(segment).collect())
    };
    one.threads = (0..4).map(of_thread).collect();
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), vec![one]);
    let found = signatures(&path, &["--level", "local"]);
    let mut threads: Vec<u64> =
        found["local"].as_array().unwrap().iter().map(|row| row["thread"].as_u64().unwrap()).collect();
    threads.sort_unstable();
    assert_eq!(threads, [0, 1, 2, 3]);
    let found = signatures(&path, &[]);
    let [line] = lines(&found) else { panic!("{found:#}") };
    assert_eq!(
        (line["shift"].as_str(), line["processes"].as_str()),
        (Some("first + 100 per thread; together without a gap"), Some("rank 0"))
    );
}

#[test]
fn what_is_in_no_signature_is_counted() {
    let mut one = process(0, "n");
    calls(&mut one, FILE, op::POSIX_READ, (0..10).map(|i| (i * 10, 10)));
    for i in 0..5 {
        one.add(FILE, op::HDF5_READ, 0, -1, 10, 100_000 + i, 100_001 + i);
        one.add(FILE, op::POSIX_READ, stream_flags::FAILED, 0, 0, 200_000 + i, 200_001 + i);
    }
    let found = made(vec![one], &[]);
    assert_eq!(found["no_offset"].as_u64(), Some(5));
    assert_eq!(found["verified"]["accesses"], 10);
}

#[test]
fn two_of_a_kind_are_no_pattern() {
    let mut one = process(0, "n");
    calls(&mut one, FILE, op::POSIX_READ, [(0, 10), (10, 10)]);
    let found = made(vec![one], &[]);
    assert_eq!(found["verified"]["covered"], 0);
    // Without any signature, the list is empty, but not missing.
    let found = made(vec![process(0, "n")], &[]);
    assert_eq!((lines(&found).len(), &found["local"]), (0, &serde_json::json!([])));
}

#[test]
fn the_tolerance_says_what_is_fixed() {
    let mut one = process(0, "n");
    let mut start = 0;
    for i in 0..100_u64 {
        start += if i % 2 == 0 { 700 } else { 1300 };
        one.add(FILE, op::POSIX_READ, 0, i as i64 * 10, 10, start, start + 5);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), vec![one]);
    for (tolerance, temporal) in [("0.1", "random"), ("0.29", "random"), ("0.31", "fixed")] {
        let found = signatures(&path, &["--tolerance", tolerance, "--notation", "iosig"]);
        assert_eq!(lines(&found)[0]["temporal"], temporal, "{tolerance}");
        let written = lines(&found)[0]["signature"].as_str().unwrap().contains("fixed_interval");
        assert_eq!(written, temporal == "fixed", "{tolerance}");
    }
    for wrong in ["-0.1", "NaN", "x"] {
        assert_eq!(run(&["signatures", &path, &format!("--tolerance={wrong}")]).status.code(), Some(2), "{wrong}");
    }
}

#[test]
fn processes_without_ranks_are_reported_by_their_number() {
    let processes = (0..3).map(|n| {
        let mut one = process(-1, "n");
        one.process.info.pid = 500 + n;
        calls(&mut one, FILE, op::POSIX_READ, (0..10).map(|i| (u64::from(n) * 1000 + i * 10, 10)));
        one
    });
    let found = made(processes.collect(), &[]);
    let [line] = lines(&found) else { panic!("{found:#}") };
    assert_eq!((line["processes"].as_str(), line["shift_per_rank"].as_i64()), (Some("3 processes"), None));
}

#[test]
fn what_is_printed_is_read_back() {
    use iosig::text::{Operations, parse, print};
    let found = synthetic(&["hacc", "-n", "4"], &["--level", "local"]);
    struct Words;
    impl Operations for Words {
        fn name(&self, op: u16) -> String {
            ["read", "write"].get(usize::from(op)).map_or_else(String::new, ToString::to_string)
        }
        fn number(&self, name: &str) -> Option<u16> {
            ["read", "write"].iter().position(|known| *known == name).map(|op| op as u16)
        }
    }
    let mut all = String::new();
    let rows = found["local"].as_array().unwrap().iter().filter(|row| row["signature"] != "");
    for row in rows {
        let sums = format!("{} accesses {} bytes", row["accesses"], row["bytes"]);
        let line = format!(
            "at 0: {}, {sums}, from {} to {} ns",
            row["signature"].as_str().unwrap(),
            row["start_ns"],
            row["last_start_ns"]
        );
        writeln!(all, "{line}").unwrap();
    }
    let signature = parse(&all, &Words).unwrap_or_else(|error| panic!("{error}\n{all}"));
    assert_eq!(print(&signature, &Words), all);
    assert!(signature.patterns().count() >= 4);
}

#[test]
fn logs_of_darshan_have_signatures() {
    for log in logs() {
        let path = text(&log);
        let out = run(&["signatures", "--format", "json", "--verify", path]);
        // Incomplete logs give exit code 3.
        assert!(matches!(out.status.code(), Some(0 | 3)), "{path}: {}", String::from_utf8_lossy(&out.stderr));
        let found: Value = serde_json::from_slice(&out.stdout).unwrap();
        assert_eq!(found["verified"]["wrong"], 0, "{path}");
    }
    let threads = logs().into_iter().find(|log| text(log).ends_with("gen-threads-rtmain.darshan")).unwrap();
    assert!(coverage(&signatures(text(&threads), &[])) >= 1.0);
}

#[test]
fn people_see_what_was_verified() {
    let folder = tempfile::tempdir().unwrap();
    let mut one = process(0, "n");
    calls(&mut one, FILE, op::POSIX_READ, (0..10).map(|i| (i * 10, 10)));
    let out = stdout(&["signatures", "--verify", &written(folder.path(), vec![one])], 0);
    assert!(
        out.contains(
            "the signatures are correct; they reproduce, in the recorded order, 100.00 % of 10 reads and writes"
        ),
        "{out}"
    );
    assert!(out.contains("10 x {read 0+10 [10]}"), "{out}");
}
