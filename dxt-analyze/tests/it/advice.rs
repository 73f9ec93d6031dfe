//! Tests that the output of `advise` and `commands` on simulated jobs with a known fault fits the file system, the MPI library and the job's size.

use crate::common::facts::assert_found;
use crate::common::{json, text as path_text};
use dxt_synth::faults::{Choice, write};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Writes the trace of the simulated job `name`; returns the trace's path.
fn log(folder: &Path, name: &str) -> PathBuf {
    write(folder, &Choice { short: false, only: Some(name.into()), ..Choice::default() }).unwrap();
    folder.join(format!("{name}.dxt"))
}

fn run(words: &[&str], paths: &[&Path]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_dxt-analyze")).args(words).args(paths).output().unwrap()
}

fn advised(name: &str) -> (tempfile::TempDir, Value) {
    let folder = tempfile::tempdir().unwrap();
    let trace = log(folder.path(), name);
    let output = run(&["advise", "--format", "json", "-o"], &[&folder.path().join("hints"), &trace]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let advice = serde_json::from_slice(&output.stdout).unwrap();
    (folder, advice)
}

fn text(folder: &tempfile::TempDir, name: &str) -> String {
    std::fs::read_to_string(folder.path().join("hints").join(name)).unwrap_or_default()
}

/// Returns the lines of an output file, without comments and empty lines.
fn settings(folder: &tempfile::TempDir, name: &str) -> Vec<String> {
    text(folder, name).lines().filter(|line| !line.starts_with('#') && !line.is_empty()).map(str::to_owned).collect()
}

#[test]
fn new_files_keep_away_from_a_slow_target() {
    let (folder, advice) = advised("slow-ost");
    let lines = settings(&folder, "setup.sh");
    assert_eq!(lines, ["set -e", "lfs setstripe -c 7 -S 4M -o 0,1,2,4,5,6,7 /scratch/model"], "{advice}");
    let checked = Command::new("sh").arg("-n").arg(folder.path().join("hints/setup.sh")).status().unwrap();
    assert!(checked.success());
    assert!(!folder.path().join("hints/romio_hints").exists());
    assert!(text(&folder, "README.txt").contains("saves "));
}

#[test]
fn two_slow_targets_are_left_out_together() {
    let (folder, advice) = advised("two-slow-osts");
    let lines: Vec<String> = settings(&folder, "setup.sh").into_iter().filter(|line| line.starts_with("lfs")).collect();
    assert_eq!(lines.len(), 1, "a directory has one layout: {advice}");
    let (_, list) = lines[0].split_once("-o ").unwrap();
    let kept: Vec<&str> = list.split(' ').next().unwrap().split(',').collect();
    let report = json(&["report", "--format", "json", path_text(&folder.path().join("two-slow-osts.dxt"))], 0);
    let both = assert_found(&report, "DXT-O004", &json!({ "ost": 4 }));
    assert!(both["evidence"].to_string().contains("also slow: OST 11"), "{both}");
    for slow in [4, 11] {
        assert!(!kept.contains(&slow.to_string().as_str()), "{slow} in {list}");
    }
}

#[test]
fn aggregators_are_as_many_as_stripes() {
    let (folder, advice) = advised("one-aggregator");
    assert_eq!(settings(&folder, "romio_hints"), ["cb_nodes 8", "cb_config_list *:2"], "{advice}");
    assert_eq!(settings(&folder, "ompi_mca.conf"), Vec::<String>::new(), "the job ran with MPICH");
}

#[test]
fn a_slow_node_is_left_out_where_the_job_is_submitted() {
    let (folder, advice) = advised("slow-node");
    let items = advice["advice"].as_array().unwrap();
    let job = items.iter().find(|item| item["what"] == "job").unwrap();
    assert!(job["lines"][0].as_str().unwrap().starts_with("sbatch --exclude=node"), "{job}");
    assert_eq!(job["file"], Value::Null);
    assert!(!text(&folder, "setup.sh").contains("sbatch"));
}

#[test]
fn what_the_trace_does_not_show_is_left_to_the_user() {
    let (folder, advice) = advised("sieved-writes");
    let sieving = advice["advice"].as_array().unwrap().iter().find(|item| item["lines"][0] == "romio_ds_write disable");
    if let Some(sieving) = sieving.filter(|item| item["file"].is_null()) {
        assert!(sieving["not_written"].as_str().unwrap().contains("pays only if"), "{sieving}");
        assert!(!text(&folder, "romio_hints").contains("romio_ds_write"), "{advice}");
        assert!(text(&folder, "README.txt").contains("not written: the setting pays only if"));
    } else {
        assert!(settings(&folder, "romio_hints").contains(&"romio_ds_write disable".into()), "{advice}");
    }
}

#[test]
fn nothing_to_advise_makes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let trace = log(folder.path(), "healthy-io-bound");
    let hints = folder.path().join("hints");
    let output = run(&["advise", "-o"], &[&hints, &trace]);
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&output.stdout).contains("no advice: no important finding"));
    assert!(!hints.exists());
}

#[test]
fn no_directory_is_taken_for_one() {
    let folder = tempfile::tempdir().unwrap();
    let trace = log(folder.path(), "slow-ost");
    let place = folder.path().join("file");
    std::fs::write(&place, "mine").unwrap();
    for place in [place.clone(), folder.path().join("link")] {
        let _ = std::os::unix::fs::symlink("/nonexistent/elsewhere", folder.path().join("link"));
        let output = run(&["advise", "-o"], &[&place, &trace]);
        assert_eq!(output.status.code(), Some(1), "{}", place.display());
    }
    assert_eq!(std::fs::read_to_string(place).unwrap(), "mine");
}

#[test]
fn findings_carry_what_to_type() {
    let folder = tempfile::tempdir().unwrap();
    let trace = log(folder.path(), "one-aggregator");
    let output = run(&["report", "--format", "json"], &[&trace]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let first = &report["verdict"]["findings"][0];
    assert_eq!(first["commands"][0]["what"], "romio_hints", "{first}");
    assert_eq!(first["commands"][0]["lines"][0], "cb_nodes 8");
    let typed = first["commands"][0]["typed"].as_array().unwrap();
    assert_eq!(typed[1], "export ROMIO_HINTS=$PWD/romio_hints");
    let terminal = run(&["report", "-o", "/dev/null"], &[&trace]);
    let terminal = String::from_utf8_lossy(&terminal.stdout).into_owned();
    assert!(terminal.contains("What to type") && terminal.contains("'cb_nodes 8'"), "{terminal}");
}
