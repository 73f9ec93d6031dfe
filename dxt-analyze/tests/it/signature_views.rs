//! Tests of `signatures` under strided MPI-IO file views: the view is the inner dimension of the pattern, and views that the trace lacks
//! are reported.

use crate::common::{Builder, job, json, op, process, put, stdout, text, trace};
use crate::harness::{Compiler, Launch, Scratch, workload_with};
use serde_json::Value;
use std::path::Path;
use trace_format::meta::{Combiner, DatatypeRole, DatatypeUse, DimensionDef, ThreadDef, ViewDef};
use trace_format::op::{Layer, OpClass, OpDef, OpMode};
use trace_format::segment::{Segment, StreamId};

const OPEN: u16 = 50;
const SET_VIEW: u16 = 51;
const CLOSE: u16 = 52;
const READ: u16 = 53;
const FILE: &str = "/scratch/shared";

fn view(file: u32, calls: u64, block: u64, dimensions: &[(u64, u64)], extent: i64) -> ViewDef {
    let size = dimensions.iter().fold(block, |size, (count, _)| size * count);
    let dimensions = dimensions.iter().map(|&(count, stride)| DimensionDef { count, stride }).collect();
    ViewDef { file, calls, etype_bytes: 1, size, extent, block, dimensions, ..ViewDef::default() }
}

/// Process under construction, whose calls follow one another in time.
struct Program {
    of: Builder,
    now: u64,
}

impl Program {
    fn new(rank: i32) -> Self {
        Self { of: process(rank, "n"), now: 0 }
    }

    fn call(&mut self, op: u16, offset: u64, length: u64) -> &mut Self {
        let (start, offset) = (self.now, i64::try_from(offset).unwrap_or(-1));
        self.of.add(FILE, op, 0, offset, length, start, start + 500);
        self.now += 1000;
        self
    }

    fn open(&mut self) -> &mut Self {
        self.call(OPEN, u64::MAX, 0)
    }

    fn close(&mut self) -> &mut Self {
        self.call(CLOSE, u64::MAX, 0)
    }

    fn writes(&mut self, calls: impl IntoIterator<Item = (u64, u64)>) -> &mut Self {
        calls.into_iter().for_each(|(offset, length)| _ = self.call(op::MPIIO_WRITE_ALL, offset, length));
        self
    }

    /// Adds the file views to the process; all views are on the first file.
    fn reported(mut self, views: Vec<ViewDef>) -> Builder {
        let count = views.iter().map(|view| view.calls).sum();
        let (role, combiner) = (DatatypeRole::Filetype, Combiner::Vector);
        self.of.process.datatypes = vec![DatatypeUse { file: 0, role, combiner, count }];
        self.of.process.views = views;
        self.of
    }
}

fn written(folder: &Path, processes: Vec<Builder>) -> String {
    let mut job = job("views", processes.len() as u32);
    let def =
        |code, class, name: &str| OpDef { code, layer: Layer::Mpiio, class, mode: OpMode::Plain, name: name.into() };
    job.ops.extend([
        def(OPEN, OpClass::Open, "open"),
        def(SET_VIEW, OpClass::Metadata, "set_view"),
        def(CLOSE, OpClass::Close, "close"),
        def(READ, OpClass::Read, "read"),
    ]);
    put(folder, "a.dxt", &trace(&job, processes))
}

/// Returns the signatures of a trace; asserts that they reproduce every access (`--verify`).
fn signatures(path: &str, more: &[&str]) -> Value {
    let args = ["signatures", "--format", "json", "--verify", path];
    let found = json(&[&args, more].concat(), 0);
    assert_eq!(found["verified"]["wrong"], 0, "{found:#}");
    found
}

fn made(processes: Vec<Builder>, more: &[&str]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    signatures(&written(folder.path(), processes), more)
}

/// Returns the only signature, and the number of calls whose file view is unknown.
#[track_caller]
fn one_line(processes: Vec<Builder>) -> (Value, u64) {
    let found = made(processes, &[]);
    let [line] = found["global"].as_array().unwrap().as_slice() else { panic!("{found:#}") };
    (line.clone(), found["view_unknown"].as_u64().unwrap())
}

/// Returns a process with 100 calls, each of 32 blocks of 4,096 bytes at a stride of 16,384 bytes.
fn strided(rank: u64) -> Program {
    let mut one = Program::new(i32::try_from(rank).unwrap());
    one.open().call(SET_VIEW, rank * 4096, 0).writes((0..100).map(|i| (rank * 4096 + i * 524_288, 131_072)));
    one
}

