//! Tests of `export --to fio` by replay: fio runs the exported jobs under the tracer. The access patterns equal those of the original
//! trace, except for file names, and the original files stay unchanged.

use crate::common::{json, run, stdout, text};
use crate::harness::{Compiler, Launch, Scratch, have, skip, workload, workload_with};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Reads and writes of one thread per file and operation: file (last part of its path), operation, number of calls, bytes, access pattern.
type Thread = Vec<(String, String, u64, u64, String)>;

/// Returns an access pattern without times, which end each loop as `every N ns cv N of N`.
fn without_times(signature: &str) -> String {
    let mut out = String::new();
    let mut rest = signature;
    while let Some((before, after)) = rest.split_once(" every ") {
        out += before;
        let words: usize = after.split(' ').take(6).map(|word| word.len() + 1).sum();
        // The closing bracket of an outer loop directly follows the last number.
        let last = after.split(' ').nth(5).unwrap();
        let digits = last.bytes().take_while(u8::is_ascii_digit).count();
        assert!(after.split(' ').nth(1) == Some("ns") && digits > 0, "{signature}");
        rest = &after[words - 1 - last.len() + digits..];
    }
    out + rest
}

#[test]
fn times_are_no_part_of_what_is_compared() {
    let nested = "3 x {2 x {read 0+1 [2, 3]} every 10 ns cv 1 of 4, write 9+1 [3]} every 77 ns cv 142 of 7";
    assert_eq!(without_times(nested), "3 x {2 x {read 0+1 [2, 3]}, write 9+1 [3]}");
    assert_eq!(without_times("no pattern"), "no pattern");
}

/// Returns the access patterns of reads and writes at the POSIX and STDIO layers, sorted, per thread.
fn signatures(traces: &Path, files: &str) -> Vec<Thread> {
    let args = [
        "signatures",
        "--format",
        "json",
        "--level",
        "local",
        "--top",
        "1000000",
        "--verify",
        "--files",
        files,
        text(traces),
    ];
    let found = json(&args, 0);
    assert_eq!(found["verified"]["wrong"], 0);
    let mut threads: BTreeMap<(String, u64), Thread> = BTreeMap::new();
    for row in found["local"].as_array().unwrap() {
        let word = |name: &str| row[name].as_str().unwrap().to_owned();
        let number = |name: &str| row[name].as_u64().unwrap();
        if !matches!(word("layer").as_str(), "POSIX" | "STDIO") {
            continue;
        }
        // File names are cleaned as by the export.
        let file = word("file").rsplit('/').next().unwrap().replace(' ', "_");
        let (operation, signature) = (word("operation"), without_times(&word("signature")));
        let thread = threads.entry((word("process"), number("thread"))).or_default();
        thread.push((file, operation, number("accesses"), number("bytes"), signature));
    }
    let mut out: Vec<Thread> = threads.into_values().collect();
    out.iter_mut().for_each(|thread| thread.sort());
    out.sort();
    out
}

/// Reads and writes per thread, in order: file, kind (read or write), offset, length.
type Calls = Vec<Vec<(String, String, u64, u64)>>;

/// Returns each read and write at the POSIX and STDIO layers.
fn calls(traces: &Path, files: &str) -> Calls {
    let text = stdout(&["export", "--to", "json", "-o", "-", "--files", files, text(traces)], 0);
    let mut threads: BTreeMap<(u64, u64, u64), Vec<_>> = BTreeMap::new();
    for line in text.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let (word, number) = (|name: &str| row[name].as_str().unwrap().to_owned(), |name: &str| row[name].as_u64());
        let moves =
            matches!(word("kind").as_str(), "read" | "write") && matches!(word("layer").as_str(), "POSIX" | "STDIO");
        let (Some(offset), Some(length)) = (number("offset"), number("length").filter(|length| *length > 0)) else {
            continue;
        };
        if moves && row["failed"] == false {
            let file = word("file").rsplit('/').next().unwrap().replace(' ', "_");
            let thread =
                (row["rank"].as_i64().unwrap().cast_unsigned(), number("pid").unwrap(), number("thread").unwrap());
            threads.entry(thread).or_default().push((file, word("kind"), offset, length));
        }
    }
    let mut out: Calls = threads.into_values().collect();
    out.sort();
    out
}

