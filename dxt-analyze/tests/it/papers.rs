//! Tests of published cases that a synthetic trace can reproduce.

use crate::common::{Builder, job, json, process, put, run, trace};
use serde_json::Value;
use std::path::Path;

/// Size of a block of MADBench2, in bytes: 8 for each of 1,564 x 1,564 matrix elements. `GAP` is the size of the gap behind each block.
const BLOCK: u64 = 8 * 1564 * 1564;
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
    // Has locks, seeks and HDF5.
    let three = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/demo/demo.dxt");
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
            let words = words.skip(1).map(|word| match word {
                "TRACE" => three,
                "ONE" => one.as_str(),
                "TWO" => two.as_str(),
                "RUNS" => all.as_str(),
                "testdata/layouts/four-by-1m.layout" => LAYOUT,
                word => word,
            });
            let words: Vec<&str> = words.collect();
            let output = run(&words);
            let text = String::from_utf8_lossy(&output.stdout);
            assert_eq!(output.status.code(), Some(0), "{command}: {text}{}", String::from_utf8_lossy(&output.stderr));
            assert!(text.lines().count() > 1, "{command} has no rows: {text}");
            seen += 1;
        }
    }
    assert!(seen > 30, "only {seen} commands");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/bench/parallel.sh");
    assert!(script.is_file(), "{} is gone", script.display());
}
