//! Tests of the files that `signatures` writes: protocol buffers, decoded by protoc, and SVG figures.

use crate::common::{Builder, job, json, op, process, put, run, skip, stdout, text, trace};
use serde_json::Value;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use trace_format::meta::{Combiner, DatatypeRole, DatatypeUse, DimensionDef, ViewDef};
use trace_format::op::{Layer, OpClass, OpDef, OpMode};

const SCHEMA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/topics/signatures/uses");
const READ_ALL: u16 = 20;
const SET_VIEW: u16 = 21;
const FILE: &str = "/scratch/shared";

fn synthetic(folder: &Path, args: &[&str]) -> String {
    let path = folder.join("a.dxt");
    dxt_synth::run(["dxt-synth"].iter().chain(args).chain(&["-o", text(&path)])).unwrap();
    text(&path).to_owned()
}

fn written(folder: &Path, processes: Vec<Builder>) -> String {
    let mut job = job("signatures", processes.len() as u32);
    let (layer, class, mode) = (Layer::Mpiio, OpClass::Read, OpMode::Collective);
    job.ops.push(OpDef { code: READ_ALL, layer, class, mode, name: "read".into() });
    let (class, mode) = (OpClass::Metadata, OpMode::Plain);
    job.ops.push(OpDef { code: SET_VIEW, layer, class, mode, name: "set_view".into() });
    put(folder, "a.dxt", &trace(&job, processes))
}

/// Value of a field as printed by protoc: a scalar, or a message with its fields in order.
#[derive(Debug)]
enum Said {
    Value(String),
    Message(Vec<(String, Said)>),
}

fn parse<'a>(lines: &mut impl Iterator<Item = &'a str>) -> Vec<(String, Said)> {
    let mut out = Vec::new();
    while let Some(line) = lines.next() {
        let line = line.trim();
        if line == "}" {
            break;
        }
        match line.split_once(": ") {
            Some((name, value)) => out.push((name.to_owned(), Said::Value(value.to_owned()))),
            None => out.push((line.trim_end_matches(" {").to_owned(), Said::Message(parse(lines)))),
        }
    }
    out
}

type Fields = [(String, Said)];

fn values<'a>(of: &'a Fields, name: &'a str) -> impl Iterator<Item = &'a str> {
    of.iter().filter_map(move |(field, said)| match said {
        Said::Value(value) if field == name => Some(value.as_str()),
        _ => None,
    })
}

/// Returns the value of field `name`; `0` if absent, since protocol buffers omit zeros.
fn value<'a>(of: &'a Fields, name: &'a str) -> &'a str {
    values(of, name).next().unwrap_or("0")
}

fn messages<'a>(of: &'a Fields, name: &'a str) -> impl Iterator<Item = &'a Fields> {
    of.iter().filter_map(move |(field, said)| match said {
        Said::Message(fields) if field == name => Some(fields.as_slice()),
        _ => None,
    })
}

/// Formats a decoded pattern node in the notation of docs/signatures.md.
fn notation(node: &Fields) -> String {
    let body: Vec<String> = messages(node, "body").map(notation).collect();
    if body.is_empty() {
        let name = value(node, "operation").trim_matches('"');
        // Blocks of an access under a view are its innermost loops.
        let dimensions = || messages(node, "view");
        let bytes = if dimensions().next().is_some() { "view_bytes" } else { "length" };
        let mut out = format!("{name} {}+{}", value(node, "offset"), value(node, bytes));
        let steps: Vec<String> = dimensions()
            .map(|dimension| value(dimension, "stride").to_owned())
            .chain(messages(node, "steps").map(|step| match (value(step, "offset"), value(step, "length")) {
                (offset, "0") => offset.to_owned(),
                (offset, length) => format!("{offset}:{length}"),
            }))
            .collect();
        if !steps.is_empty() {
            let _ = write!(out, " [{}]", steps.join(", "));
        }
        return dimensions().fold(out, |inner, dimension| format!("{} x {{{inner}}}", value(dimension, "count")));
    }
    let steps: Vec<&str> = values(node, "repeats_steps").collect();
    let steps = if steps.is_empty() { String::new() } else { format!("[{}]", steps.join(", ")) };
    let mut out = format!("{}{steps} x {{{}}}", value(node, "repeats"), body.join(", "));
    if value(node, "intervals") != "0" {
        let [mean, cv, count] = ["interval_ns", "interval_cv", "intervals"].map(|name| value(node, name));
        let _ = write!(out, " every {mean} ns cv {cv} of {count}");
    }
    out
}