/// I/O of a run for comparing original and replay: access patterns, and single calls.
#[derive(Debug, PartialEq)]
struct Done {
    signatures: Vec<Thread>,
    calls: Calls,
}

fn done(traces: &Path, files: &str) -> Done {
    Done { signatures: signatures(traces, files), calls: calls(traces, files) }
}

/// Exports `trace` to fio jobs, replays the jobs under the tracer, and returns the recorded I/O.
fn played(scratch: &Scratch, trace: &Path, more: &[&str]) -> Done {
    let jobs = scratch.root().join("jobs");
    let args = ["export", "--to", "fio", "-o", text(&jobs)];
    stdout(&[&args, more, &[text(trace)]].concat(), 0);
    replayed(scratch)
}

/// Replays the exported fio jobs under the tracer, and returns the recorded I/O.
fn replayed(scratch: &Scratch) -> Done {
    let jobs = scratch.root().join("jobs");
    if jobs.join("prepare.fio").exists() {
        let prepared =
            Launch::new(scratch, "/bin/sh").args(["-c", "cd jobs && fio --output=prepared prepare.fio"]).untraced();
        let outcome = prepared.run();
        assert_eq!(outcome.code, 0, "{outcome:?}");
    }
    let replay = Launch::new(scratch, "/bin/sh").args(["-c", "cd jobs && exec fio --output=report replay.fio"]);
    let outcome = replay.env("DXT_BUFFER_MAX", "64M").run();
    let report = std::fs::read_to_string(jobs.join("report")).unwrap_or_default();
    assert_eq!(outcome.code, 0, "{outcome:?}\n{report}");
    assert!(!report.contains("err=") || report.matches("err= 0").count() == report.matches("err=").count(), "{report}");
    done(&scratch.traces(), &format!("{}/*", text(&jobs.join("files"))))
}

/// Returns path, content and modification time of each file in a folder.
fn state(folder: &Path) -> Vec<(PathBuf, Vec<u8>, std::time::SystemTime)> {
    let mut out: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let changed = path.metadata().unwrap().modified().unwrap();
            (path.clone(), std::fs::read(&path).unwrap(), changed)
        })
        .collect();
    out.sort();
    out
}

fn fio_is_there() -> bool {
    if !have("fio") {
        skip("fio is not installed");
    }
    have("fio")
}

#[test]
fn fio_plays_what_a_program_of_processes_threads_and_streams_did() {
    if !fio_is_there() {
        return;
    }
    for more in [&[][..], &["--times"]] {
        let (scratch, replay) = (Scratch::new(), Scratch::new());
        let outcome = Launch::new(&scratch, workload("replayed")).arg(scratch.data()).run();
        assert_eq!(outcome.code, 0, "{outcome:?}");
        let before = state(&scratch.data());
        let files = format!("{}/*", text(&scratch.data()));
        let original = done(&scratch.traces(), &files);
        assert_eq!(original.calls.len(), 4, "two threads of each: {original:#?}");
        assert!(original.signatures.iter().flatten().any(|row| row.4.contains("20 x {write 0+100")), "{original:#?}");
        let again = played(&replay, &scratch.traces(), &[&["--files", files.as_str()], more].concat());
        assert_eq!(again, original);
        assert!(state(&scratch.data()) == before, "the files of the trace were touched");
    }
}

#[test]
fn fio_plays_the_system_calls_of_mpi_io() {
    for mpi in [Compiler::Mpich, Compiler::OpenMpi].into_iter().filter(|mpi| mpi.available() && fio_is_there()) {
        plays_mpi_io(mpi);
    }
}

