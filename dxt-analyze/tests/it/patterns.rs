//! Tests of `patterns`: what the I/O of simulated jobs with known requests is like, in numbers; and of `scripts/labels.sh`.

use crate::common::{json, text};
use dxt_synth::faults::{Choice, write};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

fn simulated(folder: &Path, name: &str) -> String {
    write(folder, &Choice { short: false, only: Some(name.into()), ..Choice::default() }).unwrap();
    text(&folder.join(format!("{name}.dxt"))).to_owned()
}

/// Returns the kind of a property, of `operation` if it has one.
fn kind<'a>(patterns: &'a Value, aspect: &str, operation: Option<&str>) -> &'a Value {
    let mut all = patterns["patterns"].as_array().unwrap().iter();
    let found = all.find(|one| one["aspect"] == aspect && one["operation"].as_str() == operation);
    found.map_or(&Value::Null, |one| &one["pattern"])
}

/// Each pattern is a fact of the simulated job, and names the finding that states its cost.
#[test]
fn patterns_are_those_of_the_simulated_requests() {
    let folder = tempfile::tempdir().unwrap();
    for (name, expected) in [
        (
            "healthy-collective-noisy",
            vec![("collectives", Some("write"), "collective"), ("size", Some("write"), "large")],
        ),
        ("small-writes", vec![("size", Some("write"), "small"), ("order", Some("write"), "consecutive")]),
        ("random-reads", vec![("order", Some("read"), "random")]),
        ("open-storm", vec![("metadata", None, "heavy")]),
    ] {
        let trace = simulated(folder.path(), name);
        let patterns = json(&["patterns", "--format", "json", &trace], 0);
        for (aspect, operation, word) in expected {
            assert_eq!(kind(&patterns, aspect, operation), word, "{name} {aspect}: {patterns:#}");
        }
        let report = json(&["report", "--format", "json", &trace], 0);
        assert_eq!(report["patterns"], patterns["patterns"], "{name}");
        for one in patterns["patterns"].as_array().unwrap() {
            let share = one["share"].as_f64().unwrap();
            assert!((0.0..=1.0).contains(&share), "{one}");
            assert!(one["finding"].is_null() || one["notable"] == true, "{one}");
        }
    }
}

/// The script reads logs with an index, and makes logs of rows of counters.
#[test]
fn labels_of_others_are_scored() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let columns = "job_id,benchmark,scenario,nprocs,num_files,is_shared_file,runtime_seconds,access_granularity,metadata_intensity,\
                   parallelism_efficiency,access_pattern,interface_choice,file_strategy,throughput_utilization,healthy,POSIX_OPENS,\
                   POSIX_WRITES,POSIX_BYTES_WRITTEN,POSIX_MAX_BYTE_WRITTEN,POSIX_SEQ_WRITES,POSIX_CONSEC_WRITES,\
                   POSIX_SIZE_WRITE_0_100,POSIX_SIZE_WRITE_4M_10M,POSIX_F_WRITE_TIME,POSIX_FILE_ALIGNMENT,POSIX_FILE_NOT_ALIGNED";
    let small = "1,ior,small_r1,4,9,0,2.5,1,0,0,0,0,0,0,0,4,40000,2560000,639999,39996,39996,40000,0,1.5,1048576,39996";
    let large = "2,ior,large_r1,4,9,0,2.5,0,0,0,0,0,0,0,1,4,400,3200000000,799999999,396,396,0,400,1.5,1048576,0";
    std::fs::write(at("rows.csv"), format!("{columns}\n{small}\n{large}\n")).unwrap();
    let output = Command::new(root.join("scripts/labels.sh"))
        .args(["--no-peers", "--analyze", env!("CARGO_BIN_EXE_dxt-analyze"), "--json"])
        .args([at("out.json"), folder.path().to_owned()])
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    let out: Value = serde_json::from_slice(&std::fs::read(at("out.json")).unwrap()).unwrap();
    for (log, word) in [("1-small_r1.darshan", "small"), ("2-large_r1.darshan", "large")] {
        assert_eq!(kind(&out[log], "size", Some("write")), word, "{out:#}");
        assert_eq!(kind(&out[log], "sharing", Some("write")), "file_per_process", "{out:#}");
        assert_eq!(kind(&out[log], "ranks", None), "balanced", "{out:#}");
    }
    assert!(
        printed.contains("2 rows of counters") && printed.contains("healthy rows with a finding above info: 0 of 1"),
        "{printed}"
    );
    let nothing = tempfile::tempdir().unwrap();
    let output = Command::new(root.join("scripts/labels.sh"))
        .args(["--analyze", env!("CARGO_BIN_EXE_dxt-analyze")])
        .arg(nothing.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("neither index.tsv nor tables"));
}
