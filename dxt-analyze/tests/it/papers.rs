//! Tests of published cases that a synthetic trace can reproduce, and of the commands for each table and figure of the papers.

use crate::common::{Builder, job, json, process, put, run, text, trace};
use crate::harness::{Compiler, Launch, Scratch, library, skip, workload, workload_with};
use serde_json::Value;
use std::path::Path;

/// Size of a block of MADBench2, bytes: 8 for each of 1,564 x 1,564 matrix elements.
const BLOCK: u64 = 8 * 1564 * 1564;
/// Size of the gap behind each block, bytes.
const GAP: u64 = 1920;
const RANKS: i32 = 64;
const BLOCKS: u64 = 256;

/// Carns et al., "24/7 Characterization of Petascale I/O Workloads", 2009, Table III: MADBench2 accesses a shared file in blocks of 18.66
/// MiB with a gap of 1,920 bytes. Of 16,384 blocks, only 32 begin at a multiple of 4 MiB.
#[test]
fn madbench2_is_all_but_unaligned() {
    let folder = tempfile::tempdir().expect("a folder");
    let ranks = (0..RANKS).map(|rank| {
        let mut process: Builder = process(rank, "n");
        for block in 0..BLOCKS {
            let (offset, start) = ((rank as u64 * BLOCKS + block) * (BLOCK + GAP), block * 20_000_000 + 1);
            process.write("/scratch/matrices", offset as i64, BLOCK, start, start + 10_000_000);
        }
        process
    });
    let path = put(folder.path(), "a.dxt", &trace(&job("k", RANKS as u32), ranks.collect()));
    let layout = put(folder.path(), "layout", b"* size=4M count=16\n");

    let found = json(&["counters", "--format", "json", &path], 0);
    let posix = &found["patterns"][0];
    let common = |value: u64, count: u64| serde_json::json!({"value": value, "count": count, "over": 0});
    assert_eq!(posix["sizes"], Value::from(vec![common(BLOCK, 16_384)]));
    assert_eq!(posix["strides"], Value::from(vec![common(GAP, RANKS as u64 * (BLOCKS - 1))]));
    assert_eq!(format!("{:.2}", BLOCK as f64 / f64::from(1 << 20)), "18.66");

    let found = json(&["stripes", "--layout", &layout, "--format", "json", &path], 0);
    let file = &found["files"][0];
    let at_start = file["unaligned_start"].as_u64().expect("a count");
    assert_eq!((file["writes"].as_u64(), 16_384 - at_start), (Some(16_384), 32), "{file:#}");
    assert!(found["findings"].to_string().contains("DXT-S001"));
}

const LAYOUT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/layouts/four-by-1m.layout");
const PAPERS: &str = include_str!("../../../docs/papers.md");

/// Returns the dxt-analyze commands quoted in a line of a Markdown table.
fn commands(line: &str) -> impl Iterator<Item = &str> {
    let quoted = line.split('`').skip(1).step_by(2);
    quoted.filter(|text| text.starts_with("dxt-analyze "))
}

/// Records a run of MPI-IO with datatypes on 3 ranks, and returns its directory; `None` without MPICH.
fn with_datatypes(scratch: &Scratch) -> Option<String> {
    if !Compiler::Mpich.available() {
        skip("MPICH is not installed");
        return None;
    }
    let program = workload_with("mpiio_details", Compiler::Mpich, &["-O1"]);
    let outcome = Launch::new(scratch, program).arg(scratch.data()).ranks(Compiler::Mpich, 3).run();
    assert_eq!(outcome.code, 0, "{outcome:?}");
    Some(text(&scratch.traces()).to_owned())
}

/// Records a run that reads a regular pattern at 2 ms per read, and returns its directory.
fn with_slow_reads(scratch: &Scratch) -> Option<String> {
    let slow = workload_with("delays", Compiler::Cc, &["-O1", "-shared", "-fPIC"]);
    let file = scratch.data().join("regular");
    std::fs::write(&file, vec![0; 100 * 32_768]).expect("a file");
    let launch = Launch::new(scratch, workload("foreseen")).untraced().arg(&file).args(["200", "0"]);
    let launch = launch.env("LD_PRELOAD", format!("{}:{}", library().display(), slow.display()));
    let outcome = launch.env("DELAYS", "op=read,us=2000").env("DELAYS_PATH", &file).run();
    assert_eq!(outcome.code, 0, "{outcome:?}");
    Some(text(&scratch.traces()).to_owned())
}

#[test]
fn each_table_and_figure_has_a_command_that_makes_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let runs = folder.path().join("runs");
    std::fs::create_dir(&runs).expect("a folder");
    let synth = |name: &str, args: &[&str]| {
        let path = runs.join(name).to_str().expect("text").to_owned();
        dxt_synth::run(["dxt-synth"].iter().chain(args).chain(&["-o", &path])).expect("a trace");
        path
    };
    let one = synth("one.dxt", &["ior-strided", "-n", "4", "--layer", "mpiio", "--segments", "16"]);
    let two = synth("two.dxt", &["file-per-process", "-n", "8", "--segments", "16"]);
    // These runs stand for TRACE: each table must have rows for one of them. The first has locks, seeks and HDF5.
    let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/demo/demo.dxt").to_owned();
    let (datatypes, slow_reads) = (Scratch::new(), Scratch::new());
    let recorded = [with_datatypes(&datatypes), with_slow_reads(&slow_reads)];
    let traces: Vec<String> = std::iter::once(demo).chain(recorded.into_iter().flatten()).collect();
    let all = runs.to_str().expect("text").to_owned();
    let mut seen = 0;
    let rows = PAPERS.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| item"));
    for line in rows {
        let wants = line.split(" | ").next().unwrap_or_default();
        let elsewhere = line.contains("`scripts/bench.sh ") || line.contains("/tests/");
        assert!(elsewhere || commands(line).next().is_some(), "{wants} has no command");
        for command in commands(line) {
            // Quoted text is one word.
            let quoted = command.split('\'').enumerate();
            let words = quoted
                .flat_map(|(part, text)| if part % 2 == 1 { vec![text] } else { text.split_whitespace().collect() });
            let words: Vec<&str> = words.skip(1).collect();
            let mut has_rows = false;
            for (number, trace) in traces.iter().enumerate() {
                let output_name = folder.path().join(format!("out-{seen}-{number}"));
                let output_name = output_name.to_str().expect("text");
                let words = words.iter().map(|&word| match word {
                    "TRACE" => trace,
                    "ONE" => one.as_str(),
                    "TWO" => two.as_str(),
                    "RUNS" => all.as_str(),
                    "FILE" | "DIRECTORY" => output_name,
                    "testdata/layouts/four-by-1m.layout" => LAYOUT,
                    word => word,
                });
                let output = run(&words.collect::<Vec<_>>());
                let text = String::from_utf8_lossy(&output.stdout);
                let said = String::from_utf8_lossy(&output.stderr);
                assert_eq!(output.status.code(), Some(0), "{command} {trace}: {text}{said}");
                has_rows |= text.lines().count() > 1;
                if has_rows || !command.contains("TRACE") {
                    break;
                }
            }
            assert!(has_rows || traces.len() < 3, "{command} has no rows");
            seen += 1;
        }
    }
    assert!(seen > 30, "only {seen} commands");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/bench/parallel.sh");
    assert!(script.is_file(), "{} is gone", script.display());
}
