//! Tests of the analyses on real programs, which run under MPICH and Open MPI with the library under test.

mod advice;
mod checks;
mod chunks;
mod counters;
mod cpu_wait;
mod layers;
mod layouts;
mod ldms;
mod papers;
mod printing;
mod sums;
mod timeline;

use crate::harness::Scratch;
use std::process::Command;

/// Runs the `dxt-analyze` command `subcommand` on the traces of `scratch`; asserts the exit code, and returns the JSON output.
fn analyze(scratch: &Scratch, subcommand: &str, more: &[&str], code: i32) -> serde_json::Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dxt-analyze"));
    let output = command.arg(subcommand).args(["--format", "json"]).args(more).arg(scratch.traces()).output();
    let output = output.expect("failed to run dxt-analyze");
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{subcommand} {more:?}: {err}");
    serde_json::from_slice(&output.stdout).expect("the report is JSON")
}