fn interleaved() -> ViewDef {
    view(0, 1, 4096, &[], 16_384)
}

#[test]
fn a_view_is_the_inner_dimension() {
    let ranks = || (0..4).map(|rank| strided(rank).reported(vec![interleaved()])).collect();
    let (line, unknown) = one_line(ranks());
    let signature = line["signature"].as_str().unwrap();
    let expected = "100 x {32 x {write_collective_in_view 0+4096 [16384, 524288]}} every 1000 ns";
    assert!(signature.starts_with(expected), "{signature}");
    assert_eq!((unknown, line["accesses"].as_u64(), line["bytes"].as_u64()), (0, Some(400), Some(400 * 131_072)));
    assert_eq!((&line["spatial"], &line["size"]), (&"2-d strided".into(), &"medium".into()));
    assert_eq!(line["shift"], "4096 x rank + 0; together without a gap");
    assert_eq!(line["contiguous"], serde_json::json!([0, 100 * 524_288]));
    let found = made(ranks(), &["--notation", "iosig"]);
    assert_eq!(
        found["global"][0]["signature"],
        "{MPI_WRITE_ALL, /scratch/shared, 0, 2, (([{0, (16384, 524288), 2}, 4096, 1], 32), 100), 1}"
    );
    let found = made(ranks(), &["--level", "local"]);
    let rows = found["local"].as_array().unwrap();
    assert!(rows.len() == 4 && rows[0]["signature"].as_str().unwrap().starts_with(expected), "{rows:#?}");
}

#[test]
fn tiles_of_an_array_are_two_dimensions() {
    // Rows of 100 bytes lie in planes of 8 rows, one array after another.
    let mut one = Program::new(0);
    one.open().call(SET_VIEW, 1000, 0).writes((0..50).map(|i| (1000 + i * 65_536, 3200)));
    let (line, unknown) = one_line(vec![one.reported(vec![view(0, 1, 100, &[(8, 400), (4, 8192)], 65_536)])]);
    let expected = "50 x {4 x {8 x {write_collective_in_view 1000+100 [400, 8192, 65536]}}}";
    assert!(line["signature"].as_str().unwrap().starts_with(expected), "{line:#}");
    assert_eq!((unknown, &line["spatial"]), (0, &"3-d strided".into()));
}

#[test]
fn a_view_of_bytes_side_by_side_changes_nothing() {
    for def in [view(0, 1, 1, &[], 1), view(0, 1, 512, &[], 512)] {
        let (line, unknown) = one_line(vec![strided(0).reported(vec![def])]);
        let signature = line["signature"].as_str().unwrap();
        assert!(signature.starts_with("100 x {write_collective 0+131072 [524288]}"), "{signature}");
        assert_eq!((unknown, line["accesses"].as_u64()), (0, Some(100)));
    }
    // A view of which each call touches one block adds no dimension either.
    let mut one = Program::new(0);
    one.open().call(SET_VIEW, 0, 0).writes((0..100).map(|i| (i * 16_384, 4096)));
    let (line, unknown) = one_line(vec![one.reported(vec![interleaved()])]);
    assert!(line["signature"].as_str().unwrap().starts_with("100 x {write_collective 0+4096 [16384]}"));
    assert_eq!(unknown, 0);
}

#[test]
fn the_view_is_that_which_was_set_last() {
    let mut one = Program::new(0);
    let calls = |from: u64| (0..20).map(move |i| (from + i * 1_048_576, 131_072));
    one.open().writes(calls(0));
    one.call(SET_VIEW, 0, 0).writes(calls(1 << 30));
    one.call(SET_VIEW, 0, 0).writes(calls(2 << 30));
    one.call(SET_VIEW, 0, 0).writes(calls(3 << 30));
    // After it is reopened, the file has no view.
    one.close().open().writes(calls(4 << 30));
    let views = vec![interleaved(), view(0, 1, 8192, &[], 16_384), view(0, 1, 1, &[], 1)];
    let found = made(vec![one.reported(views)], &[]);
    let mut rows: Vec<&str> =
        found["global"].as_array().unwrap().iter().map(|row| row["signature"].as_str().unwrap()).collect();
    rows.sort_unstable();
    let begin = |row: &str| row.split(" every").next().unwrap().to_owned();
    let expected = [
        "20 x {16 x {write_collective_in_view 2147483648+8192 [16384, 1048576]}}",
        "20 x {32 x {write_collective_in_view 1073741824+4096 [16384, 1048576]}}",
        "20 x {write_collective 0+131072 [1048576]}",
    ];
    for expected in expected {
        assert!(rows.iter().any(|row| begin(row) == expected), "{expected}: {rows:#?}");
    }
    assert!(rows.iter().filter(|row| row.contains("in_view")).count() == 2 && found["view_unknown"] == 0);
}