fn number(of: &Fields, name: &str) -> u64 {
    value(of, name).parse().unwrap()
}

/// Writes signatures as protocol buffers, decodes them with protoc, and compares them with the JSON output of the run. Protoc knows the
/// schema, but is independent of the encoder.
fn agrees(trace: &str, folder: &Path, level: &str) -> Vec<(String, Said)> {
    let path = folder.join(format!("{level}.pb"));
    let (to, all) = (text(&path), "1000000");
    let args = ["signatures", "--format", "json", "--level", level, "--top", all, "--protobuf", to, "--force", trace];
    let found = json(&args, 0);
    let decoder = Command::new("protoc")
        .args(["--decode=dxt.signatures.Signatures", "-I", SCHEMA, "signatures.proto"])
        .stdin(std::fs::File::open(&path).unwrap())
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    assert!(decoder.status.success());
    let decoded = parse(&mut std::str::from_utf8(&decoder.stdout).unwrap().lines());
    let rows: Vec<&Value> =
        found[level].as_array().unwrap().iter().filter(|row| row["signature"].as_str().unwrap() != "").collect();
    let patterns: Vec<&Fields> = messages(&decoded, "patterns").collect();
    assert_eq!(patterns.len(), rows.len());
    for (pattern, row) in patterns.into_iter().zip(rows) {
        assert_eq!(notation(messages(pattern, "nest").next().unwrap()), row["signature"]);
        for name in ["accesses", "bytes", "start_ns", "last_start_ns"] {
            assert_eq!(number(pattern, name), row[name].as_u64().unwrap(), "{name}");
        }
        assert_eq!(value(pattern, "file").trim_matches('"'), row["file"]);
        assert_eq!(value(pattern, "interface").trim_matches('"'), row["layer"]);
        let ranks = messages(pattern, "ranks")
            .map(|ranks| match (number(ranks, "first"), number(ranks, "last"), number(ranks, "step")) {
                (_, _, 0) => 1,
                (first, last, step) => (last - first) / step + 1,
            })
            .sum::<u64>();
        assert_eq!(ranks, row["process_count"].as_u64().unwrap_or(1));
        if let (Some(shift), Some(direction)) = (row["shift_per_rank"].as_i64(), messages(pattern, "directions").next())
        {
            let step: i64 = value(direction, "ranks").parse().unwrap();
            let shifts: Vec<i64> = values(direction, "shifts").map(|shift| shift.parse().unwrap()).collect();
            assert!(shifts.iter().all(|&one| one == shift * step), "{shift} {shifts:?}");
        }
    }
    let sum =
        |name: &str| found["layers"].as_array().unwrap().iter().map(|row| row[name].as_u64().unwrap()).sum::<u64>();
    assert_eq!([number(&decoded, "accesses"), number(&decoded, "covered")], ["accesses", "covered"].map(sum));
    decoded
}

fn has_protoc() -> bool {
    let found = Command::new("protoc").arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        skip("protoc is not installed");
    }
    found
}

#[test]
fn another_decoder_reads_the_same_patterns() {
    if !has_protoc() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for args in [
        &["ior-strided", "-n", "256"][..],
        &["hacc", "-n", "16"],
        &["file-per-process", "-n", "8", "--op", "read"],
        &["random", "-n", "4"],
        &["ior-shared", "-n", "4", "--layer", "mpiio"],
    ] {
        let trace = synthetic(folder.path(), args);
        for level in ["local", "global"] {
            let decoded = agrees(&trace, folder.path(), level);
            assert_eq!(number(&decoded, "version"), 1);
        }
    }
}

