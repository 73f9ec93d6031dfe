//! Test of the verdict on a program that waits for the reader of its standard output.

use super::analyze;
use crate::common::facts::{assert_quiet, assert_stated};
use crate::harness::{Compiler, Launch, Scratch, workload_with};
use serde_json::json;

/// Reads 64 KiB of standard input at a time, with pauses of 50 ms. No other process than the program writes to a pipe.
const READER: &str = r#""$1" 30 65536 | {
    i=0; while [ $i -lt 32 ]; do i=$((i + 1)); head -c 65536 >/dev/null; sleep 0.05; done
}"#;

/// Does the same as [`READER`] in a program that is traced, too.
const PIPELINE: &str = r#""$1" 30 65536 | sh -c '
    exec 3<"$1"; i=0; while [ $i -lt 32 ]; do i=$((i + 1)); head -c 65536 >/dev/null; sleep 0.05; done' sh "$1""#;

#[test]
fn a_slow_reader_of_standard_output_is_no_storage() {
    let program = workload_with("prints", Compiler::Cc, &["-O1"]);
    let run = |script: &str| {
        let scratch = Scratch::new();
        let launch = Launch::new(&scratch, "/bin/sh").arg("-c").arg(script).arg("sh").arg(&program);
        let outcome = launch.run();
        assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
        analyze(&scratch, "report", &[], 0)
    };
    let report = run(READER);
    let found = assert_stated(&report, "DXT-V038", &json!({"operation": "standard output", "processes": 1}));
    // The reader pauses for 1.5 s in all; a pipe holds 64 KiB.
    assert!(found["saves_ns"].as_u64() > Some(700_000_000), "{found}");
    assert_quiet(&run(r#""$1" 30 65536 >/dev/null"#), "DXT-V038");
    // In a pipeline, all wait for the slowest.
    assert_quiet(&run(PIPELINE), "DXT-V038");
}