/// Asserts that no signature uses a view, and that all calls are reported as made under an unknown view.
#[track_caller]
fn is_not_known(what: &str, processes: Vec<Builder>) {
    let calls: u64 = 100 * processes.len() as u64;
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), processes);
    let found = signatures(&path, &[]);
    assert_eq!(found["view_unknown"], calls, "{what}");
    let rows = found["global"].as_array().unwrap();
    assert!(rows.iter().all(|row| !row["signature"].as_str().unwrap().contains("in_view")), "{what}: {rows:#?}");
    let said = stdout(&["signatures", &path], 0);
    assert!(said.contains("100 calls were made under MPI-IO file views that are unknown"), "{said}");
}

#[test]
fn what_is_not_known_of_views_is_said() {
    is_not_known("an older trace", vec![strided(0).of]);
    is_not_known("a filetype of uneven blocks", vec![strided(0).reported(vec![view(0, 1, 0, &[], 16_384)])]);
    is_not_known("a writer that has stopped", {
        let mut one = strided(0).reported(vec![interleaved()]);
        one.process.datatypes[0].count += 1;
        vec![one]
    });
    let uneven = |offset: u64, length: u64| {
        let mut one = Program::new(0);
        one.open().call(SET_VIEW, 0, 0).writes((0..100).map(|i| (offset + i * 524_288, length)));
        vec![one.reported(vec![interleaved()])]
    };
    is_not_known("calls that begin within a block", uneven(100, 131_072));
    is_not_known("calls that end within a block", uneven(0, 131_000));
    let mut twice = Program::new(0);
    twice.open().open().call(SET_VIEW, 0, 0).writes((0..100).map(|i| (i * 524_288, 131_072)));
    is_not_known("a file that is open twice", vec![twice.reported(vec![interleaved()])]);
    let mut never = Program::new(0);
    never.writes((0..100).map(|i| (i * 524_288, 131_072))).call(SET_VIEW, 0, 0);
    is_not_known("calls before anything is known", vec![never.reported(vec![interleaved()])]);
}

#[test]
fn threads_that_set_views_are_reported_apart_if_views_are_similar() {
    let of_thread = |other: ViewDef| {
        let mut one = Program::new(0);
        one.open().call(SET_VIEW, 0, 0).writes((0..100).map(|i| (i * 524_288, 131_072)));
        let mut one = one.reported(vec![interleaved(), other]);
        one.process.threads.push(ThreadDef { index: 1, tid: 7 });
        let set = one.stream(FILE, SET_VIEW, 0);
        one.threads.push((1, vec![Segment::new(StreamId(set), 0, 0, 900_000, 900_100)]));
        one
    };
    assert_eq!(made(vec![of_thread(interleaved())], &[])["view_unknown"], 0);
    is_not_known("two threads, two views", vec![of_thread(view(0, 1, 8192, &[], 16_384))]);
}

#[test]
fn real_programs_have_their_tiles() {
    for mpi in [Compiler::Mpich, Compiler::OpenMpi].into_iter().filter(|mpi| mpi.available()) {
        let scratch = Scratch::new();
        let launch = Launch::new(&scratch, workload_with("bench_mpi", mpi, &["-O1"])).ranks(mpi, 4);
        let file = scratch.data().join("tiles");
        let outcome = launch.args(["tile", text(&file), "10"]).run();
        assert_eq!(outcome.code, 0, "{outcome:?}");
        let found = signatures(text(&scratch.traces()), &["--layer", "mpiio", "--files", text(&file)]);
        let [line] = found["global"].as_array().unwrap().as_slice() else { panic!("{mpi:?}: {found:#}") };
        // The tiles have 512 rows of 8,192 bytes, 16,384 apart, in a grid of 2 x 2.
        let signature = line["signature"].as_str().unwrap();
        let rows = |name: &str| format!("512 x {{{name}_collective_in_view 0+8192 [16384, 0]}}");
        let expected = format!("10 x {{{}, {}}}", rows("write"), rows("read"));
        assert!(signature.starts_with(&expected), "{mpi:?}: {signature}");
        assert_eq!((line["process_count"].as_u64(), line["accesses"].as_u64()), (Some(4), Some(80)));
        assert_eq!(found["view_unknown"], 0);
        assert_eq!(line["shift"], "first + 8192 per rank, + 8388608 per 2 ranks");
    }
}