/// protoc decodes the blocks of an MPI-IO file view inside loops.
#[test]
fn another_decoder_reads_the_blocks_of_a_view() {
    if !has_protoc() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let processes = (0..4).map(|rank| {
        let mut one = process(rank, "n");
        one.add(FILE, SET_VIEW, 0, i64::from(rank) * 4096, 0, 0, 1);
        for n in 0..50 {
            let start = 1000 + n as u64 * 1000;
            one.add(FILE, READ_ALL, 0, i64::from(rank) * 4096 + n * 1_048_576, 65_536, start, start + 500);
        }
        let (role, combiner) = (DatatypeRole::Filetype, Combiner::Subarray);
        one.process.datatypes = vec![DatatypeUse { file: 0, role, combiner, count: 1 }];
        let dimensions = vec![DimensionDef { count: 8, stride: 16_384 }];
        let (block, size, extent) = (4096, 32_768, 524_288);
        let view = ViewDef { calls: 1, etype_bytes: 1, size, extent, block, dimensions, ..ViewDef::default() };
        one.process.views = vec![view];
        one
    });
    let trace = written(folder.path(), processes.collect());
    for level in ["local", "global"] {
        let decoded = agrees(&trace, folder.path(), level);
        let pattern = messages(&decoded, "patterns").next().unwrap();
        let signature = notation(messages(pattern, "nest").next().unwrap());
        let expected = "50 x {2 x {8 x {read_collective_in_view 0+4096 [16384, 524288, 1048576]}}}";
        assert!(signature.starts_with(expected), "{signature}");
    }
}

/// Protoc decodes patterns that other tests lack: nests in nests, triangular and backward loops, growing lengths, and offsets beyond 2^32.
#[test]
fn another_decoder_reads_every_kind_of_nest() {
    if !has_protoc() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let far = 1_u64 << 45;
    let of = |rank: u64| {
        let base = far + rank * 16_384;
        let mut all: Vec<(u64, u64)> = Vec::new();
        all.extend((0..100).flat_map(|i| [(base + i * 32_768, 4096), (base + 8192 + i * 32_768, 4096)]));
        all.extend((0..20).flat_map(|i| (0..=i + 3).map(move |j| (base + (i * 64 + j) * 512, 512))));
        all.extend((0..50).map(|i| (base + (50 - i) * 1_000_000, 100 + i)));
        all
    };
    let processes = (0..4).map(|rank| {
        let mut one = process(rank, "n");
        for (number, (offset, length)) in of(rank as u64).into_iter().enumerate() {
            one.add(FILE, READ_ALL, 0, offset as i64, length, number as u64 * 1000, number as u64 * 1000 + 500);
        }
        one
    });
    let trace = written(folder.path(), processes.collect());
    let signatures: Vec<String> = ["local", "global"]
        .into_iter()
        .flat_map(|level| {
            let decoded = agrees(&trace, folder.path(), level);
            let nests = messages(&decoded, "patterns").flat_map(|pattern| messages(pattern, "nest").map(notation));
            nests.collect::<Vec<String>>()
        })
        .collect();
    for part in ["100 x {read_collective", "[-1000000:1]", "[1] x {"] {
        assert!(signatures.iter().any(|one| one.contains(part)), "{part} is not in {signatures:?}");
    }
}

#[test]
fn files_that_exist_are_replaced_by_force_only() {
    let folder = tempfile::tempdir().unwrap();
    let trace = synthetic(folder.path(), &["ior-shared", "-n", "2"]);
    let [message, figures] = ["a.pb", "figures"].map(|name| folder.path().join(name));
    let args = ["signatures", &trace, "--protobuf", text(&message), "--svg", text(&figures)];
    stdout(&args, 0);
    let first = std::fs::read(&message).unwrap();
    let output = run(&args);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--force"), "{output:?}");
    stdout(&[&args[..], &["--force"]].concat(), 0);
    assert_eq!(std::fs::read(&message).unwrap(), first);
}

/// Returns the number of boxes in an SVG drawing, each of which is one closed subpath.
fn boxes(svg: &str) -> usize {
    svg.split(" d=\"").skip(1).map(|rest| rest.split('"').next().unwrap_or_default().matches('z').count()).sum()
}

