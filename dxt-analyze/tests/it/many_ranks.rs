//! Tests of rank comparison in jobs of 32,768 ranks: rate of false alarms in healthy jobs, and rate of detected slow ranks. The tests print
//! these rates if run with --release and --nocapture.

use serde_json::Value;
use std::path::Path;
use std::process::Command;

const RANKS: u32 = 32_768;

/// Returns the comparison of the ranks of a synthetic job, generated with `options`.
fn ranks(folder: &Path, options: &[&str]) -> Value {
    let file = folder.join("many.dxt");
    let file = file.to_str().expect("a printable path");
    let count = RANKS.to_string();
    let fixed = ["dxt-synth", "ior-shared", "-n", &count, "--stripe-size", "0", "-o", file];
    dxt_synth::run(fixed.iter().chain(options)).expect("a trace");
    let output = Command::new(env!("CARGO_BIN_EXE_dxt-analyze"))
        .args(["outliers", "--by", "rank", "--format", "json", file])
        .output()
        .expect("failed to run dxt-analyze");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let group = found["units"].as_array().and_then(|all| all.iter().find(|group| group["op"] == "write"));
    group.expect("writes are compared").clone()
}

fn outliers(group: &Value) -> Vec<String> {
    let rows = group["rows"].as_array().expect("rows").iter().filter(|row| row["outlier"] == true);
    rows.map(|row| row["unit"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn healthy_jobs_raise_no_hundred_alarms() {
    let folder = tempfile::tempdir().expect("a folder");
    let shapes = [("16", "0.1"), ("16", "0.5"), ("4", "0.3"), ("2", "1.0")];
    let mut alarms = 0;
    for (seed, (writes, jitter)) in shapes.iter().enumerate() {
        let seed = (seed + 1).to_string();
        let group = ranks(folder.path(), &["--segments", writes, "--jitter", jitter, "--seed", &seed]);
        assert_eq!(group["sample"], RANKS);
        let found = outliers(&group);
        println!("healthy, {writes} writes per rank, sigma {jitter}: {} false alarms of {RANKS}", found.len());
        alarms += found.len();
    }
    // With only z >= 3.5 as a criterion, normal scores would give seven alarms in each job.
    assert!(alarms <= 4, "{alarms} false alarms in {} healthy jobs", shapes.len());
}

#[test]
fn a_slow_rank_is_found_where_others_are_similar() {
    a_slow_rank("0.1", &[("1.3", true), ("2", true), ("5", true)]);
}

#[test]
fn a_slow_rank_is_found_where_others_differ() {
    // The first factor is within the noise of 16 writes.
    a_slow_rank("0.5", &[("1.3", false), ("2", true), ("5", true)]);
}

/// Runs one job per factor, in which one rank is slower by that factor. The flag is true if the slow rank must be found.
fn a_slow_rank(jitter: &str, factors: &[(&str, bool)]) {
    let folder = tempfile::tempdir().expect("a folder");
    for (factor, expected) in factors {
        for seed in ["11", "12"] {
            let slow = format!("31415:{factor}");
            let group =
                ranks(folder.path(), &["--segments", "16", "--jitter", jitter, "--seed", seed, "--slow-rank", &slow]);
            let names = outliers(&group);
            println!("sigma {jitter}, one rank {factor} times slower, seed {seed}: alarms for {names:?}");
            // One in twenty alarms may be false.
            let is_slow = |name: &String| name == "31415";
            let others = names.iter().filter(|name| !is_slow(name)).count();
            let right = others <= 1 && (!expected || names.iter().any(is_slow));
            assert!(right, "sigma {jitter}, a rank {factor} times slower: {names:?}");
        }
    }
}