fn plays_mpi_io(mpi: Compiler) {
    let (scratch, replay) = (Scratch::new(), Scratch::new());
    let launch = Launch::new(&scratch, workload_with("sieve", mpi, &["-O1"])).arg(scratch.data());
    let outcome = launch.ranks(mpi, 2).run();
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let files = format!("{}/*", text(&scratch.data()));
    let mut original = done(&scratch.traces(), &files);
    if mpi == Compiler::OpenMpi {
        // Open MPI reads by preadv, which fio lacks.
        let vectored = |row: &&mut (String, String, u64, u64, String)| row.4.contains("read_vectored");
        let rows: Vec<_> = original.signatures.iter_mut().flatten().filter(vectored).collect();
        assert_eq!(rows.len(), 2);
        rows.into_iter().for_each(|row| row.4 = row.4.replace("read_vectored", "read"));
    }
    assert!(original.calls.len() == 2 && original.calls.iter().all(|calls| calls.len() > 2), "{original:#?}");
    assert_eq!(played(&replay, &scratch.traces(), &["--files", &files]), original);
}

#[test]
fn fio_plays_a_synthetic_job_of_ranks() {
    if !fio_is_there() {
        return;
    }
    for (pattern, op) in [("ior-strided", "write"), ("ior-strided", "read"), ("hacc", "write")] {
        let scratch = Scratch::new();
        let path = scratch.root().join("a.dxt");
        let args = ["dxt-synth", pattern, "-n", "2", "--transfer", "64K", "-o", text(&path)];
        let op: &[&str] = if pattern == "hacc" { &[] } else { &["--op", op] };
        dxt_synth::run(args.iter().chain(op)).unwrap();
        let original = done(&path, "*");
        assert_eq!(original.calls.len(), 2);
        assert_eq!(played(&scratch, &path, &[]), original, "{pattern} {op:?}");
    }
}

#[test]
fn fio_plays_a_darshan_log() {
    if !fio_is_there() {
        return;
    }
    let log = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/darshan/gen-mpi8-rt3.5.0.darshan");
    let scratch = Scratch::new();
    let original = done(&log, "*");
    assert!(original.calls.iter().flatten().count() > 20, "{original:#?}");
    assert_eq!(played(&scratch, &log, &[]), original);
}

/// Asserts that an export fails with this exit code and one line that states the reason, and leaves no files.
#[track_caller]
fn refused(args: &[&str], code: i32, why: &str) {
    let output = run(&[&["export", "--to", "fio"], args].concat());
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{said}");
    let lines: Vec<&str> = said.lines().filter(|line| !line.is_empty()).collect();
    assert!(lines.len() == 1 && lines[0].starts_with("dxt-analyze: ") && lines[0].contains(why), "{said}");
}

#[test]
fn what_cannot_be_played_is_one_clear_error() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| text(&folder.path().join(name)).to_owned();
    let (trace, out, used) = (at("a.dxt"), at("out"), at("used"));
    let make =
        |args: &[&str]| dxt_synth::run(["dxt-synth"].iter().chain(args).chain(&["-n", "2", "-o", &trace])).unwrap();
    make(&["ior-strided"]);
    refused(&["-o", "-", &trace], 2, "directory");
    refused(&["-o", &out, "--directory", "/a b", &trace], 2, "fio takes a directory of");
    refused(&["-o", &out, "--directory", "/scratch/../scratch/synth/.", &trace], 2, "must not change that file");
    refused(&["-o", &out, "--directory", "/scratch/synth", &trace], 2, "must not change that file");
    refused(&["-o", &out, "--layer", "mpiio", &trace], 2, "selects nothing");
    refused(&["-o", &trace, &trace], 1, "a.dxt");
    assert!(!Path::new(&out).exists());
    std::fs::create_dir(&used).unwrap();
    std::fs::write(at("used/mine"), "mine").unwrap();
    refused(&["-o", &used, &trace], 1, "not empty");
    let name = json(&["signatures", "--format", "json", "--level", "local", &trace], 0)["local"][0]["file"].clone();
    let name = name.as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    std::fs::write(at("used").clone() + "/" + &name, "mine").unwrap();
    refused(&["-o", &out, "--directory", &used, &trace], 1, "a replay would change it");
    refused(&["-o", &out, "--directory", "../used", &trace], 1, "a replay would change it");
    assert!(!Path::new(&out).exists());
    stdout(&["export", "--to", "fio", "-o", &used, "--force", &trace], 0);
    assert_eq!(std::fs::read(at("used/mine")).unwrap(), b"mine");
    let output = run(&["export", "--to", "csv", "-o", "-", "--times", &trace]);
    assert_eq!(output.status.code(), Some(2));
}