fn figures(trace: &str, folder: &Path, more: &[&str]) -> [String; 3] {
    let args = ["signatures", trace, "--force", "--svg", text(folder)];
    stdout(&[&args, more].concat(), 0);
    ["offsets", "sizes", "bandwidth"].map(|name| std::fs::read_to_string(folder.join(format!("{name}.svg"))).unwrap())
}

/// Figures of two ranks: each rank writes 3 blocks of 1 MiB in 1 ms each, then reads a block that the other wrote.
#[test]
fn figures_show_what_was_done() {
    let folder = tempfile::tempdir().unwrap();
    let mib = 1_u64 << 20;
    let processes = (0..2).map(|rank: i32| {
        let mut one = process(rank, "n");
        for i in 0..3_u64 {
            let at = i * 2_000_000;
            let offset = (i * 2 + rank as u64) * mib;
            one.add(FILE, op::POSIX_WRITE, 0, offset as i64, mib, at, at + 1_000_000);
        }
        one.add(FILE, op::POSIX_READ, 0, i64::from(1 - rank) << 20, mib, 8_000_000, 8_500_000);
        one.add("/scratch/little", op::POSIX_WRITE, 0, 0, 10, 9_000_000, 9_000_100);
        one
    });
    let trace = written(folder.path(), processes.collect());
    let [offsets, sizes, bandwidth] = figures(&trace, &folder.path().join("all"), &[]);
    for svg in [&offsets, &sizes, &bandwidth] {
        assert!(svg.starts_with("<?xml") && svg.contains("<title>") && svg.contains("<desc>"), "{svg}");
        assert!(svg.contains(">Reads<") && svg.contains(">Writes<"), "{svg}");
        assert!(svg.contains("/scratch/shared, POSIX calls") && !svg.contains("little"), "{svg}");
        assert_eq!(svg.matches("<svg").count(), svg.matches("</svg>").count());
        assert!(svg.contains("Reads: 2 calls, 1.95 GiB/s, each of 1.00 MiB, offsets 0 B to 2.00 MiB"), "{svg}");
    }
    assert!(offsets.contains(">rank 0<") && offsets.contains(">rank 1<") && !offsets.contains(">rank 2<"), "{offsets}");
    assert!(offsets.contains(">6.00 MiB<") && offsets.contains("Each cell is 64.0 KiB of the file by"), "{offsets}");
    // A call of 1 MiB covers 16 rows; two reads and six writes of that size touch no cell twice.
    assert_eq!(boxes(&offsets), 8 * 16);
    // Calls have four distinct start times: one of reads, three of writes.
    assert_eq!(boxes(&sizes), 4);
    assert_eq!(boxes(&bandwidth), 8);
    assert!(bandwidth.contains("One bar for each of 8 calls"), "{bandwidth}");
    // The user can choose another file.
    let [_, _, little] = figures(&trace, &folder.path().join("little"), &["--files", "little"]);
    assert!(little.contains("/scratch/little, POSIX calls") && !little.contains(">Reads<"), "{little}");
}

#[test]
fn figures_do_not_grow_with_the_trace_nor_differ_with_the_threads() {
    let folder = tempfile::tempdir().unwrap();
    let trace = synthetic(folder.path(), &["random", "-n", "64", "--segments", "400"]);
    let one = figures(&trace, folder.path(), &["--threads", "1"]);
    assert_eq!(one, figures(&trace, folder.path(), &["--threads", "7"]));
    let [offsets, sizes, bandwidth] = &one;
    assert!(bandwidth.contains("25,600 calls are too many for one bar per call (more than 10,000)"), "{bandwidth}");
    assert!(boxes(offsets) <= 96 * 240 && boxes(sizes) <= 129 * 240 && boxes(bandwidth) <= 240);
}

#[test]
fn what_read_and_wrote_nothing_has_no_figures() {
    let folder = tempfile::tempdir().unwrap();
    let trace = written(folder.path(), vec![process(0, "n")]);
    let place = folder.path().join("figures");
    stdout(&["signatures", &trace, "--svg", text(&place)], 0);
    assert!(!place.exists());
}