/// Signatures (access patterns) alone suffice for an export: they expand to the recorded accesses.
#[test]
fn signatures_are_expanded_to_the_accesses_of_their_trace() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("hacc.dxt");
    dxt_synth::run(["dxt-synth", "hacc", "-n", "4", "-o", text(&trace)].iter()).unwrap();
    let rows = |csv: &str, columns: &[&str]| -> Vec<Vec<String>> {
        let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let header = lines.next().unwrap();
        let places: Vec<usize> =
            columns.iter().map(|name| header.iter().position(|column| column == name).unwrap()).collect();
        lines.map(|line| places.iter().map(|at| line[*at].to_owned()).collect()).collect()
    };
    let recorded = stdout(&["export", "--to", "csv", "-o", "-", text(&trace)], 0);
    let mut recorded = rows(&recorded, &["rank", "op", "offset", "length"]);
    let found = json(&["signatures", "--format", "json", "--level", "local", "--top", "1000", text(&trace)], 0);
    let mut expanded = 0;
    for pattern in found["local"].as_array().unwrap() {
        let (process, signature) = (pattern["process"].as_str().unwrap(), pattern["signature"].as_str().unwrap());
        if !signature.contains(" x {") {
            continue;
        }
        for access in rows(&stdout(&["expand", signature], 0), &["operation", "offset", "length"]) {
            let access = [&[process.trim_start_matches("rank ").to_owned()], access.as_slice()].concat();
            let place = recorded.iter().position(|call| *call == access);
            recorded.remove(place.unwrap_or_else(|| panic!("{access:?} of {signature} is not on record")));
            expanded += 1;
        }
    }
    assert_eq!(expanded, 4 * 14, "the loop over seven variables of each rank");
}

#[test]
fn what_is_expanded_is_reported_by_the_command_line() {
    let of_ranks = ["expand", "2 x {write 0+10 [40]}", "--ranks", "2", "--per-rank", "10", "--file", "out.*"];
    let expected = "rank,file,operation,offset,length\n0,out.0,write,0,10\n0,out.0,write,40,10\n\
                    1,out.1,write,10,10\n1,out.1,write,50,10\n";
    assert_eq!(stdout(&of_ranks, 0), expected);
    for wrong in ["2 x {write 0+10}", "2 x {open 0+10 [1]}", "2 x {write 0+10 [1]} and more", ""] {
        stdout(&["expand", wrong], 2);
    }
    stdout(&["expand", "2 x {read 0+10 [4]}", "--ranks", "2", "--per-rank", "-10"], 1);
}

#[test]
fn fio_plays_a_signature_and_has_it() {
    if !fio_is_there() {
        return;
    }
    let scratch = Scratch::new();
    let jobs = scratch.root().join("jobs");
    let signature = "5 x {read 0+4096 [65536], write 4096+512 [65536]}";
    let of_ranks = ["expand", signature, "--ranks", "3", "--per-rank", "8192"];
    stdout(&[&of_ranks[..], &["--to", "fio", "-o", text(&jobs)]].concat(), 0);
    let played: Vec<String> =
        replayed(&scratch).signatures.into_iter().flatten().map(|(.., signature)| signature).collect();
    let expected =
        [0, 8192, 16384].map(|at| format!("5 x {{read {at}+4096 [65536], write {}+512 [65536]}}", at + 4096));
    assert!(played.len() == 3 && expected.iter().all(|one| played.contains(one)), "{played:?}");
}
